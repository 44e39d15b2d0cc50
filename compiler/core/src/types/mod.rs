//! The types of the language, interned; and their layout in memory.
//!
//! - [`Type`] and [`TypeTable`]: what types there are. A [`TypeId`] is equal exactly when the types are.
//! - [`layout`]: size, alignment and offsets; one function serves kernels, launches, hosts, executor and bindings.
//! - `display`: types as the user writes them.
//! - [`Predeclared`]: structures of the CUDA runtime.

mod display;
pub mod layout;
mod predeclared;

pub use predeclared::Predeclared;

use crate::builtins::CudaEnum;
use crate::source::Span;
use layout::{Layout, PointerWidth};
use std::collections::HashMap;

/// Most blocks of a cluster: what every GPU with clusters can have (CUDA programming guide, "portable cluster size").
pub const MAX_CLUSTER: u32 = 8;

/// An interned [`Type`] of one [`TypeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

/// A structure of one [`TypeTable`]. `StructId(0)` is `dim3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StructId(pub u32);

/// An enumeration of one [`TypeTable`]. The first ones are those of [`CudaEnum::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumId(pub u32);

/// The integer types.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Int {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

/// The floating-point types: IEEE binary16, bfloat16, binary32, binary64.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Float {
    F16,
    Bf16,
    F32,
    F64,
}

/// The elements that vectors are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// An integer.
    Int(Int),
    /// A floating-point number.
    Float(Float),
}

/// Where a pointer points (CUDA programming guide 4.18.3; PTX state spaces).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Any of the others; resolved when it is used.
    Generic,
    /// Device memory; the only space that a child grid may be given.
    Global,
    /// A thread block's own memory.
    Shared,
    /// A thread's own memory.
    Local,
    /// Read-only memory, the same for every grid.
    Constant,
}

/// What a value can be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// No value: the result of a function without one. As a pointee it is `void`: any bytes.
    Void,
    /// `true` or `false`; one byte in memory.
    Bool,
    /// An integer.
    Int(Int),
    /// A floating-point number.
    Float(Float),
    /// Two to four elements with CUDA's size and alignment.
    Vector {
        /// The element.
        element: Scalar,
        /// 2, 3 or 4.
        lanes: u8,
    },
    /// An address.
    Pointer {
        /// Where it points.
        space: Space,
        /// What lies there.
        pointee: TypeId,
        /// The pointee may not be written through it.
        constant: bool,
        /// Every access through it happens, as written.
        volatile: bool,
    },
    /// `[T; N]`
    Array {
        /// The element.
        element: TypeId,
        /// How many.
        len: u64,
    },
    /// `[T]`, the type of dynamic shared memory; its length is known at launch only.
    Unsized {
        /// The element.
        element: TypeId,
    },
    /// A structure with C layout.
    Struct(StructId),
    /// An integer-valued enumeration.
    Enum(EnumId),
    /// `cudaError_t`: a 32-bit signed integer.
    CudaError,
    /// `cudaStream_t`: an opaque handle, as wide as a pointer.
    Stream,
    /// `cudaEvent_t`: an opaque handle, as wide as a pointer.
    Event,
    /// `cudaTextureObject_t`: 64 bits on every target.
    Texture,
    /// `cudaSurfaceObject_t`: 64 bits on every target.
    Surface,
    /// `cudaArray_t`: an opaque handle of the host, as wide as a pointer.
    CudaArray,
    /// A string literal or what `cudaGetErrorString` returns: only printed.
    Str,
    /// Stands where an error was reported; silences errors that would follow from it.
    Poison,
}

impl Type {
    /// Whether values are addresses, or handles that are as opaque: they are compared, and converted to integers of 64 bits and back.
    #[must_use]
    pub const fn is_address(&self) -> bool {
        matches!(self, Self::Pointer { .. } | Self::Stream | Self::Event | Self::Texture | Self::Surface | Self::CudaArray)
    }
}

/// A field of a [`StructDef`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Alignment asked for by `@align(n)`, in bytes; 0 for the type's own.
    pub align: u32,
    /// Where it was declared.
    pub span: Span,
}

