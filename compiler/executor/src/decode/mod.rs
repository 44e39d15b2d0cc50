//! IR to steps.
//!
//! - this file: the module, and each function's frame and control flow
//! - `constant`: constants as bytes
//! - `place`: places and addresses
//! - `partial`: what may hold bytes without a value
//! - `value`: pure computations
//! - `effect`: everything that reaches beyond the thread

mod constant;
mod effect;
mod partial;
mod place;
mod value;

use crate::code::{Code, Extent, Kind, Op, Slot, Switch};
use crate::program::{Program, Variable};
use cdp_core::builtins::RuntimeFn;
use cdp_core::ir::{Access, Function, LocalId, Module, Operand, PlaceBase, StatementKind, Terminator, TerminatorKind};
use cdp_core::source::Span;
use cdp_core::types::layout::{PointerWidth, round_up};
use cdp_core::types::{Int, Type, TypeId, TypeTable};
use std::collections::HashMap;

/// The executor's pointers have 64 bits, whatever the target's have.
pub(crate) const WIDTH: PointerWidth = PointerWidth::W64;

/// Frames start at a multiple of this, which no alignment of the language exceeds by much use.
pub(crate) const FRAME_ALIGN: u32 = 128;

/// Locals beyond this make no sense on a GPU either.
const MAX_FRAME: u64 = 1 << 30;

/// Decodes everything.
pub(crate) fn module(module: &Module) -> Program {
    let mut strings = Strings::default();
    let frames: Vec<Frame> = module.functions.iter().map(|function| Frame::new(&module.types, function)).collect();
    let mut functions: Vec<Code> = module
        .functions
        .iter()
        .zip(&frames)
        .map(|(function, frame)| Decoder::new(module, function, frame, &frames, &mut strings).function())
        .collect();
    let mut site = 0;
    for code in &mut functions {
        code.first_site = site;
        // a step is named by the place after it, as the interpreter's counter has it
        site += index32(code.ops.len()) + 1;
    }
    let globals = module.globals.iter().map(|global| variable(module, global, &mut strings)).collect();
    Program { functions, globals, strings: strings.list, types: module.types.clone() }
}

fn variable(module: &Module, global: &cdp_core::ir::Global, strings: &mut Strings) -> Variable {
    let types = &module.types;
    let layout = types.layout(global.ty, WIDTH);
    let (dynamic, element) = match types.get(global.ty) {
        Type::Unsized { element } => (true, *element),
        Type::Array { element, .. } => (false, *element),
        _ => (false, global.ty),
    };
    let mut init = Vec::new();
    match &global.init {
        Some(value) => constant::bytes(types, value.ty, &value.value, strings, &mut init),
        None => init.resize(usize::try_from(layout.size).unwrap_or(0), 0),
    }
    Variable {
        name: global.name.clone(),
        symbol: global.symbol.clone(),
        space: global.space,
        size: layout.size,
        align: layout.align.max(global.align),
        init,
        element: (types.display(element), types.layout(element, WIDTH).size),
        dynamic,
        span: global.span,
    }
}

/// The module's string literals, each once.
#[derive(Debug, Default)]
pub(crate) struct Strings {
    list: Vec<String>,
    ids: HashMap<String, u32>,
}

impl Strings {
    /// The literal's number.
    pub(crate) fn id(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = index32(self.list.len());
        self.list.push(text.to_owned());
        self.ids.insert(text.to_owned(), id);
        id
    }
}

/// Where a function's locals lie in its frame.
#[derive(Debug)]
struct Frame {
    locals: Vec<Slot>,
    /// In bytes; `MAX_FRAME` at most.
    size: u64,
    fits: bool,
}

impl Frame {
    fn new(types: &TypeTable, function: &Function) -> Self {
        let mut size = 0;
        let mut fits = true;
        let mut locals = Vec::with_capacity(function.locals.len());
        for local in &function.locals {
            let layout = types.layout(local.ty, WIDTH);
            let offset = round_up(size, layout.align);
            let end = offset.saturating_add(layout.size);
            if end > MAX_FRAME {
                fits = false;
                locals.push(Slot::default());
                continue;
            }
            locals.push(Slot { offset: offset as u32, size: layout.size as u32 });
            size = end;
        }
        Self { locals, size, fits }
    }
}

/// One function on its way.
struct Decoder<'a> {
    module: &'a Module,
    function: &'a Function,
    frames: &'a [Frame],
    locals: &'a [Slot],
    fits: bool,
    strings: &'a mut Strings,
    code: Code,
    /// Constants that have a place in the frame.
    constants: HashMap<(Vec<u8>, u32), u32>,
    /// The first step of each block.
    starts: Vec<u32>,
    /// How often each local is read.
    reads: Vec<u32>,
    /// By local: whether parts of it may have no value.
    partial: Vec<bool>,
    span: Span,
}

