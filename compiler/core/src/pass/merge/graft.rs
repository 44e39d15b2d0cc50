//! Puts the functions and variables of one module into another.

use crate::builtins::CudaEnum;
use crate::ir::{
    Access, Const, Function, FunctionId, Global, GlobalId, Module, Operand, PlaceBase, StatementKind, TerminatorKind,
};
use crate::source::Span;
use crate::types::{EnumDef, StructDef, StructId, Type, TypeId, TypeTable};
use std::collections::HashMap;

/// What becomes of names.
pub(in crate::pass) struct Naming<'a> {
    /// The symbol of a function or variable in the other module.
    pub symbol: &'a dyn Fn(&str) -> String,
    /// Functions that are declared only, by name.
    pub given: &'a HashMap<String, FunctionId>,
    /// Where everything comes from, as far as the user is concerned.
    pub span: Span,
}

/// Adds everything; the functions by name. None when a function is declared and not given.
pub(in crate::pass) fn graft(module: &mut Module, part: Module, naming: &Naming<'_>) -> Option<HashMap<String, FunctionId>> {
    let mut graft = Graft {
        from: &part.types,
        to: &mut module.types,
        types: HashMap::new(),
        structs: HashMap::new(),
        functions: Vec::new(),
        first_global: module.globals.len(),
        span: naming.span,
    };
    let mut names = HashMap::new();
    let mut next = module.functions.len();
    for function in &part.functions {
        let id = if function.blocks.is_empty() {
            *naming.given.get(&function.name)?
        } else {
            next += 1;
            FunctionId(u32::try_from(next - 1).unwrap_or(u32::MAX))
        };
        names.insert(function.name.clone(), id);
        graft.functions.push(id);
    }
    for global in part.globals {
        let global = graft.global(global, naming);
        module.globals.push(global);
    }
    for function in part.functions.into_iter().filter(|function| !function.blocks.is_empty()) {
        let function = graft.function(function, naming);
        module.functions.push(function);
    }
    Some(names)
}

struct Graft<'a> {
    from: &'a TypeTable,
    to: &'a mut TypeTable,
    types: HashMap<TypeId, TypeId>,
    structs: HashMap<StructId, StructId>,
    functions: Vec<FunctionId>,
    first_global: usize,
    span: Span,
}

impl Graft<'_> {
    fn ty(&mut self, id: TypeId) -> TypeId {
        if let Some(known) = self.types.get(&id) {
            return *known;
        }
        let ty = match self.from.get(id).clone() {
            Type::Pointer { space, pointee, constant, volatile } => {
                Type::Pointer { space, pointee: self.ty(pointee), constant, volatile }
            }
            Type::Array { element, len } => Type::Array { element: self.ty(element), len },
            Type::Unsized { element } => Type::Unsized { element: self.ty(element) },
            Type::Struct(id) => Type::Struct(self.structure(id)),
            Type::Enum(id) if CudaEnum::from_id(id).is_none() => {
                let none =
                    || EnumDef { name: String::new(), repr: crate::types::Int::I32, variants: Vec::new(), span: self.span };
                let def = self.from.enum_def(id).cloned().unwrap_or_else(none);
                Type::Enum(self.to.add_enum(def))
            }
            other => other,
        };
        let new = self.to.intern(ty);
        self.types.insert(id, new);
        new
    }

    fn structure(&mut self, id: StructId) -> StructId {
        // the first one, `dim3`, is the same everywhere
        if id == StructId(0) {
            return id;
        }
        if let Some(known) = self.structs.get(&id) {
            return *known;
        }
        let Some(def) = self.from.struct_def(id).cloned() else { return StructId(0) };
        let name = format!("cdpc$merge${}", def.name);
        let new = self.to.add_struct(StructDef { name, fields: Vec::new(), align: def.align, span: self.span });
        // known before its fields are looked at, which may point at it
        self.structs.insert(id, new);
        let mut fields = def.fields;
        for field in &mut fields {
            field.ty = self.ty(field.ty);
            field.span = self.span;
        }
        if let Some(new) = self.to.struct_mut(new) {
            new.fields = fields;
        }
        self.to.seal(new);
        new
    }

    fn constant(&mut self, constant: &mut Const) {
        constant.ty = self.ty(constant.ty);
    }

    fn global(&mut self, mut global: Global, naming: &Naming<'_>) -> Global {
        global.ty = self.ty(global.ty);
        global.symbol = (naming.symbol)(&global.symbol);
        global.name = format!("cdpc${}", global.name);
        global.span = self.span;
        if let Some(init) = &mut global.init {
            self.constant(init);
        }
        global
    }

    fn function(&mut self, mut function: Function, naming: &Naming<'_>) -> Function {
        let is_peek = function.name.starts_with("peek");
        function.symbol = (naming.symbol)(&function.symbol);
        function.name = format!("cdpc${}", function.name);
        function.return_type = self.ty(function.return_type);
        function.span = self.span;
        for local in &mut function.locals {
            local.ty = self.ty(local.ty);
            local.span = self.span;
        }
        for block in &mut function.blocks {
            for statement in &mut block.statements {
                statement.span = self.span;
                self.statement(&mut statement.kind);
                if let StatementKind::Load { access, .. } = &mut statement.kind
                    && is_peek
                {
                    *access = Access::Relaxed;
                }
            }
            block.terminator.span = self.span;
            self.terminator(&mut block.terminator.kind);
        }
        function
    }

    fn operand(&mut self, operand: &mut Operand) {
        if let Operand::Const(constant) = operand {
            self.constant(constant);
        }
    }

    fn statement(&mut self, statement: &mut StatementKind) {
        statement.each_operand_mut(&mut |operand| self.operand(operand));
        let first = u32::try_from(self.first_global).unwrap_or(u32::MAX);
        statement.each_place_mut(&mut |place| {
            if let PlaceBase::Global(GlobalId(id)) = &mut place.base {
                *id += first;
            }
        });
        statement.each_function_mut(&mut |id| {
            if let Some(new) = self.functions.get(id.index()) {
                *id = *new;
            }
        });
    }

    fn terminator(&mut self, terminator: &mut TerminatorKind) {
        terminator.each_operand_mut(&mut |operand| self.operand(operand));
    }
}
