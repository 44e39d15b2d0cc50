//! Types and expressions.

#![allow(clippy::indexing_slicing, reason = "every index is drawn below the length")]

use super::Writer;

/// A type of a generated value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
    /// The structure with this number.
    Struct(usize),
}

/// Those that are no structures.
pub(super) const SCALARS: [Type; 12] = [
    Type::Bool,
    Type::I8,
    Type::U8,
    Type::I16,
    Type::U16,
    Type::I32,
    Type::U32,
    Type::I64,
    Type::U64,
    Type::F16,
    Type::F32,
    Type::F64,
];

/// Those that lanes exchange.
pub(super) const WIDE: [Type; 6] = [Type::I32, Type::U32, Type::I64, Type::U64, Type::F32, Type::F64];

impl Type {
    /// As it is written; the tag belongs to the names of structures.
    pub(super) fn name(self, tag: &str) -> String {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Struct(index) => return format!("S{index}{tag}"),
        }
        .to_owned()
    }

    /// Of an integer: its bits.
    pub(super) const fn width(self) -> Option<u32> {
        Some(match self {
            Self::I8 | Self::U8 => 8,
            Self::I16 | Self::U16 => 16,
            Self::I32 | Self::U32 => 32,
            Self::I64 | Self::U64 => 64,
            _ => return None,
        })
    }

    pub(super) const fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    pub(super) const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }
}

/// What can be named at a place, and what may still be executed there.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    variables: Vec<(String, Type)>,
    /// Those that may be assigned.
    mutable: Vec<(String, Type)>,
    names: usize,
    /// How often this place is executed for each execution of the body.
    pub(super) times: u64,
    budget: u64,
    spent: u64,
}

impl Scope {
    pub(super) const fn new(budget: u64) -> Self {
        Self { variables: Vec::new(), mutable: Vec::new(), names: 0, times: 1, budget, spent: 1 }
    }

    pub(super) fn parameters(&mut self, types: &[Type], tag: &str) -> String {
        let mut list = Vec::new();
        for ty in types {
            let name = self.fresh();
            list.push(format!("{name}: {}", ty.name(tag)));
            self.declare(&name, *ty, false);
        }
        list.join(", ")
    }

    /// A name that is not used yet.
    pub(super) fn fresh(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    pub(super) fn declare(&mut self, name: &str, ty: Type, mutable: bool) {
        self.variables.push((name.to_owned(), ty));
        if mutable {
            self.mutable.push((name.to_owned(), ty));
        }
    }

    pub(super) fn variables(&self) -> &[(String, Type)] {
        &self.variables
    }

    pub(super) fn mutable(&self) -> &[(String, Type)] {
        &self.mutable
    }

    /// Whether something of this cost may stand here; then it is paid for.
    pub(super) fn pay(&mut self, cost: u64) -> bool {
        let fits = self.spent + cost * self.times <= self.budget;
        self.spent += if fits { cost * self.times } else { 0 };
        fits
    }

    pub(super) const fn spent(&self) -> u64 {
        self.spent
    }

    /// What was declared in an inner block is gone behind it; what was executed there was executed.
    pub(super) fn leave(&mut self, inner: &Self) {
        self.names = inner.names;
        self.spent = inner.spent;
    }
}

impl Writer {
    /// An expression that can stand as an operand.
    pub(super) fn expression(&mut self, scope: &mut Scope, ty: Type, depth: u32) -> String {
        if let Type::Struct(index) = ty {
            return self.structure_value(scope, index, depth);
        }
        if depth == 0 || !scope.pay(1) {
            return self.leaf(scope, ty);
        }
        match self.draw.below(12) {
            0 | 1 => self.leaf(scope, ty),
            2 => self.call(scope, ty, depth).unwrap_or_else(|| self.leaf(scope, ty)),
            3 => self.cast(scope, ty, depth),
            4 => {
                let condition = self.expression(scope, Type::Bool, depth - 1);
                let (a, b) = (self.expression(scope, ty, depth - 1), self.expression(scope, ty, depth - 1));
                format!("(if {condition} {{ {a} }} else {{ {b} }})")
            }
            _ if ty == Type::Bool => self.condition(scope, depth),
            _ if ty.is_float() => self.float(scope, ty, depth),
            _ => self.integer(scope, ty, depth),
        }
    }

    fn structure_value(&mut self, scope: &mut Scope, index: usize, depth: u32) -> String {
        let same: Vec<String> =
            scope.variables().iter().filter(|(_, ty)| *ty == Type::Struct(index)).map(|(name, _)| name.clone()).collect();
        if self.draw.below(3) > 0
            && let Some(name) = self.draw.one(&same)
        {
            return name.clone();
        }
        let fields = self.structs.get(index).cloned().unwrap_or_default();
        let values: Vec<String> = fields.iter().map(|ty| self.expression(scope, *ty, depth.saturating_sub(1))).collect();
        format!("S{index}{}({})", self.tag, values.join(", "))
    }

    /// A variable, a field, an element, a literal.
    fn leaf(&mut self, scope: &mut Scope, ty: Type) -> String {
        let mut found: Vec<String> = Vec::new();
        for (name, of) in scope.variables() {
            if *of == ty {
                found.push(name.clone());
            }
            if let Type::Struct(index) = of {
                let fields = self.structs.get(*index).into_iter().flatten().enumerate();
                found.extend(fields.filter(|(_, of)| **of == ty).map(|(at, _)| format!("{name}.f{at}")));
            }
        }
        if ty == Type::U32 {
            found.push(format!("table{}[{}]", self.tag, self.draw.below(16)));
        }
        match self.draw.one(&found) {
            Some(name) if self.draw.below(4) > 0 => name.clone(),
            _ => self.literal(ty),
        }
    }

