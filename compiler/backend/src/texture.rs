//! Fetches from textures, reads and writes of surfaces.

use crate::Error;
use crate::function::Emit;
use cdp_core::builtins::TextureOp;
use cdp_core::ir::{LocalId, Operand};
use cdp_core::source::Span;
use cdp_core::types::{Float, Int, Scalar};
use nvptx_builder::{Texel, Value};

impl<'c> Emit<'_, '_, 'c> {
    /// `dst = op(object, coordinates)`, or `op(object, coordinates, value)` for a write.
    pub fn texture(&mut self, dst: Option<LocalId>, op: TextureOp, args: &[Operand], span: Span) -> Result<(), Error> {
        let emitter = self.emitter;
        let (operands, written) = args.split_at(args.len().min(1 + op.coordinates()));
        let [object, coordinates @ ..] = operands else {
            return emitter.malformed(format!("operands of `{}`", op.name()), span);
        };
        let object = self.value(object, span)?;
        let coordinates = coordinates.iter().map(|at| self.value(at, span)).collect::<Result<Vec<_>, _>>()?;
        let ty = match (dst, written) {
            (Some(dst), []) if !op.is_write() => self.ir.local_type(dst),
            (None, [value]) if op.is_write() => self.type_of(value),
            _ => return emitter.malformed(format!("the result of `{}`", op.name()), span),
        };
        let Some((element, lanes)) = emitter.ir.types.texel(ty) else {
            return emitter.malformed(format!("`{}` of `{}`", op.name(), emitter.ir.types.display(ty)), span);
        };
        let texel = match element {
            Scalar::Float(Float::F32) => Texel::Float,
            Scalar::Int(Int::U32) => Texel::Unsigned,
            _ => Texel::Signed,
        };
        let lanes = u32::from(lanes);
        if let [value] = written {
            let value = self.value(value, span)?;
            let parts = (0..lanes).map(|lane| if lanes == 1 { Ok(value) } else { self.body.extract(value, lane) });
            let parts = parts.collect::<Result<Vec<Value<'c>>, _>>()?;
            return Ok(self.body.surface_write(object, &coordinates, &parts)?);
        }
        let parts = match op {
            TextureOp::Fetch1D | TextureOp::Texture1D | TextureOp::Texture2D | TextureOp::Texture3D => {
                self.body.texture_fetch(texel, object, &coordinates)?
            }
            _ => self.body.surface_read(texel, lanes, object, &coordinates)?,
        };
        let value = match parts.as_slice() {
            [only] => *only,
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
}
