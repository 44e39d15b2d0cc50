//! Fetches from textures, reads and writes of surfaces.

use crate::Error;
use crate::function::Emit;
use cdp_core::builtins::{TexelAccess, TexelChoice, TextureOp};
use cdp_core::ir::{LocalId, Operand};
use cdp_core::source::Span;
use cdp_core::types::{Scalar, TypeId};
use nvptx_builder::{Boundary, Lookup, Texel, Value};

impl<'c> Emit<'_, '_, 'c> {
    /// `dst = op(object, coordinates, …)`; the operands are those of [`TextureOp`].
    pub fn texture(&mut self, dst: Option<LocalId>, op: TextureOp, args: &[Operand], span: Span) -> Result<(), Error> {
        let emitter = self.emitter;
        let malformed = |what: &str| emitter.malformed(format!("{what} of `{}`", op.name()), span);
        let Some((places, rest)) = args.split_at_checked(1 + op.coordinates()).filter(|_| args.len() == op.operands()) else {
            return malformed("operands");
        };
        let [object, coordinates @ ..] = places else { return malformed("operands") };
        let object = self.value(object, span)?;
        let coordinates = coordinates.iter().map(|at| self.value(at, span)).collect::<Result<Vec<_>, _>>()?;
        let chosen = match (op.choice(), rest) {
            (Some(_), [.., chosen]) => chosen.as_bits().and_then(|bits| u32::try_from(bits).ok()),
            _ => None,
        };
        let lookup = Lookup { object, coordinates: &coordinates, layered: op.is_layered() };
        let boundary = match (op.choice(), chosen) {
            (Some(TexelChoice::Boundary), Some(mode)) => Boundary::from_cuda(mode),
            _ => None,
        };
        if op.is_write() {
            let ([value, _], Some(boundary)) = (rest, boundary) else { return malformed("operands") };
            let (element, lanes) = self.texel(op, self.type_of(value), span)?;
            let value = self.value(value, span)?;
            let parts = (0..lanes).map(|lane| if lanes == 1 { Ok(value) } else { self.body.extract(value, lane) });
            let parts = parts.collect::<Result<Vec<Value<'c>>, _>>()?;
            return Ok(self.body.surface_write(element.bits(), &lookup, &parts, boundary)?);
        }
        let Some(ty) = dst.map(|dst| self.ir.local_type(dst)) else { return malformed("the result") };
        let (element, lanes) = self.texel(op, ty, span)?;
        let parts = match (op.access(), chosen, boundary) {
            (TexelAccess::Fetch | TexelAccess::Sample, ..) => self.body.texture_fetch(texel(element), &lookup)?,
            (TexelAccess::Gather, Some(component), _) => self.body.texture_gather(texel(element), &lookup, component)?,
            (_, _, Some(boundary)) => self.body.surface_read(element.bits(), lanes, &lookup, boundary)?,
            _ => return malformed("operands"),
        };
        let element = emitter.scalar_type(element)?;
        let parts = parts.into_iter().map(|part| self.body.texel_as(part, element)).collect::<Result<Vec<_>, _>>()?;
        let value = match parts.as_slice() {
            [first, ..] if lanes == 1 => *first,
            parts => {
                let mut vector = emitter.builder.zero(emitter.register_type(ty, span)?);
                for (lane, part) in (0..lanes).zip(parts) {
                    vector = self.body.insert(vector, *part, lane)?;
                }
                vector
            }
        };
        self.set_result(dst, value, span)
    }

    fn texel(&self, op: TextureOp, ty: TypeId, span: Span) -> Result<(Scalar, u32), Error> {
        let types = &self.emitter.ir.types;
        match types.texel(ty) {
            Some((element, lanes)) => Ok((element, u32::from(lanes))),
            None => self.emitter.malformed(format!("`{}` of `{}`", op.name(), types.display(ty)), span),
        }
    }
}

/// What a texture gives for an element of this type: 32 bits, of which narrower elements are a part.
fn texel(element: Scalar) -> Texel {
    match element {
        Scalar::Float(_) => Texel::Float,
        Scalar::Int(int) if int.signed() => Texel::Signed,
        Scalar::Int(_) => Texel::Unsigned,
    }
}