/// A structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructDef {
    /// Its name, with the arguments for an instance of a generic one.
    pub name: String,
    /// In order of declaration.
    pub fields: Vec<Field>,
    /// Alignment asked for by `@align(n)`, in bytes; 0 for the fields' own.
    pub align: u32,
    /// Where it was declared.
    pub span: Span,
}

/// An enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumDef {
    /// Its name.
    pub name: String,
    /// What it is stored as.
    pub repr: Int,
    /// Names and values (bit patterns of `repr`), in order of declaration.
    pub variants: Vec<(String, u64)>,
    /// Where it was declared.
    pub span: Span,
}

/// Every type of a program.
#[derive(Clone, Debug)]
pub struct TypeTable {
    types: Vec<Type>,
    ids: HashMap<Type, TypeId>,
    structs: Vec<StructDef>,
    sealed: Vec<Option<Sealed>>,
    enums: Vec<EnumDef>,
}

/// What follows from a structure's fields.
#[derive(Clone, Debug)]
struct Sealed {
    /// For 32-bit and 64-bit pointers.
    layouts: [Layout; 2],
    depth: u32,
    parts: u64,
}

macro_rules! well_known {
    ($($(#[$doc:meta])* $name:ident = $index:literal $value:expr;)*) => {
        /// Types that every table has, at fixed places.
        impl TypeTable {
            $($(#[$doc])* pub const $name: TypeId = TypeId($index);)*

            fn well_known() -> Vec<Type> {
                let mut types = vec![$($value,)*];
                types.extend(CudaEnum::ALL.iter().skip(1).map(|found| Type::Enum(found.id())));
                types
            }
        }
    };
}

well_known! {
    /// [`Type::Void`]
    VOID = 0 Type::Void;
    /// [`Type::Poison`]
    POISON = 1 Type::Poison;
    /// `bool`
    BOOL = 2 Type::Bool;
    /// `i8`
    I8 = 3 Type::Int(Int::I8);
    /// `i16`
    I16 = 4 Type::Int(Int::I16);
    /// `i32`
    I32 = 5 Type::Int(Int::I32);
    /// `i64`
    I64 = 6 Type::Int(Int::I64);
    /// `u8`
    U8 = 7 Type::Int(Int::U8);
    /// `u16`
    U16 = 8 Type::Int(Int::U16);
    /// `u32`
    U32 = 9 Type::Int(Int::U32);
    /// `u64`
    U64 = 10 Type::Int(Int::U64);
    /// `f16`
    F16 = 11 Type::Float(Float::F16);
    /// `bf16`
    BF16 = 12 Type::Float(Float::Bf16);
    /// `f32`
    F32 = 13 Type::Float(Float::F32);
    /// `f64`
    F64 = 14 Type::Float(Float::F64);
    /// `cudaError_t`
    CUDA_ERROR = 15 Type::CudaError;
    /// `cudaStream_t`
    STREAM = 16 Type::Stream;
    /// `cudaEvent_t`
    EVENT = 17 Type::Event;
    /// `cudaTextureObject_t`
    TEXTURE = 18 Type::Texture;
    /// `cudaSurfaceObject_t`
    SURFACE = 19 Type::Surface;
    /// A string
    STR = 20 Type::Str;
    /// `dim3`
    DIM3 = 21 Type::Struct(StructId(0));
    /// Generic pointer to bytes of any type, `*void`
    VOID_POINTER = 22 Type::Pointer { space: Space::Generic, pointee: TypeTable::VOID, constant: false, volatile: false };
    /// `cudaArray_t`
    CUDA_ARRAY = 23 Type::CudaArray;
    /// The first of [`CudaEnum::ALL`], whose types follow each other
    CUDA_ENUMS = 24 Type::Enum(EnumId(0));
}

/// Built-in types that are neither numbers, nor vectors, nor enumerations, nor structures whose fields CUDA names.
pub(crate) const NAMED: [(&str, TypeId); 9] = [
    ("void", TypeTable::VOID),
    ("bool", TypeTable::BOOL),
    ("dim3", TypeTable::DIM3),
    ("cudaError_t", TypeTable::CUDA_ERROR),
    ("cudaStream_t", TypeTable::STREAM),
    ("cudaEvent_t", TypeTable::EVENT),
    ("cudaTextureObject_t", TypeTable::TEXTURE),
    ("cudaSurfaceObject_t", TypeTable::SURFACE),
    ("cudaArray_t", TypeTable::CUDA_ARRAY),
];

impl Default for TypeTable {
    fn default() -> Self {
        let types = Self::well_known();
        let ids = types.iter().enumerate().map(|(i, t)| (t.clone(), TypeId(index32(i)))).collect();
        let field = |name: &str| Field { name: name.to_owned(), ty: Self::U32, align: 0, span: Span::default() };
        let dim3 = StructDef {
            name: "dim3".to_owned(),
            fields: vec![field("x"), field("y"), field("z")],
            align: 0,
            span: Span::default(),
        };
        Self {
            types,
            ids,
            structs: vec![dim3],
            sealed: Vec::new(),
            enums: CudaEnum::ALL.iter().map(|found| found.definition()).collect(),
        }
    }
}

impl TypeTable {
    /// A table with the built-in types.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The id of a type.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        if let Some(id) = self.ids.get(&ty) {
            return *id;
        }
        let id = TypeId(index32(self.types.len()));
        self.types.push(ty.clone());
        self.ids.insert(ty, id);
        id
    }

    /// The type with this id; [`Type::Poison`] for an id of another table.
    #[must_use]
    pub fn get(&self, id: TypeId) -> &Type {
        self.types.get(id.0 as usize).unwrap_or(&Type::Poison)
    }

    /// How many types there are; every id below it is valid.
    #[must_use]
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Never: the built-in types are always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// `*space T` or `*space const T`.
    pub fn pointer(&mut self, space: Space, pointee: TypeId, constant: bool) -> TypeId {
        self.intern(Type::Pointer { space, pointee, constant, volatile: false })
    }

    /// As [`TypeTable::pointer`], with `volatile` where asked for: `*space const volatile T`.
    pub fn qualified_pointer(&mut self, space: Space, pointee: TypeId, constant: bool, volatile: bool) -> TypeId {
        self.intern(Type::Pointer { space, pointee, constant, volatile })
    }

    /// `[T; len]`
    pub fn array(&mut self, element: TypeId, len: u64) -> TypeId {
        self.intern(Type::Array { element, len })
    }

    /// Adds a structure; its fields may be filled in later through [`TypeTable::struct_mut`].
    pub fn add_struct(&mut self, def: StructDef) -> StructId {
        self.structs.push(def);
        StructId(index32(self.structs.len() - 1))
    }

    /// The structure; none for an id of another table.
    #[must_use]
    pub fn struct_def(&self, id: StructId) -> Option<&StructDef> {
        self.structs.get(id.0 as usize)
    }

    /// The structure, to be filled in.
    pub fn struct_mut(&mut self, id: StructId) -> Option<&mut StructDef> {
        self.structs.get_mut(id.0 as usize)
    }

    /// Every structure, `dim3` first.
    #[must_use]
    pub fn structs(&self) -> &[StructDef] {
        &self.structs
    }

    /// Adds an enumeration.
    pub fn add_enum(&mut self, def: EnumDef) -> EnumId {
        self.enums.push(def);
        EnumId(index32(self.enums.len() - 1))
    }

    /// The enumeration; none for an id of another table.
    #[must_use]
    pub fn enum_def(&self, id: EnumId) -> Option<&EnumDef> {
        self.enums.get(id.0 as usize)
    }

    /// The enumeration, to be filled in.
    pub fn enum_mut(&mut self, id: EnumId) -> Option<&mut EnumDef> {
        self.enums.get_mut(id.0 as usize)
    }

    /// Every enumeration.
    #[must_use]
    pub fn enums(&self) -> &[EnumDef] {
        &self.enums
    }

    /// The type of field `index` of a structure, lane `index` of a vector, or any element of an array.
    #[must_use]
    pub fn element(&self, ty: TypeId, index: u32) -> Option<TypeId> {
        match self.get(ty) {
            Type::Struct(id) => self.struct_def(*id)?.fields.get(index as usize).map(|field| field.ty),
            Type::Vector { element, lanes } if index < u32::from(*lanes) => Some(Self::scalar(*element)),
            Type::Array { element, .. } | Type::Unsized { element } => Some(*element),
            _ => None,
        }
    }

    /// What a pointer points at: space, pointee and whether it is `const`.
    #[must_use]
    pub fn pointee(&self, ty: TypeId) -> Option<(Space, TypeId, bool)> {
        match self.get(ty) {
            Type::Pointer { space, pointee, constant, .. } => Some((*space, *pointee, *constant)),
            _ => None,
        }
    }

    /// Whether it is a pointer to `volatile`.
    #[must_use]
    pub fn is_volatile(&self, ty: TypeId) -> bool {
        matches!(self.get(ty), Type::Pointer { volatile: true, .. })
    }

    /// Remembers what follows from a structure's fields, after they are all there: walking them anew each time would take time
    /// exponential in the nesting of types. The structures inside are sealed first.
    pub fn seal(&mut self, id: StructId) {
        if self.sealed(id).is_some() {
            return;
        }
        let inside: Vec<StructId> = match self.struct_def(id) {
            Some(def) => {
                def.fields.iter().filter_map(|field| self.struct_inside(field.ty)).filter(|inner| *inner != id).collect()
            }
            None => return,
        };
        for inner in inside {
            self.seal(inner);
        }
        let Some(def) = self.structs.get(id.0 as usize) else { return };
        let sealed = Sealed {
            layouts: [PointerWidth::W32, PointerWidth::W64].map(|width| self.struct_layout(def, width).0),
            depth: 1 + def.fields.iter().map(|field| self.depth(field.ty)).max().unwrap_or(0),
            parts: def.fields.iter().fold(0, |sum: u64, field| sum.saturating_add(self.parts(field.ty))),
        };
        let index = id.0 as usize;
        if self.sealed.len() <= index {
            self.sealed.resize(index + 1, None);
        }
        if let Some(slot) = self.sealed.get_mut(index) {
            *slot = Some(sealed);
        }
    }

    /// The structure that a value is, or that an array's elements are.
    fn struct_inside(&self, mut ty: TypeId) -> Option<StructId> {
        while let Type::Array { element, .. } | Type::Unsized { element } = self.get(ty) {
            ty = *element;
        }
        match self.get(ty) {
            Type::Struct(id) => Some(*id),
            _ => None,
        }
    }

    fn sealed(&self, id: StructId) -> Option<&Sealed> {
        self.sealed.get(id.0 as usize)?.as_ref()
    }

    /// How many pointers, arrays and structures lie in each other; what a pointer to a structure points at does not count.
    #[must_use]
    pub fn depth(&self, mut ty: TypeId) -> u32 {
        let mut depth = 0;
        loop {
            ty = match self.get(ty) {
                Type::Pointer { pointee, .. } if matches!(self.get(*pointee), Type::Struct(_)) => return depth + 1,
                Type::Pointer { pointee: inner, .. }
                | Type::Array { element: inner, .. }
                | Type::Unsized { element: inner } => *inner,
                Type::Struct(id) => return depth + self.sealed(*id).map_or(1, |sealed| sealed.depth),
                _ => return depth,
            };
            depth += 1;
        }
    }

    /// How many scalars a value is made of, where an array counts as one element.
    #[must_use]
    pub fn parts(&self, mut ty: TypeId) -> u64 {
        while let Type::Array { element, .. } | Type::Unsized { element } = self.get(ty) {
            ty = *element;
        }
        match self.get(ty) {
            Type::Struct(id) => self.sealed(*id).map_or(1, |sealed| sealed.parts),
            _ => 1,
        }
    }

    /// Whether a value of type `ty` has a part, itself included, for which `is_wanted` says so. Pointers are not followed.
    #[must_use]
    pub fn has_part(&self, ty: TypeId, is_wanted: &mut dyn FnMut(TypeId) -> bool) -> bool {
        let mut seen = std::collections::HashSet::new();
        let mut waiting = vec![ty];
        while let Some(ty) = waiting.pop() {
            if !seen.insert(ty) {
                continue;
            }
            if is_wanted(ty) {
                return true;
            }
            match self.get(ty) {
                Type::Array { element, .. } | Type::Unsized { element } => waiting.push(*element),
                Type::Struct(id) => {
                    let fields = self.struct_def(*id).map(|def| def.fields.as_slice()).unwrap_or_default();
                    waiting.extend(fields.iter().map(|field| field.ty));
                }
                _ => {}
            }
        }
        false
    }

    /// The integer that a value is computed with: integers themselves, `bool` as `u8`, enumerations, `cudaError_t` as `i32`.
    #[must_use]
    pub fn as_int(&self, ty: TypeId) -> Option<Int> {
        match self.get(ty) {
            Type::Int(int) => Some(*int),
            Type::Bool => Some(Int::U8),
            Type::CudaError => Some(Int::I32),
            Type::Enum(id) => self.enum_def(*id).map(|def| def.repr),
            _ => None,
        }
    }

    /// The floating-point type, if it is one.
    #[must_use]
    pub fn as_float(&self, ty: TypeId) -> Option<Float> {
        match self.get(ty) {
            Type::Float(float) => Some(*float),
            _ => None,
        }
    }

    /// The id of an integer type.
    #[must_use]
    pub const fn int(int: Int) -> TypeId {
        match int {
            Int::I8 => Self::I8,
            Int::I16 => Self::I16,
            Int::I32 => Self::I32,
            Int::I64 => Self::I64,
            Int::U8 => Self::U8,
            Int::U16 => Self::U16,
            Int::U32 => Self::U32,
            Int::U64 => Self::U64,
        }
    }

    /// The id of a floating-point type.
    #[must_use]
    pub const fn float(float: Float) -> TypeId {
        match float {
            Float::F16 => Self::F16,
            Float::Bf16 => Self::BF16,
            Float::F32 => Self::F32,
            Float::F64 => Self::F64,
        }
    }

    /// The id of a vector element's type.
    #[must_use]
    pub const fn scalar(scalar: Scalar) -> TypeId {
        match scalar {
            Scalar::Int(int) => Self::int(int),
            Scalar::Float(float) => Self::float(float),
        }
    }
}

impl Int {
    /// All of them.
    pub const ALL: [Self; 8] = [Self::I8, Self::I16, Self::I32, Self::I64, Self::U8, Self::U16, Self::U32, Self::U64];

    /// Width in bits: 8, 16, 32 or 64.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::I8 | Self::U8 => 8,
            Self::I16 | Self::U16 => 16,
            Self::I32 | Self::U32 => 32,
            Self::I64 | Self::U64 => 64,
        }
    }

    /// Whether it has a sign.
    #[must_use]
    pub const fn signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// The language's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
        }
    }

    /// The smallest and the largest value.
    #[must_use]
    pub const fn range(self) -> (i128, i128) {
        let bits = self.bits();
        if self.signed() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) }
    }

    /// The value of a bit pattern of this type.
    #[must_use]
    pub const fn value(self, bits: u64) -> i128 {
        let unused = 64 - self.bits();
        if self.signed() { ((bits << unused).cast_signed() >> unused) as i128 } else { ((bits << unused) >> unused) as i128 }
    }

    /// The bit pattern of a value, wrapped to this type's width; upper bits are zero.
    #[must_use]
    pub const fn wrap(self, value: i128) -> u64 {
        (value.cast_unsigned() as u64) & (u64::MAX >> (64 - self.bits()))
    }
}

