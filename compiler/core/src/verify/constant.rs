//! Constants have the shape of their types.

use super::Verifier;
use crate::ir::{Const, ConstValue};
use crate::types::{Type, TypeId};

impl Verifier<'_> {
    pub(super) fn constant(&mut self, constant: &Const) {
        if self.require_value_type(constant.ty, "a constant") {
            self.constant_value(&constant.value, constant.ty);
        }
    }

    fn constant_value(&mut self, value: &ConstValue, ty: TypeId) {
        let types = &self.module.types;
        match (value, types.get(ty)) {
            (ConstValue::Str(_), Type::Str) => {}
            (ConstValue::Zero, ty) => {
                let fits = !matches!(ty, Type::Str);
                self.require(fits, |_| "a string constant cannot be zero".to_owned());
            }
            (ConstValue::Bits(bits), _) => match self.scalar_bits(ty) {
                Some(width) => {
                    let fits = width == 64 || bits >> width == 0;
                    self.require(fits, |verifier| {
                        format!("constant {bits:#x} does not fit {}", verifier.module.types.display(ty))
                    });
                }
                None => self.error(format!("a constant of type {} is not a bit pattern", types.display(ty))),
            },
            (ConstValue::Aggregate(values), Type::Struct(_) | Type::Vector { .. } | Type::Array { .. }) => {
                let expected = self.element_count(ty);
                if Some(values.len() as u64) != expected {
                    return self.error(format!("constant of type {} has {} elements", types.display(ty), values.len()));
                }
                for (index, value) in (0u32..).zip(values) {
                    if let Some(element) = types.element(ty, index) {
                        self.constant_value(value, element);
                    }
                }
            }
            _ => self.error(format!("constant does not have the shape of {}", types.display(ty))),
        }
    }

    /// How many bits a scalar's bit pattern has; none for other types. Addresses and handles are given with 64.
    pub(super) fn scalar_bits(&self, ty: TypeId) -> Option<u32> {
        let types = &self.module.types;
        match types.get(ty) {
            Type::Bool => Some(1),
            Type::Float(float) => Some(float.bits()),
            address if address.is_address() => Some(64),
            _ => types.as_int(ty).map(crate::types::Int::bits),
        }
    }

    /// How many elements an aggregate has.
    pub(super) fn element_count(&self, ty: TypeId) -> Option<u64> {
        match self.module.types.get(ty) {
            Type::Struct(id) => self.module.types.struct_def(*id).map(|def| def.fields.len() as u64),
            Type::Vector { lanes, .. } => Some(u64::from(*lanes)),
            Type::Array { len, .. } => Some(*len),
            _ => None,
        }
    }
}
