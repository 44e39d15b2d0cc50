//! Pure computations.

use super::{Decoder, WIDTH, index32};
use crate::code::{Call, Indexing, IntrinsicCall, Kind, MOST_ARGS, Op, Slot, binary, unary};
use cdp_core::builtins::Intrinsic;
use cdp_core::ir::{BinaryOp, CastKind, FunctionId, LocalId, Operand, Rvalue, UnaryOp};
use cdp_core::types::{Float, Int, Scalar, Type, TypeId, TypeTable};

/// Values up to this size are copied from a constant; larger zeroes are written in place.
const INLINE_ZERO: u32 = 64;

impl Decoder<'_> {
    /// Where an operand's value lies in the frame.
    pub(super) fn operand(&mut self, operand: &Operand) -> u32 {
        match operand {
            Operand::Const(constant) => self.constant(constant),
            Operand::Local(local) => self.slot(*local).offset,
            Operand::Function(function) => self.constant_bytes(u64::from(function.0).to_le_bytes().to_vec(), 8),
        }
    }

    pub(super) fn operand_slot(&mut self, operand: &Operand) -> Slot {
        let size = self.size(self.operand_type(operand));
        Slot { offset: self.operand(operand), size }
    }

    pub(super) fn assign(&mut self, dst: LocalId, value: &Rvalue) {
        let slot = self.slot(dst);
        let ty = self.function.local_type(dst);
        let d = slot.offset;
        let partial = self.is_partial(dst);
        match value {
            Rvalue::Use(operand) => return self.use_operand(slot, ty, operand, partial),
            Rvalue::Select(c, a, b) => return self.select(slot, ty, (c, a, b), partial),
            Rvalue::Aggregate(elements) => return self.aggregate(d, ty, elements, partial),
            Rvalue::Extract(a, index) => {
                let from = self.operand_type(a);
                let offset = self.module.types.element_offset(from, u64::from(*index), WIDTH).unwrap_or(0) as u32;
                let at = self.operand(a) + offset;
                return self.carry(d, at, ty, (partial, self.is_partial_operand(a)));
            }
            _ => value.each_operand(&mut |operand| self.whole(operand)),
        }
        match value {
            Rvalue::Use(_) | Rvalue::Select(..) | Rvalue::Aggregate(_) | Rvalue::Extract(..) => {}
            Rvalue::Unary(op, a) => self.unary(*op, d, ty, a),
            Rvalue::Binary(op, a, b) => self.binary(*op, d, ty, a, b),
            Rvalue::Cast(kind, a) => self.cast(*kind, d, ty, a),
            Rvalue::AddressOf(place) => self.address_of(d, place),
            Rvalue::Offset(a, i) => {
                let scale = self.pointee_size(self.operand_type(a));
                let address = self.operand(a);
                self.index(d, address, i, Indexing { offset: 0, scale: u64::from(scale), len: None });
            }
            Rvalue::Distance(a, b) => {
                let size = self.pointee_size(self.operand_type(a));
                let (a, b) = (self.operand(a), self.operand(b));
                self.push(Op::Distance { d, a, b, size });
            }
            Rvalue::MapSharedRank(pointer, rank) => {
                let (a, b) = (self.operand(pointer), self.operand(rank));
                self.push(Op::MapSharedRank { d, a, b });
            }
            Rvalue::SharedRank(pointer) => {
                let a = self.operand(pointer);
                self.push(Op::SharedRank { d, a });
            }
            Rvalue::Register(register) => self.push(Op::Register { register: *register, d }),
            Rvalue::Intrinsic(intrinsic, args) => self.intrinsic(*intrinsic, d, ty, args),
        }
        self.init(d, slot.size, partial);
    }

    /// A pointee's size in bytes; 1 for `void`.
    fn pointee_size(&self, pointer: TypeId) -> u32 {
        self.module.types.pointee(pointer).map_or(1, |(_, pointee, _)| self.size(pointee).max(1))
    }

    fn use_operand(&mut self, slot: Slot, ty: TypeId, operand: &Operand, partial: bool) {
        if let Operand::Const(constant) = operand
            && constant.value == cdp_core::ir::ConstValue::Zero
            && slot.size > INLINE_ZERO
        {
            self.push(Op::Zero { d: slot.offset, size: slot.size });
            return self.init(slot.offset, slot.size, partial);
        }
        let a = self.operand(operand);
        self.carry(slot.offset, a, ty, (partial, self.is_partial_operand(operand)));
    }

    /// A scalar's kind with one lane, or a vector's lanes: kind and how many.
    fn lanes(&self, ty: TypeId) -> Option<(Kind, u32)> {
        if let Some(kind) = self.kind(ty) {
            return Some((kind, 1));
        }
        match self.module.types.get(ty) {
            Type::Vector { element: Scalar::Int(int), lanes } => Some((Kind::Int(*int), u32::from(*lanes))),
            Type::Vector { element: Scalar::Float(float), lanes } => Some((Kind::Float(*float), u32::from(*lanes))),
            _ => None,
        }
    }

    fn unary(&mut self, op: UnaryOp, d: u32, ty: TypeId, a: &Operand) {
        let Some((kind, lanes)) = self.lanes(ty) else { return self.trap("an operator on a type without it".to_owned()) };
        let a = self.operand(a);
        for lane in 0..lanes {
            let offset = lane * kind.size();
            match unary(op, kind, ty == TypeTable::BOOL, d + offset, a + offset) {
                Some(op) => self.push(op),
                None => self.trap("`!` of a floating-point number".to_owned()),
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, d: u32, result: TypeId, left: &Operand, right: &Operand) {
        let ty = self.operand_type(left);
        let Some((kind, lanes)) = self.lanes(ty) else { return self.trap("an operator on a type without it".to_owned()) };
        let a = self.operand(left);
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let Kind::Int(int) = kind else { return self.trap("a shift of a floating-point number".to_owned()) };
            if lanes == 1 {
                let b = self.widened(right);
                return self.push(Op::Shift(int, op, d, a, b));
            }
            return self.vector_shift(op, int, lanes, (d, a), right);
        }
        let b = self.operand(right);
        let result_size = if op.is_comparison() { self.lanes(result).map_or(1, |(kind, _)| kind.size()) } else { kind.size() };
        for lane in 0..lanes {
            let offset = lane * kind.size();
            self.push(binary(op, kind, d + lane * result_size, a + offset, b + offset));
        }
    }

    fn vector_shift(&mut self, op: BinaryOp, int: Int, lanes: u32, (d, a): (u32, u32), right: &Operand) {
        let Some((Kind::Int(by), count)) = self.lanes(self.operand_type(right)) else {
            return self.trap("a shift by something that is no integer".to_owned());
        };
        let b = self.operand(right);
        let wide = self.scratch(8, 8);
        for lane in 0..lanes {
            let from = if count == 1 { b } else { b + lane * by.bits() / 8 };
            self.push(Op::CastInt { from: by, to: Int::I64, d: wide, a: from });
            let offset = lane * int.bits() / 8;
            self.push(Op::Shift(int, op, d + offset, a + offset, wide));
        }
    }

    fn cast(&mut self, cast: CastKind, d: u32, to: TypeId, operand: &Operand) {
        let from = self.operand_type(operand);
        let a = self.operand(operand);
        if cast == CastKind::Bits {
            let size = self.size(to);
            return self.copy(d, a, size);
        }
        let (Some((source, lanes)), Some((target, _))) = (self.lanes(from), self.lanes(to)) else {
            return self.trap("a conversion between types that have none".to_owned());
        };
        for lane in 0..lanes {
            let (d, a) = (d + lane * target.size(), a + lane * source.size());
            let op = match (cast, source, target) {
                (CastKind::ToBool, Kind::Int(from), _) => Op::IntToBool { from, d, a },
                (CastKind::ToBool, Kind::Float(from), _) => Op::FloatToBool { from, d, a },
                (CastKind::Pointer | CastKind::ToGeneric, ..) => Op::Copy8 { d, a },
                (CastKind::FromGeneric, ..) => match self.module.types.pointee(to) {
                    Some((space, ..)) => Op::ToSpace { space, d, a },
                    None => Op::Copy8 { d, a },
                },
                (CastKind::Rounded(rounding), from, to) => Op::CastRounded { from, to, rounding, d, a },
                // a pointer's bits are extended with zeroes, whatever the integer's sign
                (CastKind::PointerToInt, _, Kind::Int(to)) => Op::CastInt { from: Int::U64, to, d, a },
                (CastKind::IntToPointer, Kind::Int(from), _) => Op::CastInt { from: unsigned(from), to: Int::U64, d, a },
                (_, Kind::Int(from), Kind::Int(to)) => Op::CastInt { from, to, d, a },
                (_, Kind::Int(from), Kind::Float(to)) => Op::IntToFloat { from, to, d, a },
                (_, Kind::Float(from), Kind::Int(to)) => Op::FloatToInt { from, to, d, a },
                (_, Kind::Float(from), Kind::Float(to)) => Op::CastFloat { from, to, d, a },
            };
            self.push(op);
        }
    }

    fn select(&mut self, slot: Slot, ty: TypeId, (c, a, b): (&Operand, &Operand, &Operand), partial: bool) {
        let carries = self.kind(ty).is_none() && [a, b].iter().any(|operand| self.is_partial_operand(operand));
        let (c, a, b) = (self.operand(c), self.operand(a), self.operand(b));
        let Ok(size) = u16::try_from(slot.size) else {
            return self.trap("a choice between values of more than 64 kibibytes".to_owned());
        };
        if carries {
            return self.push(Op::SelectCarry { d: slot.offset, c, a, b, size });
        }
        self.push(Op::Select { d: slot.offset, c, a, b, size });
        self.init(slot.offset, slot.size, partial);
    }

    fn aggregate(&mut self, d: u32, ty: TypeId, elements: &[Operand], partial: bool) {
        for (element, index) in elements.iter().zip(0u64..) {
            let offset = self.module.types.element_offset(ty, index, WIDTH).unwrap_or(0) as u32;
            let (from, ty) = (self.operand(element), self.operand_type(element));
            self.carry(d + offset, from, ty, (partial, self.is_partial_operand(element)));
        }
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, d: u32, ty: TypeId, args: &[Operand]) {
        let mut slots = [(Slot::default(), Kind::Int(Int::U64)); MOST_ARGS];
        for (arg, place) in args.iter().zip(&mut slots) {
            let Some(kind) = self.kind(self.operand_type(arg)) else {
                return self.trap(format!("`{}` of something that is no number", intrinsic.name()));
            };
            *place = (self.operand_slot(arg), kind);
        }
        let [(a, kind), (b, _), (c, _), _] = slots;
        let (a, b, c) = (a.offset, b.offset, c.offset);
        let op = match (intrinsic, kind) {
            (Intrinsic::Fma, Kind::Float(Float::F32)) => Op::Fma32 { d, a, b, c },
            (Intrinsic::Fma, Kind::Float(Float::F64)) => Op::Fma64 { d, a, b, c },
            (Intrinsic::FloatAsInt | Intrinsic::FloatAsUint | Intrinsic::IntAsFloat, _) => return self.copy(d, a, kind.size()),
            _ => {
                let table = index32(self.code.intrinsics.len());
                let result = self.size(ty);
                self.code.intrinsics.push(IntrinsicCall { intrinsic, args: slots, arity: index32(args.len()), result });
                Op::Intrinsic { d, table }
            }
        };
        self.push(op);
    }

    pub(super) fn call(&mut self, dst: Option<LocalId>, function: FunctionId, args: &[Operand]) {
        let frames = self.frames;
        let Some(frame) = frames.get(function.index()) else { return self.trap("a call of nothing".to_owned()) };
        let args = args.iter().zip(&frame.locals).map(|(arg, param)| (self.operand_slot(arg), param.offset)).collect();
        let dst = dst.map(|dst| self.slot(dst));
        let table = index32(self.code.calls.len());
        self.code.calls.push(Call { function: function.0, args, dst });
        self.push(Op::Call { table });
    }
}

const fn unsigned(int: Int) -> Int {
    match int {
        Int::I8 | Int::U8 => Int::U8,
        Int::I16 | Int::U16 => Int::U16,
        Int::I32 | Int::U32 => Int::U32,
        Int::I64 | Int::U64 => Int::U64,
    }
}
