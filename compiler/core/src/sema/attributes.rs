//! Attributes: which belong where, and their values.

use super::body::Body;
use super::hints::Hinted;
use crate::diag::{Code, Diagnostic};
use crate::ir::Inline;
use crate::rules::{Lint, lints};
use crate::source::Span;
use crate::syntax::ast::{Arg, Attribute, ExprKind};
use crate::types::TypeTable;

/// What an attribute stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Kernel,
    Function,
    Struct,
    Field,
    Variable,
    Parameter,
    Loop,
    Statement,
    Shared,
    Other,
}

/// The values of the attributes that were there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) launch_bounds: Option<(u32, u32)>,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) align: u32,
    pub(crate) inline: Inline,
    pub(crate) export: Option<(String, Span)>,
    pub(crate) exported: bool,
    pub(crate) restrict: bool,
    pub(crate) unroll: Option<u32>,
    pub(crate) hinted: Option<Hinted>,
}

const KNOWN: &[(&str, &[Target])] = &[
    ("launch_bounds", &[Target::Kernel]),
    ("cluster", &[Target::Kernel]),
    ("align", &[Target::Struct, Target::Field, Target::Variable, Target::Shared]),
    ("inline", &[Target::Function]),
    ("noinline", &[Target::Function]),
    ("export", &[Target::Kernel, Target::Function, Target::Variable]),
    ("restrict", &[Target::Parameter]),
    ("unroll", &[Target::Loop]),
    ("merge", &[Target::Statement]),
    ("inline_below", &[Target::Statement]),
    ("allow", &[]),
    ("warn", &[]),
    ("deny", &[]),
];

/// The names of all attributes.
pub fn attribute_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(name, _)| *name)
}

impl Body<'_, '_> {
    /// Reads the attributes of one declaration or statement.
    pub(crate) fn attributes(&mut self, list: &[Attribute], target: Target) -> Attributes {
        let mut result = Attributes::default();
        for attribute in list {
            let name = attribute.name.name.as_str();
            let Some((_, targets)) = KNOWN.iter().find(|(known, _)| *known == name) else {
                self.unknown_attribute(attribute);
                continue;
            };
            let lint_level = targets.is_empty();
            if !lint_level && !targets.contains(&target) {
                let message = format!("`@{name}` does not belong here");
                let places: Vec<&str> = targets.iter().map(|t| place_name(*t)).collect();
                let help = format!("`@{name}` stands on {}", places.join(", "));
                self.report(Diagnostic::new(Code::E0226, attribute.span, message).help(help));
                continue;
            }
            self.attribute(attribute, name, &mut result);
        }
        result
    }

    fn attribute(&mut self, attribute: &Attribute, name: &str, result: &mut Attributes) {
        match name {
            "launch_bounds" => {
                let threads = self.attribute_int(attribute, 0, 1, 1024);
                let blocks = if attribute.args.len() > 1 { self.attribute_int(attribute, 1, 1, 32) } else { Some(0) };
                self.attribute_count(attribute, 1, 2);
                result.launch_bounds = threads.zip(blocks);
            }
            "cluster" => result.cluster = self.cluster_attribute(attribute),
            "align" => {
                if let Some(align) = self.attribute_int(attribute, 0, 1, 4096) {
                    if align.is_power_of_two() {
                        result.align = align;
                    } else {
                        let message = format!("alignment {align} is not a power of two");
                        self.report(Diagnostic::new(Code::E0301, attribute.span, message));
                    }
                }
                self.attribute_count(attribute, 1, 1);
            }
            "inline" => result.inline = Inline::Always,
            "noinline" => result.inline = Inline::Never,
            "restrict" => result.restrict = true,
            "unroll" => {
                let count = if attribute.args.is_empty() { Some(0) } else { self.attribute_int(attribute, 0, 1, 1024) };
                self.attribute_count(attribute, 0, 1);
                result.unroll = count;
            }
            "merge" | "inline_below" => self.hint(attribute, &mut result.hinted),
            "export" => {
                result.exported = true;
                match attribute.args.first().map(|arg| &arg.value.kind) {
                    None => {}
                    Some(ExprKind::String(symbol)) => result.export = Some((symbol.clone(), attribute.span)),
                    Some(_) => {
                        let message = "`@export` takes a symbol name in quotes";
                        self.report(Diagnostic::new(Code::E0301, attribute.span, message).help("`@export(\"name\")`"));
                    }
                }
                self.attribute_count(attribute, 0, 1);
            }
            _ => self.lint_names(attribute),
        }
    }