impl<'a> Decoder<'a> {
    fn new(
        module: &'a Module,
        function: &'a Function,
        frame: &'a Frame,
        frames: &'a [Frame],
        strings: &'a mut Strings,
    ) -> Self {
        let params = frame.locals.iter().take(function.param_count as usize).copied().collect();
        let layout = module.types.params_layout(function.param_types(), WIDTH);
        let names = function.locals.iter().take(function.param_count as usize).map(|local| local.name.clone()).collect();
        let mut pointers = Vec::new();
        for ((ty, param), index) in function.param_types().zip(&layout.params).zip(0u32..) {
            pointer_offsets(&module.types, ty, param.offset, &mut |offset| pointers.push((offset as u32, index)));
        }
        let code = Code {
            name: function.name.clone(),
            first_site: 0,
            symbol: function.symbol.clone(),
            kind: function.kind.clone(),
            span: function.span,
            launch_bounds: function.launch_bounds,
            cluster: function.cluster,
            ops: Vec::new(),
            spans: Vec::new(),
            template: vec![0; frame.size as usize],
            partial: Vec::new(),
            params,
            param_offsets: layout.params.iter().map(|param| param.offset as u32).collect(),
            params_size: layout.size as u32,
            param_pointers: pointers,
            param_names: names,
            calls: Vec::new(),
            switches: Vec::new(),
            indexings: Vec::new(),
            extents: Vec::new(),
            solid: Vec::new(),
            intrinsics: Vec::new(),
            effects: Vec::new(),
            traps: Vec::new(),
            globals: Vec::new(),
        };
        Self {
            module,
            function,
            frames,
            locals: &frame.locals,
            fits: frame.fits,
            strings,
            code,
            constants: HashMap::new(),
            starts: Vec::new(),
            reads: count_reads(function),
            partial: partial::locals(module, function),
            span: function.span,
        }
    }

    fn function(mut self) -> Code {
        if !self.fits {
            self.trap(format!("the variables of `{}` take more than a gibibyte", self.function.name));
            return self.code;
        }
        if self.function.blocks.is_empty() {
            self.trap(format!("`{}` is defined in an object that is linked in: it runs on a GPU only", self.function.name));
            return self.code;
        }
        let function = self.function;
        for block in &function.blocks {
            self.starts.push(index32(self.code.ops.len()));
            for statement in &block.statements {
                self.span = statement.span;
                self.statement(&statement.kind);
            }
            self.span = block.terminator.span;
            self.terminator(&block.terminator);
        }
        self.resolve_targets();
        self.code.partial = self.partial_list();
        self.code
    }

    /// Block numbers become steps.
    fn resolve_targets(&mut self) {
        let starts = &self.starts;
        let target = |block: &mut u32| *block = starts.get(*block as usize).copied().unwrap_or(u32::MAX);
        for op in &mut self.code.ops {
            match op {
                Op::Jump { to } => target(to),
                Op::Branch { then, otherwise, .. } => {
                    target(then);
                    target(otherwise);
                }
                _ => {}
            }
        }
        for switch in &mut self.code.switches {
            switch.cases.iter_mut().for_each(|(_, to)| target(to));
            target(&mut switch.default);
        }
    }

    fn statement(&mut self, statement: &StatementKind) {
        match statement {
            StatementKind::Assign { dst, value } => self.assign(*dst, value),
            StatementKind::Load { dst, place, access } => {
                self.load(*dst, place, matches!(access, Access::Volatile | Access::Relaxed))
            }
            StatementKind::Store { place, value, access } => self.store(place, value, *access == Access::Volatile),
            StatementKind::Call { dst, function, args } => self.call(*dst, *function, args),
            StatementKind::Deinit { local } => {
                let Slot { offset: d, size } = self.slot(*local);
                self.push(Op::Deinit { d, size });
            }
            other => {
                // what is launched gets copies; everything else uses its operands
                if !matches!(other, StatementKind::Launch(_)) && !Self::reads_parts(other) {
                    other.each_operand(&mut |operand| self.whole(operand));
                }
                self.effect(other);
                if let Some(dst) = other.destination() {
                    let Slot { offset, size } = self.slot(dst);
                    self.init(offset, size, self.is_partial(dst));
                }
            }
        }
    }

    /// Whether a call is given structures of which it reads some fields only, depending on others.
    fn reads_parts(statement: &StatementKind) -> bool {
        let StatementKind::Runtime { call, .. } = statement else { return false };
        matches!(call, RuntimeFn::CreateTextureObject | RuntimeFn::CreateSurfaceObject)
    }

