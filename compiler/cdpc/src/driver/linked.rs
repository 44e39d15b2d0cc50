//! What is wrong with a link, at the declarations of the source that it is about.

use cdp_core::diag::{Code, Diagnostic, Diagnostics};
use cdp_core::ir::{FunctionId, GlobalId, Module, Operand, PlaceBase, StatementKind};
use cdp_core::source::Span;
use cdp_runtime::foreign::symbols::{Clash, Missing};
use cdp_runtime::layout_check::Difference;
use cdp_runtime::{Arch, Error, Foreign};

use super::front::Front;
use crate::failure::Failure;
use crate::report::Reporter;

/// Shows the error at the places of the source that it is about, and as it is where it is about none.
pub(super) fn located(error: Error, front: &Front, objects: &[Foreign], arch: Arch, reporter: &Reporter) -> Failure {
    let module = &front.module;
    let found: Vec<Option<Diagnostic>> = match &error {
        Error::Unresolved { symbols, .. } => symbols.iter().map(|missing| unresolved(missing, module, objects, arch)).collect(),
        Error::Duplicate { clashes } => clashes.iter().map(|clash| duplicate(clash, front)).collect(),
        Error::DeclarationDiffers { differences } => differences.iter().map(|d| differs(d, module)).collect(),
        _ => Vec::new(),
    };
    // one that is about no place would be lost among those that are
    let Some(list) = found.into_iter().collect::<Option<Vec<Diagnostic>>>().filter(|list| !list.is_empty()) else {
        return error.into();
    };
    let mut all = Diagnostics::new();
    for diagnostic in list {
        all.push(diagnostic);
    }
    match reporter.diagnostics(&front.sources, &all.finish()) {
        Err(failure) => failure,
        Ok(()) => error.into(),
    }
}

fn unresolved(missing: &Missing, module: &Module, objects: &[Foreign], arch: Arch) -> Option<Diagnostic> {
    let symbol = &missing.symbol;
    let declared = Declared::find(module, symbol).filter(|declared| declared.external)?;
    let mut diagnostic = Diagnostic::new(Code::E0625, declared.span, format!("nothing that is linked in defines `{symbol}`"))
        .label("declared here");
    if let Some(used) = declared.first_use(module) {
        diagnostic = diagnostic.also(used, "needed here");
    }
    if let Some((name, file)) = mangled(symbol, objects, arch) {
        return Some(diagnostic.help(format!(
            "`{file}` defines `{name}`, C++'s symbol for it: make it `extern \"C\"` there, or write `@export(\"{name}\")` here"
        )));
    }
    Some(match objects {
        [] => diagnostic.help("link the object that defines it: `cdpc build a.cdp object.o`"),
        _ => diagnostic.help("link the object that defines it, or correct the name"),
    })
}

/// The symbol that C++ gives a function or variable of this name, where an object defines it (Itanium C++ ABI, 5.1).
fn mangled(symbol: &str, objects: &[Foreign], arch: Arch) -> Option<(String, String)> {
    let start = format!("_Z{}{symbol}", symbol.len());
    objects.iter().find_map(|object| {
        let parts = object.parts(arch).ok()?;
        let mut names = parts.iter().filter_map(|part| part.symbols).flat_map(|symbols| &symbols.defined);
        names.find(|definition| definition.name.starts_with(&start)).map(|found| (found.name.clone(), object.name().to_owned()))
    })
}

fn duplicate(clash: &Clash, front: &Front) -> Option<Diagnostic> {
    let symbol = &clash.symbol;
    let declared = Declared::find(&front.module, symbol)?;
    let own = front.sources.name(front.file);
    let others: Vec<String> = clash.inputs.iter().filter(|input| *input != own).map(|input| format!("`{input}`")).collect();
    let others = others.join(" and ");
    Some(if declared.external {
        Diagnostic::new(Code::E0632, declared.span, format!("`{symbol}` is defined in {others}"))
            .label("declared here")
            .help("link one of them only, or rename one of the definitions")
    } else {
        Diagnostic::new(Code::E0632, declared.span, format!("`{symbol}` is defined here and in {others}"))
            .label("defined here")
            .help("declare it `extern` here, or rename one of the two; `@export(\"other\")` gives it another symbol")
    })
}

fn differs(difference: &Difference, module: &Module) -> Option<Diagnostic> {
    let declared = Declared::find(module, &difference.symbol)?;
    let message = format!("`{}` is not as it is declared: {}", difference.symbol, difference.what);
    let diagnostic = Diagnostic::new(Code::E0634, declared.span, message).label("declared here");
    let rows = difference.rows.iter().filter(|row| row.expected != row.actual);
    let place = |place: Option<(u32, u32)>| match place {
        Some((offset, size)) => format!("{size} bytes at {offset}"),
        None => "nothing".to_owned(),
    };
    let rows: Vec<String> =
        rows.map(|row| format!("{}: declared {}, defined {}", row.name, place(row.expected), place(row.actual))).collect();
    let diagnostic = if rows.is_empty() { diagnostic } else { diagnostic.note(rows.join("\n")) };
    Some(diagnostic.help(match declared.what {
        What::Function(_) => "declare it as it is defined: the same parameters in the same order, of types as large",
        What::Variable(_) => "declare it as it is defined: with a type as large",
    }))
}

/// A function or variable of the program.
struct Declared {
    what: What,
    span: Span,
    /// Without a definition here.
    external: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Function(FunctionId),
    Variable(GlobalId),
}

impl Declared {
    fn find(module: &Module, symbol: &str) -> Option<Self> {
        let function = module.functions().find(|(_, function)| function.symbol == symbol && !function.is_host());
        if let Some((id, function)) = function {
            return Some(Self { what: What::Function(id), span: function.span, external: function.blocks.is_empty() });
        }
        let (id, global) = (0..).zip(&module.globals).find(|(_, global)| global.symbol == symbol)?;
        Some(Self { what: What::Variable(GlobalId(id)), span: global.span, external: global.external })
    }

    fn first_use(&self, module: &Module) -> Option<Span> {
        let uses = |kind: &StatementKind| {
            let mut found = match kind {
                StatementKind::Call { function, .. } => What::Function(*function) == self.what,
                StatementKind::Launch(launch) => What::Function(launch.kernel) == self.what,
                _ => false,
            };
            kind.each_operand(&mut |operand| {
                found |= matches!(operand, Operand::Function(function) if What::Function(*function) == self.what);
            });
            kind.each_place(&mut |place| {
                found |= matches!(place.base, PlaceBase::Global(global) if What::Variable(global) == self.what);
            });
            found
        };
        let statements = module.functions.iter().flat_map(|f| &f.blocks).flat_map(|block| &block.statements);
        statements.filter(|statement| uses(&statement.kind)).map(|statement| statement.span).min()
    }
}
