//! Which errors broken text has: every mistake one, on its line, and the rest of the file is still read.

use super::{codes, errors};
use crate::source::FileId;
use crate::syntax::ast::{ItemKind, StmtKind};
use crate::syntax::parse;

/// The text has exactly one error.
fn one(text: &str, line: u32, code: &str) {
    assert_eq!(errors(text), [(line, code)], "\n{text}");
}

#[test]
fn several_mistakes_of_a_file_are_found() {
    let text = "\
struct Row { int begin; len: i32 }
kernel a(x: *global f32) {
    int i = threadIdx.x;
    x[i] = 1.0f;
    foo(x[0], );
    let = 4;
    if i = 3 { x[1] = 2.0; }
    x[2] = 3.0
    x[3] = (x[4] + 1.0;
}
kernel b(x: *global f32) {
    for (int i = 0; i < 10; i += 2) x[i]++;
    while (true) {
        x->y = 1;
        k<<<1>>>(x);
    }
}
typedef int word;
fn c() -> i32 { 1 + }
";
    let found = errors(text);
    let wanted = [
        (1, "E0131"),
        (3, "E0114"),
        (4, "E0105"),
        (6, "E0112"),
        (7, "E0122"),
        (8, "E0111"),
        (9, "E0107"),
        (12, "E0116"),
        (12, "E0127"),
        (12, "E0117"),
        (14, "E0119"),
        (15, "E0126"),
        (18, "E0115"),
        (19, "E0112"),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn what_is_whole_is_kept() {
    let (file, _) = parse(FileId(0), "fn a() { let = 1; let y = 2; }\nfn b( {}\nfn c() {}\n+\nfn d() {}");
    let names: Vec<&str> = file
        .items
        .iter()
        .filter_map(|item| match &item.kind {
            ItemKind::Function(function) => Some(function.name.name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let ItemKind::Function(a) = &file.items[0].kind else { panic!() };
    let stmts = &a.body.as_ref().unwrap().stmts;
    assert_eq!(stmts[0].kind, StmtKind::Error);
    assert!(matches!(&stmts[1].kind, StmtKind::Let { name, .. } if name.name == "y"));
}

#[test]
fn dropped_names_are_remembered() {
    let (file, _) = parse(FileId(0), "__global__ void lost(int n) {}\nfn f() { let = hidden; }");
    for name in ["lost", "hidden"] {
        assert!(file.damaged_names.binary_search(&name.to_owned()).is_ok(), "{name}: {:?}", file.damaged_names);
    }
    assert!(parse(FileId(0), "fn f() { g(); }").0.damaged_names.is_empty());
}

#[test]
fn missing_and_extra_brackets() {
    one("fn f() {\n    if a {\n        b();\n}\nfn g() {}\n", 2, "E0107");
    one("fn f() {\n    while a {\n        b();\n    }\n\nfn g() {}\n", 1, "E0107");
    one("fn f() {\n    while a\n        b();\n    }\n    c();\n}\nfn g() {}\n", 3, "E0127");
    one("fn f()\n    b();\n    c();\n}\nfn g() {}\n", 1, "E0112");
    one("fn f() -> i32\n    return 1;\n}\nfn g() {}\n", 1, "E0112");
    one("struct S a: i32, b: i32 }\nfn g() {}\n", 1, "E0112");
    one("fn f() {\n    a();\n}\n}\nfn g() {}\n", 4, "E0108");
    one("fn f(a: i32 -> i32 { return a; }\nfn g() {}\n", 1, "E0107");
    one("fn f() {\n    g(a[1, 2);\n    h();\n}\n", 2, "E0107");
    one("fn f() {\n    g((a, 2);\n    h();\n}\n", 2, "E0107");
    one("fn f() {\n    g(a], 2);\n    h();\n}\n", 2, "E0108");
    one("fn f() {\n    k<<<1, 2>>(x);\n    h();\n}\n", 2, "E0107");
    one("fn f() {\n    k<<<1, 2>>>x);\n    h();\n}\n", 2, "E0126");
    one("fn f() {\n    k<<<1, 2>>>;\n    h();\n}\n", 2, "E0126");
    one("fn f() {\n    let a: [f32; 4 = x;\n    h();\n}\n", 2, "E0107");
    one("fn f() {\n    if a { b(); } else { c();\n}\n", 2, "E0107");
    one("fn f() {\n    if a {\n        b();\n    else {\n        c();\n    }\n}\n", 2, "E0107");
}

#[test]
fn habits_of_other_languages() {
    one("fn f() { let mut x = 1; x = 2; }", 1, "E0114");
    one("fn f() { float x[4]; g(x); }", 1, "E0114");
    one("fn f() { const int n = 4; g(n); }", 1, "E0114");
    one("fn f() { unsigned long long n = 4; g(n); }", 1, "E0114");
    one("fn f() { Row r = g(); h(r); }", 1, "E0114");
    one("fn f() { float *p = g(); h(p); }", 1, "E0114");
    one("fn f() { __shared__ float s[256]; g(s); }", 1, "E0114");
    one("fn f() { extern __shared__ float s[]; g(s); }", 1, "E0114");
    one("fn f() { dim3 grid(1, 2, 3); g(grid); }", 1, "E0114");
    one("fn f() { int a[3] = {1, 2, 3}; g(a); }", 1, "E0114");
    one("fn f() { x = (float)y; }", 1, "E0118");
    one("fn f() { x = *(int*)y; }", 1, "E0118");
    one("fn f() { x = (unsigned int)(y + 1); }", 1, "E0118");
    one("fn f() { x = a > b ? a : b; }", 1, "E0120");
    one("fn f() { x = a or b; }", 1, "E0121");
    one("fn f() { if not a { } }", 1, "E0121");
    one("fn f() { x++; }", 1, "E0117");
    one("fn f() { ++x[0]; }", 1, "E0117");
    one("fn f() { y = x++ + 1; }", 1, "E0117");
    one("fn f() { for (int i = 0; i < n; i++) { g(i); } }", 1, "E0116");
    one("fn f() { for (i = 9; i >= 0; i--) { g(i); } }", 1, "E0116");
    one("fn f() { for (i in 0..n) { g(i); } }", 1, "E0112");
    one("fn f() { for (;;) { g(); } }", 1, "E0116");
    one("fn f() { for i in 0..=n { g(i); } }", 1, "E0129");
    one("fn f() { if (a) b(); else c(); }", 1, "E0127");
    one("fn f() -> i32 { a + b }", 1, "E0111");
    one("fn f() {\n x\n *p = 1; }", 2, "E0111");
    one("fn f() { float *\n p = g(); h(p); }", 1, "E0114");
    one("fn f() -> i32 { if a { b } else { c } }", 1, "E0111");
    one("fn f() { switch a { case 1: b(); break; default: c(); } }", 1, "E0128");
    one("fn f<T>(a: T) -> T { return a; }", 1, "E0124");
    one("fn f() { x = g<f32>(y); }", 1, "E0124");
    one("fn f() { x = Row { a: 1, b: [1, 2] }; }", 1, "E0125");
    one("kernel k(float* x, int n) { x[0] = 1.0; }", 1, "E0131");
    one("struct S { float x; int y; }", 1, "E0131");
    one("struct S { x: f32; y: i32; }", 1, "E0131");
    one("struct S { x: f32 };", 1, "E0130");
    one("void f(int a) { return; }", 1, "E0115");
    one("__device__ float square(float v) { return v * v; }", 1, "E0115");
    one("#include <cuda.h>\nfn f() {}", 1, "E0115");
    one("let x = 1;\nfn f() {}", 1, "E0113");
    one("fn f() { let local = 1; g(local); }", 1, "E0112");
}

#[test]
fn advice_is_code_that_parses() {
    for (text, wanted) in [
        ("fn f() { x = (float)y; }", "fn f() { x = y as f32; }"),
        ("fn f() { x = a > b ? a : b; }", "fn f() { x = if a > b { a } else { b }; }"),
        ("fn f() { for (int i = 0; i <= n; i += 2) { g(i); } }", "fn f() { for i in 0..n + 1 step 2 { g(i); } }"),
        ("fn f() { const float y[4] = g(); h(y); }", "fn f() { let y: [f32; 4] = g(); h(y); }"),
        ("fn f() { __shared__ float s[16][17]; g(s); }", "fn f() { shared s: [[f32; 17]; 16]; g(s); }"),
        ("kernel k(const float* x, int n) { g(x, n); }", "kernel k(x: *global const f32, n: i32) { g(x, n); }"),
        ("fn f() { x++; }", "fn f() { x += 1; }"),
        ("fn f() { ++x[0]; }", "fn f() { x[0] += 1; }"),
        ("fn f() -> i32 { a + b }", "fn f() -> i32 { return a + b; }"),
        ("fn f() -> i32 { if a { b } else { c }; }", "fn f() -> i32 { return if a { b } else { c }; }"),
        ("fn f() { if a b(); }", "fn f() { if a { b(); } }"),
        ("fn f() { if a b(); else c(); }", "fn f() { if a { b(); } else { c(); } }"),
        ("fn f() { x = Row { a: 1 }; }", "fn f() { x = Row(a: 1); }"),
        ("fn f() { x = 0 <= a < b; }", "fn f() { x = 0 <= a && a < b; }"),
        ("fn f() { x = g<f32>(y); }", "fn f() { x = g::[f32](y); }"),
        ("fn f<typename T, N: u32>() {}", "fn f[T, N: u32]() {}"),
        ("fn f() { for i in 0..=n << 1 { g(i); } }", "fn f() { for i in 0..(n << 1) + 1 { g(i); } }"),
        ("fn f() { k<<<g>>>(x); }", "fn f() { k<<<g, 128>>>(x); }"),
        ("fn f() { x = 1.5f + 2ull; }", "fn f() { x = 1.5f32 + 2ull; }"),
        ("fn f() { x = 1.; }", "fn f() { x = 1.0; }"),
    ] {
        let diagnostics = parse(FileId(0), text).1.finish();
        let (span, replacement) = diagnostics[0].helps.iter().find_map(|help| help.edit.clone()).expect(text);
        let mut fixed = text.to_owned();
        fixed.replace_range(span.range(), &replacement);
        assert_eq!(fixed, wanted, "{text}");
        assert!(codes(&fixed).len() < diagnostics.len(), "{fixed}");
    }
}

#[test]
fn lexical_mistakes() {
    one("fn f() { x = 1 § 2; }", 1, "E0101");
    one("fn größe() {}", 1, "E0101");
    one("fn f() { printf(“hello”); }", 1, "E0101");
    one("fn f() { g('ab'); }", 1, "E0104");
    one("fn f() { g('ä'); }", 1, "E0104");
    one("fn f() { g(\"\\q\"); }", 1, "E0104");
    one("fn f() { g('a); }", 1, "E0103");
    one("fn f() { printf(\"hello);\n    g();\n}\nfn h() {}\n", 1, "E0103");
    one("fn f() {}\n/* /* */\nfn g() {}", 2, "E0102");
    one("fn f() { x = 0xffg; }", 1, "E0105");
    one("fn f() { x = 99999999999999999999; }", 1, "E0106");
}

#[test]
fn comments_may_stand_anywhere() {
    assert!(codes("/**/ fn /* a */ f // b\n ( /// c\n ) { /* d /* e */ f */ return /**/ ; // g\n}").is_empty());
    assert!(codes("").is_empty());
    assert!(codes("// only").is_empty());
    assert!(codes("\u{feff}fn f() {}\r\n// x\r\n").is_empty());
}
