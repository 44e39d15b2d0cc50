//! Constants as bytes of a frame.

use super::{Decoder, Strings, WIDTH, index32};
use crate::program::literal;
use cdp_core::ir::{Const, ConstValue};
use cdp_core::types::{Type, TypeId, TypeTable};

/// Appends the value's bytes, as many as its type has.
pub(super) fn bytes(types: &TypeTable, ty: TypeId, value: &ConstValue, strings: &mut Strings, out: &mut Vec<u8>) {
    let size = usize::try_from(types.layout(ty, WIDTH).size).unwrap_or(0);
    let start = out.len();
    match value {
        ConstValue::Bits(bits) => out.extend(bits.to_le_bytes().iter().take(size)),
        ConstValue::Str(text) => out.extend(literal(strings.id(text)).to_le_bytes()),
        ConstValue::Zero => {}
        ConstValue::Aggregate(elements) => {
            for (element, index) in elements.iter().zip(0u64..) {
                let Some(offset) = types.element_offset(ty, index, WIDTH) else { break };
                let place = if matches!(types.get(ty), Type::Array { .. }) { 0 } else { index32(index as usize) };
                let Some(element_ty) = types.element(ty, place) else { break };
                out.resize(start + usize::try_from(offset).unwrap_or(0), 0);
                bytes(types, element_ty, element, strings, out);
            }
        }
    }
    out.resize(start + size, 0);
}

impl Decoder<'_> {
    /// Where a constant lies in the frame.
    pub(super) fn constant(&mut self, constant: &Const) -> u32 {
        let layout = self.module.types.layout(constant.ty, WIDTH);
        let mut value = Vec::new();
        bytes(&self.module.types, constant.ty, &constant.value, self.strings, &mut value);
        self.constant_bytes(value, layout.align)
    }

    /// Where these bytes lie in the frame.
    pub(super) fn constant_bytes(&mut self, value: Vec<u8>, align: u32) -> u32 {
        let key = (value, align);
        if let Some(offset) = self.constants.get(&key) {
            return *offset;
        }
        let offset = self.scratch(index32(key.0.len()), align);
        for (to, from) in self.code.template.iter_mut().skip(offset as usize).zip(&key.0) {
            *to = *from;
        }
        self.constants.insert(key, offset);
        offset
    }
}
