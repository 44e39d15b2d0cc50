//! The Rust module, built with the library that hosts use.

use super::common::Place;
use super::signature::Type;
use super::{EVERY, bound, print, random_bound, repository, run, signatures};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Cargo, with the packages that this workspace has already fetched and built.
fn cargo(package: &Path) -> Command {
    // the versions that are there; cargo leaves out what the package does not need
    std::fs::copy(repository().join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_BIN_EXE_cdpc")).ancestors().nth(2).unwrap();
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--offline", "--manifest-path"]).arg(package.join("Cargo.toml"));
    command.env("CARGO_TARGET_DIR", target).env("CDPC", env!("CARGO_BIN_EXE_cdpc"));
    if let Some(folder) = super::common::toolkit() {
        command.env("CDPC_CUDA", folder);
    }
    command
}

/// Constants of the modules compare sizes, alignments and offsets with the manifest when they are compiled; the program compares bytes.
#[test]
fn values_have_their_bytes_at_their_offsets() {
    let (place, _) = random_bound("rust");
    let (every, _) = bound("every", EVERY, "rust");
    std::fs::create_dir(place.path("src")).unwrap();
    for (from, name) in [(&place, "random"), (&every, "every")] {
        let text = std::fs::read(from.path(&format!("{name}.rs"))).unwrap();
        place.write(&format!("src/{name}.rs"), text);
    }
    place.write("src/main.rs", program());
    let runtime = repository().join("runtime-shim");
    place.write(
        "Cargo.toml",
        format!(
            "[workspace]\n[package]\nname = \"bindings-check\"\nedition = \"2024\"\n[dependencies]\ncdp-runtime = {{ path = \"{}\" }}\n\
             [profile.dev]\ndebug = \"line-tables-only\"\n[lints.rust]\nwarnings = \"deny\"\n",
            runtime.display()
        ),
    );
    let said = run(&mut cargo(&place.path("")));
    assert!(said.trim().parse::<usize>().unwrap() > 30, "{said}");
}

/// For each structure: any bytes become a value, and the value has those bytes again where its data lie and none elsewhere.
fn program() -> String {
    let mut out = "mod every;\nmod random;\n\nfn check<T: cdp_runtime::Value>(name: &str, data: &[(usize, usize)]) -> usize {\n    let wanted: Vec<u8> = (0..T::SIZE).map(|i| if data.iter().any(|(at, size)| (*at..at + size).contains(&i)) { 1 } else { 0 }).collect();\n    let found = cdp_runtime::value::to_bytes(&[T::load(&vec![1; T::SIZE])]);\n    assert_eq!(found, wanted, \"{name}\");\n    1\n}\n\nfn main() {\n    let mut count = 0;\n".to_owned();
    for (number, signature) in signatures().iter().enumerate() {
        for (index, ty) in signature.params.iter().enumerate() {
            if let Type::Struct { .. } = ty {
                let mut data = Vec::new();
                ty.data(0, &mut data);
                let name = format!("S{number}_{index}");
                let _ = writeln!(out, "    count += check::<random::{name}>(\"{name}\", &{data:?});");
            }
        }
    }
    out.push_str("    count += check::<every::Row>(\"Row\", &[(0, 8)]);\n    println!(\"{count}\");\n}\n");
    assert!(print::module(&signatures(), print::Language::Cdp).len() > 1000);
    out
}

/// The build script, the macro, the types and the launches; without a GPU it ends with 2, and says so.
#[test]
fn the_example_builds_and_runs() {
    let output = cargo(&repository().join("examples/rust")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => assert!(String::from_utf8_lossy(&output.stdout).contains("0 of 139500 values wrong")),
        code => assert!(code == Some(2) && said.contains("error[E070"), "{output:?}"),
    }
}

/// The program of the tutorial's last part, as it stands there.
#[test]
fn the_tutorial_builds_and_runs() {
    let page = std::fs::read_to_string(repository().join("docs/tutorial-tools.md")).unwrap();
    let place = Place::new();
    std::fs::create_dir(place.path("src")).unwrap();
    for (name, to) in [("squares.cdp", "squares.cdp"), ("build.rs", "build.rs"), ("main.rs", "src/main.rs")] {
        let start = page.find(&format!("\n// {name}\n")).unwrap_or_else(|| panic!("the tutorial has no {name}")) + 1;
        place.write(to, page[start..].split("\n```").next().unwrap());
    }
    let crates = repository().join("runtime-shim");
    let crates = crates.display();
    place.write(
        "Cargo.toml",
        format!(
            "[workspace]\n[package]\nname = \"squares\"\nedition = \"2024\"\n[dependencies]\ncdp-runtime = {{ path = \"{crates}\" }}\n\
             [build-dependencies]\ncdp-build = {{ path = \"{crates}/cdp-build\" }}\n[profile.dev]\ndebug = \"line-tables-only\"\n"
        ),
    );
    let output = cargo(&place.path("")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("31 squared is 961, error 0") || said.starts_with("Error: No"), "{said}");
}
