//! The Python module, imported and compared with the manifest by `check.py`.

use super::common::Place;
use super::{EVERY, bound, print, run, signatures};
use std::process::Command;

fn python(place: &Place) -> Command {
    let mut command = Command::new(std::env::var_os("CDPC_PYTHON").unwrap_or_else(|| "python3".into()));
    command.current_dir(place.path("")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Without NumPy its dtypes are left out; the rest is compared.
fn compare(place: &Place, name: &str) -> String {
    place.write("check.py", include_str!("check.py"));
    let said = run(python(place).args(["-W", "error", "check.py", name]));
    if said.contains("without NumPy") {
        eprintln!("not compared, NumPy is not installed: its dtypes (CDPC_PYTHON names a Python that has it)");
    }
    said
}

#[test]
fn every_type_has_its_layout_and_every_mistake_its_error() {
    let (place, _) = bound("every", EVERY, "python");
    let said = compare(&place, "every");
    assert!(said.starts_with("5 structures, 21 fields, 5 kernels"), "{said}");
}

#[test]
fn random_signatures_have_their_layout() {
    // `random` is a module of Python's own
    let (place, manifest) = bound("drawn", &print::module(&signatures(), print::Language::Cdp), "python");
    let said = compare(&place, "drawn");
    let fields: usize = manifest.structs.iter().map(|found| found.fields.len()).sum();
    assert!(manifest.structs.len() > 30 && said.contains(&format!("{fields} fields")), "{said}");
}

#[test]
fn a_missing_package_is_named() {
    let (place, _) = bound("every", EVERY, "python");
    // without site packages there is neither
    let attempt = |code: &str| {
        let output = python(&place).args(["-S", "-c", code]).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = attempt("import every; every.Kernels(b'')");
    assert!(said.contains("launching kernels from Python needs cuda-bindings: `pip install cuda-bindings`"), "{said}");
    let said = attempt("import every; every.dtype(every.Row)");
    assert!(said.contains("NumPy dtypes need NumPy: `pip install numpy`"), "{said}");
}

#[test]
fn the_example_names_what_is_missing() {
    let (place, _) = bound("rows", &std::fs::read_to_string(super::repository().join("examples/rows.cdp")).unwrap(), "python");
    let text = std::fs::read(super::repository().join("examples/python/main.py")).unwrap();
    place.write("main.py", text);
    let output = python(&place).args(["-S", "main.py"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("pip install"), "{output:?}");
}