    /// Names or codes of lints, then perhaps a reason in quotes.
    fn lint_names(&mut self, attribute: &Attribute) {
        let name = &attribute.name.name;
        let is_reason = |arg: &crate::syntax::ast::Arg| matches!(arg.value.kind, ExprKind::String(_));
        let names = match attribute.args.split_last() {
            Some((last, names)) if is_reason(last) => names,
            _ => attribute.args.as_slice(),
        };
        if names.is_empty() {
            let message = format!("`@{name}` needs the name of a lint");
            self.report(
                Diagnostic::new(Code::E0301, attribute.span, message).help(format!("`@{name}(missing_barrier, \"why\")`")),
            );
        }
        for arg in names {
            let given = arg.value.as_ident().map(|ident| ident.name.as_str());
            if given.and_then(Lint::from_name).is_some() {
                continue;
            }
            let is_error = given.and_then(Code::from_id).is_some();
            let mut diagnostic = Diagnostic::new(Code::E0301, arg.span, "this is not the name of a lint");
            let near = given.and_then(|given| super::suggest::nearest(given, lints().iter().map(|lint| lint.name)));
            diagnostic = match near {
                Some(near) => diagnostic.fix(format!("did you mean `{near}`?"), arg.span, near),
                None if is_error => {
                    diagnostic.help("errors cannot be allowed: only lints, whose codes start with `W`, have levels")
                }
                None => diagnostic.help("the error index lists the lints with their names: `cdpc explain`"),
            };
            self.report(diagnostic);
        }
    }

    fn unknown_attribute(&mut self, attribute: &Attribute) {
        let name = &attribute.name.name;
        let mut diagnostic = Diagnostic::new(Code::E0226, attribute.name.span, format!("there is no attribute `@{name}`"));
        if let Some(near) = super::suggest::nearest(name, attribute_names()) {
            diagnostic = diagnostic.fix(format!("did you mean `@{near}`?"), attribute.name.span, near);
        }
        self.report(diagnostic);
    }

    pub(super) fn attribute_count(&mut self, attribute: &Attribute, least: usize, most: usize) {
        let given = attribute.args.len();
        if given < least || given > most {
            let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            let noun = if most == 1 { "argument" } else { "arguments" };
            let message = format!("`@{}` takes {wanted} {noun}, not {given}", attribute.name.name);
            self.report(Diagnostic::new(Code::E0301, attribute.span, message));
        }
    }

    pub(super) fn attribute_int(&mut self, attribute: &Attribute, index: usize, least: u32, most: u32) -> Option<u32> {
        self.attribute_value(attribute, attribute.args.get(index)?, least, most)
    }

    pub(super) fn attribute_value(&mut self, attribute: &Attribute, arg: &Arg, least: u32, most: u32) -> Option<u32> {
        let value = self.const_int(&arg.value, TypeTable::I64)?;
        match u32::try_from(value) {
            Ok(value) if (least..=most).contains(&value) => Some(value),
            _ => {
                let message = format!("`@{}` needs a value from {least} to {most}, not {value}", attribute.name.name);
                self.report(Diagnostic::new(Code::E0301, arg.span, message));
                None
            }
        }
    }
}

const fn place_name(target: Target) -> &'static str {
    match target {
        Target::Kernel => "kernels",
        Target::Function => "functions",
        Target::Struct => "structs",
        Target::Field => "fields",
        Target::Variable => "`global var` and `constant`",
        Target::Parameter => "parameters",
        Target::Loop => "loops",
        Target::Statement => "statements that launch a kernel",
        Target::Shared => "`shared` variables",
        Target::Other => "other items",
    }
}