    /// A value of the type that needs no variable.
    pub(super) fn literal(&mut self, ty: Type) -> String {
        let bits = self.draw.bits();
        match ty {
            Type::Bool => if bits & 1 == 0 { "false" } else { "true" }.to_owned(),
            Type::Struct(index) => {
                let fields = self.structs.get(index).cloned().unwrap_or_default();
                let values: Vec<String> = fields.iter().map(|ty| self.literal(*ty)).collect();
                format!("S{index}{}({})", self.tag, values.join(", "))
            }
            _ if ty.is_float() => {
                let values = ["0.0", "1.0", "0.5", "-2.0", "3.25", "1e4", "-0.1", "1e-3", "65504.0", "1e-7"];
                let value = values.get(bits as usize % values.len()).copied().unwrap_or("0.0");
                format!("({value}{})", ty.name(&self.tag))
            }
            _ => {
                let width = ty.width().unwrap_or(32);
                let most = if ty.is_signed() { width - 1 } else { width };
                let value = match bits % 5 {
                    0 => 0,
                    1 => u64::MAX >> (64 - most),
                    2 => bits >> 60,
                    _ => bits >> (64 - most),
                };
                let sign = if ty.is_signed() && bits & 32 != 0 { "-" } else { "" };
                format!("({sign}{value}{})", ty.name(&self.tag))
            }
        }
    }

    fn call(&mut self, scope: &mut Scope, ty: Type, depth: u32) -> Option<String> {
        let fitting: Vec<_> = self.functions.iter().filter(|function| function.result == ty).cloned().collect();
        let function = self.draw.one(&fitting)?.clone();
        if !scope.pay(function.cost) {
            return None;
        }
        let arguments: Vec<String> = function.params.iter().map(|ty| self.expression(scope, *ty, depth - 1)).collect();
        Some(format!("{}({})", function.name, arguments.join(", ")))
    }

    fn cast(&mut self, scope: &mut Scope, ty: Type, depth: u32) -> String {
        let from = self.scalar();
        let value = self.expression(scope, from, depth - 1);
        format!("({value} as {})", ty.name(&self.tag))
    }

    fn condition(&mut self, scope: &mut Scope, depth: u32) -> String {
        let choice = self.draw.below(5);
        if choice < 3 {
            let (a, b) = (self.expression(scope, Type::Bool, depth - 1), self.expression(scope, Type::Bool, depth - 1));
            let operator = ["&&", "||", "&", "|", "^", "=="][self.draw.below(6)];
            return if choice == 0 { format!("(!{a})") } else { format!("({a} {operator} {b})") };
        }
        let ty = self.scalar();
        let operators: &[&str] = if ty == Type::Bool { &["==", "!="] } else { &["==", "!=", "<", "<=", ">", ">="] };
        let (a, b) = (self.expression(scope, ty, depth - 1), self.expression(scope, ty, depth - 1));
        let operator = self.draw.one(operators).copied().unwrap_or("==");
        format!("({a} {operator} {b})")
    }

    fn float(&mut self, scope: &mut Scope, ty: Type, depth: u32) -> String {
        let a = self.expression(scope, ty, depth - 1);
        match self.draw.below(9) {
            0 => format!("(-{a})"),
            1 if ty != Type::F16 => {
                let function = ["sqrt", "floor", "ceil", "trunc", "rint", "abs"][self.draw.below(6)];
                format!("{function}({a})")
            }
            2 => {
                // one fused operation
                let (b, c) = (self.expression(scope, ty, depth - 1), self.expression(scope, ty, depth - 1));
                format!("({a} * {b} + {c})")
            }
            _ => {
                let b = self.expression(scope, ty, depth - 1);
                let operator = ["+", "-", "*", "/"][self.draw.below(4)];
                format!("({a} {operator} {b})")
            }
        }
    }

    fn integer(&mut self, scope: &mut Scope, ty: Type, depth: u32) -> String {
        let a = self.expression(scope, ty, depth - 1);
        let width = ty.width().unwrap_or(32);
        match self.draw.below(10) {
            0 => format!("(!{a})"),
            1 if ty.is_signed() => format!("wrapping_neg({a})"),
            2 if width >= 32 => {
                let function = ["__popc", "__clz", "__ffs"][self.draw.below(3)];
                format!("({function}({a}) as {})", ty.name(&self.tag))
            }
            3 if width >= 32 => format!("__brev({a})"),
            4 => {
                let by = self.expression(scope, Type::U32, depth - 1);
                let operator = ["<<", ">>"][self.draw.below(2)];
                format!("({a} {operator} ({by} & {}))", width - 1)
            }
            5 if ty.is_signed() => {
                let operator = ["/", "%"][self.draw.below(2)];
                format!("({a} {operator} {})", 1 + self.draw.below(100))
            }
            6 => {
                let b = self.expression(scope, ty, depth - 1);
                let function = ["min", "max"][self.draw.below(2)];
                format!("{function}({a}, {b})")
            }
            7 => {
                let b = self.expression(scope, ty, depth - 1);
                let operator = ["&", "|", "^"][self.draw.below(3)];
                format!("({a} {operator} {b})")
            }
            choice => {
                let b = self.expression(scope, ty, depth - 1);
                let which = self.draw.below(3);
                if ty.is_signed() || choice == 8 {
                    let function = ["wrapping_add", "wrapping_sub", "wrapping_mul"][which];
                    format!("{function}({a}, {b})")
                } else if self.draw.below(4) == 0 {
                    let operator = ["/", "%"][self.draw.below(2)];
                    format!("({a} {operator} ({b} | 1))")
                } else {
                    let operator = ["+", "-", "*"][which];
                    format!("({a} {operator} {b})")
                }
            }
        }
    }
}
