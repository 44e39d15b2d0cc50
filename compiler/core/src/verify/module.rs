//! Types, variables and functions as wholes.

use super::Verifier;
use crate::ir::{Function, FunctionKind, Global};
use crate::types::{Scalar, Space, Type, TypeId, TypeTable};
use std::collections::HashMap;

/// How deep structures and arrays may lie in each other.
const MOST_DEPTH: u32 = 64;
/// How many fields a structure may have, those of inner structures counted.
const MOST_FIELDS: u64 = 1 << 16;
/// How many bytes a type may take.
const MOST_BYTES: u64 = 1 << 40;
/// No alignment is larger.
const MOST_ALIGN: u32 = 1 << 16;

/// What a type is made of, by value.
#[derive(Clone, Copy, Debug)]
struct Extent {
    depth: u32,
    fields: u64,
    bytes: u64,
}

impl Verifier<'_> {
    /// Every type is made of types of the table, and finite.
    pub(super) fn types(&mut self) {
        let types = &self.module.types;
        let mut extents: HashMap<TypeId, Option<Extent>> = HashMap::new();
        for index in 0..types.len() {
            let id = TypeId(u32::try_from(index).unwrap_or(u32::MAX));
            if let Err(message) = extent(types, id, 0, &mut extents) {
                self.error(message);
            }
        }
        if !self.errors.is_empty() {
            return;
        }
        for def in types.structs() {
            for align in def.fields.iter().map(|field| field.align).chain([def.align]) {
                self.require(is_align(align), |_| format!("structure {} asks for alignment {align}", def.name));
            }
            for field in &def.fields {
                let whole = self.is_value_type(field.ty);
                self.require(whole, |_| format!("field {} of structure {} has no size", field.name, def.name));
            }
        }
        for def in types.enums() {
            let bits = def.repr.bits();
            for (name, value) in &def.variants {
                self.require(bits == 64 || value >> bits == 0, |_| format!("{name} does not fit enumeration {}", def.name));
            }
        }
    }

    /// Whether values of this type exist and have a size.
    pub(super) fn is_value_type(&self, ty: TypeId) -> bool {
        let types = &self.module.types;
        (ty.0 as usize) < types.len()
            && match types.get(ty) {
                Type::Void | Type::Poison | Type::Unsized { .. } => false,
                Type::Array { element, .. } => self.is_value_type(*element),
                _ => true,
            }
    }

    pub(super) fn require_value_type(&mut self, ty: TypeId, what: &str) -> bool {
        let holds = self.is_value_type(ty);
        self.require(holds, |verifier| format!("{what} cannot be of type {}", verifier.display(ty)))
    }

    /// A type for messages; deep ones are cut short elsewhere, since [`Verifier::types`] refuses them.
    pub(super) fn display(&self, ty: TypeId) -> String {
        self.module.types.display(ty)
    }

    pub(super) fn globals(&mut self) {
        for global in &self.module.globals {
            self.global(global);
        }
    }

    fn global(&mut self, global: &Global) {
        let name = &global.name;
        let dynamic = matches!(self.module.types.get(global.ty), Type::Unsized { .. });
        if dynamic {
            self.require(global.space == Space::Shared, |_| format!("{name} has no size but is not shared"));
            if let Some(element) = self.module.types.element(global.ty, 0) {
                self.require_value_type(element, "an element of dynamic shared memory");
            }
        } else {
            self.require_value_type(global.ty, "a variable");
        }
        let known = matches!(global.space, Space::Global | Space::Constant | Space::Shared);
        self.require(known, |_| format!("{name} is in no memory that variables can be in"));
        self.require(is_align(global.align), |_| format!("{name} asks for alignment {}", global.align));
        if global.external {
            self.require(global.exported && global.init.is_none(), |_| format!("{name} is defined elsewhere and here"));
        }
        if let Some(init) = &global.init {
            self.require(global.space != Space::Shared, |_| format!("shared variable {name} has a first value"));
            self.require(init.ty == global.ty, |_| format!("{name} has a first value of another type"));
            if !dynamic {
                self.constant(init);
            }
        }
    }

    pub(super) fn functions(&mut self) {
        for (id, function) in self.module.functions() {
            self.function = Some((id, function));
            self.signature(function);
            self.body(function);
        }
        self.function = None;
    }

    fn signature(&mut self, function: &Function) {
        let name = &function.name;
        let void = function.return_type == TypeTable::VOID;
        if !void {
            self.require_value_type(function.return_type, "a result");
        }
        let params = function.param_count as usize;
        self.require(params <= function.locals.len(), |_| format!("{name} has fewer locals than parameters"));
        for local in &function.locals {
            self.require_value_type(local.ty, "a local");
        }
        match &function.kind {
            FunctionKind::Kernel => {
                self.require(void, |_| format!("kernel {name} returns a value"));
                for ty in function.param_types() {
                    let fits = !matches!(self.module.types.get(ty), Type::Str);
                    self.require(fits, |verifier| format!("kernel {name} has a parameter of type {}", verifier.display(ty)));
                }
            }
            FunctionKind::Test { .. } => {
                self.require(void && params == 0, |_| format!("test {name} has parameters or a result"));
            }
            FunctionKind::Plain | FunctionKind::Host => {}
        }
        if function.blocks.is_empty() {
            self.require(!function.is_host(), |_| format!("{name} has no body"));
        }
        if let Some((threads, _)) = function.launch_bounds {
            self.require(function.is_kernel() && threads > 0, |_| format!("{name} has launch bounds that make no sense"));
        }
        if let Some(cluster) = function.cluster {
            let blocks = cluster.iter().fold(1u32, |blocks, size| blocks.saturating_mul(*size));
            let fits = function.is_kernel() && (1..=crate::types::MAX_CLUSTER).contains(&blocks);
            self.require(fits, |_| format!("{name} has clusters of {blocks} blocks"));
        }
    }

    /// Names in PTX are identifiers, and unique; so are kernels' and tests' names in source.
    pub(super) fn symbols(&mut self) {
        let module = self.module;
        let functions = module.functions.iter().map(|f| (f.symbol.as_str(), f.is_host()));
        let globals = module.globals.iter().map(|g| (g.symbol.as_str(), false));
        let mut seen = std::collections::HashSet::new();
        for (symbol, is_host) in functions.chain(globals) {
            self.require(is_host || is_identifier(symbol), |_| format!("symbol {symbol:?} is not an identifier of PTX"));
            self.require(seen.insert(symbol), |_| format!("symbol {symbol:?} is used twice"));
        }
        let mut tests = std::collections::HashSet::new();
        for function in &module.functions {
            if matches!(function.kind, FunctionKind::Test { .. }) {
                self.require(tests.insert(&function.name), |_| format!("two tests are named {:?}", function.name));
            }
        }
    }
}

