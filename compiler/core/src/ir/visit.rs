//! Walking over what statements are made of: operands read, places named, locals written.

use super::{FunctionId, LocalId, Operand, Place, PlaceBase, Projection, Rvalue, StatementKind, TerminatorKind};

macro_rules! visitors {
    ($each_operand:ident $each_place:ident $target:ident $as_ref:ident $($mutable:tt)?) => {
        impl Place {
            /// Calls `f` for the operands that the place is made of: the pointer, then indices.
            pub fn $each_operand(&$($mutable)? self, f: &mut impl FnMut(&$($mutable)? Operand)) {
                if let PlaceBase::Deref(pointer) = &$($mutable)? self.base {
                    f(pointer);
                }
                for step in &$($mutable)? self.path {
                    if let Projection::Index(index) = step {
                        f(index);
                    }
                }
            }
        }

        impl Rvalue {
            /// Calls `f` for every operand, from left to right.
            pub fn $each_operand(&$($mutable)? self, f: &mut impl FnMut(&$($mutable)? Operand)) {
                match self {
                    Self::Use(a) | Self::Unary(_, a) | Self::Cast(_, a) | Self::Extract(a, _) | Self::SharedRank(a) => f(a),
                    Self::Binary(_, a, b) | Self::Offset(a, b) | Self::Distance(a, b) | Self::MapSharedRank(a, b) => {
                        f(a);
                        f(b);
                    }
                    Self::Select(a, b, c) => {
                        f(a);
                        f(b);
                        f(c);
                    }
                    Self::AddressOf(place) => place.$each_operand(f),
                    Self::Aggregate(list) | Self::Intrinsic(_, list) => list.into_iter().for_each(f),
                    Self::Register(_) => {}
                }
            }
        }

        impl StatementKind {
            /// Calls `f` for every operand that the statement reads, from left to right.
            pub fn $each_operand(&$($mutable)? self, f: &mut impl FnMut(&$($mutable)? Operand)) {
                match self {
                    Self::Assign { value, .. } => value.$each_operand(f),
                    Self::Load { place, .. } => place.$each_operand(f),
                    Self::Store { place, value, .. } => {
                        place.$each_operand(f);
                        f(value);
                    }
                    Self::Call { args, .. }
                    | Self::Warp { args, .. }
                    | Self::Texture { args, .. }
                    | Self::Runtime { args, .. }
                    | Self::Printf { args, .. } => args.into_iter().for_each(f),
                    Self::Atomic { pointer, operands, .. } => {
                        f(pointer);
                        operands.into_iter().for_each(f);
                    }
                    Self::Barrier { operand, .. } => operand.into_iter().for_each(f),
                    Self::Fence { .. } | Self::Deinit { .. } => {}
                    Self::Launch(launch) => {
                        let launch = &$($mutable)? **launch;
                        (&$($mutable)? launch.grid).into_iter().for_each(&mut *f);
                        (&$($mutable)? launch.block).into_iter().for_each(&mut *f);
                        f(&$($mutable)? launch.shared);
                        f(&$($mutable)? launch.stream);
                        (&$($mutable)? launch.args).into_iter().for_each(f);
                    }
                    Self::Assert { condition, args, .. } => {
                        f(condition);
                        args.into_iter().for_each(f);
                    }
                    Self::HostAllocate { count, .. } => f(count),
                }
            }

            /// Calls `f` for every place that the statement names: read, written, or whose address it takes.
            pub fn $each_place(&$($mutable)? self, f: &mut impl FnMut(&$($mutable)? Place)) {
                match self {
                    Self::Load { place, .. } | Self::Store { place, .. } => f(place),
                    Self::Assign { value: Rvalue::AddressOf(place), .. } => f(place),
                    _ => {}
                }
            }

            /// The local that the statement writes as a whole, if any.
            fn $target(&$($mutable)? self) -> Option<&$($mutable)? LocalId> {
                match self {
                    Self::Assign { dst, .. } | Self::Load { dst, .. } | Self::HostAllocate { dst, .. } => Some(dst),
                    Self::Call { dst, .. }
                    | Self::Atomic { dst, .. }
                    | Self::Barrier { dst, .. }
                    | Self::Warp { dst, .. }
                    | Self::Texture { dst, .. }
                    | Self::Runtime { dst, .. }
                    | Self::Printf { dst, .. } => dst.$as_ref(),
                    Self::Launch(launch) => launch.dst.$as_ref(),
                    Self::Store { .. } | Self::Fence { .. } | Self::Assert { .. } | Self::Deinit { .. } => None,
                }
            }
        }

        impl TerminatorKind {
            /// Calls `f` for the operand that it reads, if any.
            pub fn $each_operand(&$($mutable)? self, f: &mut impl FnMut(&$($mutable)? Operand)) {
                match self {
                    Self::Branch { condition: operand, .. }
                    | Self::Switch { value: operand, .. }
                    | Self::Return(Some(operand)) => f(operand),
                    Self::Goto(_) | Self::Return(None) | Self::Unreachable => {}
                }
            }
        }
    };
}

visitors!(each_operand each_place target as_ref);
visitors!(each_operand_mut each_place_mut target_mut as_mut mut);

impl StatementKind {
    /// The local that the statement writes as a whole, if any. A `Store` writes a place instead.
    #[must_use]
    pub fn destination(&self) -> Option<LocalId> {
        self.target().copied()
    }

    /// Calls `f` for every local that the statement names: read, written, the base of a place, or left without a value.
    pub fn each_local_mut(&mut self, f: &mut impl FnMut(&mut LocalId)) {
        self.each_operand_mut(&mut |operand| {
            if let Operand::Local(local) = operand {
                f(local);
            }
        });
        self.each_place_mut(&mut |place| {
            if let PlaceBase::Local(local) = &mut place.base {
                f(local);
            }
        });
        match self {
            Self::Deinit { local } => f(local),
            other => other.target_mut().into_iter().for_each(f),
        }
    }

    /// Calls `f` for every function that the statement names: called, launched, or an operand.
    pub fn each_function_mut(&mut self, f: &mut impl FnMut(&mut FunctionId)) {
        self.each_operand_mut(&mut |operand| {
            if let Operand::Function(function) = operand {
                f(function);
            }
        });
        match self {
            Self::Call { function, .. } => f(function),
            Self::Launch(launch) => f(&mut launch.kernel),
            _ => {}
        }
    }
}
