use super::{parse, print};
use crate::ir::Module;
use crate::lower::testing::programs;

/// Fails unless the text of a module reads back to an equal one.
fn round_trip(module: &Module) {
    let text = print(module);
    let back = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(back.types.len(), module.types.len(), "{text}");
    for index in 0..module.types.len() {
        let id = crate::types::TypeId(index as u32);
        assert_eq!(back.types.get(id), module.types.get(id), "type {index}\n{text}");
    }
    assert_eq!(back.types.structs(), module.types.structs());
    assert_eq!(back.types.enums(), module.types.enums());
    assert_eq!(back.globals, module.globals, "{text}");
    assert_eq!(back.functions, module.functions, "{text}");
    assert_eq!(print(&back), text);
}

#[test]
fn every_program_of_the_suite_reads_back() {
    for (_, module, _) in programs() {
        round_trip(&module);
    }
}
