//! The command line as a user meets it: exit codes, bad input, artefacts, formats.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use crate::common::{DEAD_LAUNCH, FLAT, NESTED, Place, finish};

#[test]
fn wrong_arguments_exit_with_2() {
    let place = Place::new();
    for line in ["", "frobnicate", "build"] {
        place.run(line).fails(2, &["Usage: cdpc"]);
    }
    for line in ["build a.cdp --emit=exe", "build a.cdp -O4", "build a.cdp --max-param-bytes 99999", "run a.cdp --device tpu"] {
        place.run(line).fails(2, &["error: invalid value", "For more information, try '--help'"]);
    }
    place.run("--version").succeeds().prints(&["cdpc 0."]);
    place.run("build --help").succeeds().prints(&["--launch-abi", "--lineinfo", "--fmad"]);
}

#[test]
fn unreadable_input_exits_with_2() {
    let place = Place::new();
    fs::create_dir(place.path("folder.cdp")).unwrap();
    place.run("build gone.cdp").fails(2, &["error: cannot read `gone.cdp`: no such file or directory"]);
    place.run("build folder.cdp").fails(2, &["error: `folder.cdp` is a folder, not a source file"]);
    place.run("check .").fails(2, &[]);
    place.run("test folder.cdp").fails(2, &["`folder.cdp` holds no `.cdp` file"]);
    assert_eq!(place.files(), ["folder.cdp"]);
}

#[test]
fn bytes_that_are_not_utf8_are_located() {
    let place = Place::new();
    place.write("a.cdp", b"// fine\n// \xc3\x28\n").write("b.cdp", b"\xff\xfek\0");
    place.run("build a.cdp").fails(1, &["`a.cdp` is not UTF-8: byte 11 (0xc3), in line 2"]);
    place.run("check b.cdp").fails(1, &["byte 0 (0xff), in line 1", "UTF-16"]);
    assert_eq!(place.files(), ["a.cdp", "b.cdp"]);
}

#[test]
fn an_empty_file_is_a_module_without_kernels() {
    let place = Place::new();
    place.write("a.cdp", "");
    place.run("build --emit=ptx -o - a.cdp").succeeds().prints(&[".version", ".target sm_90"]);
    place.run("layout --no-cubin a.cdp").succeeds().prints(&["no kernels"]);
    place.run_with_toolkit("build a.cdp").succeeds();
    assert!(place.exists("a.cubin"));
}

#[test]
fn an_unknown_architecture_lists_the_known_ones() {
    let place = Place::new();
    place.write("a.cdp", FLAT);
    for arch in ["sm_20", "banana", "sm_99"] {
        place.run(&format!("build --emit=ptx --arch {arch} a.cdp")).fails(2, &["E0622", arch, "sm_75", "sm_90", "sm_121"]);
    }
    assert_eq!(place.files(), ["a.cdp"]);
}

