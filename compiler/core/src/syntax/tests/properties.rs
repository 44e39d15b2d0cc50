//! Properties of the parser and the formatter on generated text.

use super::generate::{SOUP, program};
use super::{clean, codes};
use crate::source::FileId;
use crate::syntax::{format, parse};
use proptest::prelude::*;

#[test]
fn every_program_of_the_suite_has_one_layout() {
    let suite = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lang-tests");
    let mut seen = 0;
    for folder in ["run", "check-pass", "fmt"] {
        for entry in std::fs::read_dir(suite.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "cdp") {
                continue;
            }
            seen += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            clean(&text);
            let layout = format::layout(FileId(0), &text);
            assert!(format::same_tokens(&text, &layout), "{}\n{layout}", path.display());
            assert_eq!(format::layout(FileId(0), &layout), layout, "{}", path.display());
            let wanted = path.with_extension("formatted");
            if wanted.exists() {
                assert_eq!(layout, std::fs::read_to_string(&wanted).unwrap(), "{}", path.display());
            } else {
                assert_ne!(folder, "fmt", "{} is missing", wanted.display());
            }
        }
    }
    assert!(seen > 50, "{seen}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_programs_parse_and_format_once(seed in any::<u64>()) {
        let text = program(seed);
        clean(&text);
        let once = format(FileId(0), &text).unwrap();
        let twice = format(FileId(0), &once).unwrap();
        prop_assert_eq!(&once, &twice, "\n--- once\n{}\n--- twice\n{}", once, twice);
        let layout = format::layout(FileId(0), &text);
        prop_assert!(format::same_tokens(&text, &layout), "{}\n--- layout\n{}", text, layout);
        prop_assert!(once == text || once.lines().all(|line| line.trim_end() == line || line.contains("*/") || line.contains("/*")));
    }

    #[test]
    fn soup_never_panics(words in prop::collection::vec(prop::sample::select(SOUP), 0..60)) {
        let text = words.join(" ");
        let (file, _) = parse(FileId(0), &text);
        prop_assert_eq!(file.id, FileId(0));
    }

    #[test]
    fn any_text_never_panics(text in any::<String>()) {
        let _ = parse(FileId(0), &text);
    }

    #[test]
    fn damaged_programs_never_panic(seed in any::<u64>(), at in any::<prop::sample::Index>(), length in 0usize..20, word in prop::sample::select(SOUP)) {
        let mut text = program(seed);
        let mut from = at.index(text.len());
        while !text.is_char_boundary(from) { from -= 1; }
        let mut to = (from + length).min(text.len());
        while !text.is_char_boundary(to) { to += 1; }
        text.replace_range(from..to, word);
        let (_, diagnostics) = parse(FileId(0), &text);
        prop_assert!(diagnostics.len() < 200);
    }
}

#[test]
fn deep_nesting_is_one_error() {
    let n = 100_000;
    for (open, middle, close) in
        [("(", "x", ")"), ("[", "x", "]"), ("f(", "x", ")"), ("- ", "x", ""), ("!", "x", ""), ("", "x", " as i32")]
    {
        let text = format!("fn f() {{ let y = {}{middle}{}; }}", open.repeat(n), close.repeat(n));
        assert_eq!(codes(&text), ["E0110"], "{open}");
    }
    for text in [
        format!("fn f() {{ let y = x{}; }}", " + 1".repeat(n)),
        format!("fn f() {{ let y = x{}; }}", ".f".repeat(n)),
        format!("fn f() {{ let y = x{}; }}", "[0]".repeat(n)),
        format!("fn f() {{ let y = {}{}; }}", "if a { 1 } else ".repeat(n / 5), "{ 1 }"),
        format!("fn f() {}{}", "{".repeat(n), "}".repeat(n)),
        format!("fn f() {{ {} }} ", "(".repeat(n)),
        format!("fn f(x: {}f32) {{}}", "*".repeat(n)),
        format!("fn f(x: {}f32{}) {{}}", "[".repeat(n), "; 1]".repeat(n)),
    ] {
        assert_eq!(codes(&text), ["E0110"], "{}", &text[..60]);
    }
    assert_eq!(codes(&format!("fn f() {{ if a {{}} {} }}", "else if b {}".repeat(n / 5))), ["E0110"]);
    let chain = "else if b {}".repeat(100);
    let nested = format!("if a {{}} {chain} else {{").repeat(20);
    assert_eq!(codes(&format!("fn f() {{ {nested} {} }}", "}".repeat(20))), ["E0110"]);
    clean(&format!("fn f() {{ if a {{}} {chain} }}"));
    // no nesting, however long
    clean(&format!("fn f() {{ {} }}", "if a { b(); } else { c(); }".repeat(n / 10)));
    clean(&format!("{}{} fn f() {{}}", "/*".repeat(n), "*/".repeat(n)));
}
