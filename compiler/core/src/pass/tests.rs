use super::{const_fold, simplify};
use crate::ir::{Const, Module, Operand, StatementKind, TerminatorKind, parse, print};
use crate::lower::testing::{check, function, module, rvalues, statements};
use crate::types::TypeTable;

/// What `fn f() -> T { body }` returns, when folding finds out.
fn folded(result: &str, body: &str) -> Option<Const> {
    let mut module = module(&format!("fn f() -> {result} {{ {body} }}"));
    const_fold(&mut module);
    simplify(&mut module);
    check(&module);
    let f = function(&module, "f");
    match f.blocks.as_slice() {
        [only] if only.statements.is_empty() => match &only.terminator.kind {
            TerminatorKind::Return(Some(Operand::Const(constant))) => Some(constant.clone()),
            _ => None,
        },
        _ => None,
    }
}

#[test]
fn constants_go_through_variables_and_operators() {
    let int = |body: &str| folded("i32", body).and_then(|constant| constant.as_bits());
    assert_eq!(int("let a = 3; let b = a * 4; return b - 2;"), Some(10));
    assert_eq!(int("let a = 3; return if a > 2 { 7 } else { 8 };"), Some(7));
    assert_eq!(int("let a = 200; return a as u8 as i8 as i32;"), Some(0xffff_ffc8));
    assert_eq!(int("let a = -1.5; return a as i32;"), Some(0xffff_ffff));
    assert_eq!(int("let a = 6; return min(a, 4) << 2;"), Some(16));
    let float = folded("f32", "let a = 0.1f32; return a * 3.0 + 1.0;").unwrap();
    assert_eq!(float, Const::bits(TypeTable::F32, u64::from(0.1f32.mul_add(3.0, 1.0).to_bits())));
    let vector = folded("f32", "let v = f32x2(1.0, 2.0); let w = v + v; return w.y;");
    assert_eq!(vector, None, "lanes of a variable are places, which folding leaves alone");
}

#[test]
fn errors_of_the_program_stay() {
    let kept = |body: &str| folded("i32", body).is_none();
    assert!(kept("let a = 2147483647; return a + 1;"));
    assert!(kept("let a = 0; return 1 / a;"));
    assert!(kept("let a = 32; return 1 << a;"));
}

#[test]
fn variables_that_change_stay() {
    assert_eq!(folded("i32", "var a = 3; a = 4; return a;"), None);
    assert_eq!(folded("i32", "var a = 3; let p = &a; *p = 4; return a;"), None);
}

#[test]
fn branches_on_constants_go_and_take_what_they_guard_along() {
    let mut module = module(
        "const N: i32 = 3;
         kernel k(x: *global i32) {
            if N > 4 { x[0] = 1; } else { x[1] = 1; }
            switch N { case 3 { x[3] = 1; } default { x[4] = 1; } }
            while false { x[5] = 1; }
         }",
    );
    const_fold(&mut module);
    simplify(&mut module);
    check(&module);
    let k = function(&module, "k");
    let stores = statements(k).into_iter().filter(|statement| matches!(statement, StatementKind::Store { .. })).count();
    assert_eq!(stores, 2, "{}", print(&module));
    assert!(k.blocks.iter().all(|block| matches!(block.terminator.kind, TerminatorKind::Goto(_) | TerminatorKind::Return(_))));
}

#[test]
fn what_nobody_reads_is_not_computed() {
    let mut module = module("kernel k() { let unused = threadIdx.x + 1; }");
    const_fold(&mut module);
    assert!(rvalues(function(&module, "k")).is_empty());
}

fn simplified(text: &str) -> Module {
    let mut module = parse(text).unwrap();
    simplify(&mut module);
    check(&module);
    module
}

#[test]
fn empty_blocks_are_skipped_but_not_the_headers_of_loops() {
    let module = simplified(
        "kernel &k#0 params 1 -> void {
           %c#0: bool
         bb0: branch %c#0, bb1, bb2
         bb1: goto bb3
         bb2: goto bb4
         bb3: goto bb5
         bb4 unroll 2: goto bb6
         bb5: return
         bb6: fence block branch %c#0, bb4, bb5
         }",
    );
    let k = &module.functions[0];
    assert_eq!(k.blocks.len(), 4, "{}", print(&module));
    assert_eq!(k.blocks.iter().filter(|block| block.unroll == Some(2)).count(), 1);
}

#[test]
fn empty_endless_loops_stay() {
    let module = simplified("fn &f#0 params 0 -> i32 { bb0: goto bb1 bb1: goto bb2 bb2: goto bb1 }");
    assert!(module.functions[0].blocks.iter().all(|block| matches!(block.terminator.kind, TerminatorKind::Goto(_))));
    let defined_elsewhere = simplified("fn &f#0 params 0 -> i32 { }");
    assert!(defined_elsewhere.functions[0].blocks.is_empty());
}
