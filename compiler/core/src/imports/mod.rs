//! From one file to all files of a program: `import "other.cdp";`.
//!
//! This crate reads no files: the caller says how a path is found and read. A file is taken once, however often it is imported, so
//! files may import each other.

mod defines;

pub use defines::define;

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::{FileId, SourceMap};
use crate::syntax::{self, ast};
use std::collections::HashMap;

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it is called in messages and line tables; the same file must always get the same name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Finds and reads a file: from the name of the importing file and the path as written. The error completes "`path` cannot be
/// imported: …".
pub type Reader<'r> = dyn FnMut(&str, &str) -> Result<Found, String> + 'r;

/// The most files of one program.
const MAX_FILES: usize = 10_000;

/// Parses a file and everything that it imports, the first file first.
///
/// A file that cannot be read is E0227 at the import; the others are still there.
pub fn parse_all(sources: &mut SourceMap, root: FileId, read: &mut Reader<'_>) -> (Vec<ast::File>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let mut files = Vec::new();
    let mut known: HashMap<String, FileId> = HashMap::new();
    known.insert(sources.name(root).to_owned(), root);
    let mut waiting = std::collections::VecDeque::from([root]);
    while let Some(id) = waiting.pop_front() {
        let (name, text) = match sources.get(id) {
            Some(file) => (file.name.clone(), file.text.clone()),
            None => continue,
        };
        let (file, found) = syntax::parse(id, &text);
        diagnostics.extend(found);
        for item in &file.items {
            let ast::ItemKind::Import(path) = &item.kind else { continue };
            if known.len() >= MAX_FILES {
                let message = format!("a program has at most {MAX_FILES} files");
                diagnostics.push(Diagnostic::new(Code::E0227, path.span, message));
                continue;
            }
            match read(&name, &path.value) {
                Ok(other) if known.contains_key(&other.name) => {}
                Ok(other) => {
                    let other_id = sources.add(other.name.clone(), other.text);
                    known.insert(other.name, other_id);
                    waiting.push_back(other_id);
                }
                Err(why) => {
                    let message = format!("`{}` cannot be imported: {why}", path.value);
                    let diagnostic = Diagnostic::new(Code::E0227, path.span, message);
                    diagnostics.push(diagnostic.note("a path is relative to the file that imports it"));
                }
            }
        }
        files.push(file);
    }
    (files, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(files: &[(&str, &str)]) -> (Vec<String>, Vec<Diagnostic>) {
        let mut sources = SourceMap::new();
        let root = sources.add("main.cdp", files[0].1);
        let mut read = |_: &str, path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            found.map(|(name, text)| Found { name: (*name).into(), text: (*text).into() }).ok_or("no such file".to_owned())
        };
        let (trees, diagnostics) = parse_all(&mut sources, root, &mut read);
        (trees.iter().map(|tree| sources.name(tree.id).to_owned()).collect(), diagnostics.finish())
    }

    #[test]
    fn every_file_is_taken_once_and_rounds_end() {
        let (names, diagnostics) = load(&[
            ("main.cdp", "import \"a.cdp\"; import \"b.cdp\";"),
            ("a.cdp", "import \"b.cdp\"; const A: i32 = 1;"),
            ("b.cdp", "import \"a.cdp\"; import \"main.cdp\";"),
        ]);
        assert_eq!(names, ["main.cdp", "a.cdp", "b.cdp"]);
        assert!(diagnostics.is_empty());
    }

    #[test]
    fn a_missing_file_is_reported_at_its_import() {
        let (names, diagnostics) = load(&[("main.cdp", "import \"gone.cdp\";")]);
        assert_eq!(names.len(), 1);
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(diagnostics[0].code, Code::E0227);
        assert_eq!(diagnostics[0].primary.span.start, 7);
    }
}
