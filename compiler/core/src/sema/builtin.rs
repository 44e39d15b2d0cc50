//! Calls of builtins: each table of [`crate::builtins`] gives the names and what they take.

use super::body::{Body, is_poison, poison};
use crate::builtins::{
    AtomicOp, BarrierOp, CacheHint, Conversion, Domain, Intrinsic, MemoryScope, PartsFn, Register, RoundedOp, RuntimeFn, Side,
    TextureOp, WarpOp,
};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Access, Const};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Place, PlaceKind};
use crate::types::{Float, Int, Predeclared, Scalar, Space, Type, TypeId, TypeTable};

/// Builtins that no table has.
const OTHERS: &[&str] = &[
    "printf",
    "assert",
    "device",
    "__ldg",
    "__threadfence",
    "__threadfence_block",
    "__threadfence_cluster",
    "__threadfence_system",
    "cudaCreateChannelDesc",
    "__cluster_map_shared_rank",
    "__cluster_query_shared_rank",
];

/// CUDA's functions that make its structures.
const MAKERS: &[(&str, Predeclared)] = &[
    ("make_cudaPos", Predeclared::Pos),
    ("make_cudaExtent", Predeclared::Extent),
    ("make_cudaPitchedPtr", Predeclared::PitchedPtr),
];

/// Every name that is called, for suggestions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let intrinsics = Intrinsic::ALL.iter().map(|i| i.name());
    let doubles = RoundedOp::ALL.iter().flat_map(|op| op.double_names());
    let parts = PartsFn::ALL.into_iter().map(PartsFn::name);
    let conversions = Conversion::ALL.iter().map(|conversion| conversion.name);
    let runtime = RuntimeFn::ALL.iter().filter(|call| call.side() != Side::Internal).map(|call| call.name());
    let barriers = BarrierOp::ALL.into_iter().map(BarrierOp::name);
    let atomics = AtomicOp::ALL.into_iter().map(AtomicOp::name);
    let warps = WarpOp::ALL.into_iter().map(WarpOp::name);
    let textures = TextureOp::ALL.iter().map(|op| op.name());
    let registers = Register::ALL.into_iter().filter(|register| register.is_of_cluster());
    // the three parts of `__clusterDim()` are one call
    let registers = registers.filter_map(|register| register.name().split('.').next());
    let makers = MAKERS.iter().map(|(name, _)| *name);
    let hints = CacheHint::ALL.iter().map(|hint| hint.name());
    intrinsics
        .chain(doubles)
        .chain(conversions)
        .chain(parts)
        .chain(runtime)
        .chain(registers)
        .chain(barriers)
        .chain(atomics)
        .chain(warps)
        .chain(makers)
        .chain(hints)
        .chain(textures)
        .chain(OTHERS.iter().copied())
}

/// Whether a name is that of a builtin function.
pub(crate) fn is_function(name: &str) -> bool {
    names().any(|known| known == name)
        || Intrinsic::from_name(name).is_some()
        || PartsFn::from_name(name).is_some()
        || AtomicOp::from_name(name).is_some()
}

impl Body<'_, '_> {
    /// The call, when the name is a builtin's.
    pub(crate) fn builtin_call(
        &mut self,
        path: &ast::Path,
        args: &[ast::Arg],
        expect: Option<TypeId>,
        span: Span,
    ) -> Option<Expr> {
        if path.qualifier.is_some() {
            return None;
        }
        let name = path.name.name.as_str();
        if let Some(op) = TextureOp::from_name(name) {
            return Some(self.texture(op, path, args, span));
        }
        if name == "cudaCreateChannelDesc" {
            return Some(self.channel_desc(path, args, span));
        }
        if !path.args.is_empty() {
            return None;
        }
        if let Some(result) = self.special_call(name, path.span, args, span) {
            return Some(result);
        }
        if let Some((function, fixed)) = PartsFn::from_name(name) {
            return Some(self.parts(function, fixed, name, args, expect, span));
        }
        if let Some(conversion) = Conversion::from_name(name) {
            return Some(self.conversion(conversion, args, span));
        }
        if let Some((intrinsic, fixed)) = Intrinsic::from_name(name) {
            if intrinsic.domain() == Domain::Address {
                self.needs_device(path.span, name);
            }
            return Some(self.intrinsic(intrinsic, fixed, name, args, expect, span));
        }
        if let Some(hint) = CacheHint::from_name(name) {
            return Some(if hint.is_store() {
                self.hinted_store(hint, path.span, args, span)
            } else {
                self.load(name, Access::Hinted(hint), path.span, args, span)
            });
        }
        if let Some(op) = BarrierOp::ALL.into_iter().find(|op| op.name() == name) {
            self.needs_device(path.span, name);
            return Some(self.barrier(op, args, span));
        }
        if let Some((op, scope)) = AtomicOp::from_name(name) {
            self.needs_device(path.span, name);
            return Some(self.atomic(op, scope, name, args, span));
        }
        if let Some(op) = WarpOp::ALL.into_iter().find(|op| op.name() == name) {
            self.needs_device(path.span, name);
            return Some(self.warp(op, args, span));
        }
        if let Some(call) = RuntimeFn::from_name(name) {
            return Some(self.runtime(call, path.span, args, span));
        }
        if let Some((_, structure)) = MAKERS.iter().find(|(maker, _)| *maker == name) {
            let ty = self.checker.types.predeclared(*structure);
            return Some(self.construct(ty, args, span));
        }
        if let Some(instead) = super::missing::instead_of(name) {
            let message = format!("`{name}` does not exist here");
            self.report(Diagnostic::new(Code::E0411, path.span, message).help(instead));
            return Some(self.skip_args(args, span));
        }
        None
    }

