//! What only device code, or only host code, may do.
//!
//! A plain `fn` may be called from either side; what it uses decides. So a body only records what would be wrong where, and once all
//! bodies are known, everything that kernels reach is device code and everything that host functions and tests reach is host code.

use super::Checker;
use super::body::Body;
use crate::diag::{Code, Diagnostic};
use crate::ir::{FunctionId, FunctionKind};
use crate::source::Span;

/// A side of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// What kernels reach.
    Device,
    /// What `host fn` and `test` reach.
    Host,
}

/// What one body does that matters for sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    wrong: Vec<(Place, Diagnostic)>,
    calls: Vec<FunctionId>,
}

impl Body<'_, '_> {
    /// Reports `diagnostic` if this body turns out to run there.
    pub(crate) fn wrong_on(&mut self, place: Place, diagnostic: Diagnostic) {
        self.uses.wrong.push((place, diagnostic));
    }

    /// `what` exists in device code only.
    pub(crate) fn needs_device(&mut self, span: Span, what: &str) {
        let message = format!("`{what}` exists only in device code");
        let diagnostic =
            Diagnostic::new(Code::E0234, span, message).help("host code starts a kernel, and the kernel does this");
        self.wrong_on(Place::Host, diagnostic);
    }

    /// `what` exists in host code only.
    pub(crate) fn needs_host(&mut self, span: Span, what: &str) {
        let message = format!("`{what}` exists only in host code");
        let diagnostic =
            Diagnostic::new(Code::E0234, span, message).help("do it in a `host fn` or `test`, before or after the launch");
        self.wrong_on(Place::Device, diagnostic);
    }

    pub(crate) fn records_call(&mut self, function: FunctionId) {
        self.uses.calls.push(function);
    }
}

impl Checker<'_> {
    /// Reports what the sides forbid, each once, with the kernel or host function that gets there.
    pub(crate) fn check_sides(&mut self) {
        for place in [Place::Device, Place::Host] {
            let mut reached = vec![false; self.functions.len()];
            for root in 0..self.functions.len() {
                let Some(function) = self.functions.get(root) else { continue };
                let is_root = match function.kind {
                    FunctionKind::Kernel => place == Place::Device,
                    FunctionKind::Host | FunctionKind::Test { .. } => place == Place::Host,
                    FunctionKind::Plain => false,
                };
                if is_root {
                    self.check_root(root, place, &mut reached);
                }
            }
        }
    }

    fn check_root(&mut self, root: usize, place: Place, reached: &mut [bool]) {
        let root_name = self.functions.get(root).map(|f| (f.name.clone(), f.span));
        let mut stack = vec![root];
        while let Some(index) = stack.pop() {
            match reached.get_mut(index) {
                Some(done) if !*done => *done = true,
                _ => continue,
            }
            let Some(uses) = self.uses.get(index) else { continue };
            stack.extend(uses.calls.iter().map(|callee| callee.index()));
            let wrong: Vec<Diagnostic> =
                uses.wrong.iter().filter(|(at, _)| *at == place).map(|(_, diagnostic)| diagnostic.clone()).collect();
            for mut diagnostic in wrong {
                if index != root
                    && let Some((name, span)) = &root_name
                {
                    let what = if place == Place::Device { "kernel" } else { "host code" };
                    diagnostic = diagnostic.also(*span, format!("{what} `{name}` gets here"));
                }
                self.report(diagnostic);
            }
        }
    }
}
