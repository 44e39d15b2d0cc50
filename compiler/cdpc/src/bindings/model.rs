//! The types of the manifest, read from the way in which the source writes them.

use cdp_runtime::manifest::{Enum, Manifest, Struct, Vector};

use crate::failure::{Failure, Result};

/// A type as far as a host must know it.
#[derive(Clone, Debug, PartialEq)]
pub enum Type<'a> {
    /// A number or `bool`.
    Scalar(Scalar),
    /// Two to four lanes.
    Vector(&'a Vector, Scalar, usize),
    /// An address in the GPU's memory: whether it is read-only, and what lies there.
    Pointer {
        /// Nothing is written through it.
        constant: bool,
        /// `None` for `void`.
        to: Option<Box<Self>>,
    },
    /// Elements in a row.
    Array(Box<Self>, u64),
    /// A structure.
    Struct(&'a Struct),
    /// An enumeration.
    Enum(&'a Enum),
    /// `cudaError_t`
    Error,
    /// A texture or surface object, or a stream or event, which only device code can use: eight bytes.
    Handle,
}

/// A number or `bool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Scalar {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Scalar {
    const ALL: [Self; 13] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
    ];

    /// The language's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Bytes, which are its alignment on the hosts that CUDA runs on.
    pub const fn size(self) -> u32 {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The integer that an enumeration is.
    pub fn base(found: &Enum) -> Self {
        Self::of(&found.ty).unwrap_or(Self::I32)
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scalar| scalar.name() == name)
    }
}

/// Reads the types of one manifest.
#[derive(Clone, Copy, Debug)]
pub struct Types<'a>(pub &'a Manifest);

impl<'a> Types<'a> {
    /// The type that is written so.
    ///
    /// # Errors
    /// When the manifest does not say what it is.
    pub fn read(self, text: &str) -> Result<Type<'a>> {
        self.find(text).ok_or_else(|| Failure::bug(format!("the manifest does not say what `{text}` is")))
    }

    /// The alignment that a compiler gives a type where nothing more is asked for.
    pub fn align_of(self, ty: &Type<'_>) -> u32 {
        match ty.flat().0 {
            Type::Scalar(scalar) => scalar.size(),
            Type::Vector(vector, ..) => vector.align,
            Type::Struct(found) => found.align,
            Type::Enum(found) => Scalar::base(found).size(),
            Type::Error => 4,
            Type::Pointer { .. } | Type::Handle | Type::Array(..) => 8,
        }
    }

    /// Bytes of a type.
    pub fn size_of(self, ty: &Type<'_>) -> u64 {
        match ty {
            Type::Scalar(scalar) => scalar.size().into(),
            Type::Vector(vector, ..) => vector.size.into(),
            Type::Struct(found) => found.size,
            Type::Enum(found) => Scalar::base(found).size().into(),
            Type::Error => 4,
            Type::Pointer { .. } | Type::Handle => 8,
            Type::Array(element, count) => self.size_of(element) * count,
        }
    }

    fn find(self, text: &str) -> Option<Type<'a>> {
        if let Some(rest) = text.strip_prefix('*') {
            let rest = ["global ", "shared ", "local ", "constant "].iter().find_map(|s| rest.strip_prefix(s)).unwrap_or(rest);
            let (constant, rest) = rest.strip_prefix("const ").map_or((false, rest), |rest| (true, rest));
            let to = if rest == "void" { None } else { Some(Box::new(self.find(rest)?)) };
            return Some(Type::Pointer { constant: constant || text.starts_with("*constant "), to });
        }
        if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let (element, length) = inside.rsplit_once("; ")?;
            return Some(Type::Array(Box::new(self.find(element)?), length.parse().ok()?));
        }
        // a structure may have the name of a built-in type that it hides
        if let Some(found) = self.0.structs.iter().find(|found| found.name == text) {
            return Some(Type::Struct(found));
        }
        if let Some(found) = self.0.enums.iter().find(|found| found.name == text) {
            return Some(Type::Enum(found));
        }
        match text {
            "cudaError_t" => return Some(Type::Error),
            "cudaTextureObject_t" | "cudaSurfaceObject_t" | "cudaStream_t" | "cudaEvent_t" => return Some(Type::Handle),
            _ => {}
        }
        if let Some(scalar) = Scalar::of(text) {
            return Some(Type::Scalar(scalar));
        }
        let vector = self.0.vectors.iter().find(|vector| vector.ty == text)?;
        let (element, lanes) = text.rsplit_once('x')?;
        let lanes = lanes.parse().ok().filter(|lanes| (2..=4).contains(lanes))?;
        Some(Type::Vector(vector, Scalar::of(element)?, lanes))
    }
}

impl Type<'_> {
    /// The innermost element of arrays in arrays, and all lengths, the outermost first.
    pub fn flat(&self) -> (&Self, Vec<u64>) {
        let (mut element, mut lengths) = (self, Vec::new());
        while let Type::Array(inner, length) = element {
            lengths.push(*length);
            element = inner;
        }
        (element, lengths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_they_are_written() {
        let pair = Struct { name: "Pair::[[u8; 2]]".into(), ..Struct::default() };
        let vectors = vec![Vector { ty: "bf16x3".into(), size: 6, align: 2 }];
        let manifest = Manifest { structs: vec![pair], vectors, ..Manifest::default() };
        let vector = &manifest.vectors[0];
        let pair = Type::Struct(&manifest.structs[0]);
        let read = |text: &str| Types(&manifest).find(text);
        let f32 = Type::Scalar(Scalar::F32);
        let pointer = |constant, to: Type<'static>| Type::Pointer { constant, to: Some(Box::new(to)) };
        assert_eq!(read("f32"), Some(f32.clone()));
        assert_eq!(read("bf16x3"), Some(Type::Vector(vector, Scalar::Bf16, 3)));
        assert_eq!(read("*void"), Some(Type::Pointer { constant: false, to: None }));
        assert_eq!(read("*global const f32"), Some(pointer(true, f32.clone())));
        assert_eq!(read("*constant f32"), Some(pointer(true, f32.clone())));
        assert_eq!(read("**global f32"), Some(pointer(false, pointer(false, f32))));
        assert_eq!(read("[Pair::[[u8; 2]]; 3]"), Some(Type::Array(Box::new(pair), 3)));
        assert_eq!((read("[[i8; 2]; 3]").unwrap().flat().1, read("Pair"), read("i32x5")), (vec![3, 2], None, None));
    }
}
