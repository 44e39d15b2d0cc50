use super::testing::programs;

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
