//! Arguments of host launches, and their check.

use crate::error::{Error, Result};
use crate::gpu::DeviceBuffer;
use crate::manifest::{Kernel, Param};
use crate::session::value::{Value, put};

/// What an argument is, as far as it must fit the parameter's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A type by the source's name: `i32`, `f32x3`, a structure of the program.
    Named(&'static str),
    /// A pointer to global memory, or a generic one.
    Pointer,
    /// Bytes of any type; only their number is checked.
    Bytes,
}

/// Something that can be an argument of a kernel.
pub trait Arg {
    /// What it is.
    fn kind(&self) -> Kind;
    /// Appends its bytes, little-endian, padding zero.
    fn write(&self, out: &mut Vec<u8>);
}

impl<T: Value> Arg for T {
    fn kind(&self) -> Kind {
        T::KIND
    }
    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + T::SIZE, 0);
        put(out, start, self);
    }
}

impl Arg for DeviceBuffer {
    fn kind(&self) -> Kind {
        Kind::Pointer
    }
    fn write(&self, out: &mut Vec<u8>) {
        Arg::write(&self.ptr(), out);
    }
}

/// A struct, vector or array as its bytes in C layout, padding included.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Arg for Bytes<'_> {
    fn kind(&self) -> Kind {
        Kind::Bytes
    }
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }
}

/// The parameter block of a launch: every argument at its offset, padding zero.
pub(super) fn pack(kernel: &Kernel, args: &[&dyn Arg]) -> Result<Vec<u8>> {
    if args.len() != kernel.params.len() {
        return Err(mismatch(kernel, format!("{} arguments, and it takes {}", args.len(), kernel.params.len())));
    }
    let mut block = Vec::new();
    for (param, arg) in kernel.params.iter().zip(args) {
        if !fits(arg.kind(), param) {
            return Err(mismatch(
                kernel,
                format!("`{}` is `{}`, and the argument is {}", param.name, param.ty, describe(arg.kind())),
            ));
        }
        let offset = param.offset as usize;
        if block.len() > offset {
            return Err(mismatch(kernel, format!("`{}` overlaps the parameter before it", param.name)));
        }
        block.resize(offset, 0);
        arg.write(&mut block);
        let size = block.len() - offset;
        if size != param.size as usize {
            return Err(mismatch(kernel, format!("`{}` has {} bytes, and the argument {size}", param.name, param.size)));
        }
    }
    Ok(block)
}

fn fits(kind: Kind, param: &Param) -> bool {
    match kind {
        Kind::Named(name) => param.ty == name || (name == "i32" && param.ty == "cudaError_t"),
        Kind::Pointer => {
            let pointee = param.ty.strip_prefix('*');
            pointee.is_some_and(|rest| !["shared ", "local "].iter().any(|space| rest.starts_with(space)))
        }
        Kind::Bytes => true,
    }
}

fn describe(kind: Kind) -> String {
    match kind {
        Kind::Named(name) => format!("`{name}`"),
        Kind::Pointer => "a pointer to device memory".to_owned(),
        Kind::Bytes => "raw bytes".to_owned(),
    }
}

pub(super) fn mismatch(kernel: &Kernel, problem: String) -> Error {
    let expected = kernel.params.iter().map(|p| format!("{}: {}   at {}, {} bytes", p.name, p.ty, p.offset, p.size)).collect();
    Error::Arguments { kernel: kernel.name.clone(), problem, expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::DevicePtr;

    fn kernel(params: &[(&str, u32, u32)]) -> Kernel {
        let params = params
            .iter()
            .enumerate()
            .map(|(i, &(ty, offset, size))| Param {
                name: format!("p{i}"),
                ty: ty.into(),
                offset,
                size,
                align: 1,
                doc: String::new(),
            })
            .collect();
        Kernel { name: "k".into(), symbol: "k".into(), params, ..Kernel::default() }
    }

    #[test]
    fn narrow_parameters_lie_at_their_offsets() {
        let k = kernel(&[("bool", 0, 1), ("i8", 1, 1), ("bool", 2, 1), ("i16", 4, 2), ("*global i32", 8, 8)]);
        let block = pack(&k, &[&true, &-1_i8, &false, &-2_i16, &DevicePtr(0x0102_0304_0506_0708)]).unwrap();
        assert_eq!(block, [1, 0xff, 0, 0, 0xfe, 0xff, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(block.len(), k.param_size() as usize);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let problem = |k: &Kernel, args: &[&dyn Arg]| {
            let error = pack(k, args).unwrap_err();
            assert_eq!(error.code(), "E0705");
            error.to_string()
        };
        let k = kernel(&[("*global f32", 0, 8), ("i32", 8, 4)]);
        assert!(problem(&k, &[]).contains("0 arguments, and it takes 2"));
        assert!(problem(&k, &[&1_u64, &1_i32]).contains("`p0` is `*global f32`, and the argument is `u64`"));
        assert!(problem(&k, &[&DevicePtr(0), &1_u32]).contains("`p1` is `i32`, and the argument is `u32`"));
        assert!(problem(&k, &[&DevicePtr(0), &DevicePtr(0)]).contains("pointer to device memory"));
        assert!(problem(&k, &[&DevicePtr(0), &Bytes(&[0; 8])]).contains("`p1` has 4 bytes, and the argument 8"));
        assert!(problem(&kernel(&[("*shared f32", 0, 8)]), &[&DevicePtr(0)]).contains("*shared f32"));
        assert!(problem(&kernel(&[("i32", 0, 4), ("i32", 2, 4)]), &[&1, &2]).contains("overlaps"));
    }

    #[test]
    fn structs_are_bytes() {
        let k = kernel(&[("f32", 0, 4), ("Row", 8, 12)]);
        assert_eq!(pack(&k, &[&1.0_f32, &Bytes(&[7; 12])]).unwrap().len(), 20);
        assert!(pack(&kernel(&[]), &[]).unwrap().is_empty());
    }
}
