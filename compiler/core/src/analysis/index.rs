//! Integers as functions of the thread: which value an index has in the first thread of the first block and in the first round of its loops, and
//! with what it varies.

use super::Body;
use super::constants::Constants;
use super::values::{Definition, Point, ValueId};
use crate::builtins::{Intrinsic, Register};
use crate::ir::{BinaryOp, CastKind, LocalId, Module, Operand, Rvalue, StatementKind};

/// What an index starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// A known number.
    Known(i64),
    /// A parameter, plus a number.
    Param(LocalId, i64),
    /// Another value of the same function, plus a number.
    Value(ValueId, i64),
    /// Not known.
    Unknown,
}

/// An index, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Index {
    /// Its value in the first thread of the first block, in the first round of each loop.
    pub base: Base,
    /// By how much it grows from one thread to the next along x; none when it varies with the thread in another way.
    pub stride: Option<i64>,
    /// Varies with the block.
    pub blocks: bool,
    /// Varies from round to round of a loop.
    pub rounds: bool,
    /// Varies with the threads, blocks or rounds of a child.
    pub child: bool,
}

impl Index {
    /// A number.
    #[must_use]
    pub const fn known(value: i64) -> Self {
        Self { base: Base::Known(value), stride: Some(0), blocks: false, rounds: false, child: false }
    }

    /// Some value about which nothing is known but that it is this one.
    #[must_use]
    pub const fn value(value: ValueId) -> Self {
        Self { base: Base::Value(value, 0), ..Self::known(0) }
    }

    /// Anything.
    pub const UNKNOWN: Self = Self { base: Base::Unknown, stride: None, blocks: true, rounds: true, child: true };

    /// Whether it is the same in every thread, block and round.
    #[must_use]
    pub const fn is_fixed(&self) -> bool {
        matches!(self.stride, Some(0)) && !self.blocks && !self.rounds && !self.child
    }

    /// Whether it varies with the thread of the block.
    #[must_use]
    pub const fn varies_by_thread(&self) -> bool {
        !matches!(self.stride, Some(0))
    }

    /// Whether no two threads of a block along x have the same.
    #[must_use]
    pub const fn is_distinct(&self) -> bool {
        matches!(self.stride, Some(stride) if stride != 0)
    }

    /// The number, when it is one.
    #[must_use]
    pub const fn as_known(&self) -> Option<i64> {
        match self.base {
            Base::Known(value) if self.is_fixed() => Some(value),
            _ => None,
        }
    }

    /// The number that it starts from.
    #[must_use]
    pub const fn start(&self) -> Option<i64> {
        match self.base {
            Base::Known(value) => Some(value),
            _ => None,
        }
    }

    const fn mixed(self, other: Self, base: Base, stride: Option<i64>) -> Self {
        Self {
            base,
            stride,
            blocks: self.blocks || other.blocks,
            rounds: self.rounds || other.rounds,
            child: self.child || other.child,
        }
    }

    /// `self + other`
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let base = match (self.base, other.base) {
            (Base::Known(a), Base::Known(b)) => a.checked_add(b).map_or(Base::Unknown, Base::Known),
            (Base::Param(p, a), Base::Known(b)) | (Base::Known(b), Base::Param(p, a)) => {
                a.checked_add(b).map_or(Base::Unknown, |sum| Base::Param(p, sum))
            }
            (Base::Value(v, a), Base::Known(b)) | (Base::Known(b), Base::Value(v, a)) => {
                a.checked_add(b).map_or(Base::Unknown, |sum| Base::Value(v, sum))
            }
            _ => Base::Unknown,
        };
        let stride = self.stride.zip(other.stride).and_then(|(a, b)| a.checked_add(b));
        self.mixed(other, base, stride)
    }

    /// `-self`
    #[must_use]
    pub fn negated(self) -> Self {
        let base = match self.base {
            Base::Known(value) => value.checked_neg().map_or(Base::Unknown, Base::Known),
            _ => Base::Unknown,
        };
        Self { base, stride: self.stride.and_then(i64::checked_neg), ..self }
    }

    /// `self * other`
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let base = match (self.base, other.base) {
            (Base::Known(0), _) | (_, Base::Known(0)) => Base::Known(0),
            (Base::Known(a), Base::Known(b)) => a.checked_mul(b).map_or(Base::Unknown, Base::Known),
            _ => Base::Unknown,
        };
        let stride = match (self.stride, other.stride, self.as_known(), other.as_known()) {
            (Some(0), Some(0), ..) => Some(0),
            (_, Some(stride), Some(factor), _) | (Some(stride), _, _, Some(factor)) => stride.checked_mul(factor),
            _ => None,
        };
        self.mixed(other, base, stride)
    }

    /// Some other function of both, which is zero where `self` is.
    #[must_use]
    pub const fn zero_with(self, other: Self) -> Self {
        let base = match self.base {
            Base::Known(0) => Base::Known(0),
            _ => Base::Unknown,
        };
        let stride = match (self.stride, other.stride) {
            (Some(0), Some(0)) => Some(0),
            _ => None,
        };
        self.mixed(other, base, stride)
    }

    /// What holds for both, where either may be.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        let base = if self.base == other.base { self.base } else { Base::Unknown };
        let stride = if self.stride == other.stride { self.stride } else { None };
        self.mixed(other, base, stride)
    }
}

