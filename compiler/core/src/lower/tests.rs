use super::testing::{check, function, lowered, module, programs, rvalues, statements};
use crate::builtins::Intrinsic;
use crate::diag::{Code, Diagnostic};
use crate::ir::{BinaryOp, Operand, PlaceBase, Rvalue, StatementKind, UnaryOp};

#[test]
fn every_program_of_the_suite_lowers_to_a_well_formed_module() {
    let mut bad = Vec::new();
    for (name, module, diagnostics) in programs() {
        for diagnostic in diagnostics.finish() {
            bad.push(format!("{name}: {} {}", diagnostic.code.id(), diagnostic.message));
        }
        if let Err(errors) = crate::verify::verify(&module) {
            bad.extend(errors.iter().map(|error| format!("{name}: {error}")));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// The arithmetic of `fn f(a, b, c, d: T) -> T { body }`, in order: `*`, `+`, `-`, `neg`, `fma`.
fn arithmetic(ty: &str, body: &str, fmad: bool) -> String {
    let text = format!("fn f(a: {ty}, b: {ty}, c: {ty}, d: {ty}) -> {ty} {{ {body} }}");
    let (module, diagnostics) = lowered(&text, fmad);
    assert!(diagnostics.is_empty());
    check(&module);
    let words = rvalues(function(&module, "f")).into_iter().filter_map(|value| match value {
        Rvalue::Binary(op, ..) => Some(op.symbol()),
        Rvalue::Unary(UnaryOp::Neg, _) => Some("neg"),
        Rvalue::Intrinsic(Intrinsic::Fma, _) => Some("fma"),
        _ => None,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn products_are_fused_within_one_expression() {
    for ty in ["f32", "f64", "f32x4"] {
        // of vectors each lane is one
        let fused = |body: &str| arithmetic(ty, body, true).replace("fma fma fma fma", "fma");
        assert_eq!(fused("return a * b + c;"), "fma");
        assert_eq!(fused("return c + a * b;"), "fma");
        assert_eq!(fused("return (a * b) + c;"), "fma");
        assert_eq!(fused("return a * b - c;"), "neg fma");
        assert_eq!(fused("return c - a * b;"), "neg fma");
        // the left one of two products
        assert_eq!(fused("return a * b + c * d;"), "* fma");
        assert_eq!(fused("return a * b - c * d;"), "* neg fma");
        assert_eq!(fused("return a * b + c * d + a;"), "* fma +");
        assert_eq!(fused("return a * b * c + d;"), "* fma");
        // across statements nothing is fused
        assert_eq!(fused("let p = a * b; return p + c;"), "* +");
        assert_eq!(fused("let p = a * b; return p - p;"), "* -");
        // a compound assignment is one statement
        assert_eq!(fused("var x = c; x += a * b; return x;"), "fma");
        assert_eq!(fused("var x = c; x -= a * b; return x;"), "neg fma");
        assert_eq!(fused("var x = c; x *= a + b; return x;"), "+ *");
    }
    assert_eq!(arithmetic("f32", "return a * b + c;", false), "* +");
    assert_eq!(arithmetic("f32", "return (a * b) as f64 as f32 + c;", true), "* +");
    assert_eq!(arithmetic("i32", "return a * b + c;", true), "* +");
}

#[test]
fn the_left_product_is_the_fused_one() {
    let (module, _) = lowered("fn f(a: f32, b: f32, c: f32, d: f32) -> f32 { return a * b + c * d; }", true);
    let f = function(&module, "f");
    let fma = rvalues(f).into_iter().find_map(|value| match value {
        Rvalue::Intrinsic(Intrinsic::Fma, args) => Some(args.clone()),
        _ => None,
    });
    assert_eq!(fma.unwrap()[..2], [Operand::Local(crate::ir::LocalId(0)), Operand::Local(crate::ir::LocalId(1))]);
}

#[test]
fn variables_are_registers_unless_their_address_is_taken() {
    let module = module(
        "fn fill(p: *i32) { *p = 1; }
         fn f(n: i32) -> i32 { var a = n; var b = 2; fill(&b); a += b; b += a; return a + b; }",
    );
    let f = function(&module, "f");
    let named = |local: crate::ir::LocalId| f.locals[local.index()].name.clone();
    let mut touched: Vec<String> = Vec::new();
    for statement in statements(f) {
        statement.each_place(&mut |place| {
            if let PlaceBase::Local(local) = place.base {
                touched.push(named(local));
            }
        });
    }
    // b: first value, address, read for a, read and written by `+=`, read for the result
    assert_eq!(touched, ["b"; 6]);
}

#[test]
fn memory_is_read_in_its_turn() {
    let module = module(
        "fn bump(p: *i32) -> i32 { *p += 1; return *p; }
         fn f() -> i32 { var x = 1; return x + bump(&x); }",
    );
    let order: Vec<&str> = statements(function(&module, "f"))
        .into_iter()
        .filter_map(|statement| match statement {
            StatementKind::Load { .. } => Some("load"),
            StatementKind::Call { .. } => Some("call"),
            StatementKind::Assign { value: Rvalue::Binary(BinaryOp::Add, ..), .. } => Some("add"),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["load", "call", "add"]);
}

#[test]
fn fields_are_evaluated_in_the_order_of_writing() {
    let module = module(
        "struct P { a: i32, b: i32 }
         fn one() -> i32 { return 1; }
         fn two() -> i32 { return 2; }
         fn f() -> P { return P(b: two(), a: one()); }",
    );
    let called: Vec<String> = statements(function(&module, "f"))
        .into_iter()
        .filter_map(|statement| match statement {
            StatementKind::Call { function, .. } => Some(module.function(*function).unwrap().name.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(called, ["two", "one"]);
}

#[test]
fn the_message_of_an_assertion_is_evaluated_when_it_fails() {
    let module = module(
        "fn why() -> i32 { return 1; }
         kernel k(x: *global i32) { assert(x[0] == 1, \"%d\", why()); x[0] = 2; }",
    );
    let k = function(&module, "k");
    let calls = |statement: &crate::ir::Statement| matches!(statement.kind, StatementKind::Call { .. });
    let block = k.blocks.iter().find(|block| block.statements.iter().any(calls)).unwrap();
    assert!(matches!(block.statements.last().unwrap().kind, StatementKind::Assert { .. }));
    assert!(!k.blocks[0].statements.iter().any(calls));
}

#[test]
fn simple_choices_are_selects() {
    let module = module("fn f(a: i32, b: i32) -> i32 { return if a < b { a } else { -1 }; }");
    assert!(rvalues(function(&module, "f")).into_iter().any(|value| matches!(value, Rvalue::Select(..))));
}

#[test]
fn steps_do_not_overflow_at_the_end_of_the_range() {
    let adds = |header: &str| {
        let module = module(&format!("fn f(n: i32, s: i32) -> i32 {{ var c = 0; for i in {header} {{ c ^= i; }} return c; }}"));
        let values = rvalues(function(&module, "f"));
        let wrapping = values.iter().filter(|v| matches!(v, Rvalue::Intrinsic(Intrinsic::WrappingSub, _))).count();
        let plain = values.iter().filter(|v| matches!(v, Rvalue::Binary(BinaryOp::Add, ..))).count();
        (wrapping, plain)
    };
    assert_eq!(adds("0..n"), (0, 1));
    assert_eq!(adds("0..100 step 7"), (0, 1));
    assert_eq!(adds("0..2147483647 step 2"), (1, 1));
    assert_eq!(adds("0..n step 2"), (1, 1));
    assert_eq!(adds("0..n step s"), (1, 1));
}

#[test]
fn a_variable_step_is_counted_before_the_loop() {
    let module = module("fn f(n: i32, s: i32) -> i32 { var c = 0; for i in 0..n step s { c ^= i; } return c; }");
    let f = function(&module, "f");
    let divides = |block: &&crate::ir::Block| {
        let is_division = |v: &Rvalue| matches!(v, Rvalue::Binary(BinaryOp::Div, ..));
        block.statements.iter().any(|s| matches!(&s.kind, StatementKind::Assign { value, .. } if is_division(value)))
    };
    assert_eq!(f.blocks.iter().filter(divides).count(), 1);
}

#[test]
fn unrolling_is_asked_for_at_the_header() {
    let module = module(
        "fn f(n: i32) -> i32 {
            var c = 0;
            @unroll(4) for i in 0..n { c += i; }
            @unroll for i in 0..n step 3 { c += i; }
            @unroll(2) while c > 10 { c -= 3; }
            return c;
        }",
    );
    let f = function(&module, "f");
    let mut unrolled: Vec<u32> = f.blocks.iter().filter_map(|block| block.unroll).collect();
    unrolled.sort_unstable();
    assert_eq!(unrolled, [0, 2, 4]);
    // each is the target of a jump from a block behind it, the back edge
    for (index, block) in f.blocks.iter().enumerate().filter(|(_, block)| block.unroll.is_some()) {
        let jumps = f.blocks.iter().flat_map(|from| from.terminator.kind.successors()).filter(|to| to.index() == index);
        assert_eq!(jumps.count(), 2, "{block:?}");
    }
}

fn diagnostics(text: &str) -> Vec<Diagnostic> {
    let (module, diagnostics) = lowered(text, true);
    check(&module);
    diagnostics.finish()
}

fn codes(body: &str) -> Vec<Code> {
    let text = format!("fn fill(p: *i32) {{ *p = 1; }} fn f(n: i32, c: bool) -> i32 {{ {body} }}");
    diagnostics(&text).iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn variables_are_assigned_before_they_are_used() {
    for body in [
        "var x: i32; x = 1; return x;",
        "var x: i32; if c { x = 1; } else { x = 2; } return x;",
        "var x: i32; if c { return 0; } else { x = 2; } return x;",
        "var x: i32; fill(&x); return x;",
        "var x: i32; loop { if c { x = n; break; } } return x;",
        "var x: i32; switch n { case 1 { x = 1; } default { x = 2; } } return x;",
        "var x: i32; while c { x = 1; if x == n { return x; } } return 0;",
        "var a: [i32; 4]; for i in 0..4 { a[i] = i; } return a[2];",
        "var x: i32; return 0;",
        "var x: i32; if c && n > 0 { x = 1; return x; } return 0;",
        // a variable of a loop's body is new in every round
        "for i in 0..n { var x: i32; if i > 3 { x = 1; } else { x = 0; } if x > 0 { return x; } } return 0;",
    ] {
        assert_eq!(codes(body), [], "{body}");
    }
    for body in [
        "var x: i32; return x;",
        "var x: i32; x += 1; return x;",
        "var x: i32; if c { x = 1; } return x;",
        "var x: i32; for i in 0..n { x = i; } return x;",
        "var x: i32; while c { x = 1; } return x;",
        "var x: i32; switch n { case 1 { x = 1; } } return x;",
        "var x: i32; if c || n > 0 { x = 1; } return x;",
        "var a: [i32; 4]; return a[2];",
        "var x: i32; let y = x; fill(&x); return y;",
        "for i in 0..n { var x: i32; if i > 3 { x = 1; } if x > 0 { return x; } } return 0;",
        "var x: i32; loop { if c { break; } x = n; } return x;",
    ] {
        assert_eq!(codes(body), [Code::E0215], "{body}");
    }
}

#[test]
fn what_skips_an_assignment_is_shown() {
    let text = "fn f(n: i32, c: bool) -> i32 { var value: i32; if n > 7 { value = 1; } return value; }";
    let found = diagnostics(text);
    let shown = |span: crate::source::Span| &text[span.range()];
    assert_eq!(found[0].message, "`value` is used before it is assigned");
    assert_eq!(shown(found[0].primary.span), "value");
    let labels: Vec<(&str, &str)> = found[0].secondary.iter().map(|l| (shown(l.span), l.text.as_str())).collect();
    assert_eq!(labels[0].1, "declared without a value here");
    assert_eq!(labels[1], ("n > 7", "when this is `false`, nothing is assigned"));
}

#[test]
fn every_path_returns() {
    for body in [
        "return 1;",
        "if c { return 1; } else { return 2; }",
        "loop { if c { return n; } }",
        "switch n { case 1 { return 1; } default { return 2; } }",
        "if c { return 1; } loop { }",
    ] {
        assert_eq!(codes(body), [], "{body}");
    }
    for body in
        ["", "if c { return 1; }", "while c { return 1; }", "loop { if c { break; } }", "switch n { case 1 { return 1; } }"]
    {
        assert_eq!(codes(body), [Code::E0216], "{body}");
    }
    let text = "fn f(c: bool) -> i32 { if c { return 1; } }";
    let found = diagnostics(text);
    assert_eq!(&text[found[0].primary.span.range()], "}");
}

#[test]
fn what_control_cannot_reach_is_left_out() {
    let module = module("kernel c() { } kernel k(x: *global i32) { x[0] = 1; return; c<<<1, 1>>>(); }");
    let k = function(&module, "k");
    assert_eq!(k.blocks.len(), 1);
    assert!(!statements(k).into_iter().any(|statement| matches!(statement, StatementKind::Launch(_))));
}