    fn terminator(&mut self, terminator: &Terminator) {
        match &terminator.kind {
            TerminatorKind::Goto(block) => self.push(Op::Jump { to: block.0 }),
            TerminatorKind::Branch { condition, then, otherwise } => {
                let c = self.operand(condition);
                self.push(Op::Branch { c, then: then.0, otherwise: otherwise.0 });
            }
            TerminatorKind::Switch { value, cases, default } => {
                let a = self.operand(value);
                let Some(kind) = self.module.types.as_int(self.operand_type(value)) else {
                    return self.trap("a switch on something that is no integer".to_owned());
                };
                let mut cases: Vec<(u64, u32)> = cases.iter().map(|(value, block)| (*value, block.0)).collect();
                cases.sort_unstable();
                let table = index32(self.code.switches.len());
                self.code.switches.push(Switch { kind, cases, default: default.0 });
                self.push(Op::Switch { a, table });
            }
            TerminatorKind::Return(value) => {
                let (a, size) = match value {
                    Some(value) => (self.operand(value), self.size(self.operand_type(value))),
                    None => (0, 0),
                };
                self.push(Op::Return { a, size });
            }
            TerminatorKind::Unreachable => {
                self.trap(format!("the end of `{}` was reached without a value to return", self.function.name))
            }
        }
    }

    fn push(&mut self, op: Op) {
        self.code.ops.push(op);
        self.code.spans.push(self.span);
    }

    fn trap(&mut self, text: String) {
        let table = index32(self.code.traps.len());
        self.code.traps.push(text);
        self.push(Op::Trap { table });
    }

    fn operand_type(&self, operand: &Operand) -> TypeId {
        self.module.operand_type(self.function, operand)
    }

    fn size(&self, ty: TypeId) -> u32 {
        u32::try_from(self.module.types.layout(ty, WIDTH).size).unwrap_or(u32::MAX)
    }

    /// The kind of a scalar; none for aggregates, and for vectors, which go lane by lane.
    fn kind(&self, ty: TypeId) -> Option<Kind> {
        kind(&self.module.types, ty)
    }

    fn slot(&self, local: LocalId) -> Slot {
        self.locals.get(local.index()).copied().unwrap_or_default()
    }

    /// Room in the frame that is nobody else's.
    fn scratch(&mut self, size: u32, align: u32) -> u32 {
        let offset = round_up(self.code.template.len() as u64, align) as usize;
        self.code.template.resize(offset + size as usize, 0);
        index32(offset)
    }

    /// Whether the program looks at a local that an error goes to.
    fn observed(&self, dst: Option<LocalId>) -> bool {
        dst.is_some_and(|dst| self.reads.get(dst.index()).is_some_and(|reads| *reads > 0))
    }

    fn extent(&mut self, ty: TypeId, volatile: bool) -> u32 {
        let layout = self.module.types.layout(ty, WIDTH);
        let table = index32(self.code.extents.len());
        let size = u32::try_from(layout.size).unwrap_or(u32::MAX);
        self.code.extents.push(Extent { size, align: layout.align, volatile, scalar: self.kind(ty).is_some() });
        self.code.solid.push(partial::solid(&self.module.types, ty));
        table
    }
}

/// The kind of a scalar type.
pub(crate) fn kind(types: &TypeTable, ty: TypeId) -> Option<Kind> {
    if let Some(int) = types.as_int(ty) {
        return Some(Kind::Int(int));
    }
    if let Some(float) = types.as_float(ty) {
        return Some(Kind::Float(float));
    }
    match types.get(ty) {
        ty if ty.is_address() || *ty == Type::Str => Some(Kind::Int(Int::U64)),
        _ => None,
    }
}

pub(crate) fn index32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// How long an array may be for its elements to be searched for pointers one by one.
const SEARCHED_ELEMENTS: u64 = 256;

/// Every pointer in a value of type `ty` at `offset`.
fn pointer_offsets(types: &TypeTable, ty: TypeId, offset: u64, found: &mut impl FnMut(u64)) {
    match types.get(ty) {
        Type::Pointer { .. } => found(offset),
        Type::Array { element, len } => {
            let size = types.layout(*element, WIDTH).size;
            for index in 0..(*len).min(SEARCHED_ELEMENTS) {
                pointer_offsets(types, *element, offset + index * size, found);
            }
        }
        Type::Struct(id) => {
            if let Some(def) = types.struct_def(*id) {
                let (_, offsets) = types.struct_layout(def, WIDTH);
                for (field, at) in def.fields.iter().zip(offsets) {
                    pointer_offsets(types, field.ty, offset + at, found);
                }
            }
        }
        _ => {}
    }
}

/// How often each local is read, in part or through its address too.
fn count_reads(function: &Function) -> Vec<u32> {
    let mut reads = vec![0u32; function.locals.len()];
    let mut read = |local: &LocalId| {
        if let Some(count) = reads.get_mut(local.index()) {
            *count += 1;
        }
    };
    for block in &function.blocks {
        for statement in &block.statements {
            statement.kind.each_operand(&mut |operand| {
                if let Operand::Local(local) = operand {
                    read(local);
                }
            });
            // storing into a local does not read it
            if !matches!(statement.kind, StatementKind::Store { .. }) {
                statement.kind.each_place(&mut |place| {
                    if let PlaceBase::Local(local) = &place.base {
                        read(local);
                    }
                });
            }
        }
        block.terminator.kind.each_operand(&mut |operand| {
            if let Operand::Local(local) = operand {
                read(local);
            }
        });
    }
    reads
}