#[test]
fn every_architecture_gets_ptx() {
    let place = Place::new();
    place.write("a.cdp", NESTED);
    for arch in ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120", "sm_121"] {
        place.run(&format!("build --emit=ptx -o - --arch {arch} a.cdp")).succeeds().prints(&[&format!(".target {arch}\n")]);
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_nothing_half() {
    let place = Place::new();
    place.write("a.cdp", FLAT).write("old.ptx", "old");
    place.run("build --emit=ptx -o /dev/full a.cdp").fails(2, &["cannot write `/dev/full`: no space left on device"]);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let ran = place.command("build --emit=ptx -o - a.cdp").stdout(full).output().unwrap();
    finish(ran).fails(2, &["cannot write `standard output`: no space left on device"]);
    place.run("build --emit=ptx -o gone/a.ptx a.cdp").fails(2, &["cannot write `gone/a.ptx`"]);
    assert_eq!(place.files(), ["a.cdp", "old.ptx"]);
    // an error of the source leaves the old artefact alone
    place.write("a.cdp", "kernel k() { x = 1; }");
    place.run("build --emit=ptx -o old.ptx a.cdp").fails(1, &["E0201"]);
    assert_eq!(fs::read(place.path("old.ptx")).unwrap(), b"old");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    place.write("a.cdp", FLAT);
    let mut command = place.command("build --emit=ptx -o - a.cdp");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    finish(command.stdout(writer).output().unwrap()).succeeds();
}

#[test]
fn standard_input_goes_to_standard_output() {
    let place = Place::new();
    let mut child = place
        .command("build --emit=ptx -")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(FLAT.as_bytes()).unwrap();
    finish(child.wait_with_output().unwrap()).succeeds().prints(&[".entry fill"]);
    assert!(place.files().is_empty());
}

#[test]
fn each_kind_is_written() {
    let place = Place::new();
    place.write("a.cdp", NESTED);
    fs::create_dir(place.path("out")).unwrap();
    let kinds = "ast,ir,lowered-ir,llvm-ir,ptx,cubin,sass,layout,dep-info";
    place.run_with_toolkit(&format!("build --emit={kinds} -o out a.cdp")).succeeds();
    let read = |name: &str| fs::read(place.path("out").join(name)).unwrap();
    let text = |name: &str| String::from_utf8(read(name)).unwrap();
    assert!(text("a.ast").contains("parent"));
    assert!(text("a.ir").contains("launch"));
    assert!(!text("a.ir").contains("__cudaCDP2") && text("a.lowered.ir") != text("a.ir"));
    assert!(text("a.ll").contains("ptx_kernel"));
    assert!(text("a.ptx").contains("__cudaCDP2LaunchDevice") && text("a.ptx").starts_with("//"));
    assert!(read("a.cubin").starts_with(b"\x7fELF"));
    assert!(text("a.sass").contains(".text.parent") && !text("a.sass").contains("memset"));
    let manifest = cdp_runtime::Manifest::from_json(&text("a.json")).unwrap();
    assert_eq!((manifest.kernels.len(), manifest.launch_sites.len()), (2, 1));
    assert!(text("a.d").starts_with("out/a.ast ") && text("a.d").contains("out/a.cubin") && text("a.d").contains(": a.cdp\n"));
    // the same bytes again
    let before = read("a.cubin");
    place.run_with_toolkit("build a.cdp").succeeds();
    assert_eq!(fs::read(place.path("a.cubin")).unwrap(), before);
    place.run("build --emit=ptx,ir -o - a.cdp").fails(2, &["takes one kind"]);
    place.run("build --emit=ptx,ir -o b a.cdp").succeeds();
    assert!(place.exists("b.ptx") && place.exists("b.ir"));
}

#[test]
fn a_missing_toolkit_matters_only_where_something_is_launched() {
    let place = Place::new();
    place.write("nested.cdp", NESTED).write("flat.cdp", FLAT).write("dead.cdp", DEAD_LAUNCH);
    let run = |line: &str| {
        // the linker is found beside the toolkit that the search finds on its own; only the device runtime is asked of the named one
        let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let mut command = place.command(line);
        finish(command.current_dir(repository).env("CUDA_PATH", "/nonexistent").output().unwrap())
    };
    let path = |name: &str| place.path(name).display().to_string();
    run(&format!("build -o {} {}", path("nested.cubin"), path("nested.cdp")))
        .fails(2, &["E0621", "CUDA_PATH is `/nonexistent`", "libcudadevrt.a", "looked at"]);
    assert!(!place.exists("nested.cubin"));
    for name in ["flat", "dead"] {
        run(&format!("build -o {} {}", path(&format!("{name}.cubin")), path(&format!("{name}.cdp")))).succeeds();
        assert!(place.exists(&format!("{name}.cubin")));
    }
    run(&format!("build --emit=ptx -o - {}", path("nested.cdp"))).succeeds();
}

#[test]
fn a_wrong_cuda_argument_is_an_error() {
    let place = Place::new();
    place.write("a.cdp", FLAT);
    place.run("build --cuda /nonexistent a.cdp").fails(2, &["E0621", "--cuda is `/nonexistent`"]);
    assert_eq!(place.files(), ["a.cdp"]);
}

#[test]
fn diagnostics_have_four_formats() {
    let place = Place::new();
    place.write("a.cdp", "kernel k(out: *global i32) {\n    out[0] = nothing;\n}\n");
    place.run("check a.cdp").fails(1, &["E0201", "out[0] = nothing;"]);
    let short = place.run("check --error-format=short a.cdp");
    short.fails(1, &["a.cdp:2:14: error[E0201]: "]);
    assert_eq!(short.err.lines().count(), 1, "{}", short.err);
    let json = place.run("check --error-format=json a.cdp");
    let value: serde_json::Value = serde_json::from_str(json.fails(1, &[]).err.lines().next().unwrap()).unwrap();
    assert_eq!(value["code"], "E0201");
    let sarif = place.run("check --error-format=sarif a.cdp");
    let value: serde_json::Value = serde_json::from_str(&sarif.fails(1, &[]).err).unwrap();
    assert_eq!(value["version"], "2.1.0");
    assert_eq!(value["runs"][0]["results"][0]["ruleId"], "E0201");
    let color = place.run("check --color=always a.cdp");
    assert!(color.fails(1, &[]).err.contains("\x1b["));
    assert!(!place.run("check a.cdp").err.contains('\x1b'));
}

#[test]
fn failures_without_a_place_have_formats_too() {
    let place = Place::new();
    let json = place.run("build --error-format=json gone.cdp");
    let value: serde_json::Value = serde_json::from_str(&json.fails(2, &[]).err).unwrap();
    assert_eq!(value["severity"], "error");
    place.run("build --error-format=short gone.cdp").fails(2, &["cdpc: error: cannot read `gone.cdp`"]);
}

#[test]
fn codes_are_explained() {
    let place = Place::new();
    place.run("explain E0201").succeeds().prints(&["E0201: ", "Wrong:", "Right:"]);
    place.run("explain e0620").succeeds().prints(&["E0620: "]);
    place.run("explain").succeeds().prints(&["E0201  name is not declared"]);
    place.run("explain E9999").fails(2, &["there is no error code `E9999`"]);
}

#[test]
fn formatting_is_checked_and_done() {
    let place = Place::new();
    place.write("a.cdp", "kernel   k( out:*global i32 ){out[0]=1;} // kept\n");
    let check = place.run("fmt --check .");
    assert_eq!((check.code, check.out.trim()), (Some(1), "./a.cdp"));
    place.run("fmt a.cdp").succeeds();
    let text = fs::read_to_string(place.path("a.cdp")).unwrap();
    assert!(text.starts_with("kernel k(out: *global i32)") && text.contains("// kept"), "{text}");
    place.run("fmt --check a.cdp").succeeds();
    place.write("bad.cdp", "kernel {");
    place.run("fmt bad.cdp").fails(1, &["error[E01"]);
    assert_eq!(fs::read_to_string(place.path("bad.cdp")).unwrap(), "kernel {");
}

#[test]
fn layout_shows_both_tables() {
    let place = Place::new();
    place.write("a.cdp", NESTED);
    place.run_with_toolkit("layout a.cdp").succeeds().prints(&[
        "kernel child: 9 bytes of parameters, aligned to 8",
        "value: i8",
        "  8 +1",
        "launch of child in parent at a.cdp:4, V1",
        "the cubin's table is the same",
    ]);
    let json = place.run_with_toolkit("layout --format json a.cdp");
    let value: serde_json::Value = serde_json::from_str(&json.succeeds().out).unwrap();
    assert_eq!(value["kernels"][0]["params"][1]["offset"], 8);
    assert_eq!(value["launch_sites"][0]["stores"][1]["size"], 1);
    assert_eq!(value["cubin"]["kernels"][0]["params"][1]["offset"], 8);
    place.run_with_toolkit("layout --launch-abi v2 a.cdp").succeeds().prints(&["at a.cdp:4, V2"]);
}

#[test]
fn inspect_aligns_source_ptx_and_machine_code() {
    let place = Place::new();
    place.write("a.cdp", NESTED);
    place.run_with_toolkit("inspect --launches a.cdp").succeeds().prints(&[
        "kernel parent in a.cdp",
        "    4 |     let err = child<<<1, 1>>>(out, value);",
        "^ launches `child`: cudaGetParameterBuffer, cudaLaunchDevice; parameters at 0 +8, 8 +1",
        "__cudaCDP2LaunchDevice",
        "/*0",
    ]);
    let ptx = place.run("inspect --no-sass --line 1 a.cdp");
    ptx.succeeds().prints(&["kernel child in a.cdp", "st.global"]);
    assert!(!ptx.out.contains("/*0"), "{}", ptx.out);
    place.run("inspect --no-sass --line 99 a.cdp").succeeds().prints(&["no code comes from these lines"]);
}

#[test]
fn doctor_shows_the_search() {
    let place = Place::new();
    place.run_with_toolkit("doctor").succeeds().prints(&["nvJitLink", "libcudadevrt.a", "libdevice.10.bc", "CUDA driver"]);
    let broken = place.command("doctor --cuda /nonexistent").output().unwrap();
    let broken = finish(broken);
    assert!(broken.out.contains("/nonexistent"), "{}", broken.out);
}
