//! The header, by gcc and g++.

use super::common::{self, Place};
use super::{EVERY, bound, print, random_bound, repository, run};
use cdp_runtime::Manifest;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A compiler with every warning an error; the CUDA headers are not ours to warn about.
fn compiler(language: &str, place: &Place) -> Command {
    let (program, standard) = if language == "c" { ("gcc", "-std=c11") } else { ("g++", "-std=c++17") };
    let include = common::toolkit().expect("a CUDA toolkit (`make setup`)").join("include");
    let mut command = Command::new(program);
    command.args([standard, "-x", language, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-I."]);
    command.arg("-isystem").arg(include).current_dir(place.path(""));
    command
}

/// The static assertions of the header compare sizes, alignments and offsets.
fn compiles(place: &Place, name: &str) {
    for language in ["c", "c++"] {
        place.write("unit.txt", format!("#include \"{name}.h\"\n#include \"{name}.h\"\nint main(void) {{ return 0; }}\n"));
        run(compiler(language, place).args(["-c", "unit.txt", "-o", "unit.o"]));
    }
}

#[test]
fn every_type_has_its_layout_in_c_and_cxx() {
    compiles(&bound("every", EVERY, "header").0, "every");
}

#[test]
fn a_wrong_offset_does_not_compile() {
    let (place, _) = bound("every", EVERY, "header");
    let text = std::fs::read_to_string(place.path("every.h")).unwrap();
    place.write("every.h", text.replace("uint16_t count;", "uint64_t count;"));
    let output = compiler("c++", &place).args(["-fsyntax-only", "every.h"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("every_Node: "), "{output:?}");
    assert!(!output.status.success());
}

#[test]
fn random_signatures_reach_the_driver_at_their_offsets() {
    let (place, manifest) = random_bound("header");
    compiles(&place, "random");
    place.write("driver.h", include_str!("driver.h"));
    place.write("driver.c", driver(&manifest)).write("main.c", launches(&manifest));
    run(compiler("c", &place).args(["main.c", "driver.c", "-o", "launches"]));
    let out = run(&mut Command::new(place.path("launches")));
    assert_eq!(out.trim(), format!("{} launches", 2 * manifest.kernels.iter().filter(|k| !k.params.is_empty()).count()));
}

/// The part of the driver that the header uses: it lays the parameters out as the manifest says, and keeps them.
fn driver(manifest: &Manifest) -> String {
    let mut out = "#include \"driver.h\"\nstruct kernel kernels[] = {\n".to_owned();
    for kernel in &manifest.kernels {
        let params: String = kernel.params.iter().map(|p| format!("{{{}, {}}}, ", p.offset, p.size)).collect();
        let _ = writeln!(out, "    {{\"{}\", {}, {{{params}{{0, 0}}}}}},", kernel.symbol, kernel.params.len());
    }
    out + "};\nconst size_t kernel_count = sizeof kernels / sizeof kernels[0];\n" + include_str!("driver.c")
}

/// Launches every kernel with bytes that follow from their place: first argument by argument, then in one piece.
fn launches(manifest: &Manifest) -> String {
    let mut out = "#include \"driver.h\"\n#include \"random.h\"\n\nint main(void) {\n    random_module m;\n    random_config c = random_config_1d(1, 1);\n    int launches = 0;\n    MUST(random_load_data(&m, \"a cubin\") == CUDA_SUCCESS);\n".to_owned();
    for kernel in manifest.kernels.iter().filter(|kernel| !kernel.params.is_empty()) {
        let name = &kernel.name;
        let _ = writeln!(out, "    {{\n        random_{name}_params all;\n        memset(&all, 0, sizeof all);");
        let mut args = String::new();
        for param in &kernel.params {
            let p = &param.name;
            let is_struct = param.ty.starts_with('S');
            let _ =
                writeln!(out, "        fill(&all.{p}, {}, {}, {});", param.offset, param.size, i32::from(param.ty == "bool"));
            // the structures that are there as bytes have no type of their own here
            args += &if is_struct { format!(", (const void *)&all.{p}") } else { format!(", all.{p}") };
        }
        let _ = writeln!(out, "        begin();\n        MUST(random_launch_{name}(&m, &c{args}) == CUDA_SUCCESS);");
        let _ = writeln!(out, "        MUST(is_filled(\"{}\"));", kernel.symbol);
        let _ = writeln!(out, "        begin();\n        MUST(random_launch_{name}_params(&m, &c, &all) == CUDA_SUCCESS);");
        let _ = writeln!(out, "        MUST(is_filled(\"{}\"));\n        launches += 2;\n    }}", kernel.symbol);
    }
    out + "    MUST(random_unload(&m) == CUDA_SUCCESS);\n    printf(\"%d launches\\n\", launches);\n    return 0;\n}\n"
}

#[test]
fn the_example_checks_what_comes_back() {
    let place = Place::new();
    let examples = repository().join("examples");
    let source = examples.join("rows.cdp");
    place.run(&format!("build --emit=header -o rows.h {}", source.display())).succeeds();
    let example = |stub: &str, place: &Place, main: &Path| {
        run(compiler("c++", place).args(["-c", "-o", "main.o"]).arg(main));
        place.write("rows_driver.c", include_str!("rows_driver.c"));
        run(compiler("c", place).args([stub, "-c", "rows_driver.c", "-o", "rows_driver.o"]));
        run(Command::new("g++").args(["main.o", "rows_driver.o", "-o", "rows"]).current_dir(place.path("")));
        let output = Command::new(place.path("rows")).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let main = examples.join("cpp/main.cpp");
    let expected = |wrong: u32| format!("200 rows, 191 child grids, 0 refused, {wrong} of 139500 values wrong\n");
    assert_eq!(example("-DWRONG=0", &place, &main), (Some(0), expected(0)));
    assert_eq!(example("-DWRONG=1", &place, &main), (Some(1), expected(1)));
    let missing = example("-DNO_GPU", &place, &main);
    assert_eq!(missing, (Some(2), String::new()));
}

#[test]
fn names_of_files_become_prefixes() {
    let place = Place::new();
    let source = print::module(&[], print::Language::Cdp) + "kernel int(x: i32) {}\n";
    place.write("3d-view.cdp", &source);
    place.run("build --emit=header 3d-view.cdp").succeeds();
    compiles(&place, "3d-view");
}
