//! `printf` and `assert` (CUDA programming guide, "Formatted Output" and "Assertion").

use crate::Error;
use crate::function::Emit;
use crate::types::Class;
use cdp_core::ir::{LocalId, Operand, StatementKind};
use cdp_core::source::Span;
use cdp_core::types::layout::round_up;
use nvptx_builder::{Space, Value};

impl<'c> Emit<'_, '_, 'c> {
    /// `dst = printf(format, args)`
    pub fn printf(&mut self, dst: Option<LocalId>, format: &str, args: &[Operand], span: Span) -> Result<(), Error> {
        let printed = self.print(format, args, span)?;
        self.set_result(dst, printed, span)
    }

    fn print(&mut self, format: &str, args: &[Operand], span: Span) -> Result<Value<'c>, Error> {
        let builder = self.emitter.builder;
        let buffer = if args.is_empty() { builder.zero(builder.pointer(Space::Generic).into()) } else { self.print_buffer()? };
        let mut end = 0;
        for arg in args {
            let (value, size) = self.promoted(arg, span)?;
            let at = round_up(end, size);
            self.body.store(value, self.body.offset(buffer, at)?, size, false)?;
            end = at + u64::from(size);
        }
        Ok(self.body.vprintf(builder.string(format.as_bytes()), buffer)?)
    }

    /// An argument as C passes it where the parameters are not known, and its size in bytes, which is its alignment.
    fn promoted(&self, arg: &Operand, span: Span) -> Result<(Value<'c>, u32), Error> {
        let builder = self.emitter.builder;
        let value = self.value(arg, span)?;
        Ok(match self.emitter.class(self.type_of(arg)) {
            Class::Bool => (self.body.int_cast(value, builder.int(32)?, false)?, 4),
            Class::Int(int) if int.bits() < 32 => (self.body.int_cast(value, builder.int(32)?, int.signed())?, 4),
            Class::Int(int) => (value, int.bits() / 8),
            Class::Handle(bits) => (value, bits / 8),
            Class::Float(_) => (self.body.float_cast(value, builder.double())?, 8),
            Class::Pointer => (self.body.address_cast(value, Space::Generic)?, self.emitter.options.width.bytes()),
            Class::Vector(..) | Class::Aggregate | Class::Nothing => {
                return self.emitter.malformed("an aggregate as an argument of `printf`", span);
            }
        })
    }

    /// One buffer serves every `printf` of the function: the largest one's, which is copied during the call.
    fn print_buffer(&mut self) -> Result<Value<'c>, Error> {
        if let Some(buffer) = self.print_buffer {
            return Ok(buffer);
        }
        let largest = self.ir.blocks.iter().flat_map(|block| &block.statements).map(|statement| match &statement.kind {
            StatementKind::Printf { args, .. } | StatementKind::Assert { args, .. } => args.len() as u64 * 8,
            _ => 0,
        });
        let ty = self.emitter.builder.bytes(largest.max().unwrap_or(8))?;
        let buffer = self.body.variable(ty, 8, "arguments")?;
        self.print_buffer = Some(buffer);
        Ok(buffer)
    }

    /// `assert(condition, format, args)`
    pub fn assert(&mut self, condition: &Operand, text: &str, format: &str, args: &[Operand], span: Span) -> Result<(), Error> {
        let failed = self.body.block("failed");
        let holds = self.body.block("holds");
        let condition = self.value(condition, span)?;
        self.body.branch(condition, holds, failed)?;
        self.body.switch_to(failed);
        if !format.is_empty() {
            let line = if format.ends_with('\n') { format.to_owned() } else { format!("{format}\n") };
            self.print(&line, args, span)?;
        }
        let at = self.emitter.sources.line_column(span);
        self.body.assert_fail(text, self.emitter.sources.name(span.file), at.line, &self.ir.name)?;
        self.body.switch_to(holds);
        Ok(())
    }
}
