//! The scopes and variables of one body, and what every part of the checker asks of it.

use super::hints::Hinted;
use super::items::twice;
use super::sides::Uses;
use super::{Checker, Env};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Const, FunctionId, FunctionKind, GlobalId};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Variable, VariableId};
use crate::types::{Space, Type, TypeId, TypeTable, layout::PointerWidth};
use std::collections::HashMap;

/// What a name means inside a body.
#[derive(Clone, Debug)]
pub(crate) enum Symbol {
    /// A parameter, `let`, `var` or loop variable.
    Variable(VariableId),
    /// A `const` statement.
    Const(Const),
    /// A `shared` variable.
    Shared(GlobalId),
    /// Its declaration failed.
    Poison,
}

/// A name with its meaning and place.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) symbol: Symbol,
    pub(crate) span: Span,
}

/// A body under check. Also serves items without one (types, constants): then there are no variables and no function.
pub(crate) struct Body<'c, 'a> {
    pub(crate) checker: &'c mut Checker<'a>,
    pub(crate) env: Env,
    pub(crate) function: Option<FunctionId>,
    pub(crate) kind: FunctionKind,
    pub(crate) symbol: String,
    pub(crate) return_type: TypeId,
    pub(crate) variables: Vec<Variable>,
    pub(crate) mutable: Vec<Mutability>,
    pub(crate) scopes: Vec<HashMap<String, Named>>,
    pub(crate) loops: u32,
    pub(crate) uses: Uses,
    /// `let`s that certainly point to private memory: to which, and where the pointer was made.
    pub(crate) private_lets: HashMap<VariableId, (Space, Span)>,
    /// The launch attributes of the statement that is looked at.
    pub(crate) hinted: Option<Hinted>,
    depth: u32,
}

/// Whether a variable may be assigned, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutability {
    /// `var`
    Var,
    /// `let`
    Let,
    /// A parameter.
    Parameter,
    /// The variable of a `for`.
    Loop,
}

/// Deeper expressions than this are refused: no one writes them, and the stack is finite.
const MAX_EXPR_DEPTH: u32 = 2000;

impl<'c, 'a> Body<'c, 'a> {
    /// For types and constants outside functions.
    pub(crate) fn for_item(checker: &'c mut Checker<'a>, env: Env) -> Self {
        Self {
            checker,
            env,
            function: None,
            kind: FunctionKind::Plain,
            symbol: String::new(),
            return_type: TypeTable::VOID,
            variables: Vec::new(),
            mutable: Vec::new(),
            scopes: vec![HashMap::new()],
            loops: 0,
            uses: Uses::default(),
            private_lets: HashMap::new(),
            hinted: None,
            depth: 0,
        }
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.checker.report(diagnostic);
    }

    /// A type for a message.
    pub(crate) fn show(&self, ty: TypeId) -> String {
        self.checker.types.display(ty)
    }

    /// The source under a span.
    pub(crate) fn text(&self, span: Span) -> String {
        self.checker.sources.text(span).to_owned()
    }

    /// `&value`, where an address is needed and a value is given that has one.
    pub(crate) fn address_of_value(&self, value: &Expr) -> Option<String> {
        let ExprKind::Read(place, _) = &value.kind else { return None };
        let text = self.text(value.span);
        Some(match (self.checker.types.get(place.ty), text.strip_prefix('*')) {
            (Type::Array { .. }, None) => format!("&{text}[0]"),
            (Type::Array { .. }, Some(array)) => format!("&(*{array})[0]"),
            (_, Some(pointer)) => pointer.to_owned(),
            _ => format!("&{text}"),
        })
    }

    /// A value stands where an address is needed.
    pub(crate) fn needs_address(&self, span: Span, message: String, value: &Expr) -> Diagnostic {
        let diagnostic = Diagnostic::new(Code::E0203, span, message);
        match self.address_of_value(value) {
            Some(address) => diagnostic.help(format!("pass the address: `{address}`")),
            None => diagnostic,
        }
    }

    /// Layouts that constants depend on (`sizeof`) are those of 64-bit modules.
    pub(crate) const fn width(&self) -> PointerWidth {
        PointerWidth::W64
    }

    /// Whether the body runs on the host only.
    pub(crate) const fn is_host(&self) -> bool {
        matches!(self.kind, FunctionKind::Host | FunctionKind::Test { .. })
    }

    pub(crate) fn declare_variable(
        &mut self,
        name: &ast::Ident,
        ty: TypeId,
        mutability: Mutability,
        restrict: bool,
    ) -> VariableId {
        let id = VariableId(u32::try_from(self.variables.len()).unwrap_or(u32::MAX));
        self.variables.push(Variable { name: name.name.clone(), ty, restrict, span: name.span });
        self.mutable.push(mutability);
        let symbol = if ty == TypeTable::POISON { Symbol::Poison } else { Symbol::Variable(id) };
        self.declare(name, symbol);
        id
    }

    /// Gives a name a meaning in the innermost scope; there it may have one meaning only.
    pub(crate) fn declare(&mut self, name: &ast::Ident, symbol: Symbol) {
        let Some(scope) = self.scopes.last_mut() else { return };
        let named = Named { symbol, span: name.span };
        if let Some(first) = scope.insert(name.name.clone(), named) {
            let diagnostic = twice("name", &name.name, name.span, first.span);
            self.report(diagnostic.help("an inner block may use the name anew"));
        }
    }

    /// What a name means here, innermost scope first.
    pub(crate) fn find(&self, name: &str) -> Option<&Named> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Every name that is visible, for suggestions.
    pub(crate) fn visible_names(&self) -> Vec<String> {
        self.scopes.iter().flat_map(|scope| scope.keys().cloned()).collect()
    }

    /// Runs `inside` in a scope of its own.
    pub(crate) fn scoped<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(HashMap::new());
        let result = inside(self);
        self.scopes.pop();
        result
    }

    /// Runs `inside` one level deeper, or reports that the expression is too deep.
    pub(crate) fn deeper(&mut self, span: Span, inside: impl FnOnce(&mut Self) -> Expr) -> Expr {
        if self.depth >= MAX_EXPR_DEPTH {
            let message = "this expression nests too deep";
            self.report(Diagnostic::new(Code::E0110, span, message).help("give parts of it names with `let`"));
            return poison(span);
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }
}

/// An expression where an error was reported.
pub(crate) const fn poison(span: Span) -> Expr {
    Expr { kind: ExprKind::Const(Const::zero(TypeTable::POISON)), ty: TypeTable::POISON, span }
}

/// Whether an error was reported in an expression.
pub(crate) fn is_poison(expr: &Expr) -> bool {
    expr.ty == TypeTable::POISON
}