impl Float {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::F16, Self::Bf16, Self::F32, Self::F64];

    /// Width in bits: 16, 32 or 64.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::F16 | Self::Bf16 => 16,
            Self::F32 => 32,
            Self::F64 => 64,
        }
    }

    /// The language's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The value of a bit pattern of this type; exact.
    #[must_use]
    pub fn value(self, bits: u64) -> f64 {
        match self {
            Self::F16 => half::f16::from_bits(bits as u16).to_f64(),
            Self::Bf16 => half::bf16::from_bits(bits as u16).to_f64(),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
        }
    }

    /// The bit pattern nearest to a value, ties to even, in one rounding.
    #[must_use]
    pub fn round(self, value: f64) -> u64 {
        crate::ir::eval::round(self, value)
    }
}

impl Scalar {
    /// The number type that the language calls so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let int = Int::ALL.into_iter().find(|int| int.name() == name).map(Self::Int);
        int.or_else(|| Float::ALL.into_iter().find(|float| float.name() == name).map(Self::Float))
    }

    /// Width in bits: 8 to 64.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Int(int) => int.bits(),
            Self::Float(float) => float.bits(),
        }
    }
}

impl Space {
    /// The language's name; empty for generic.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generic => "",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Constant => "constant",
        }
    }
}

fn index32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