    fn special_call(&mut self, name: &str, name_span: Span, args: &[ast::Arg], span: Span) -> Option<Expr> {
        let fence = |scope| Some(ExprKind::Fence(scope));
        let fence = match name {
            "__threadfence" => fence(MemoryScope::Device),
            "__threadfence_block" => fence(MemoryScope::Block),
            "__threadfence_cluster" => fence(MemoryScope::Cluster),
            "__threadfence_system" => fence(MemoryScope::System),
            _ => None,
        };
        if let Some(kind) = fence {
            self.needs_device(name_span, name);
            self.count(name, args, 0, 0, span);
            return Some(Expr { kind, ty: TypeTable::VOID, span });
        }
        match name {
            "printf" => Some(self.printf(args, span)),
            "assert" => Some(self.assert(args, span)),
            "device" => Some(self.host_allocate(name_span, args, span)),
            "__ldg" => Some(self.load(name, Access::NonCoherent, name_span, args, span)),
            "clock" | "clock64" | "globaltimer" | "gridid" => {
                self.count(name, args, 0, 0, span);
                Register::from_name(name).map(|register| self.register(register, span))
            }
            _ => self.cluster_call(name, name_span, args, span),
        }
    }

    /// Whether the number of arguments is right; a message when it is not.
    pub(super) fn count(&mut self, name: &str, args: &[ast::Arg], least: usize, most: usize, span: Span) -> bool {
        if let Some(named) = args.iter().find_map(|arg| arg.name.as_ref()) {
            let diagnostic = Diagnostic::new(Code::E0204, named.span, format!("the arguments of `{name}` have no names"));
            self.report(diagnostic);
            return false;
        }
        if args.len() >= least && args.len() <= most {
            return true;
        }
        let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        let plural = if wanted == "1" { "" } else { "s" };
        let message = format!("`{name}` takes {wanted} argument{plural}, {} given", args.len());
        self.report(Diagnostic::new(Code::E0204, span, message));
        false
    }

    // -------------------------------------------------------------------------------------- barriers, atomics, warps

    fn barrier(&mut self, op: BarrierOp, args: &[ast::Arg], span: Span) -> Expr {
        let (least, most, ty) = match op {
            BarrierOp::Block | BarrierOp::ClusterArrive | BarrierOp::ClusterArriveRelaxed | BarrierOp::ClusterWait => {
                (0, 0, TypeTable::VOID)
            }
            BarrierOp::Warp => (0, 1, TypeTable::VOID),
            BarrierOp::BlockCount => (1, 1, TypeTable::I32),
            BarrierOp::BlockAnd | BarrierOp::BlockOr => (1, 1, TypeTable::BOOL),
        };
        if !self.count(op.name(), args, least, most, span) {
            return self.skip_args(args, span);
        }
        let operand = args.first().map(|arg| {
            if op == BarrierOp::Warp { self.expr_as(&arg.value, TypeTable::U32) } else { self.predicate(&arg.value) }
        });
        if operand.as_ref().is_some_and(is_poison) {
            return poison(span);
        }
        Expr { kind: ExprKind::Barrier(op, operand.map(Box::new)), ty, span }
    }

