//! Textures and surfaces by object: PTX's unified mode, where an object says what it is and how it is filtered.

use crate::error::shape;
use crate::{Body, Error, Type, Value};

/// What the 32 bits that a texture gives for each component are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texel {
    /// `f32`
    Float,
    /// `s32`
    Signed,
    /// `u32`
    Unsigned,
}

impl Texel {
    const fn name(self) -> &'static str {
        match self {
            Self::Float => "f32",
            Self::Signed => "s32",
            Self::Unsigned => "u32",
        }
    }
}

/// What an access outside of a surface does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// Reads give zero, writes do nothing.
    Zero,
    /// The nearest element is meant.
    Clamp,
    /// The grid ends with an error.
    Trap,
}

impl Boundary {
    /// By the numbers of `cudaSurfaceBoundaryMode`.
    #[must_use]
    pub const fn from_cuda(mode: u32) -> Option<Self> {
        match mode {
            0 => Some(Self::Zero),
            1 => Some(Self::Clamp),
            2 => Some(Self::Trap),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Clamp => "clamp",
            Self::Trap => "trap",
        }
    }
}

/// A place in a texture or surface.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a, 'c> {
    /// The object, 64 bits.
    pub object: Value<'c>,
    /// One for each dimension, all of 32 bits: floats, or integers for a surface and for an index into linear memory. Behind them, where there
    /// are layers, the layer, an integer.
    pub coordinates: &'a [Value<'c>],
    /// Whether the last coordinate is a layer.
    pub layered: bool,
}

impl<'c> Lookup<'_, 'c> {
    /// `2d`, `2d.array`.
    fn geometry(&self) -> String {
        let dimensions = self.coordinates.len() - usize::from(self.layered);
        format!("{dimensions}d{}", if self.layered { ".array" } else { "" })
    }

    /// As PTX orders them: the object, the layer, the coordinates.
    fn operands(&self) -> Vec<Value<'c>> {
        let mut operands = vec![self.object];
        operands.extend(self.coordinates);
        if self.layered
            && let Some(coordinates) = operands.get_mut(1..)
            && !coordinates.is_empty()
        {
            coordinates.rotate_right(1);
        }
        operands
    }
}

impl<'c> Body<'_, 'c> {
    /// The four components at a place of a texture.
    ///
    /// # Errors
    /// [`Error::Shape`] for coordinates that no texture has.
    pub fn texture_fetch(&self, texel: Texel, place: &Lookup<'_, 'c>) -> Result<Vec<Value<'c>>, Error> {
        let coordinate = match place.coordinates.first() {
            Some(Value::FloatValue(_)) => "f32",
            _ => "s32",
        };
        let name = format!("llvm.nvvm.tex.unified.{}.v4{}.{coordinate}", place.geometry(), texel.name());
        self.four(&name, place)
    }

    /// One component, 0 to 3, of the four elements around a place of a texture of two dimensions.
    ///
    /// # Errors
    /// [`Error::Shape`] for coordinates or components that no texture has.
    pub fn texture_gather(&self, texel: Texel, place: &Lookup<'_, 'c>, component: u32) -> Result<Vec<Value<'c>>, Error> {
        let component = match component {
            0 => "r",
            1 => "g",
            2 => "b",
            3 => "a",
            _ => return shape(format!("component {component}")),
        };
        let name = format!("llvm.nvvm.tld4.unified.{component}.{}.v4{}.f32", place.geometry(), texel.name());
        self.four(&name, place)
    }

    fn four(&self, name: &str, place: &Lookup<'_, 'c>) -> Result<Vec<Value<'c>>, Error> {
        let fetched = self.intrinsic_value(name, &[], &place.operands())?;
        (0..4).map(|index| self.extract(fetched, index)).collect()
    }

    /// 1, 2 or 4 elements of 8, 16 or 32 bits at a place of a surface, as integers of at least as many bits. The first coordinate is in bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] for coordinates, bits or lanes that no surface has.
    pub fn surface_read(
        &self,
        bits: u32,
        lanes: u32,
        place: &Lookup<'_, 'c>,
        boundary: Boundary,
    ) -> Result<Vec<Value<'c>>, Error> {
        let name = format!("llvm.nvvm.suld.{}.{}.{}", place.geometry(), words(bits, lanes)?, boundary.name());
        let read = self.intrinsic_value(&name, &[], &place.operands())?;
        (0..lanes).map(|index| if lanes == 1 { Ok(read) } else { self.extract(read, index) }).collect()
    }

    /// Writes 1, 2 or 4 elements of 8, 16 or 32 bits at a place of a surface. Coordinates as for a read.
    ///
    /// # Errors
    /// [`Error::Shape`] for coordinates or elements that no surface has.
    pub fn surface_write(
        &self,
        bits: u32,
        place: &Lookup<'_, 'c>,
        parts: &[Value<'c>],
        boundary: Boundary,
    ) -> Result<(), Error> {
        let lanes = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let name = format!("llvm.nvvm.sust.b.{}.{}.{}", place.geometry(), words(bits, lanes)?, boundary.name());
        let mut args = place.operands();
        // elements of eight bits travel in registers of sixteen, as all of PTX's do
        let (own, register) = (self.module.int(bits)?, self.module.int(bits.max(16))?);
        for part in parts {
            args.push(self.int_cast(self.bits_as(*part, own.into())?, register, false)?);
        }
        self.intrinsic(&name, &[], &args).map(|_| ())
    }

    /// What a texture or surface gave as an element of a type: a part of its bits, or a float that was widened.
    ///
    /// # Errors
    /// [`Error::Shape`] for types of other shapes.
    pub fn texel_as(&self, part: Value<'c>, element: Type<'c>) -> Result<Value<'c>, Error> {
        match (part, element) {
            (Value::FloatValue(_), Type::FloatType(float)) => self.float_cast(part, float),
            (_, Type::IntType(own)) => self.int_cast(part, own, false),
            (_, Type::FloatType(_)) => {
                let bits = if element == self.module.float().into() { 32 } else { 16 };
                self.bits_as(self.int_cast(part, self.module.int(bits)?, false)?, element)
            }
            _ => shape("an element of a texture"),
        }
    }
}

fn words(bits: u32, lanes: u32) -> Result<String, Error> {
    match (bits, lanes) {
        (8 | 16 | 32, 1) => Ok(format!("i{bits}")),
        (8 | 16 | 32, 2 | 4) => Ok(format!("v{lanes}i{bits}")),
        _ => shape(format!("{lanes} elements of {bits} bits of a surface")),
    }
}
