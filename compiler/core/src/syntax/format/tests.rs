use super::format;
use crate::source::FileId;

fn formatted(text: &str) -> String {
    match format(FileId(0), text) {
        Ok(formatted) => formatted,
        Err(diagnostics) => panic!("{text}\n{diagnostics:#?}"),
    }
}

/// Formats, and checks that formatting again changes nothing.
fn check(text: &str, expected: &str) {
    let once = formatted(text);
    assert_eq!(once, expected, "\n--- got\n{once}");
    assert_eq!(formatted(&once), once);
}

#[test]
fn spaces() {
    check(
        "fn  v(p:*  volatile  u32){shared  volatile a:[ u32;2 ];* p=max::[*global   const volatile i32](a,b);}",
        "fn v(p: *volatile u32) { shared volatile a: [u32; 2]; *p = max::[*global const volatile i32](a, b); }\n",
    );
    check(
        "fn  f ( a:i32 , p : * global const f32 )->f32{ return -a as f32*p [ 0 ]+ ( 1.0 ) ; }",
        "fn f(a: i32, p: *global const f32) -> f32 { return -a as f32 * p[0] + (1.0); }\n",
    );
    check("fn f(a: i32) { g(- -a, & &a, !(!b), a- -1); }", "fn f(a: i32) { g(- -a, & &a, !(!b), a - -1); }\n");
    check(
        "kernel k[N:u32](x:*global f32){k::[N+1]<<< 1 , 32 >>> ( x );for i in 0 .. n  step 2{}}",
        "kernel k[N: u32](x: *global f32) { k::[N + 1]<<<1, 32>>>(x); for i in 0 .. n step 2 {} }\n",
    );
}

#[test]
fn the_author_decides_on_blocks_and_empty_lines() {
    check(
        "\n\n\nfn f() {\n\n\n    if a { b(); }\n    if a {\n b(); }\n\n\n\n    c(); d();\n\n}\nfn g() {}\n",
        "fn f() {\n    if a { b(); }\n    if a {\n        b();\n    }\n\n    c();\n    d();\n}\nfn g() {}\n",
    );
    check("fn f() {\nif a { b(); }\nelse { c(); } }", "fn f() {\n    if a { b(); } else { c(); }\n}\n");
    check("fn f() {\nif a { b(); }\nelse {\n c(); } }", "fn f() {\n    if a { b(); } else {\n        c();\n    }\n}\n");
}

#[test]
fn comments_stay() {
    check(
        "// top\n\n/// doc\nfn f() { // open\n    a();   // behind\n    // own\n\n    /* block */ b(/* in */ x, // first\n y); // last\n    // end\n}\n// file end",
        "// top\n\n/// doc\nfn f() { // open\n    a();   // behind\n    // own\n\n    /* block */ b(\n        /* in */ x, // first\n        y\n    ); // last\n    // end\n}\n// file end\n",
    );
    check("/* only */", "/* only */\n");
    check("fn f() {\n    a = b // sum\n        + c;\n}\n", "fn f() {\n    a = b // sum\n        + c;\n}\n");
}

#[test]
fn attributes_keep_their_line() {
    check(
        "@launch_bounds( 256,2 )\nkernel k() {}\n@inline fn f() {}\n",
        "@launch_bounds(256, 2)\nkernel k() {}\n@inline fn f() {}\n",
    );
    check(
        "fn f() {\n@merge( grid )\n    let e = k<<<1,2>>>(x);\n    @merge(off)@inline_below( 32 ) k<<<1, 2>>>(x);@merge( buckets( 16 ) ) k<<<1, 2>>>(x); }\n",
        "fn f() {\n    @merge(grid)\n    let e = k<<<1, 2>>>(x);\n    @merge(off) @inline_below(32) k<<<1, 2>>>(x);\n    @merge(buckets(16)) k<<<1, 2>>>(x);\n}\n",
    );
    check("fn f() {\n    @unroll( 4 ) for i in 0..4 { g(); }\n}\n", "fn f() {\n    @unroll(4) for i in 0..4 { g(); }\n}\n");
}

#[test]
fn long_lines_break() {
    let args = (0..6).map(|i| format!("first_argument_{i} + {i}")).collect::<Vec<_>>().join(", ");
    check(
        &format!("fn f() {{ child<<<grid, block, 0, cudaStreamFireAndForget>>>({args}); }}"),
        "fn f() {
    child<<<grid, block, 0, cudaStreamFireAndForget>>>(
        first_argument_0 + 0,
        first_argument_1 + 1,
        first_argument_2 + 2,
        first_argument_3 + 3,
        first_argument_4 + 4,
        first_argument_5 + 5
    );
}
",
    );
    let sum = (0..14).map(|i| format!("summand_{i} * 2")).collect::<Vec<_>>().join(" + ");
    check(
        &format!("fn f() {{ let s = {sum}; }}"),
        "fn f() {
    let s = summand_0 * 2 + summand_1 * 2 + summand_2 * 2 + summand_3 * 2 + summand_4 * 2 + summand_5 * 2
        + summand_6 * 2 + summand_7 * 2 + summand_8 * 2 + summand_9 * 2 + summand_10 * 2 + summand_11 * 2
        + summand_12 * 2 + summand_13 * 2;
}
",
    );
    let numbers = (100..140).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let text = formatted(&format!("constant t: [i32; 40] = [{numbers}];"));
    assert!(text.lines().count() == 4, "{text}");
    assert_eq!(formatted(&text), text);
}

#[test]
fn source_that_does_not_parse_has_no_layout() {
    assert!(format(FileId(0), "fn f( {").is_err());
}