    /// A `bool`, or as CUDA has it an integer that is not 0.
    pub(super) fn predicate(&mut self, arg: &ast::Expr) -> Expr {
        let typed = self.expr(arg, Some(TypeTable::BOOL));
        if matches!(self.checker.types.get(typed.ty), Type::Int(_)) {
            return self.cast(crate::ir::CastKind::ToBool, typed, TypeTable::BOOL);
        }
        self.coerce(typed, TypeTable::BOOL, arg)
    }

    fn atomic(&mut self, op: AtomicOp, scope: MemoryScope, name: &str, args: &[ast::Arg], span: Span) -> Expr {
        let wanted = 1 + op.operands();
        if !self.count(name, args, wanted, wanted, span) {
            return self.skip_args(args, span);
        }
        let Some((first, rest)) = args.split_first() else { return poison(span) };
        let pointer = self.expr(&first.value, None);
        if is_poison(&pointer) {
            return self.skip_args(rest, span);
        }
        let Some((space, pointee, constant)) = self.checker.types.pointee(pointer.ty) else {
            let message = format!("`{name}` works on an address, this is `{}`", self.show(pointer.ty));
            self.report(self.needs_address(first.span, message, &pointer));
            return self.skip_args(rest, span);
        };
        if constant || matches!(space, Space::Local | Space::Constant) {
            let (code, message) = match space {
                Space::Constant => (Code::E0502, "`constant` memory is never written on the device".to_owned()),
                Space::Local => {
                    (Code::E0231, "local memory belongs to one thread; atomics are for memory that threads share".to_owned())
                }
                _ => (Code::E0232, format!("this is a `{}`, which only reads", self.show(pointer.ty))),
            };
            self.report(Diagnostic::new(code, first.span, message));
            return self.skip_args(rest, span);
        }
        if !self.atomic_works(op, pointee) {
            let message = format!("`{name}` does not work on `{}`", self.show(pointee));
            self.report(Diagnostic::new(Code::E0203, first.span, message).help(atomic_types(op)));
            return self.skip_args(rest, span);
        }
        let mut typed = vec![pointer];
        typed.extend(rest.iter().map(|arg| self.expr_as(&arg.value, pointee)));
        if typed.iter().any(is_poison) {
            return poison(span);
        }
        Expr { kind: ExprKind::Atomic(op, scope, typed), ty: pointee, span }
    }

    fn atomic_works(&self, op: AtomicOp, ty: TypeId) -> bool {
        match self.checker.types.get(ty) {
            Type::Int(int) => match op {
                AtomicOp::Inc | AtomicOp::Dec => *int == Int::U32,
                AtomicOp::Cas => int.bits() >= 16,
                _ => int.bits() >= 32,
            },
            Type::Float(Float::F32 | Float::F64) => matches!(op, AtomicOp::Add | AtomicOp::Sub | AtomicOp::Exch),
            Type::Float(Float::F16 | Float::Bf16)
            | Type::Vector { element: Scalar::Float(Float::F16 | Float::Bf16), lanes: 2 } => op == AtomicOp::Add,
            _ => false,
        }
    }

