//! Statements, terminators and blocks.

use super::Verifier;
use crate::builtins::{AtomicOp, BarrierOp, RuntimeFn, RuntimeParam, TextureOp, WarpOp};
use crate::ir::{
    BlockId, Function, FunctionId, FunctionKind, Launch, LocalId, Operand, Statement, StatementKind, Terminator, TerminatorKind,
};
use crate::types::{Float, Int, Scalar, Space, Type, TypeId, TypeTable};

impl Verifier<'_> {
    pub(super) fn body(&mut self, function: &Function) {
        for (index, block) in function.blocks.iter().enumerate() {
            self.block = Some(BlockId(u32::try_from(index).unwrap_or(u32::MAX)));
            for (index, statement) in block.statements.iter().enumerate() {
                self.statement = Some(index);
                self.statement(statement);
            }
            self.statement = Some(block.statements.len());
            self.terminator(function, &block.terminator);
        }
        self.block = None;
        self.statement = None;
    }

    fn terminator(&mut self, function: &Function, terminator: &Terminator) {
        for target in terminator.kind.successors() {
            let exists = target.index() < function.blocks.len();
            self.require(exists, |_| format!("there is no block {}", target.0));
            self.require(target != BlockId(0), |_| "control goes back to the entry block".to_owned());
        }
        match &terminator.kind {
            TerminatorKind::Goto(_) | TerminatorKind::Unreachable => {}
            TerminatorKind::Branch { condition, .. } => self.operand_of(condition, TypeTable::BOOL, "the condition"),
            TerminatorKind::Switch { value, cases, .. } => {
                let ty = self.operand(value);
                let Some(int) = self.module.types.as_int(ty) else {
                    return self.error(format!("a switch is over {}", self.display(ty)));
                };
                let mut seen = std::collections::HashSet::new();
                for (pattern, _) in cases {
                    let fits = int.bits() == 64 || pattern >> int.bits() == 0;
                    self.require(fits, |verifier| format!("case {pattern:#x} does not fit {}", verifier.display(ty)));
                    self.require(seen.insert(pattern), |_| format!("case {pattern:#x} is there twice"));
                }
            }
            TerminatorKind::Return(None) => {
                let fits = function.return_type == TypeTable::VOID;
                self.require(fits, |_| "a value is missing in a return".to_owned());
            }
            TerminatorKind::Return(Some(value)) => self.operand_of(value, function.return_type, "the returned value"),
        }
    }

    /// The type of a local that is written.
    fn target(&mut self, dst: LocalId) -> Option<TypeId> {
        let local = self.function.and_then(|(_, function)| function.locals.get(dst.index()));
        if local.is_none() {
            self.error(format!("there is no local {}", dst.0));
        }
        local.map(|local| local.ty)
    }

    /// A result that is not wanted, or of this type.
    fn result(&mut self, dst: Option<LocalId>, ty: TypeId, what: &str) {
        if let Some(found) = dst.and_then(|dst| self.target(dst)) {
            self.require(ty != TypeTable::VOID, |_| format!("{what} gives nothing"));
            if ty != TypeTable::VOID {
                self.same_type(found, ty, "the local for the result");
            }
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign { dst, value } => {
                if let Some(ty) = self.target(*dst) {
                    self.rvalue(value, ty);
                }
            }
            StatementKind::Load { dst, place, access } => {
                let target = self.target(*dst);
                if let (Some((ty, space, _)), Some(target)) = (self.place(place), target) {
                    self.same_type(ty, target, "what is read");
                    self.access(*access, ty, space, false);
                    self.volatility(place, *access);
                }
            }
            StatementKind::Store { place, value, access } => {
                if let Some((ty, space, writable)) = self.place(place) {
                    self.require(writable, |_| "read-only memory is written".to_owned());
                    self.access(*access, ty, space, true);
                    self.volatility(place, *access);
                    self.require_value_type(ty, "what is written");
                    self.operand_of(value, ty, "what is written");
                }
            }
            StatementKind::Call { dst, function, args } => self.call(*dst, *function, args),
            StatementKind::Atomic { dst, op, pointer, operands, .. } => self.atomic(*dst, *op, pointer, operands),
            StatementKind::Barrier { dst, op, operand } => self.barrier(*dst, *op, operand.as_ref()),
            StatementKind::Fence { .. } => {}
            StatementKind::Deinit { local } => {
                self.target(*local);
            }
            StatementKind::Warp { dst, op, args } => self.warp(*dst, *op, args),
            StatementKind::Texture { dst, op, args } => self.texture(*dst, *op, args),
            StatementKind::Launch(launch) => self.launch(launch),
            StatementKind::Runtime { dst, call, args } => self.runtime(*dst, *call, args),
            StatementKind::Printf { dst, args, .. } => {
                self.result(*dst, TypeTable::I32, "printf");
                self.printed(args);
            }
            StatementKind::Assert { condition, args, .. } => {
                self.operand_of(condition, TypeTable::BOOL, "the condition");
                self.printed(args);
            }
            StatementKind::HostAllocate { dst, element, count } => {
                self.operand_of(count, TypeTable::U64, "the count");
                self.require_value_type(*element, "an element of a buffer");
                if let Some(ty) = self.target(*dst) {
                    let fits = self.module.types.pointee(ty) == Some((Space::Global, *element, false));
                    self.require(fits, |verifier| format!("a buffer is of type {}", verifier.display(ty)));
                }
            }
        }
    }

    fn printed(&mut self, args: &[Operand]) {
        for arg in args {
            let ty = self.operand(arg);
            let fits = matches!(
                self.module.types.get(ty),
                Type::Int(Int::I32 | Int::U32 | Int::I64 | Int::U64)
                    | Type::Float(Float::F64)
                    | Type::Pointer { .. }
                    | Type::Str
                    | Type::Poison
            );
            self.require(fits, |verifier| format!("{} is printed without promotion", verifier.display(ty)));
        }
    }

    fn arguments(&mut self, name: &str, params: &[TypeId], args: &[Operand]) {
        self.require(params.len() == args.len(), |_| format!("{name} takes {} arguments, not {}", params.len(), args.len()));
        for (param, arg) in params.iter().zip(args) {
            self.operand_of(arg, *param, "an argument");
        }
    }

    fn call(&mut self, dst: Option<LocalId>, id: FunctionId, args: &[Operand]) {
        let Some(function) = self.module.function(id) else {
            return self.error(format!("there is no function {}", id.0));
        };
        let name = &function.name;
        let callable = matches!(function.kind, FunctionKind::Plain | FunctionKind::Host);
        self.require(callable, |_| format!("{name} is called, though it is a kernel or test"));
        let params: Vec<TypeId> = function.param_types().collect();
        self.arguments(name, &params, args);
        self.result(dst, function.return_type, name);
    }

    fn launch(&mut self, launch: &Launch) {
        self.result(launch.dst, TypeTable::CUDA_ERROR, "a launch");
        for extent in launch.grid.iter().chain(&launch.block) {
            self.operand_of(extent, TypeTable::U32, "a dimension");
        }
        self.operand_of(&launch.shared, TypeTable::U32, "the size of shared memory");
        self.operand_of(&launch.stream, TypeTable::STREAM, "the stream");
        let Some(kernel) = self.module.function(launch.kernel) else {
            return self.error(format!("there is no function {}", launch.kernel.0));
        };
        self.require(kernel.is_kernel(), |_| format!("{} is launched, though it is no kernel", kernel.name));
        let params: Vec<TypeId> = kernel.param_types().collect();
        self.arguments(&kernel.name, &params, &launch.args);
    }

    fn atomic(&mut self, dst: Option<LocalId>, op: AtomicOp, pointer: &Operand, operands: &[Operand]) {
        let pointer = self.operand(pointer);
        let Some((space, ty, constant)) = self.module.types.pointee(pointer) else {
            return self.error(format!("{} needs a pointer", op.name()));
        };
        let reachable = matches!(space, Space::Generic | Space::Global | Space::Shared) && !constant;
        self.require(reachable, |_| format!("{} works on memory that it cannot change", op.name()));
        let fits = self.atomic_fits(op, ty);
        self.require(fits, |verifier| format!("{} does not work on {}", op.name(), verifier.display(ty)));
        let count = op.operands();
        self.require(operands.len() == count, |_| format!("{} takes {count} operands", op.name()));
        for operand in operands {
            self.operand_of(operand, ty, "an operand");
        }
        self.result(dst, ty, op.name());
    }

    fn atomic_fits(&self, op: AtomicOp, ty: TypeId) -> bool {
        let ty = self.module.types.get(ty);
        let word = matches!(ty, Type::Int(int) if int.bits() >= 32);
        match op {
            AtomicOp::Add => {
                let halves = matches!(ty, Type::Vector { element: Scalar::Float(Float::F16 | Float::Bf16), lanes: 2 });
                word || halves || matches!(ty, Type::Float(_))
            }
            AtomicOp::Exch => word || matches!(ty, Type::Float(Float::F32 | Float::F64) | Type::Pointer { .. }),
            AtomicOp::Cas => {
                let short = matches!(ty, Type::Int(Int::U16 | Int::I16));
                word || short || matches!(ty, Type::Float(Float::F32 | Float::F64) | Type::Pointer { .. })
            }
            AtomicOp::Inc | AtomicOp::Dec => matches!(ty, Type::Int(Int::U32)),
            _ => word,
        }
    }

    fn barrier(&mut self, dst: Option<LocalId>, op: BarrierOp, operand: Option<&Operand>) {
        let (result, wanted, needed) = match op {
            BarrierOp::Block | BarrierOp::ClusterArrive | BarrierOp::ClusterArriveRelaxed | BarrierOp::ClusterWait => {
                (TypeTable::VOID, None, false)
            }
            BarrierOp::BlockCount => (TypeTable::I32, Some(TypeTable::BOOL), true),
            BarrierOp::BlockAnd | BarrierOp::BlockOr => (TypeTable::BOOL, Some(TypeTable::BOOL), true),
            BarrierOp::Warp => (TypeTable::VOID, Some(TypeTable::U32), false),
        };
        self.result(dst, result, op.name());
        match (operand, wanted) {
            (Some(operand), Some(wanted)) => self.operand_of(operand, wanted, "the operand"),
            (Some(_), None) => self.error(format!("{} takes no operand", op.name())),
            (None, _) => {
                self.require(!needed, |_| format!("{} needs an operand", op.name()));
            }
        }
    }

    fn warp(&mut self, dst: Option<LocalId>, op: WarpOp, args: &[Operand]) {
        let mut types = Vec::new();
        for arg in args {
            types.push(self.operand(arg));
        }
        if types.contains(&TypeTable::POISON) {
            return;
        }
        let word = |ty: &TypeId| matches!(self.module.types.get(*ty), Type::Int(int) if int.bits() >= 32);
        let movable = |ty: &TypeId| word(ty) || matches!(self.module.types.get(*ty), Type::Float(_));
        const MASK: TypeId = TypeTable::U32;
        let (fits, result) = match (op, types.as_slice()) {
            (WarpOp::ActiveMask, []) => (true, TypeTable::U32),
            (WarpOp::All | WarpOp::Any, [MASK, p]) => (*p == TypeTable::BOOL, TypeTable::BOOL),
            (WarpOp::Ballot, [MASK, p]) => (*p == TypeTable::BOOL, TypeTable::U32),
            // the lane of `__shfl_sync` is an `int` in CUDA, the others' distances are unsigned
            (WarpOp::Shfl | WarpOp::ShflUp | WarpOp::ShflDown | WarpOp::ShflXor, [MASK, v, lane, width]) => {
                let is_lane = |ty: &TypeId| *ty == TypeTable::I32 || *ty == TypeTable::U32;
                let is_pair = matches!(
                    self.module.types.get(*v),
                    Type::Vector { element: Scalar::Float(Float::F16 | Float::Bf16), lanes: 2 }
                );
                let fits = movable(v) || is_pair;
                (fits && is_lane(lane) && is_lane(width), *v)
            }
            (WarpOp::MatchAny | WarpOp::MatchAll, [MASK, v]) => (movable(v), TypeTable::U32),
            (WarpOp::ReduceAdd | WarpOp::ReduceMin | WarpOp::ReduceMax, [MASK, v]) => {
                (*v == TypeTable::I32 || *v == TypeTable::U32, *v)
            }
            (WarpOp::ReduceAnd | WarpOp::ReduceOr | WarpOp::ReduceXor, [MASK, v]) => (*v == TypeTable::U32, *v),
            _ => (false, TypeTable::POISON),
        };
        if !fits {
            let shown: Vec<String> = types.iter().map(|ty| self.display(*ty)).collect();
            return self.error(format!("{} does not take ({})", op.name(), shown.join(", ")));
        }
        self.result(dst, result, op.name());
    }

    fn texture(&mut self, dst: Option<LocalId>, op: TextureOp, args: &[Operand]) {
        let name = op.name();
        let count = op.operands();
        self.require(args.len() == count, |_| format!("{name} takes {count} operands, not {}", args.len()));
        let places = 1 + op.coordinates();
        for (index, arg) in args.iter().enumerate().take(places) {
            self.operand_of(arg, index.checked_sub(1).map_or(op.object(), |at| op.coordinate(at)), name);
        }
        if let (Some(choice), Some(arg)) = (op.choice(), args.last()) {
            self.operand_of(arg, TypeTable::I32, name);
            self.require(arg.as_bits().is_some_and(|value| choice.has(value)), |_| format!("{name} without a constant choice"));
        }
        let element = match (op.is_write(), dst) {
            (true, None) => args.get(places).map(|value| self.operand(value)),
            (false, Some(dst)) => self.target(dst),
            _ => return self.error(format!("{name} needs a result exactly when it reads")),
        };
        let fits = element.is_none_or(|ty| ty == TypeTable::POISON || self.module.types.texel(ty).is_some());
        self.require(fits, |_| format!("{name} works on no such elements"));
    }

    fn runtime(&mut self, dst: Option<LocalId>, call: RuntimeFn, args: &[Operand]) {
        let params = call.params();
        let name = call.name();
        self.require(params.len() == args.len(), |_| format!("{name} takes {} arguments, not {}", params.len(), args.len()));
        for (param, arg) in params.iter().zip(args) {
            self.runtime_argument(name, *param, arg);
        }
        self.result(dst, call.result(), name);
    }

    fn runtime_argument(&mut self, name: &str, param: RuntimeParam, arg: &Operand) {
        if param == RuntimeParam::Kernel {
            let is_kernel = match arg {
                Operand::Function(id) => self.module.function(*id).is_some_and(Function::is_kernel),
                _ => false,
            };
            self.require(is_kernel, |_| format!("{name} needs a kernel's address"));
            return;
        }
        let ty = self.operand(arg);
        if ty == TypeTable::POISON {
            return;
        }
        let types = &self.module.types;
        let fits = match param {
            RuntimeParam::Value(wanted) => ty == wanted,
            RuntimeParam::Flags(kind) => ty == kind.ty(),
            RuntimeParam::Out(wanted) => types.pointee(ty).is_some_and(|(_, pointee, constant)| pointee == wanted && !constant),
            RuntimeParam::OutPointer => types.pointee(ty).is_some_and(|(_, pointee, constant)| {
                !constant && matches!(types.get(pointee), Type::Pointer { space: Space::Global | Space::Generic, .. })
            }),
            RuntimeParam::Address | RuntimeParam::Memory => types.pointee(ty).is_some_and(|(_, _, constant)| !constant),
            RuntimeParam::ConstAddress | RuntimeParam::ConstMemory => types.pointee(ty).is_some(),
            RuntimeParam::Size => ty == TypeTable::U64,
            RuntimeParam::Dim3 => ty == TypeTable::DIM3,
            RuntimeParam::Kernel => false,
            RuntimeParam::Struct(which) | RuntimeParam::Description(which) => types.is_predeclared(ty, which),
            RuntimeParam::InStruct(which) => {
                types.pointee(ty).is_some_and(|(_, pointee, _)| types.is_predeclared(pointee, which))
            }
            RuntimeParam::OutStruct(which) => {
                types.pointee(ty).is_some_and(|(_, pointee, constant)| !constant && types.is_predeclared(pointee, which))
            }
        };
        self.require(fits, |verifier| format!("{name} is given {} for {param:?}", verifier.display(ty)));
    }
}