/// The indices of one function, by value.
#[derive(Clone, Debug, Default)]
pub struct Indices {
    list: Vec<Index>,
}

impl Indices {
    /// Looks at every integer value.
    #[must_use]
    pub fn new(module: &Module, body: &Body<'_>, constants: &Constants) -> Self {
        let number = |index: usize| ValueId(u32::try_from(index).unwrap_or(u32::MAX));
        let start = |(index, definition): (usize, &Definition)| match definition {
            Definition::Param(local) => Index { base: Base::Param(*local, 0), ..Index::known(0) },
            _ => Index::value(number(index)),
        };
        let mut indices = Self { list: body.values.definitions.iter().enumerate().map(start).collect() };
        for block in &body.control.order {
            for merge in body.values.merges_at(*block) {
                let found = indices.merge(module, body, *merge);
                indices.set(*merge, found);
            }
            for (point, statement) in body.block_statements(*block) {
                let Some(made) = body.values.made(point) else { continue };
                let StatementKind::Assign { dst, value } = &statement.kind else { continue };
                if module.types.as_int(body.function.local_type(*dst)).is_none() {
                    continue;
                }
                let found = match constants.of(made) {
                    Some(bits) => Index::known(signed(module, body.function.local_type(*dst), bits)),
                    None => indices.assigned(module, body, constants, point, value, made),
                };
                indices.set(made, found);
            }
        }
        indices
    }

    fn set(&mut self, value: ValueId, index: Index) {
        if let Some(entry) = self.list.get_mut(value.index()) {
            *entry = index;
        }
    }

    /// What is known of a value.
    #[must_use]
    pub fn of(&self, value: ValueId) -> Index {
        self.list.get(value.index()).copied().unwrap_or(Index::UNKNOWN)
    }

    /// What is known of an operand at a point.
    #[must_use]
    pub fn operand(&self, module: &Module, body: &Body<'_>, point: Point, operand: &Operand) -> Index {
        match operand {
            Operand::Const(constant) => {
                constant.as_bits().map_or(Index::UNKNOWN, |bits| Index::known(signed(module, constant.ty, bits)))
            }
            Operand::Local(_) => body.read(point, operand).map_or(Index::UNKNOWN, |value| self.of(value)),
            Operand::Function(_) => Index::UNKNOWN,
        }
    }

    /// A loop's variable starts with what comes from outside and goes on from round to round.
    fn merge(&self, module: &Module, body: &Body<'_>, merge: ValueId) -> Index {
        let Some(Definition::Merge { block, inputs, .. }) = body.values.definition(merge) else { return Index::UNKNOWN };
        let mut outside: Option<Index> = None;
        let mut goes_on = false;
        for (from, value) in inputs {
            if body.control.is_header(*block) && body.control.is_in_loop(*from, *block) {
                goes_on |= *value != merge;
                continue;
            }
            let input = self.of(*value);
            outside = Some(outside.map_or(input, |known| known.join(input)));
        }
        let outside = outside.unwrap_or(Index::UNKNOWN);
        if !body.control.is_header(*block) {
            return if outside.base == Base::Unknown { Index { base: Base::Value(merge, 0), ..outside } } else { outside };
        }
        let steps_by_thread = inputs.iter().any(|(_, value)| self.grows_by_thread(module, body, *value));
        let stride = if steps_by_thread { None } else { outside.stride };
        Index { rounds: outside.rounds || goes_on, stride, ..outside }
    }

    /// Whether what a loop adds to its variable varies with the thread.
    fn grows_by_thread(&self, module: &Module, body: &Body<'_>, value: ValueId) -> bool {
        let Some((point, statement)) = body.values.statement(body.function, value) else { return false };
        match &statement.kind {
            StatementKind::Assign { value: Rvalue::Binary(BinaryOp::Add | BinaryOp::Sub, _, step), .. } => {
                self.operand(module, body, point, step).varies_by_thread()
            }
            StatementKind::Assign { value: Rvalue::Use(_), .. } => false,
            _ => true,
        }
    }