    fn warp(&mut self, op: WarpOp, args: &[ast::Arg], span: Span) -> Expr {
        let (least, most) = match op {
            WarpOp::ActiveMask => (0, 0),
            WarpOp::Shfl | WarpOp::ShflUp | WarpOp::ShflDown | WarpOp::ShflXor => (3, 4),
            WarpOp::MatchAll => (3, 3),
            _ => (2, 2),
        };
        if !self.count(op.name(), args, least, most, span) {
            return self.skip_args(args, span);
        }
        let mut typed = Vec::new();
        if let Some(mask) = args.first() {
            typed.push(self.mask(&mask.value));
        }
        let mut ty = TypeTable::U32;
        match op {
            WarpOp::ActiveMask => {}
            WarpOp::All | WarpOp::Any | WarpOp::Ballot => {
                typed.extend(args.get(1).map(|arg| self.predicate(&arg.value)));
                if op != WarpOp::Ballot {
                    ty = TypeTable::BOOL;
                }
            }
            WarpOp::Shfl | WarpOp::ShflUp | WarpOp::ShflDown | WarpOp::ShflXor => {
                typed.extend(args.get(1).map(|arg| self.expr(&arg.value, None)));
                ty = typed.last().map_or(ty, |value| value.ty);
                typed.extend(args.get(2).map(|arg| self.small_int(&arg.value)));
                typed.push(args.get(3).map_or_else(
                    || super::expr::const_expr(Const::bits(TypeTable::I32, 32), span),
                    |arg| self.expr_as(&arg.value, TypeTable::I32),
                ));
            }
            _ => {
                typed.extend(args.get(1).map(|arg| self.expr(&arg.value, None)));
                if !matches!(op, WarpOp::MatchAny | WarpOp::MatchAll) {
                    ty = typed.last().map_or(ty, |value| value.ty);
                }
            }
        }
        if typed.iter().any(is_poison) {
            return poison(span);
        }
        if let Some(width) = typed.get(3).filter(|_| op.is_shuffle())
            && let Some(value) = self.int_value(width).filter(|value| !matches!(value, 1 | 2 | 4 | 8 | 16 | 32))
        {
            let message = format!("a shuffle among {value} lanes does not exist");
            let diagnostic = Diagnostic::new(Code::E0242, width.span, message).help("the width is a power of two, 1 to 32");
            self.report(diagnostic.note("CUDA programming guide, \"Warp Shuffle Functions\""));
            return poison(span);
        }
        if let Some(value) = typed.get(1).filter(|value| !self.warp_works(op, value.ty)) {
            let message = format!("`{}` does not work on `{}`", op.name(), self.show(value.ty));
            let at = value.span;
            self.report(Diagnostic::new(Code::E0203, at, message));
            return poison(span);
        }
        if let (WarpOp::MatchAll, Some(all)) = (op, args.get(2)) {
            let all = self.truth_pointer(all);
            if is_poison(&all) {
                return all;
            }
            typed.push(all);
            return Expr { kind: ExprKind::Parts(PartsFn::MatchAll, typed), ty, span };
        }
        Expr { kind: ExprKind::Warp(op, typed), ty, span }
    }

    fn warp_works(&self, op: WarpOp, ty: TypeId) -> bool {
        let bits = match self.checker.types.get(ty) {
            Type::Int(int) => int.bits(),
            Type::Float(float) => float.bits(),
            Type::Vector { element: Scalar::Float(Float::F16 | Float::Bf16), lanes: 2 } => return op.is_shuffle(),
            Type::Bool => 8,
            _ => return false,
        };
        let is_float = self.checker.types.as_float(ty).is_some();
        let unsigned = ty == TypeTable::U32;
        match op {
            WarpOp::All | WarpOp::Any | WarpOp::Ballot | WarpOp::ActiveMask => true,
            WarpOp::Shfl | WarpOp::ShflUp | WarpOp::ShflDown | WarpOp::ShflXor => bits >= 32 || is_float,
            WarpOp::MatchAny | WarpOp::MatchAll => bits >= 32,
            WarpOp::ReduceAdd | WarpOp::ReduceMin | WarpOp::ReduceMax => unsigned || ty == TypeTable::I32,
            WarpOp::ReduceAnd | WarpOp::ReduceOr | WarpOp::ReduceXor => unsigned,
        }
    }

    /// A mask of lanes; written as any 32-bit integer.
    fn mask(&mut self, arg: &ast::Expr) -> Expr {
        let typed = self.expr(arg, Some(TypeTable::U32));
        self.coerce(typed, TypeTable::U32, arg)
    }

    /// An `i32`, where a `u32` may stand too: lanes and distances.
    fn small_int(&mut self, arg: &ast::Expr) -> Expr {
        let typed = self.expr(arg, Some(TypeTable::I32));
        if typed.ty == TypeTable::U32 {
            return self.cast_int(typed, TypeTable::I32);
        }
        self.coerce(typed, TypeTable::I32, arg)
    }

    // ------------------------------------------------------------------------------------------------ memory and host

    /// `__ldg(p)` and the loads with a cache hint.
    fn load(&mut self, name: &str, access: Access, name_span: Span, args: &[ast::Arg], span: Span) -> Expr {
        self.needs_device(name_span, name);
        let [arg] = args else {
            self.count(name, args, 1, 1, span);
            return self.skip_args(args, span);
        };
        let pointer = self.expr(&arg.value, None);
        match self.place_behind(name, access, pointer, span) {
            Some(place) => Expr { ty: place.ty, kind: ExprKind::Read(Box::new(place), access), span },
            None => poison(span),
        }
    }

