//! Properties of the parser and the formatter on generated text.

use super::ast::File;
use super::{format, parse};
use crate::diag::Diagnostic;
use crate::source::FileId;
use proptest::prelude::*;

fn diagnostics(text: &str) -> Vec<Diagnostic> {
    parse(FileId(0), text).1.finish()
}

fn codes(text: &str) -> Vec<&'static str> {
    diagnostics(text).iter().map(|diagnostic| diagnostic.code.id()).collect()
}

fn clean(text: &str) -> File {
    let (file, diagnostics) = parse(FileId(0), text);
    assert!(diagnostics.is_empty(), "{text}\n{diagnostics:#?}");
    file
}

/// Writes programs that parse, from a seed.
struct Writer {
    state: u64,
    out: String,
}

impl Writer {
    fn roll(&mut self, sides: u64) -> u64 {
        // xorshift
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % sides
    }

    fn token(&mut self, token: &str) {
        self.out.push_str(token);
        let blank = match self.roll(40) {
            0 => "\n",
            1 => "\n\n\n  ",
            2 => " // why\n",
            3 => " /* in */ ",
            4 => "\n// own line\n",
            5 => "\n/* several\n   lines */\n",
            6 => "\t",
            7 => "    /* far */\n",
            _ => " ",
        };
        self.out.push_str(blank);
    }

    fn tokens(&mut self, text: &str) {
        for token in text.split(' ') {
            self.token(token);
        }
    }

    fn list(&mut self, most: u64, mut element: impl FnMut(&mut Self)) {
        let count = self.roll(most + 1);
        for index in 0..count {
            if index > 0 {
                self.token(",");
            }
            element(self);
        }
        if count > 0 && self.roll(4) == 0 {
            self.token(",");
        }
    }

    fn expr(&mut self, depth: u64) {
        let choice = if depth == 0 { self.roll(6) } else { self.roll(22) };
        match choice {
            0 => self.token("x"),
            1 => self.token("some_longer_name_of_a_value"),
            2 => self.token("1_000u32"),
            3 => self.token("1.5e-3f32"),
            4 => self.token("\"text // no comment\""),
            5 => self.token("'a'"),
            6 | 7 => {
                self.expr(depth - 1);
                let operators = ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||"];
                let operator = operators[self.roll(12) as usize];
                self.token(operator);
                self.expr(depth - 1);
            }
            8 => {
                self.token("(");
                self.expr(depth - 1);
                self.token(")");
            }
            9 => {
                let operator = ["-", "!", "*", "&"][self.roll(4) as usize];
                self.token(operator);
                self.expr(0);
            }
            10 => {
                self.token("y");
                self.tokens("as * global const f32");
            }
            11 => {
                self.tokens("( if");
                self.expr(depth - 1);
                self.token("{");
                self.expr(depth - 1);
                self.tokens("} else {");
                self.expr(depth - 1);
                self.tokens("} )");
            }
            12 | 13 => {
                self.tokens("called (");
                self.list(5, |w| w.expr(depth - 1));
                self.token(")");
            }
            14 => {
                self.tokens("Row ( begin :");
                self.expr(depth - 1);
                self.token(")");
            }
            15 => {
                self.tokens("child <<<");
                self.expr(depth - 1);
                self.token(",");
                self.expr(depth - 1);
                self.tokens(">>> (");
                self.list(5, |w| w.expr(depth - 1));
                self.token(")");
            }
            16 => {
                self.tokens("p [");
                self.expr(depth - 1);
                self.tokens("] . field");
            }
            17 => {
                self.token("[");
                self.list(20, |w| w.expr(0));
                self.token("]");
            }
            18 => self.tokens("device ( [ f32 ; 4 ] , n )"),
            19 => self.tokens("max :: [ * global f32 ] ( a , b )"),
            20 => self.tokens("sizeof ( * const Pair [ f32 , 3 ] )"),
            _ => self.tokens("Color :: Red"),
        }
    }

    fn block(&mut self, depth: u64) {
        self.token("{");
        for _ in 0..self.roll(4) {
            self.stmt(depth);
        }
        self.token("}");
    }

