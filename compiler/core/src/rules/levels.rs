//! Levels of lints: what `@allow`, `@warn` and `@deny` say of a piece of source, and the command line of all of it.

use super::lint::{Lint, all};
use crate::diag::{Code, Diagnostic, Diagnostics, Severity};
use crate::source::Span;
use crate::syntax::ast;

/// What becomes of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing.
    Allow,
    /// It is shown.
    Warn,
    /// It is an error.
    Deny,
}

impl Level {
    /// The level that an attribute of this name sets.
    fn of_attribute(name: &str) -> Option<Self> {
        match name {
            "allow" => Some(Self::Allow),
            "warn" => Some(Self::Warn),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

/// The levels in force.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// For the whole program; later entries win.
    defaults: Vec<(Code, Level)>,
    /// For pieces of the source; the innermost wins.
    pieces: Vec<(Span, Code, Level)>,
}

impl Levels {
    /// Every lint warns.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a lint's level for the whole program: by its name or code, or `warnings` for all. Says whether there is such a lint.
    pub fn set(&mut self, name: &str, level: Level) -> bool {
        if name == "warnings" {
            self.defaults.extend(all().iter().map(|lint| (lint.code, level)));
            return true;
        }
        let found = Lint::from_name(name);
        self.defaults.extend(found.map(|lint| (lint.code, level)));
        found.is_some()
    }

    /// Takes the attributes of a file into account. Names that are no lint have been reported by `sema`.
    pub fn read(&mut self, file: &ast::File) {
        for item in &file.items {
            self.attributes(&item.attributes, item.span);
            let body = match &item.kind {
                ast::ItemKind::Function(decl) => decl.body.as_ref(),
                ast::ItemKind::Test(test) => Some(&test.body),
                _ => None,
            };
            let mut work: Vec<&ast::Block> = body.into_iter().collect();
            while let Some(block) = work.pop() {
                for statement in &block.stmts {
                    self.attributes(&statement.attributes, statement.span);
                    work.extend(statement.kind.blocks());
                }
            }
        }
    }

    fn attributes(&mut self, attributes: &[ast::Attribute], span: Span) {
        for attribute in attributes {
            let Some(level) = Level::of_attribute(&attribute.name.name) else { continue };
            let names = attribute.args.iter().filter_map(|arg| arg.value.as_ident());
            for lint in names.filter_map(|name| Lint::from_name(&name.name)) {
                self.pieces.push((span, lint.code, level));
            }
        }
    }

    /// The level of a lint at a place.
    #[must_use]
    pub fn at(&self, code: Code, span: Span) -> Level {
        let around = |piece: &&(Span, Code, Level)| {
            piece.1 == code && piece.0.file == span.file && piece.0.start <= span.start && span.end <= piece.0.end
        };
        let innermost = self.pieces.iter().filter(around).min_by_key(|(piece, ..)| piece.end - piece.start);
        let default = || self.defaults.iter().rev().find(|(of, _)| *of == code).map_or(Level::Warn, |(_, level)| *level);
        innermost.map_or_else(default, |(.., level)| *level)
    }

    /// Drops what is allowed, and makes errors of what is denied.
    #[must_use]
    pub fn apply(&self, found: Diagnostics) -> Diagnostics {
        let mut kept = Diagnostics::new();
        kept.extend(found.into_iter().filter_map(|diagnostic| self.applied(diagnostic)));
        kept
    }

    fn applied(&self, mut diagnostic: Diagnostic) -> Option<Diagnostic> {
        if diagnostic.severity == Severity::Error {
            return Some(diagnostic);
        }
        let name = Lint::of(diagnostic.code).map_or("", |lint| lint.name);
        match self.at(diagnostic.code, diagnostic.primary.span) {
            Level::Allow => None,
            Level::Warn => Some(diagnostic.note(format!("`@allow({name}, \"why\")` says that it is meant"))),
            Level::Deny => {
                diagnostic.severity = Severity::Error;
                Some(diagnostic.note(format!("an error because `{name}` is denied")))
            }
        }
    }
}
