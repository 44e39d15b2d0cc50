//! Arguments of `printf` and `assert` from a frame.

use crate::code::{Kind, PrintArg, PrintKind};
use crate::format::{Format, Value};
use crate::interp::locals::Locals;
use crate::interp::{read_bits, read_int};
use crate::program::Program;

/// Appends a format's text with its arguments.
pub(crate) fn print(program: &Program, format: &Format, args: &[PrintArg], locals: &Locals<'_>, out: &mut Vec<u8>) {
    let values = args.iter().map(|arg| match arg.kind {
        PrintKind::Int(int) => Value::Int(read_int(locals.slots, int, arg.offset).cast_unsigned()),
        PrintKind::Float(float) => Value::Float(float.value(read_bits(locals.slots, Kind::Float(float).size(), arg.offset))),
        PrintKind::Pointer => Value::Pointer(locals.u64(arg.offset)),
        PrintKind::Str => Value::Str(program.string(locals.u64(arg.offset))),
    });
    format.write(values, out);
}

/// The same as text.
pub(crate) fn text(program: &Program, format: &Format, args: &[PrintArg], locals: &Locals<'_>) -> String {
    let mut out = Vec::new();
    print(program, format, args, locals, &mut out);
    String::from_utf8_lossy(&out).trim_end().to_owned()
}