    fn assigned(
        &self,
        module: &Module,
        body: &Body<'_>,
        constants: &Constants,
        point: Point,
        value: &Rvalue,
        made: ValueId,
    ) -> Index {
        let of = |operand: &Operand| match constants.operand(body, point, operand) {
            Some(bits) => Index::known(signed(module, module.operand_type(body.function, operand), bits)),
            None => self.operand(module, body, point, operand),
        };
        let opaque = Index::value(made);
        let found = match value {
            Rvalue::Use(a) | Rvalue::Cast(CastKind::Int, a) => of(a),
            Rvalue::Unary(crate::ir::UnaryOp::Neg, a) => of(a).negated(),
            Rvalue::Binary(BinaryOp::Add, a, b) => of(a).plus(of(b)),
            Rvalue::Binary(BinaryOp::Sub, a, b) => of(a).plus(of(b).negated()),
            Rvalue::Binary(BinaryOp::Mul, a, b) => of(a).times(of(b)),
            Rvalue::Binary(BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::And, a, b) => {
                of(a).zero_with(of(b))
            }
            Rvalue::Binary(_, a, b) => other(of(a), of(b)),
            Rvalue::Select(c, a, b) => {
                let mut joined = of(a).join(of(b));
                if of(c).varies_by_thread() {
                    joined.stride = None;
                }
                joined
            }
            Rvalue::Intrinsic(Intrinsic::WrappingAdd, args) => match args.as_slice() {
                [a, b] => of(a).plus(of(b)),
                _ => Index::UNKNOWN,
            },
            Rvalue::Intrinsic(_, args) => args.iter().map(of).reduce(other).unwrap_or(opaque),
            Rvalue::Register(register) => match register {
                Register::ThreadIdxX => Index { stride: Some(1), ..Index::known(0) },
                Register::ThreadIdxY | Register::ThreadIdxZ => Index { stride: None, ..Index::known(0) },
                Register::BlockIdxX | Register::BlockIdxY | Register::BlockIdxZ => Index { blocks: true, ..Index::known(0) },
                Register::LaneId => Index { stride: None, ..Index::known(0) },
                Register::Clock | Register::Clock64 | Register::GlobalTimer => Index { stride: None, ..opaque },
                _ => opaque,
            },
            _ => opaque,
        };
        // whatever it is, it is this value
        if found.base == Base::Unknown { Index { base: Base::Value(made, 0), ..found } } else { found }
    }
}

/// Some function of both, about which nothing else is known.
const fn other(a: Index, b: Index) -> Index {
    let stride = match (a.stride, b.stride) {
        (Some(0), Some(0)) => Some(0),
        _ => None,
    };
    a.mixed(b, Base::Unknown, stride)
}

fn signed(module: &Module, ty: crate::types::TypeId, bits: u64) -> i64 {
    let value = module.types.as_int(ty).map_or(i128::from(bits), |int| int.value(bits));
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Program;
    use crate::lower::testing::module;

    /// The index of each store into `x` of the only kernel, in order.
    fn indices(text: &str) -> Vec<Index> {
        let module = module(text);
        let program = Program::new(&module);
        let body = program.bodies.iter().find(|body| body.function.is_kernel()).unwrap();
        let constants = Constants::new(&module, body);
        let indices = Indices::new(&module, body, &constants);
        let offsets = body.statements().filter_map(|(point, statement)| match &statement.kind {
            StatementKind::Assign { value: Rvalue::Offset(_, index), .. } => {
                Some((statement.span.start, indices.operand(&module, body, point, index)))
            }
            _ => None,
        });
        let mut offsets: Vec<(u32, Index)> = offsets.collect();
        offsets.sort_by_key(|(start, _)| *start);
        offsets.into_iter().map(|(_, index)| index).collect()
    }

    #[test]
    fn a_thread_s_number_is_distinct() {
        let found = indices(
            "kernel k(x: *global i32, n: i32) {
                 let t = threadIdx.x as i32;
                 x[blockIdx.x * blockDim.x + threadIdx.x] = 1;
                 x[2 * t + 3] = 1;
                 x[n - t] = 1;
                 x[t % 32] = 1;
             }",
        );
        let [global, twice, down, lane] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((global.base, global.stride, global.blocks), (Base::Known(0), Some(1), true));
        assert_eq!((twice.base, twice.stride), (Base::Known(3), Some(2)));
        assert_eq!((down.base, down.stride), (Base::Param(LocalId(1), 0), Some(-1)));
        assert_eq!((lane.base, lane.stride, lane.is_distinct()), (Base::Known(0), None, false));
    }

    #[test]
    fn a_loop_s_variable_starts_where_it_says() {
        let found = indices(
            "kernel k(x: *global i32, n: i32) {
                 for i in 2..n { x[i] = 0; }
                 for i in threadIdx.x as i32..n step 32 { x[i] = 0; }
                 let c = 5;
                 x[c + 1] = 0;
             }",
        );
        let [plain, strided, known] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((plain.base, plain.stride, plain.rounds), (Base::Known(2), Some(0), true));
        assert_eq!((strided.base, strided.stride, strided.rounds), (Base::Known(0), Some(1), true));
        assert_eq!(known.as_known(), Some(6));
    }
}