    /// `__stcg(p, value)` and its kin.
    fn hinted_store(&mut self, hint: CacheHint, name_span: Span, args: &[ast::Arg], span: Span) -> Expr {
        let name = hint.name();
        self.needs_device(name_span, name);
        let [pointer, value] = args else {
            self.count(name, args, 2, 2, span);
            return self.skip_args(args, span);
        };
        let pointer_span = pointer.span;
        let pointer = self.expr(&pointer.value, None);
        let Some(place) = self.place_behind(name, Access::Hinted(hint), pointer, pointer_span) else {
            return self.skip_args(std::slice::from_ref(value), span);
        };
        self.check_writable(&place, pointer_span);
        let value = self.expr_as(&value.value, place.ty);
        if is_poison(&value) {
            return value;
        }
        Expr { kind: ExprKind::Store(hint, Box::new(place), Box::new(value)), ty: TypeTable::VOID, span }
    }

    /// What a pointer to global memory points at, for an access that only global memory has. A generic pointer must point there.
    fn place_behind(&mut self, name: &str, access: Access, mut pointer: Expr, span: Span) -> Option<Place> {
        if is_poison(&pointer) {
            return None;
        }
        let at = pointer.span;
        let shown = self.show(pointer.ty);
        let Some((space, pointee, constant)) = self.checker.types.pointee(pointer.ty) else {
            let message = format!("`{name}` works through a pointer, this is `{shown}`");
            self.report(self.needs_address(at, message, &pointer));
            return None;
        };
        if !matches!(space, Space::Global | Space::Generic) {
            let message = format!("`{name}` is for global memory, this is `{shown}`");
            self.report(Diagnostic::new(Code::E0503, at, message));
            return None;
        }
        self.pointer_step(pointer.ty, at)?;
        if self.checker.types.is_volatile(pointer.ty) {
            let message = format!("this is `{shown}`, and `{name}` is no `volatile` access");
            let help = "read and write through the pointer itself: `*p`";
            self.report(Diagnostic::new(Code::E0240, at, message).help(help));
            return None;
        }
        if matches!(access, Access::Hinted(_)) && self.checker.types.hinted(pointee).is_none() {
            let message = format!("`{name}` does not work on `{}`", self.show(pointee));
            let help = "it works on numbers, and on vectors of 2 and 4 of them that have at most 16 bytes";
            self.report(Diagnostic::new(Code::E0203, at, message).help(help));
            return None;
        }
        if space == Space::Generic {
            let ty = self.checker.types.pointer(Space::Global, pointee, constant);
            pointer = self.cast(crate::ir::CastKind::FromGeneric, pointer, ty);
        }
        Some(Place { kind: PlaceKind::Deref(pointer), ty: pointee, span })
    }

    /// `device(T, n)`
    fn host_allocate(&mut self, name_span: Span, args: &[ast::Arg], span: Span) -> Expr {
        self.needs_host(name_span, "device");
        let [element, count] = args else {
            let diagnostic = Diagnostic::new(Code::E0204, span, "`device` takes a type and a number of elements");
            self.report(diagnostic.help("`device(f32, 1000)` is a zeroed buffer of 1000 elements in device memory"));
            return poison(span);
        };
        let Some(ty) = element.value.as_type() else {
            self.report(Diagnostic::new(
                Code::E0204,
                element.span,
                "the first argument of `device` is the type of the elements",
            ));
            return poison(span);
        };
        let ty = self.resolve_sized(&ty, "a buffer element");
        let count = self.integer(&count.value, "a number of elements is an integer");
        let Some(count) = count.filter(|_| ty != TypeTable::POISON) else { return poison(span) };
        if let Some(value) = self.int_value(&count)
            && value < 0
        {
            let message = format!("a buffer cannot have {value} elements");
            self.report(Diagnostic::new(Code::E0304, count.span, message));
            return poison(span);
        }
        let count = self.cast_int(count, TypeTable::U64);
        let pointer = self.checker.types.pointer(Space::Global, ty, false);
        Expr { kind: ExprKind::HostAllocate(ty, Box::new(count)), ty: pointer, span }
    }
}

const fn atomic_types(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Add | AtomicOp::Sub | AtomicOp::Exch => "it works on 32- and 64-bit integers, `f32` and `f64`",
        AtomicOp::Inc | AtomicOp::Dec => "it works on `u32`",
        AtomicOp::Cas => "it works on integers of 16, 32 and 64 bits",
        _ => "it works on 32- and 64-bit integers",
    }
}
