//! The open texts, and what the compiler says of them.

use std::collections::BTreeMap;
use std::path::Path;

use cdp_core::diag::Severity;
use cdp_core::source::{FileId, SourceFile, SourceMap, Span};
use cdp_core::syntax::ast::{self, FunctionKind, ItemKind};
use cdp_core::typed::Program;
use cdp_core::{diag, imports, syntax};
use lsp_types::{
    CodeDescription, DiagnosticRelatedInformation, DiagnosticSeverity, DocumentSymbol, DocumentSymbolResponse, Location,
    NumberOrString, Position, Range, SymbolKind, TextEdit, Url,
};

use crate::driver::{self, Checked};
use crate::input::{self, Source};
use crate::options::Meaning;

/// What is open, by address.
#[derive(Debug)]
pub struct Documents {
    open: BTreeMap<Url, Document>,
    /// What all of it means.
    meaning: Meaning,
}

#[derive(Debug)]
struct Document {
    text: String,
    version: i32,
}

/// A text and everything that it imports, looked at once.
#[derive(Debug)]
pub struct Analysis {
    /// The texts; the one that was asked for is the first.
    pub sources: SourceMap,
    /// Its file.
    pub file: FileId,
    /// The trees of all files.
    pub trees: Vec<ast::File>,
    /// As far as it got.
    pub program: Program,
}

impl Documents {
    /// None is open yet.
    pub const fn new(meaning: Meaning) -> Self {
        Self { open: BTreeMap::new(), meaning }
    }

    /// Opens a text, or gives an open one its new contents.
    pub fn open(&mut self, uri: Url, text: String, version: i32) {
        self.open.insert(uri, Document { text, version });
    }

    /// The editor looks after it no more.
    pub fn close(&mut self, uri: &Url) {
        self.open.remove(uri);
    }

    /// Everything open, with its version.
    pub fn list(&self) -> Vec<(Url, i32)> {
        self.open.iter().map(|(uri, document)| (uri.clone(), document.version)).collect()
    }

    /// What an open text says, as far as names and types go.
    pub fn analysis(&self, uri: &Url) -> Option<Analysis> {
        self.checked(uri).map(|(checked, program)| Analysis::new(checked, program))
    }

    fn checked(&self, uri: &Url) -> Option<(Checked, Program)> {
        let source = Source { name: name_of(uri), text: self.open.get(uri)?.text.clone() };
        let mut read = |importer: &str, path: &str| self.import(importer, path);
        Some(Checked::new(source, &self.meaning, &mut read))
    }

    /// The diagnostics of an open text, those that lie in it.
    pub fn diagnostics(&self, uri: &Url) -> Option<Vec<lsp_types::Diagnostic>> {
        let (mut checked, program) = self.checked(uri)?;
        // a fault of the compiler is none of the text
        if let Ok(Some(module)) = checked.lower(program.clone(), &self.meaning) {
            checked.found.extend(driver::at_launches(module));
        }
        let found = std::mem::take(&mut checked.found).finish();
        let analysis = Analysis::new(checked, program);
        let own = found.iter().filter(|diagnostic| diagnostic.primary.span.file == analysis.file);
        Some(own.map(|diagnostic| analysis.shown(diagnostic)).collect())
    }

    fn import(&self, importer: &str, path: &str) -> Result<imports::Found, String> {
        let place = Path::new(importer).parent().unwrap_or(Path::new("")).join(path);
        let uri = std::path::absolute(&place).ok().and_then(|place| Url::from_file_path(place).ok());
        match uri.and_then(|uri| self.open.get(&uri)) {
            Some(document) => Ok(imports::Found { name: place.display().to_string(), text: document.text.clone() }),
            None => input::import(importer, path),
        }
    }
}

/// The path of a file; for a text that is none, its address.
fn name_of(uri: &Url) -> String {
    uri.to_file_path().map_or_else(|()| uri.to_string(), |path| path.display().to_string())
}

impl Analysis {
    fn new(Checked { sources, file, trees, .. }: Checked, program: Program) -> Self {
        Self { sources, file, trees, program }
    }

    fn source(&self, file: FileId) -> Option<&SourceFile> {
        self.sources.get(file)
    }

    /// The text that was asked for.
    pub fn text(&self) -> &str {
        self.source(self.file).map_or("", |source| source.text.as_str())
    }

    /// The byte at a position of the text; a position behind a line's end is its end.
    pub fn offset(&self, position: Position) -> Option<u32> {
        let source = self.source(self.file)?;
        let line = position.line as usize;
        let start = source.line_range(line)?.start;
        let mut units = 0;
        let mut bytes = 0;
        for character in source.line_text(line).chars() {
            if units >= position.character {
                break;
            }
            units += u32::try_from(character.len_utf16()).unwrap_or(1);
            bytes += character.len_utf8();
        }
        u32::try_from(start + bytes).ok()
    }