/// 0 for none, or a power of two.
const fn is_align(align: u32) -> bool {
    align == 0 || (align.is_power_of_two() && align <= MOST_ALIGN)
}

/// An identifier of PTX: letters, digits, `_` and `$`, not a digit first.
fn is_identifier(symbol: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    symbol.chars().all(plain) && symbol.chars().next().is_some_and(|c| !c.is_ascii_digit()) && symbol != "_" && symbol != "$"
}

/// Measures a type. Pointees are looked at for being in the table only: a structure may point at itself.
fn extent(types: &TypeTable, id: TypeId, depth: u32, known: &mut HashMap<TypeId, Option<Extent>>) -> Result<Extent, String> {
    match known.get(&id) {
        Some(Some(extent)) => return Ok(*extent),
        Some(None) => return Err("a structure contains itself".to_owned()),
        None => {}
    }
    if depth > MOST_DEPTH {
        return Err(format!("types lie in each other more than {MOST_DEPTH} deep"));
    }
    if id.0 as usize >= types.len() {
        return Err(format!("type {} is not in the table", id.0));
    }
    let scalar = Extent { depth: 0, fields: 1, bytes: 16 };
    let result = match types.get(id) {
        Type::Vector { element, lanes } => match element {
            Scalar::Int(_) | Scalar::Float(_) if (2..=4).contains(lanes) => Extent { bytes: 32, ..scalar },
            _ => return Err(format!("a vector has {lanes} lanes")),
        },
        Type::Pointer { .. } => {
            pointer_depth(types, id)?;
            scalar
        }
        Type::Array { element, len } => {
            let element = extent(types, *element, depth + 1, known)?;
            Extent { depth: element.depth + 1, fields: element.fields, bytes: element.bytes.saturating_mul((*len).max(1)) }
        }
        Type::Unsized { element } => {
            let element = extent(types, *element, depth + 1, known)?;
            Extent { depth: element.depth + 1, ..element }
        }
        Type::Struct(structure) => {
            let def = types.struct_def(*structure).ok_or_else(|| format!("structure {} is not in the table", structure.0))?;
            known.insert(id, None);
            let mut sum = Extent { depth: 0, fields: 1, bytes: 0 };
            for field in &def.fields {
                let field_extent = extent(types, field.ty, depth + 1, known)?;
                sum.depth = sum.depth.max(field_extent.depth);
                sum.fields = sum.fields.saturating_add(field_extent.fields);
                sum.bytes = sum.bytes.saturating_add(field_extent.bytes).saturating_add(u64::from(field.align.max(def.align)));
            }
            Extent { depth: sum.depth + 1, ..sum }
        }
        Type::Enum(enumeration) => {
            types.enum_def(*enumeration).ok_or_else(|| format!("enumeration {} is not in the table", enumeration.0))?;
            scalar
        }
        _ => scalar,
    };
    if result.depth > MOST_DEPTH || result.fields > MOST_FIELDS || result.bytes > MOST_BYTES {
        return Err("a type is too large or too deep".to_owned());
    }
    known.insert(id, Some(result));
    Ok(result)
}

/// Pointers to pointers, and arrays of pointers, end somewhere near.
fn pointer_depth(types: &TypeTable, id: TypeId) -> Result<(), String> {
    let mut at = id;
    for _ in 0..=MOST_DEPTH {
        if at.0 as usize >= types.len() {
            return Err(format!("type {} is not in the table", at.0));
        }
        at = match types.get(at) {
            Type::Pointer { pointee, .. } => *pointee,
            Type::Array { element, .. } | Type::Unsized { element } => *element,
            _ => return Ok(()),
        };
    }
    Err(format!("pointers lie in each other more than {MOST_DEPTH} deep"))
}
