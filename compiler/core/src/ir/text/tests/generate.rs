//! Modules out of nothing but a number: any shape, right or wrong.

use crate::builtins::{AtomicOp, BarrierOp, Intrinsic, MemoryScope, Register, RuntimeFn, TextureOp, WarpOp};
use crate::ir::text::ACCESSES;
use crate::ir::*;
use crate::source::{FileId, Span};
use crate::types::{EnumDef, Field, Float, Int, Scalar, Space, StructDef, Type, TypeId};

/// A small generator of numbers (splitmix64).
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn flag(&mut self) -> bool {
        self.next() & 1 == 1
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    fn many<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.flag() { Some(make(self)) } else { None }
    }

    fn span(&mut self) -> Span {
        Span::new(FileId(self.below(3) as u16), self.below(1000) as u32, self.below(1000) as u32)
    }

    fn name(&mut self) -> String {
        let names =
            ["", "x", "i32", "struct", "const", "Row", "_a1", "9b", "a b", "Pair[f32]", "\"q\"\\\n\u{7}ä", "bb0", "zero", "e"];
        (*self.pick(&names)).to_owned()
    }

    fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.next(),
            1 => self.next() >> 40,
            2 => u64::MAX - self.below(3) as u64,
            _ => self.below(300) as u64,
        }
    }
}

/// A module with a bit of everything.
pub(super) fn module(seed: u64) -> Module {
    let mut g = Generator(seed);
    let mut module = Module::default();
    for _ in 0..g.below(4) {
        let fields = Vec::new();
        let def = StructDef { name: g.name(), fields, align: g.below(40) as u32, span: g.span() };
        module.types.add_struct(def);
    }
    for _ in 0..g.below(3) {
        let repr = g.pick(&Int::ALL);
        let variants = g.many(3, |g| (g.name(), g.next()));
        module.types.add_enum(EnumDef { name: g.name(), repr, variants, span: g.span() });
    }
    for _ in 0..g.below(12) {
        add_type(&mut g, &mut module);
    }
    for index in 1..module.types.structs().len() {
        let fields =
            g.many(4, |g| Field { name: g.name(), ty: any_type(g, &module), align: g.below(20) as u32, span: g.span() });
        module.types.struct_mut(crate::types::StructId(index as u32)).unwrap().fields = fields;
    }
    for _ in 0..g.below(4) {
        let spaces = [Space::Global, Space::Constant, Space::Shared, Space::Local, Space::Generic];
        let init = g.maybe(|g| constant(g, &module));
        let global = Global {
            name: g.name(),
            symbol: g.name(),
            space: g.pick(&spaces),
            ty: any_type(&mut g, &module),
            init,
            align: g.below(32) as u32,
            exported: g.flag(),
            external: g.flag(),
            span: g.span(),
        };
        module.globals.push(global);
    }
    for _ in 0..g.below(4) {
        let function = function(&mut g, &module);
        module.functions.push(function);
    }
    module
}

fn add_type(g: &mut Generator, module: &mut Module) {
    let element = any_type(g, module);
    let spaces = [Space::Global, Space::Constant, Space::Shared, Space::Local, Space::Generic];
    let ty = match g.below(6) {
        0 | 1 => Type::Pointer { space: g.pick(&spaces), pointee: element, constant: g.flag(), volatile: g.flag() },
        2 => Type::Array { element, len: g.number() },
        3 => Type::Unsized { element },
        4 => {
            let scalar = if g.flag() { Scalar::Int(g.pick(&Int::ALL)) } else { Scalar::Float(g.pick(&Float::ALL)) };
            Type::Vector { element: scalar, lanes: g.below(9) as u8 }
        }
        _ if g.flag() && !module.types.enums().is_empty() => {
            Type::Enum(crate::types::EnumId(g.below(module.types.enums().len()) as u32))
        }
        _ => Type::Struct(crate::types::StructId(g.below(module.types.structs().len()) as u32)),
    };
    module.types.intern(ty);
}

fn any_type(g: &mut Generator, module: &Module) -> TypeId {
    TypeId(g.below(module.types.len()) as u32)
}

fn value(g: &mut Generator, depth: u32) -> ConstValue {
    match g.below(if depth > 3 { 5 } else { 8 }) {
        0..=2 => ConstValue::Bits(g.number()),
        3 => ConstValue::Zero,
        4 => ConstValue::Str(g.name()),
        _ => ConstValue::Aggregate(g.many(3, |g| value(g, depth + 1))),
    }
}

fn constant(g: &mut Generator, module: &Module) -> Const {
    Const { ty: any_type(g, module), value: value(g, 0) }
}

fn function(g: &mut Generator, module: &Module) -> Function {
    let kinds = [FunctionKind::Kernel, FunctionKind::Plain, FunctionKind::Host, FunctionKind::Test { name: g.name() }];
    Function {
        name: g.name(),
        symbol: g.name(),
        kind: g.pick(&kinds),
        param_count: g.below(3) as u32,
        return_type: any_type(g, module),
        locals: g.many(6, |g| Local { name: g.name(), ty: any_type(g, module), restrict: g.flag(), span: g.span() }),
        blocks: g.many(4, |g| block(g, module)),
        launch_bounds: g.maybe(|g| (g.below(2000) as u32, g.below(5) as u32)),
        cluster: g.maybe(|g| [0; 3].map(|_| g.below(9) as u32)),
        inline: g.pick(&[Inline::Auto, Inline::Always, Inline::Never]),
        exported: g.flag(),
        span: g.span(),
    }
}

