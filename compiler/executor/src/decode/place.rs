//! Places: a part of the frame, or an address that is computed.

use super::{Decoder, WIDTH, index32};
use crate::code::{Indexing, Kind, Op};
use cdp_core::ir::{LocalId, Operand, Place, PlaceBase, Projection};
use cdp_core::types::{Int, Type, TypeId};

/// Where a place turned out to be.
pub(super) enum Spot {
    /// Bytes of this frame.
    Frame(u32),
    /// The address in slot `address`, plus bytes.
    Memory { address: u32, bytes: u64 },
    /// It makes no sense; a trap has been decoded.
    Nowhere,
}

impl Decoder<'_> {
    /// Decodes the computation of a place.
    pub(super) fn place(&mut self, place: &Place) -> (Spot, TypeId) {
        let Some(ty) = self.module.place_type(self.function, place) else {
            self.trap("a place that makes no sense".to_owned());
            return (Spot::Nowhere, cdp_core::types::TypeTable::POISON);
        };
        let (mut spot, mut at) = match &place.base {
            PlaceBase::Local(local) => (Spot::Frame(self.slot(*local).offset), self.function.local_type(*local)),
            PlaceBase::Global(global) => {
                let address = self.scratch(8, 8);
                if !self.code.globals.contains(&global.0) {
                    self.code.globals.push(global.0);
                }
                self.push(Op::GlobalAddress { d: address, a: global.0 });
                let ty = self.module.global(*global).map_or(cdp_core::types::TypeTable::POISON, |global| global.ty);
                (Spot::Memory { address, bytes: 0 }, ty)
            }
            PlaceBase::Deref(pointer) => {
                let ty = self.operand_type(pointer);
                let pointee =
                    self.module.types.pointee(ty).map_or(cdp_core::types::TypeTable::POISON, |(_, pointee, _)| pointee);
                (Spot::Memory { address: self.operand(pointer), bytes: 0 }, pointee)
            }
        };
        for step in &place.path {
            let field = match step {
                Projection::Field(field) => *field,
                Projection::Index(_) => 0,
            };
            let Some(next) = self.module.types.element(at, field) else {
                self.trap("a place that makes no sense".to_owned());
                return (Spot::Nowhere, ty);
            };
            spot = match step {
                Projection::Field(field) => self.field(spot, at, *field),
                Projection::Index(index) => self.element(spot, at, index),
            };
            at = next;
        }
        (spot, ty)
    }

    fn field(&mut self, spot: Spot, ty: TypeId, field: u32) -> Spot {
        let Some(offset) = self.module.types.element_offset(ty, u64::from(field), WIDTH) else { return Spot::Nowhere };
        match spot {
            Spot::Frame(at) => Spot::Frame(at.saturating_add(offset as u32)),
            Spot::Memory { address, bytes } => Spot::Memory { address, bytes: bytes.saturating_add(offset) },
            Spot::Nowhere => Spot::Nowhere,
        }
    }

    fn element(&mut self, spot: Spot, ty: TypeId, index: &Operand) -> Spot {
        let (len, element) = match self.module.types.get(ty) {
            Type::Array { element, len } => (Some(*len), *element),
            Type::Unsized { element } => (None, *element),
            _ => return Spot::Nowhere,
        };
        let scale = self.module.types.layout(element, WIDTH).size;
        if let (Some(at), Some(len)) = (self.constant_index(index), len)
            && at < len
        {
            return match spot {
                Spot::Frame(start) => Spot::Frame(start.saturating_add(at.saturating_mul(scale) as u32)),
                Spot::Memory { address, bytes } => {
                    Spot::Memory { address, bytes: bytes.saturating_add(at.saturating_mul(scale)) }
                }
                Spot::Nowhere => Spot::Nowhere,
            };
        }
        let (address, offset) = match spot {
            Spot::Frame(at) => {
                let address = self.scratch(8, 8);
                self.push(Op::LocalAddress { d: address, a: at });
                (address, 0)
            }
            Spot::Memory { address, bytes } => (address, bytes),
            Spot::Nowhere => return Spot::Nowhere,
        };
        let d = self.scratch(8, 8);
        self.index(d, address, index, Indexing { offset: offset.cast_signed(), scale, len });
        Spot::Memory { address: d, bytes: 0 }
    }

    /// An index that is known and not negative.
    fn constant_index(&self, index: &Operand) -> Option<u64> {
        let Operand::Const(constant) = index else { return None };
        let int = self.module.types.as_int(constant.ty)?;
        u64::try_from(int.value(constant.as_bits()?)).ok()
    }

    /// `d = a + index * scale + offset`
    pub(super) fn index(&mut self, d: u32, a: u32, index: &Operand, indexing: Indexing) {
        let Some(int) = self.module.types.as_int(self.operand_type(index)) else {
            return self.trap("an index that is no integer".to_owned());
        };
        let i = self.operand(index);
        let table = index32(self.code.indexings.len());
        self.code.indexings.push(indexing);
        self.push(Op::Index { int, d, a, i, table });
    }

    pub(super) fn load(&mut self, dst: LocalId, place: &Place, volatile: bool) {
        let d = self.slot(dst).offset;
        let (spot, ty) = self.place(place);
        match spot {
            Spot::Frame(a) => self.carry(d, a, ty, (self.is_partial(dst), self.is_partial_place(place))),
            Spot::Memory { address: a, bytes } => {
                let Some(bytes) = self.short(bytes) else { return };
                let op = match self.kind(ty).map(Kind::size).filter(|_| !volatile) {
                    Some(1) => Op::Load1 { d, a, bytes },
                    Some(2) => Op::Load2 { d, a, bytes },
                    Some(4) => Op::Load4 { d, a, bytes },
                    Some(8) => Op::Load8 { d, a, bytes },
                    _ => Op::Load { d, a, bytes, table: self.extent(ty, volatile) },
                };
                self.push(op);
                if self.kind(ty).is_some() {
                    self.init(d, self.size(ty), self.is_partial(dst));
                }
            }
            Spot::Nowhere => {}
        }
    }

    /// Whether a place is a local, of which parts may have no value, or is in one.
    fn is_partial_place(&self, place: &Place) -> bool {
        matches!(place.base, PlaceBase::Local(local) if self.is_partial(local))
    }

    pub(super) fn store(&mut self, place: &Place, value: &Operand, volatile: bool) {
        let (spot, ty) = self.place(place);
        let b = self.operand(value);
        match spot {
            Spot::Frame(d) => self.carry(d, b, ty, (self.is_partial_place(place), self.is_partial_operand(value))),
            Spot::Memory { address: a, bytes } => {
                let Some(bytes) = self.short(bytes) else { return };
                let op = match self.kind(ty).map(Kind::size).filter(|_| !volatile) {
                    Some(1) => Op::Store1 { a, b, bytes },
                    Some(2) => Op::Store2 { a, b, bytes },
                    Some(4) => Op::Store4 { a, b, bytes },
                    Some(8) => Op::Store8 { a, b, bytes },
                    _ => Op::Store { a, b, bytes, table: self.extent(ty, volatile) },
                };
                self.push(op);
            }
            Spot::Nowhere => {}
        }
    }

    pub(super) fn address_of(&mut self, d: u32, place: &Place) {
        match self.place(place).0 {
            Spot::Frame(a) => self.push(Op::LocalAddress { d, a }),
            Spot::Memory { address, bytes: 0 } => self.push(Op::Copy8 { d, a: address }),
            Spot::Memory { address: a, bytes } => {
                let Some(bytes) = self.short(bytes) else { return };
                self.push(Op::AddressAdd { d, a, bytes });
            }
            Spot::Nowhere => {}
        }
    }

    /// An offset inside a value; no value has 4 GiB.
    fn short(&mut self, bytes: u64) -> Option<u32> {
        let short = u32::try_from(bytes).ok();
        if short.is_none() {
            self.trap("a value of more than 4 gibibytes".to_owned());
        }
        short
    }

    pub(super) fn copy(&mut self, d: u32, a: u32, size: u32) {
        let op = match size {
            0 => return,
            1 => Op::Copy1 { d, a },
            2 => Op::Copy2 { d, a },
            4 => Op::Copy4 { d, a },
            8 => Op::Copy8 { d, a },
            _ => Op::Copy { d, a, size },
        };
        if d != a {
            self.push(op);
        }
    }

    /// An operand as an `i64` in the frame.
    pub(super) fn widened(&mut self, operand: &Operand) -> u32 {
        let Some(int) = self.module.types.as_int(self.operand_type(operand)) else {
            self.trap("an amount that is no integer".to_owned());
            return 0;
        };
        if let Operand::Const(constant) = operand
            && let Some(bits) = constant.as_bits()
        {
            let value = i64::try_from(int.value(bits)).unwrap_or(i64::MAX);
            return self.constant_bytes(value.to_le_bytes().to_vec(), 8);
        }
        let a = self.operand(operand);
        if int == Int::I64 {
            return a;
        }
        let d = self.scratch(8, 8);
        self.push(Op::CastInt { from: int, to: Int::I64, d, a });
        d
    }
}