    fn position(&self, file: FileId, at: u32) -> Position {
        let Some(source) = self.source(file) else { return Position::default() };
        let line = source.line_index(at);
        let start = source.line_range(line).map_or(0, |range| range.start);
        let before = source.text.get(start..at as usize).unwrap_or("");
        let units: usize = before.chars().map(char::len_utf16).sum();
        Position::new(u32::try_from(line).unwrap_or(0), u32::try_from(units).unwrap_or(0))
    }

    /// A span in the editor's terms.
    pub fn range(&self, span: Span) -> Range {
        Range::new(self.position(span.file, span.start), self.position(span.file, span.end))
    }

    /// A span with its file.
    pub fn location(&self, span: Span) -> Option<Location> {
        let name = &self.source(span.file)?.name;
        let path = std::path::absolute(name).ok()?;
        let uri = Url::from_file_path(path).or_else(|()| Url::parse(name).map_err(|_| ())).ok()?;
        Some(Location::new(uri, self.range(span)))
    }

    fn shown(&self, diagnostic: &diag::Diagnostic) -> lsp_types::Diagnostic {
        let related = diagnostic.secondary.iter().filter(|label| !label.text.is_empty()).filter_map(|label| {
            Some(DiagnosticRelatedInformation { location: self.location(label.span)?, message: label.text.clone() })
        });
        let mut message = diagnostic.message.clone();
        if !diagnostic.primary.text.is_empty() {
            message.push_str(&format!("\n{}", diagnostic.primary.text));
        }
        for help in &diagnostic.helps {
            let edit = help.edit.as_ref().map(|(_, text)| format!(" `{text}`")).unwrap_or_default();
            message.push_str(&format!("\nhelp: {}{edit}", help.text));
        }
        for note in &diagnostic.notes {
            message.push_str(&format!("\nnote: {note}"));
        }
        let code = diagnostic.code.id();
        lsp_types::Diagnostic {
            range: self.range(diagnostic.primary.span),
            severity: Some(match diagnostic.severity {
                Severity::Error => DiagnosticSeverity::ERROR,
                Severity::Warning => DiagnosticSeverity::WARNING,
                Severity::Note => DiagnosticSeverity::INFORMATION,
            }),
            code: Some(NumberOrString::String(code.to_owned())),
            code_description: None::<CodeDescription>,
            source: Some("cdpc".to_owned()),
            message,
            related_information: Some(related.collect()),
            tags: None,
            data: None,
        }
    }

    /// The text in the one layout, as one edit; none when it does not parse or is in that layout already.
    pub fn formatted(&self) -> Option<Vec<TextEdit>> {
        let text = self.text();
        let new = syntax::format(self.file, text).ok()?;
        let end = u32::try_from(text.len()).ok()?;
        let whole = self.range(Span::new(self.file, 0, end));
        Some(if new == text { Vec::new() } else { vec![TextEdit::new(whole, new)] })
    }

    /// The items of the text.
    pub fn symbols(&self) -> DocumentSymbolResponse {
        let items = self.trees.iter().filter(|tree| tree.id == self.file).flat_map(|tree| &tree.items);
        DocumentSymbolResponse::Nested(items.filter_map(|item| self.symbol(item)).collect())
    }

    #[allow(deprecated, reason = "the type has a field that is deprecated and must be given")]
    fn symbol(&self, item: &ast::Item) -> Option<DocumentSymbol> {
        let (name, span, kind) = named(item)?;
        let detail = item.docs.first().cloned();
        let (range, selection_range) = (self.range(item.span), self.range(span));
        Some(DocumentSymbol { name, detail, kind, tags: None, deprecated: None, range, selection_range, children: None })
    }
}

/// What an item is called, where, and what it is.
pub fn named(item: &ast::Item) -> Option<(String, Span, SymbolKind)> {
    let (ident, kind) = match &item.kind {
        ItemKind::Struct(decl) => (&decl.name, SymbolKind::STRUCT),
        ItemKind::Enum(decl) => (&decl.name, SymbolKind::ENUM),
        ItemKind::Const(decl) => (&decl.name, SymbolKind::CONSTANT),
        ItemKind::Variable(decl) => (&decl.name, SymbolKind::VARIABLE),
        ItemKind::Function(decl) if decl.kind == FunctionKind::Kernel => (&decl.name, SymbolKind::EVENT),
        ItemKind::Function(decl) => (&decl.name, SymbolKind::FUNCTION),
        ItemKind::Test(decl) => return Some((decl.name.value.clone(), decl.name.span, SymbolKind::METHOD)),
        ItemKind::Import(_) | ItemKind::Error => return None,
    };
    Some((ident.name.clone(), ident.span, kind))
}