fn block(g: &mut Generator, module: &Module) -> Block {
    Block {
        statements: g.many(8, |g| Statement { kind: statement(g, module), span: g.span() }),
        terminator: Terminator { kind: terminator(g, module), span: g.span() },
        unroll: g.maybe(|g| g.below(9) as u32),
    }
}

fn local(g: &mut Generator) -> LocalId {
    LocalId(g.below(8) as u32)
}

fn target(g: &mut Generator) -> BlockId {
    BlockId(g.below(5) as u32)
}

fn operand(g: &mut Generator, module: &Module) -> Operand {
    match g.below(5) {
        0 => Operand::Function(FunctionId(g.below(5) as u32)),
        1 | 2 => Operand::Const(constant(g, module)),
        _ => Operand::Local(local(g)),
    }
}

fn operands(g: &mut Generator, module: &Module) -> Vec<Operand> {
    g.many(4, |g| operand(g, module))
}

fn place(g: &mut Generator, module: &Module) -> Place {
    let base = match g.below(3) {
        0 => PlaceBase::Local(local(g)),
        1 => PlaceBase::Global(GlobalId(g.below(4) as u32)),
        _ => PlaceBase::Deref(operand(g, module)),
    };
    let path =
        g.many(3, |g| if g.flag() { Projection::Field(g.below(5) as u32) } else { Projection::Index(operand(g, module)) });
    Place { base, path }
}

fn rvalue(g: &mut Generator, module: &Module) -> Rvalue {
    let a = operand(g, module);
    let b = operand(g, module);
    match g.below(14) {
        0 => Rvalue::Use(a),
        1 => Rvalue::Unary(g.pick(&[UnaryOp::Neg, UnaryOp::Not]), a),
        2 => Rvalue::Binary(g.pick(&super::super::BINARY).1, a, b),
        3 => Rvalue::Cast(g.pick(&super::super::CASTS).1, a),
        4 => Rvalue::Select(a, b, operand(g, module)),
        5 => Rvalue::AddressOf(place(g, module)),
        6 => Rvalue::Offset(a, b),
        7 => Rvalue::Distance(a, b),
        8 => Rvalue::Aggregate(operands(g, module)),
        9 => Rvalue::Extract(a, g.below(5) as u32),
        10 => Rvalue::Register(g.pick(&Register::ALL)),
        11 => Rvalue::MapSharedRank(a, b),
        12 => Rvalue::SharedRank(a),
        _ => Rvalue::Intrinsic(g.pick(Intrinsic::ALL), operands(g, module)),
    }
}

fn statement(g: &mut Generator, module: &Module) -> StatementKind {
    let scopes = [MemoryScope::Block, MemoryScope::Cluster, MemoryScope::Device, MemoryScope::System];
    let accesses = ACCESSES.map(|(_, access)| access);
    let dst = g.maybe(local);
    match g.below(16) {
        0 | 1 => StatementKind::Assign { dst: local(g), value: rvalue(g, module) },
        2 => StatementKind::Load { dst: local(g), place: place(g, module), access: g.pick(&accesses) },
        3 => StatementKind::Store { place: place(g, module), value: operand(g, module), access: g.pick(&accesses) },
        4 => StatementKind::Call { dst, function: FunctionId(g.below(5) as u32), args: operands(g, module) },
        5 => StatementKind::Atomic {
            dst,
            op: g.pick(&AtomicOp::ALL),
            scope: g.pick(&scopes),
            pointer: operand(g, module),
            operands: operands(g, module),
        },
        6 => StatementKind::Barrier { dst, op: g.pick(&BarrierOp::ALL), operand: g.maybe(|g| operand(g, module)) },
        7 => StatementKind::Fence { scope: g.pick(&scopes) },
        8 => StatementKind::Warp { dst, op: g.pick(&WarpOp::ALL), args: operands(g, module) },
        9 => {
            let mut three = || [operand(g, module), operand(g, module), operand(g, module)];
            let (grid, block) = (three(), three());
            StatementKind::Launch(Box::new(Launch {
                dst,
                kernel: FunctionId(g.below(5) as u32),
                grid,
                block,
                shared: operand(g, module),
                stream: operand(g, module),
                args: operands(g, module),
                hints: LaunchHints {
                    merge: g.maybe(|g| g.pick(&[Merge::Grid, Merge::Off, Merge::Buckets(16)])),
                    inline_below: g.maybe(|g| g.below(2000) as u32),
                },
            }))
        }
        10 => StatementKind::Runtime { dst, call: g.pick(RuntimeFn::ALL), args: operands(g, module) },
        11 => StatementKind::Printf { dst, format: g.name(), args: operands(g, module) },
        12 => {
            StatementKind::Assert { condition: operand(g, module), text: g.name(), format: g.name(), args: operands(g, module) }
        }
        13 => StatementKind::Texture { dst, op: g.pick(TextureOp::ALL), args: operands(g, module) },
        14 => StatementKind::Deinit { local: local(g) },
        _ => StatementKind::HostAllocate { dst: local(g), element: any_type(g, module), count: operand(g, module) },
    }
}

fn terminator(g: &mut Generator, module: &Module) -> TerminatorKind {
    match g.below(6) {
        0 => TerminatorKind::Goto(target(g)),
        1 => TerminatorKind::Branch { condition: operand(g, module), then: target(g), otherwise: target(g) },
        2 => {
            let cases = g.many(3, |g| (g.number(), target(g)));
            TerminatorKind::Switch { value: operand(g, module), cases, default: target(g) }
        }
        3 => TerminatorKind::Return(None),
        4 => TerminatorKind::Return(Some(operand(g, module))),
        _ => TerminatorKind::Unreachable,
    }
}