    fn stmt(&mut self, depth: u64) {
        if self.roll(12) == 0 {
            self.tokens("@ unroll @( 4 )".replace("@(", "(").as_str());
        }
        let choice = if depth == 0 { self.roll(6) } else { self.roll(14) };
        match choice {
            0 => {
                self.tokens("let value : [ f32 ; 4 ] =");
                self.expr(depth + 1);
                self.token(";");
            }
            1 => self.tokens("var s : cudaStream_t ;"),
            2 => {
                self.tokens("x [ 0 ] +=");
                self.expr(depth + 1);
                self.token(";");
            }
            3 => self.tokens("shared tile : [ f32 ] ;"),
            4 => {
                self.tokens("return");
                self.expr(depth + 1);
                self.token(";");
            }
            5 => {
                self.tokens("called (");
                self.list(6, |w| w.expr(2));
                self.tokens(") ;");
            }
            6 | 7 => {
                self.token("if");
                self.expr(2);
                self.block(depth - 1);
                if self.roll(2) == 0 {
                    self.tokens("else if");
                    self.expr(2);
                    self.block(depth - 1);
                }
                if self.roll(2) == 0 {
                    self.token("else");
                    self.block(depth - 1);
                }
            }
            8 => {
                self.token("while");
                self.expr(2);
                self.block(depth - 1);
            }
            9 => {
                self.tokens("for i in 0 .. n step 4");
                self.block(depth - 1);
            }
            10 => {
                self.token("loop");
                self.block(depth - 1);
            }
            11 => {
                self.tokens("switch x { case 1 , 2");
                self.block(depth - 1);
                self.token("default");
                self.block(depth - 1);
                self.token("}");
            }
            12 => self.block(depth - 1),
            _ => {
                self.tokens("total += if a {");
                self.expr(2);
                self.tokens("} else if b {");
                self.expr(1);
                self.tokens("} else {");
                self.expr(1);
                self.tokens("} ;");
            }
        }
    }

    fn item(&mut self) {
        match self.roll(8) {
            0 => self.tokens("struct Row [ T , N : u32 ] { begin : i32 , @ align ( 16 ) rows : [ T ; N ] }"),
            1 => self.tokens("enum Color : u8 { Red , Green = 2 , }"),
            2 => {
                self.tokens("const LIMIT : u32 = if a {");
                self.expr(3);
                self.tokens("} else {");
                self.expr(3);
                self.tokens("} ;");
            }
            3 => self.tokens("global var launched : u32 = 0 ;"),
            4 => self.tokens("@ restrict extern kernel other ( x : * global const f32 ) ;"),
            5 => self.tokens("import \"other.cdp\" ;"),
            6 => {
                self.tokens("test \"name\"");
                self.block(3);
            }
            _ => {
                self.tokens("@ launch_bounds ( 256 , 2 ) kernel k ( @ restrict x : * global f32 , n : i32 )");
                self.block(3);
            }
        }
    }
}

fn program(seed: u64) -> String {
    let mut writer = Writer { state: seed | 1, out: String::new() };
    for _ in 0..=writer.roll(4) {
        writer.item();
    }
    writer.out
}

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

/// Words that meet in every order.
const SOUP: &[&str] = &[
    "fn",
    "kernel",
    "host",
    "struct",
    "enum",
    "const",
    "global",
    "var",
    "constant",
    "extern",
    "import",
    "test",
    "let",
    "if",
    "else",
    "for",
    "in",
    "while",
    "loop",
    "switch",
    "case",
    "default",
    "return",
    "break",
    "shared",
    "as",
    "step",
    "sizeof",
    "x",
    "f32",
    "int",
    "mut",
    "and",
    "not",
    "__global__",
    "1",
    "2.5",
    "1.",
    "0x",
    "\"s\"",
    "\"open",
    "'c'",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<<<",
    ">>>",
    ",",
    ";",
    ":",
    "::",
    ".",
    "..",
    "..=",
    "->",
    "@",
    "?",
    "=",
    "+=",
    "+",
    "-",
    "*",
    "/",
    "&",
    "|",
    "!",
    "~",
    "<",
    ">",
    "==",
    "&&",
    "++",
    "--",
    "//c\n",
    "/*",
    "*/",
    "///d\n",
    "\n",
    "#include",
    "ä",
    "×",
    "“",
    "”",
    "\\",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

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
        format!("fn f() {{ let y = {} 1 {}; }}", "if a { 1 } else ".repeat(n), " "),
        format!("fn f() {}{}", "{".repeat(n), "}".repeat(n)),
        format!("fn f() {{ {} }} ", "(".repeat(n)),
        format!("fn f(x: {}f32) {{}}", "*".repeat(n)),
        format!("fn f(x: {}f32{}) {{}}", "[".repeat(n), "; 1]".repeat(n)),
    ] {
        let found = codes(&text);
        assert!(found == ["E0110"] || found.len() == 1, "{} {found:?}", &text[..60]);
    }
    // no nesting, however long
    clean(&format!("fn f() {{ if a {{}} {} }}", "else if b {}".repeat(n)));
    clean(&format!("{}{} fn f() {{}}", "/*".repeat(n), "*/".repeat(n)));
}
