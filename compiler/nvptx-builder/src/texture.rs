//! Textures and surfaces by object: PTX's unified mode, where an object says what it is and how it is filtered.

use crate::error::shape;
use crate::{Body, Error, Type, Value};

/// What an element of 32 bits is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texel {
    /// `f32`
    Float,
    /// `s32`
    Signed,
    /// `u32`
    Unsigned,
}

impl<'c> Body<'_, 'c> {
    /// The four components at a place of a texture. Coordinates are 1 to 3, all of 32 bits: floats, or integers for an index into linear
    /// memory.
    ///
    /// # Errors
    /// [`Error::Shape`] for coordinates that no texture has.
    pub fn texture_fetch(&self, texel: Texel, object: Value<'c>, coordinates: &[Value<'c>]) -> Result<Vec<Value<'c>>, Error> {
        let element = match texel {
            Texel::Float => "f32",
            Texel::Signed => "s32",
            Texel::Unsigned => "u32",
        };
        let coordinate = match coordinates.first() {
            Some(Value::FloatValue(_)) => "f32",
            _ => "s32",
        };
        let name = format!("llvm.nvvm.tex.unified.{}d.v4{element}.{coordinate}", coordinates.len());
        let fetched = self.intrinsic_value(&name, &[], &with(object, coordinates))?;
        (0..4).map(|index| self.extract(fetched, index)).collect()
    }

    /// 1, 2 or 4 elements at a place of a surface; outside of it the grid traps. The first coordinate is in bytes; all are `i32`.
    ///
    /// # Errors
    /// [`Error::Shape`] for coordinates or lanes that no surface has.
    pub fn surface_read(
        &self,
        texel: Texel,
        lanes: u32,
        object: Value<'c>,
        coordinates: &[Value<'c>],
    ) -> Result<Vec<Value<'c>>, Error> {
        let name = format!("llvm.nvvm.suld.{}d.{}.trap", coordinates.len(), words(lanes)?);
        let read = self.intrinsic_value(&name, &[], &with(object, coordinates))?;
        let parts = (0..lanes).map(|index| {
            let part = if lanes == 1 { read } else { self.extract(read, index)? };
            self.bits_as(part, if texel == Texel::Float { self.module.float().into() } else { self.module.int(32)?.into() })
        });
        parts.collect()
    }

    /// Writes 1, 2 or 4 elements at a place of a surface; outside of it the grid traps. Coordinates as for a read.
    ///
    /// # Errors
    /// [`Error::Shape`] for coordinates or elements that no surface has.
    pub fn surface_write(&self, object: Value<'c>, coordinates: &[Value<'c>], parts: &[Value<'c>]) -> Result<(), Error> {
        let lanes = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let name = format!("llvm.nvvm.sust.b.{}d.{}.trap", coordinates.len(), words(lanes)?);
        let mut args = with(object, coordinates);
        let word: Type<'c> = self.module.int(32)?.into();
        for part in parts {
            args.push(self.bits_as(*part, word)?);
        }
        self.intrinsic(&name, &[], &args).map(|_| ())
    }
}

fn with<'c>(object: Value<'c>, coordinates: &[Value<'c>]) -> Vec<Value<'c>> {
    std::iter::once(object).chain(coordinates.iter().copied()).collect()
}

fn words(lanes: u32) -> Result<&'static str, Error> {
    match lanes {
        1 => Ok("i32"),
        2 => Ok("v2i32"),
        4 => Ok("v4i32"),
        _ => shape(format!("{lanes} elements of a surface")),
    }
}
