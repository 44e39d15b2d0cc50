//! Pure computations: what types they take and give.

use super::Verifier;
use crate::builtins::{Domain, Intrinsic};
use crate::ir::{BinaryOp, CastKind, Operand, Rvalue, UnaryOp};
use crate::types::{Float, Int, Scalar, Space, Type, TypeId, TypeTable};

/// What an operator sees of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Bool,
    Int,
    Float,
    IntVector,
    FloatVector,
    /// Compared by value: enumerations, `cudaError_t`, addresses, handles.
    Comparable,
    Other,
}

impl Verifier<'_> {
    fn class(&self, ty: TypeId) -> Class {
        match self.module.types.get(ty) {
            Type::Bool => Class::Bool,
            Type::Int(_) => Class::Int,
            Type::Float(_) => Class::Float,
            Type::Vector { element: Scalar::Int(_), .. } => Class::IntVector,
            Type::Vector { element: Scalar::Float(_), .. } => Class::FloatVector,
            Type::Enum(_) | Type::CudaError => Class::Comparable,
            ty if ty.is_address() => Class::Comparable,
            _ => Class::Other,
        }
    }

    /// `value` assigned to a local of type `ty`.
    pub(super) fn rvalue(&mut self, value: &Rvalue, ty: TypeId) {
        match value {
            Rvalue::Use(operand) => self.operand_of(operand, ty, "the value"),
            Rvalue::Unary(op, a) => self.unary(*op, a, ty),
            Rvalue::Binary(op, a, b) => self.binary(*op, a, b, ty),
            Rvalue::Cast(kind, a) => {
                let from = self.operand(a);
                if from != TypeTable::POISON {
                    let fits = self.cast_fits(*kind, from, ty);
                    self.require(fits, |verifier| {
                        format!("{} cannot become {} by {kind:?}", verifier.display(from), verifier.display(ty))
                    });
                }
            }
            Rvalue::Select(condition, a, b) => {
                self.operand_of(condition, TypeTable::BOOL, "the condition");
                self.operand_of(a, ty, "the first value");
                self.operand_of(b, ty, "the second value");
            }
            Rvalue::AddressOf(place) => {
                if let Some((pointee, space, _)) = self.place(place) {
                    let fits = self.module.types.pointee(ty).is_some_and(|(s, p, _)| s == space && p == pointee);
                    self.require(fits, |verifier| {
                        format!(
                            "the address of {} in {space:?} memory is of type {}",
                            verifier.display(pointee),
                            verifier.display(ty)
                        )
                    });
                }
            }
            Rvalue::Offset(pointer, index) => {
                self.operand_of(pointer, ty, "the pointer");
                self.index_operand(index, "the index");
                let sized = self.module.types.pointee(ty).is_some_and(|(_, pointee, _)| self.is_value_type(pointee));
                self.require(sized, |verifier| format!("{} is offset", verifier.display(ty)));
            }
            Rvalue::Distance(a, b) => {
                let pointer = self.operand(a);
                self.operand_of(b, pointer, "the second pointer");
                let sized = self.module.types.pointee(pointer).is_some_and(|(_, pointee, _)| self.is_value_type(pointee));
                self.require(sized, |verifier| format!("a distance is taken of {}", verifier.display(pointer)));
                self.same_type(TypeTable::I64, ty, "the distance");
            }
            Rvalue::MapSharedRank(pointer, rank) => {
                self.operand_of(pointer, ty, "the pointer");
                self.operand_of(rank, TypeTable::U32, "the rank");
                self.generic_pointer(ty);
            }
            Rvalue::SharedRank(pointer) => {
                let pointer = self.operand(pointer);
                self.generic_pointer(pointer);
                self.same_type(TypeTable::U32, ty, "the rank");
            }
            Rvalue::Aggregate(elements) => self.aggregate(elements, ty),
            Rvalue::Extract(value, index) => {
                let whole = self.operand(value);
                let types = &self.module.types;
                let element = match types.get(whole) {
                    Type::Struct(_) | Type::Vector { .. } => types.element(whole, *index),
                    _ => None,
                };
                match element {
                    Some(element) => self.same_type(element, ty, "the element"),
                    None => self.error(format!("{} has no element {index}", self.display(whole))),
                }
            }
            Rvalue::Register(register) => {
                let expected = if register.bits() == 64 { TypeTable::U64 } else { TypeTable::U32 };
                self.same_type(expected, ty, register.name());
            }
            Rvalue::Intrinsic(intrinsic, args) => self.intrinsic(*intrinsic, args, ty),
        }
    }

    fn generic_pointer(&mut self, ty: TypeId) {
        let generic = self.module.types.pointee(ty).is_some_and(|(space, _, _)| space == Space::Generic);
        self.require(generic, |verifier| format!("{} is no generic pointer", verifier.display(ty)));
    }

    fn unary(&mut self, op: UnaryOp, a: &Operand, ty: TypeId) {
        self.operand_of(a, ty, "the operand");
        let class = self.class(ty);
        let fits = match op {
            UnaryOp::Neg => matches!(class, Class::Int | Class::Float | Class::IntVector | Class::FloatVector),
            UnaryOp::Not => matches!(class, Class::Bool | Class::Int | Class::IntVector),
        };
        self.require(fits, |verifier| format!("{op:?} does not work on {}", verifier.display(ty)));
    }

    fn binary(&mut self, op: BinaryOp, a: &Operand, b: &Operand, ty: TypeId) {
        let left = self.operand(a);
        let right = self.operand(b);
        if left == TypeTable::POISON || right == TypeTable::POISON {
            return;
        }
        let class = self.class(left);
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let fits = matches!(class, Class::Int | Class::IntVector)
                && (self.class(right) == Class::Int || (class == Class::IntVector && left == right));
            self.require(fits, |verifier| format!("{} is shifted by {}", verifier.display(left), verifier.display(right)));
            return self.same_type(left, ty, "the shifted value");
        }
        self.same_type(right, left, "the right operand");
        let fits = match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => {
                matches!(class, Class::Int | Class::Float | Class::IntVector | Class::FloatVector)
            }
            BinaryOp::Rem => matches!(class, Class::Int | Class::Float | Class::IntVector | Class::FloatVector),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => matches!(class, Class::Bool | Class::Int | Class::IntVector),
            _ => matches!(class, Class::Bool | Class::Int | Class::Float | Class::Comparable),
        };
        self.require(fits, |verifier| format!("`{}` does not work on {}", op.symbol(), verifier.display(left)));
        let result = if op.is_comparison() { TypeTable::BOOL } else { left };
        self.same_type(result, ty, "the result");
    }

    fn cast_fits(&self, kind: CastKind, from: TypeId, to: TypeId) -> bool {
        let types = &self.module.types;
        let is_int = |ty| types.as_int(ty).is_some();
        let is_float = |ty| types.as_float(ty).is_some();
        let is_address = |ty| types.get(ty).is_address();
        let space = |ty| types.pointee(ty).map(|(space, _, _)| space);
        use crate::types::Space::Generic;
        match kind {
            CastKind::Int => is_int(from) && is_int(to),
            CastKind::IntToFloat => is_int(from) && is_float(to),
            CastKind::FloatToInt => is_float(from) && is_int(to),
            CastKind::Float => is_float(from) && is_float(to),
            CastKind::ToBool => (is_int(from) || is_float(from)) && to == TypeTable::BOOL,
            CastKind::Pointer => match (space(from), space(to)) {
                (Some(from), Some(to)) => from == to,
                _ => is_address(from) && is_address(to),
            },
            CastKind::ToGeneric => space(from).is_some_and(|s| s != Generic) && space(to) == Some(Generic),
            CastKind::FromGeneric => space(from) == Some(Generic) && space(to).is_some_and(|s| s != Generic),
            CastKind::PointerToInt => is_address(from) && is_int(to),
            CastKind::IntToPointer => is_int(from) && is_address(to),
            CastKind::Rounded(_) => match (types.get(from), types.get(to)) {
                (Type::Float(from), Type::Float(to)) => (*from, *to) == (Float::F64, Float::F32),
                (Type::Float(float), Type::Int(int)) | (Type::Int(int), Type::Float(float)) => {
                    float.bits() > 16 && int.bits() > 16
                }
                _ => false,
            },
            CastKind::Bits => match types.get(from) {
                Type::Vector { element: Scalar::Int(int), lanes } => {
                    int.bits() * u32::from(*lanes) == 32 && matches!(to, TypeTable::I32 | TypeTable::U32)
                }
                _ => false,
            },
        }
    }

    fn aggregate(&mut self, elements: &[Operand], ty: TypeId) {
        let expected = self.element_count(ty);
        if expected != Some(elements.len() as u64) {
            return self.error(format!("{} is made of {} elements", self.display(ty), elements.len()));
        }
        for (index, element) in (0u32..).zip(elements) {
            if let Some(expected) = self.module.types.element(ty, index) {
                self.operand_of(element, expected, "an element");
            }
        }
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, args: &[Operand], ty: TypeId) {
        let name = intrinsic.name();
        let types: Vec<TypeId> = args.iter().map(|arg| self.operand(arg)).collect();
        if types.len() != intrinsic.arity() {
            return self.error(format!("{name} has {} arguments", types.len()));
        }
        let Some(first) = types.first().copied() else { return };
        if types.contains(&TypeTable::POISON) {
            return;
        }
        let table = &self.module.types;
        let float = table.as_float(first);
        let int = match table.get(first) {
            Type::Int(int) => Some(*int),
            _ => None,
        };
        let wide_float = matches!(float, Some(Float::F32 | Float::F64));
        let wide_int = int.is_some_and(|int| int.bits() >= 32);
        let all_first = types.iter().all(|ty| *ty == first);
        let is_word = |ty: TypeId| ty == TypeTable::I32 || ty == TypeTable::U32;
        let all = |wanted: TypeId| types.iter().all(|ty| *ty == wanted);
        let (fits, result) = match intrinsic.domain() {
            Domain::Float => (wide_float && all_first, first),
            Domain::AnyFloat => {
                let vector = intrinsic == Intrinsic::Fma && self.class(first) == Class::FloatVector;
                ((float.is_some() || vector) && all_first, first)
            }
            Domain::F32 => (all(TypeTable::F32), TypeTable::F32),
            Domain::FloatToBool => (wide_float, TypeTable::BOOL),
            Domain::FloatInt => (wide_float && types.get(1) == Some(&TypeTable::I32), first),
            Domain::Number => ((float.is_some() || int.is_some()) && all_first, first),
            Domain::Integer => (int.is_some() && all_first, first),
            Domain::BitsToInt => (wide_int, TypeTable::I32),
            Domain::Bits => (wide_int && all_first, first),
            Domain::U32 => (all(TypeTable::U32), TypeTable::U32),
            Domain::FloatToInt => (wide_float, TypeTable::I32),
            Domain::FloatToLong => (wide_float, TypeTable::I64),
            Domain::IntFloat => (wide_float && types.get(1) == Some(&TypeTable::I32), first),
            Domain::Address => (table.pointee(first).is_some_and(|(space, ..)| space == Space::Generic), TypeTable::BOOL),
            Domain::Word => (is_word(first) && all_first, first),
            Domain::Differences => match types.as_slice() {
                [a, b, c] => (is_word(*a) && a == b && *c == TypeTable::U32, TypeTable::U32),
                _ => (false, first),
            },
            Domain::Products => match types.as_slice() {
                [a, b, c] => {
                    let unsigned = [*a, *b] == [TypeTable::U32; 2];
                    let sum = if unsigned { TypeTable::U32 } else { TypeTable::I32 };
                    (is_word(*a) && is_word(*b) && *c == sum, sum)
                }
                _ => (false, first),
            },
            Domain::Fixed(wanted, result) => (types == wanted, result),
            Domain::FloatToBits => {
                let result = if float == Some(Float::F64) { Int::I64 } else { Int::I32 };
                let unsigned = if float == Some(Float::F64) { Int::U64 } else { Int::U32 };
                let either = if ty == TypeTable::int(unsigned) { unsigned } else { result };
                (wide_float, TypeTable::int(either))
            }
            Domain::BitsToFloat => {
                let result = if int.is_some_and(|int| int.bits() == 64) { Float::F64 } else { Float::F32 };
                (wide_int, TypeTable::float(result))
            }
        };
        self.require(fits, |verifier| format!("{name} does not work on {}", verifier.display(first)));
        self.same_type(result, ty, name);
    }
}
