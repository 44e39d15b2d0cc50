//! Constants from outside: `-D NAME=value`.

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::{SourceMap, Span};
use crate::syntax::{self, ast};

/// Gives `const NAME` of the program another value, or adds the constant where the program has none.
///
/// The value is an expression of the language and takes the type that the program's own `const` declares. Each definition is a small
/// source of its own, so that a mistake in it is shown as any other.
pub fn define(sources: &mut SourceMap, files: &mut Vec<ast::File>, defines: &[(String, String)]) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for (name, value) in defines {
        let text = format!("const {name} = {value};");
        let id = sources.add(format!("-D {name}"), text.clone());
        let (file, found) = syntax::parse(id, &text);
        let broken = found.has_errors();
        diagnostics.extend(found);
        let Some(ast::Item { kind: ast::ItemKind::Const(decl), .. }) = file.items.first().filter(|_| !broken) else { continue };
        if decl.name.name != *name || file.items.len() != 1 {
            let span = Span::new(id, 0, u32::try_from(text.len()).unwrap_or(u32::MAX));
            diagnostics.push(Diagnostic::new(Code::E0213, span, "a definition is `NAME=value`"));
            continue;
        }
        let own = files.iter_mut().flat_map(|file| &mut file.items).find_map(|item| match &mut item.kind {
            ast::ItemKind::Const(own) if own.name.name == *name => Some(own),
            _ => None,
        });
        match own {
            Some(own) => own.value = decl.value.clone(),
            None => files.push(file),
        }
    }
    diagnostics
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sema;

    fn check(text: &str, defines: &[(&str, &str)]) -> Vec<Code> {
        let mut sources = SourceMap::new();
        let id = sources.add("main.cdp", text);
        let (file, mut diagnostics) = syntax::parse(id, text);
        let mut files = vec![file];
        let defines: Vec<_> = defines.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        diagnostics.extend(define(&mut sources, &mut files, &defines));
        diagnostics.extend(sema::check(&files, &sources, sema::Options::default()).1);
        diagnostics.finish().iter().map(|diagnostic| diagnostic.code).collect()
    }

    #[test]
    fn a_definition_replaces_the_value_and_keeps_the_type() {
        let text = "const N: u8 = 4; kernel k(p: *global u8) { p[0] = N; }";
        assert_eq!(check(text, &[("N", "200")]), []);
        assert_eq!(check(text, &[("N", "300")]), [Code::E0212]);
    }

    #[test]
    fn a_definition_adds_a_constant() {
        let text = "kernel k(p: *global i32) { p[0] = M; }";
        assert_eq!(check(text, &[]), [Code::E0201]);
        assert_eq!(check(text, &[("M", "1 << 3")]), []);
    }

    #[test]
    fn only_one_value_fits_into_a_definition() {
        let text = "kernel k(p: *global i32) { }";
        assert_eq!(check(text, &[("M", "1; const L = 2")]), [Code::E0213]);
        assert!(!check(text, &[("M", "(1")]).is_empty());
    }
}
