mod generate;

use super::{parse, print};
use crate::ir::Module;
use crate::lower::testing::programs;
use crate::types::TypeId;
use proptest::prelude::*;

/// Fails unless the text of a module reads back to an equal one.
fn round_trip(module: &Module) {
    let text = print(module);
    let back = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(back.types.len(), module.types.len(), "{text}");
    for index in 0..module.types.len() {
        let id = TypeId(index as u32);
        assert_eq!(back.types.get(id), module.types.get(id), "type {index}\n{text}");
    }
    assert_eq!(back.types.structs(), module.types.structs(), "{text}");
    assert_eq!(back.types.enums(), module.types.enums(), "{text}");
    assert_eq!(back.globals, module.globals, "{text}");
    assert_eq!(back.functions, module.functions, "{text}");
    assert_eq!(print(&back), text);
}

#[test]
fn every_program_of_the_suite_reads_back() {
    for (_, mut module, _) in programs() {
        round_trip(&module);
        crate::pass::const_fold(&mut module);
        crate::pass::simplify(&mut module);
        let _ = crate::pass::lower_launches(&mut module, &Default::default());
        round_trip(&module);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_module_reads_back(seed in any::<u64>()) {
        let module = generate::module(seed);
        round_trip(&module);
        // most of them are wrong, which is said and nothing else
        let _ = crate::verify::verify(&module);
    }

    /// What is cut, doubled or exchanged anywhere gives an error or a module, which `verify` can look at.
    #[test]
    fn damaged_text_is_an_error_or_a_module(seed in any::<u64>(), at in any::<prop::sample::Index>(), with in ".{0,4}", cut in 0usize..6) {
        let text = print(&generate::module(seed));
        let at = at.index(text.len() + 1);
        let start = text.floor_char_boundary(at);
        let end = text.floor_char_boundary((at + cut).min(text.len()));
        let damaged = format!("{}{with}{}", &text[..start], &text[end.max(start)..]);
        if let Ok(module) = parse(&damaged) {
            let _ = crate::verify::verify(&module);
        }
    }

    #[test]
    fn any_text_is_an_error_or_a_module(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }
}

const WHOLE: &str = r#"
// a comment
type 34 = *global f32
type 35 = [i32; 4]
struct Row align 16 @ 0:7..10 { begin: i32 @ 0:13..18, next: *Row align 8 }
struct "Pair[f32]" { a: f32 }
enum Color: i8 @ 1:40..45 { red = 0, "light green" = -1 }
var $total#0: u32 in global exported = u32 7 @ 0:60..65
var $tile#1: [f32] in shared align 16
var $table#2 symbol "other": [i32; 4] in constant = [i32; 4] {1, -2, 0xffffffff, zero}
kernel &scale#0 params 2 -> void launch_bounds 256, 2 exported @ 0:80..85 {
  %x#0: *global f32 restrict @ 0:86..87
  %n#1: i32
  %2: u32
  %3: cudaError_t
  %p#4: Row
bb0:
  %2 = register threadIdx.x @ 0:99..110
  store volatile *(%x#0), f32 1.5 @ 0:112..120
  store %p#4.1.0[%n#1], f32 -0.0
  %3 = launch &scale#0 <<<(%2, u32 1, u32 1), (u32 32, u32 1, u32 1), u32 0, cudaStream_t 0x4>>> (%x#0, %n#1)
  launch merge grid inline_below 32 &scale#0 <<<(u32 1, u32 1, u32 1), (u32 32, u32 1, u32 1), u32 0, cudaStream_t 0>>> (%x#0, %n#1)
  launch merge buckets 16 &scale#0 <<<(u32 1, u32 1, u32 1), (u32 32, u32 1, u32 1), u32 0, cudaStream_t 0>>> (%x#0, %n#1)
  launch merge off &scale#0 <<<(u32 1, u32 1, u32 1), (u32 32, u32 1, u32 1), u32 0, cudaStream_t 0x4>>> (%x#0, %n#1)
  branch bool true, bb1, bb2
bb1 unroll 4:
  goto bb2
bb2:
  switch %n#1 {18446744073709551615: bb1, 3: bb2, else: bb1}
}
test "it works" &1 "test 1" symbol "t" params 0 -> void {
bb0:
  return @ 0:1..2
}
"#;

#[test]
fn text_that_people_write_is_read() {
    let module = parse(WHOLE).unwrap();
    round_trip(&module);
    assert_eq!(module.functions[0].blocks.len(), 3);
    assert_eq!(module.globals[2].symbol, "other");
    assert_eq!(module.types.structs()[2].name, "Pair[f32]");
    assert_eq!(module.functions[1].name, "test 1");
}

#[test]
fn a_returned_structure_that_is_called_like_a_block_is_no_block() {
    let text = "struct \"bb1\" { a: i32 }\nfn &f#0 params 0 -> \"bb1\" {\nbb0:\n  return \"bb1\" zero\nbb1:\n  return\n}\n";
    let module = parse(text).unwrap();
    assert_eq!(module.functions[0].blocks.len(), 2);
    round_trip(&module);
    // seeds that met this
    for seed in [4_421_091_107_471_296_000, 13_117_684_674_637_899_579] {
        round_trip(&generate::module(seed));
    }
}

#[test]
fn errors_say_where() {
    let error = |text: &str| parse(text).unwrap_err().to_string();
    assert_eq!(error("fn &f#0 params 0 -> void {\n bb0:\n  return\n"), "4:1: a block such as `bb0` is expected here");
    assert_eq!(error("fn &f#0 params 0 -> nothing {"), "1:21: there is no type \"nothing\"");
    assert_eq!(error("äö"), "1:1: 'ä' means nothing here");
    assert_eq!(error("var $a#1: i32 in global"), "1:5: this must be number 0");
    assert_eq!(error("var $a#0: i8 in global = i8 200"), "1:29: a number from -128 to 127 is expected here");
    assert_eq!(error("struct A { }\nstruct A { }"), "2:8: there are two types \"A\"; number them: `A#1`");
    assert_eq!(error("type 35 = *f32"), "1:6: this type has number 34");
    let body = |line: &str| error(&format!("fn &f#0 params 0 -> void {{ %0: i32\nbb0:\n{line}\n"));
    assert_eq!(body("%0 = frobnicate %0"), "3:6: `frobnicate` is no operation with a result");
    assert_eq!(body("load %0"), "3:1: `load` is no statement without a result");
    assert_eq!(body("runtime cudaFoo()"), "3:9: `cudaFoo` is no runtime call");
    assert_eq!(body("%0 = register threadIdx.w"), "3:15: `threadIdx.w` is no register");
    assert_eq!(body("printf \"x"), "3:8: this string does not end");
}

#[test]
fn hostile_text_ends_no_stack() {
    let deep = 200_000;
    for text in [
        format!("var $a#0: {} in global", "*".repeat(deep)),
        format!("var $a#0: {}", "[".repeat(deep)),
        format!("var $a#0: i32 in global = i32 {}", "{".repeat(deep)),
        format!("fn &f#0 params 0 -> void {{ bb0: return {}", "*(".repeat(deep)),
        format!("struct A {}", "{".repeat(deep)),
        "%".repeat(deep),
        "\"\\".repeat(deep),
    ] {
        assert!(parse(&text).is_err());
    }
    // a chain of structures, each of two of the one before, would take for ever to measure
    let chain: String = (1..100).map(|n| format!("struct S{n} {{ a: S{0}, b: S{0} }}\n", n - 1)).collect();
    let module = parse(&format!("struct S0 {{ }}\n{chain}")).unwrap();
    assert!(crate::verify::verify(&module).is_err());
    let endless = parse("struct A { b: [B; 2] } struct B { a: A }").unwrap();
    assert!(crate::verify::verify(&endless).is_err());
    let list = parse("struct A { next: *A }").unwrap();
    assert!(crate::verify::verify(&list).is_ok());
}

#[test]
fn a_number_is_rounded_once() {
    // above the middle of two halves by less than `f64` can tell, and the middle itself, which goes to the even one
    for (text, bits) in
        [("f16 -1.00048828125000000000001", 0xbc01), ("f16 1.00048828125", 0x3c00), ("bf16 1.00390625000000000000001", 0x3f81)]
    {
        let (ty, _) = text.split_once(' ').unwrap();
        let module = parse(&format!("var $v#0: {ty} in global = {text}\n")).unwrap();
        let init = module.globals.first().and_then(|global| global.init.as_ref()).unwrap();
        assert_eq!(init.as_bits(), Some(bits), "{text}");
    }
}
