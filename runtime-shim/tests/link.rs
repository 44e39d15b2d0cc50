//! PTX to cubin with the toolkit's nvJitLink: every architecture, every option, every way to fail.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // helpers of tests may end the test

mod common;

use std::path::{Path, PathBuf};

use cdp_runtime::arch::Features;
use cdp_runtime::{Arch, Component, CubinInfo, Error, Foreign, Input, LinkOptions, Linker, Search, Toolkit, Version};
use common::{CONTRACT, LINES, NESTED, arch, dump, link, linker, tool, toolkit};
use object::{Object, ObjectSection};

/// A kernel without anything special, for this target and PTX version.
fn flat(version: Version, arch: Arch) -> String {
    format!(".version {version}\n.target {arch}\n.address_size 64\n.visible .entry k(.param .u64 p) {{ ret; }}\n")
}

const fn before(v: Version) -> Version {
    match (v.major, v.minor) {
        (7, 0) => Version::new(6, 5),
        (8, 0) => Version::new(7, 8),
        (9, 0) => Version::new(8, 8),
        (major, minor) => Version::new(major, minor - 1),
    }
}

#[test]
fn every_architecture_links_from_its_lowest_ptx_version_and_from_none_lower() {
    let linker = linker();
    let archs = linker.supported_archs();
    assert!(archs.len() >= 20, "{archs:?}");
    for arch in archs {
        let lowest = arch.min_ptx().unwrap();
        let cubin = linker.link_ptx(&flat(lowest, arch), &LinkOptions::new(arch)).unwrap_or_else(|e| panic!("{arch}: {e}"));
        let info = CubinInfo::parse(&cubin.bytes).unwrap();
        assert_eq!(info.arch, Arch::base(arch.sm));
        assert!(info.kernel("k").is_some());
        if arch.sm == 88 {
            // the PTX manual begins with 9.0; this assembler is more generous
            continue;
        }
        let error = linker.link_ptx(&flat(before(lowest), arch), &LinkOptions::new(arch)).unwrap_err();
        assert_eq!(error.code(), "E0624", "{arch} below PTX {lowest}: {error}");
    }
}

#[test]
fn a_nested_launch_links_wherever_the_device_runtime_has_code() {
    let linker = linker();
    for arch in linker.supported_archs() {
        if arch.features != Features::Base {
            continue;
        }
        let options = LinkOptions { device_runtime: true, ..LinkOptions::new(arch) };
        match linker.link_ptx(NESTED, &options) {
            Ok(cubin) => {
                let info = CubinInfo::parse(&cubin.bytes).unwrap();
                assert_eq!(info.arch, arch);
                // what is left are calls that the driver answers
                assert!(info.undefined.iter().all(|s| s.starts_with("__cuda_syscall")), "{:?}", info.undefined);
                assert_eq!(info.kernel("parent").unwrap().param_size, 24);
            }
            // the integrated GPUs of this generation have no device runtime in this toolkit
            Err(error) => {
                assert!(matches!(arch.sm, 87 | 88), "{arch}: {error}");
                assert_eq!(error.code(), "E0627");
            }
        }
    }
}

#[test]
fn an_architecture_the_toolkit_lacks_is_refused_with_the_list() {
    let newest_only = Arch::all().into_iter().filter(|a| Arch::supported_by(Version::new(12, 0)).iter().all(|b| a != b));
    for arch in newest_only {
        let error = arch.check(Version::new(12, 0)).unwrap_err();
        assert_eq!(error.code(), "E0622");
        assert!(error.to_string().contains("nvJitLink 12.0 supports sm_70, sm_72, sm_75, sm_80"), "{error}");
    }
}

#[test]
fn the_device_runtime_is_linked_only_when_asked() {
    let sm_90 = arch("sm_90");
    let with = CubinInfo::parse(&link(CONTRACT, sm_90, true).bytes).unwrap();
    let without = CubinInfo::parse(&link(CONTRACT, sm_90, false).bytes).unwrap();
    assert_eq!(without.kernels.len(), 1);
    assert!(with.kernels.len() >= without.kernels.len());
}

#[test]
fn a_missing_device_runtime_is_named_before_anything_is_assembled_and_matters_to_nobody_else() {
    // nvJitLink is found, the variable is wrong
    let real = tool(Component::NvJitLink);
    let root = real.parent().and_then(Path::parent).unwrap().to_path_buf();
    let search =
        Search { variables: vec![("CUDA_PATH", PathBuf::from("/nonexistent"))], standard: vec![root], ..Search::default() };
    let linker = Linker::new(Toolkit::find_with(&search)).unwrap();
    let options = LinkOptions::new(arch("sm_90"));
    linker.link_ptx(CONTRACT, &options).unwrap();
    let error = linker.link_ptx(NESTED, &LinkOptions { device_runtime: true, ..options }).unwrap_err();
    assert_eq!(error.code(), "E0621");
    assert!(error.to_string().contains("CUDA_PATH is `/nonexistent`"), "{error}");
}

#[test]
fn unresolved_symbols_are_named() {
    let error = linker().link_ptx(NESTED, &LinkOptions::new(arch("sm_90"))).unwrap_err();
    let Error::Unresolved { symbols, .. } = &error else { panic!("{error}") };
    let names: Vec<&str> = symbols.iter().map(|missing| missing.symbol.as_str()).collect();
    assert_eq!(names, ["__cudaCDP2GetParameterBuffer", "__cudaCDP2LaunchDevice"]);
    assert_eq!(error.code(), "E0625");
    assert!(error.helps()[0].contains("device runtime library"), "{error}");
}

#[test]
fn refused_ptx_shows_the_line_and_keeps_the_text() {
    let dir = tempfile::tempdir().unwrap();
    let keep = dir.path().join("refused.ptx");
    let bad = CONTRACT.replace("mul.f32 %f4", "mull.f32 %f4");
    let line = 1 + bad.lines().position(|l| l.contains("mull")).unwrap();
    let options = LinkOptions { keep_refused_ptx: Some(keep.clone()), ..LinkOptions::new(arch("sm_90")) };
    let error = linker().link_ptx(&bad, &options).unwrap_err();
    let Error::Assembler { problems, log, saved, .. } = &error else { panic!("{error}") };
    assert!(problems.iter().all(|p| p.line == line), "{problems:?}");
    assert!(log.contains("mull"), "{log}");
    assert_eq!(saved.as_deref(), Some(keep.as_path()));
    assert_eq!(std::fs::read_to_string(&keep).unwrap(), bad);
    let text = error.to_string();
    assert!(text.contains(&format!("> {line:5} |     mull.f32 %f4, %f1, %f2;")), "{text}");
    // where it cannot be kept the error stands all the same
    let options = LinkOptions { keep_refused_ptx: Some("/nonexistent/x.ptx".into()), ..LinkOptions::new(arch("sm_90")) };
    assert!(matches!(linker().link_ptx(&bad, &options).unwrap_err(), Error::Assembler { saved: None, .. }));
}

#[test]
fn a_ptx_version_the_toolkit_does_not_know() {
    let text = CONTRACT.replace(".version 7.0", ".version 99.9");
    let error = linker().link_ptx(&text, &LinkOptions::new(arch("sm_90"))).unwrap_err();
    assert_eq!(error.code(), "E0624");
    assert!(error.message().contains("99.9"), "{error}");
}

#[test]
fn nonsense_is_an_error() {
    let linker = linker();
    let options = LinkOptions::new(arch("sm_90"));
    for text in ["", "\0", "garbage", ".version", "// nothing", "\u{1f980}"] {
        assert!(linker.link_ptx(text, &options).is_err(), "{text:?}");
    }
    for bytes in [&b""[..], b"\x7fELF", &[0; 64]] {
        assert!(linker.link(&[Input::Cubin { name: "bad.cubin", bytes }], &options).is_err(), "{bytes:?}");
    }
    let error = Foreign::read(Path::new("/nonexistent/a.o")).unwrap_err();
    assert_eq!(error.code(), "E0631");
}

#[test]
fn a_device_runtime_that_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let fake = common::write(dir.path(), "libcudadevrt.a", "not a library");
    let linker = linker().with_device_runtime(fake);
    let options = LinkOptions { device_runtime: true, ..LinkOptions::new(arch("sm_90")) };
    let error = linker.link_ptx(NESTED, &options).unwrap_err();
    assert_eq!(error.code(), "E0623", "{error}");
}

#[test]
fn a_library_that_is_no_nvjitlink() {
    for path in ["/nonexistent/libnvJitLink.so.13", "libc.so.6"] {
        let error = Linker::open(Path::new(path)).unwrap_err();
        assert_eq!(error.code(), "E0623", "{path}");
        assert!(error.to_string().contains(path), "{error}");
    }
}

#[test]
fn every_level_links() {
    let linker = linker();
    for level in 0..=3 {
        let options = LinkOptions { level, device_runtime: true, ..LinkOptions::new(arch("sm_90")) };
        linker.link_ptx(NESTED, &options).unwrap_or_else(|e| panic!("-O{level}: {e}"));
    }
}

#[test]
fn the_assembler_fuses_only_when_allowed() {
    for fmad in [false, true] {
        let options = LinkOptions { fmad, ..LinkOptions::new(arch("sm_90")) };
        let cubin = linker().link_ptx(CONTRACT, &options).unwrap();
        let sass = dump(Component::Cuobjdump, &["-sass"], &cubin.bytes);
        assert_eq!((sass.contains("FFMA"), sass.contains("FADD")), (fmad, !fmad), "{sass}");
    }
}

#[test]
fn line_tables_of_the_ptx_come_through() {
    for lineinfo in [false, true] {
        let options = LinkOptions { lineinfo, ..LinkOptions::new(arch("sm_90")) };
        let cubin = linker().link_ptx(LINES, &options).unwrap();
        let elf = object::read::elf::ElfFile64::<object::LittleEndian>::parse(&*cubin.bytes).unwrap();
        let section = elf.section_by_name(".debug_line").unwrap();
        assert!(section.data().unwrap().windows(9).any(|w| w == b"lines.cdp"));
        // PTX without `.loc` gets lines of its own, when asked
        let cubin = linker().link_ptx(CONTRACT, &options).unwrap();
        let elf = object::read::elf::ElfFile64::<object::LittleEndian>::parse(&*cubin.bytes).unwrap();
        assert_eq!(elf.section_by_name(".nv_debug_line_sass").is_some(), lineinfo);
    }
}

#[test]
fn registers_can_be_capped_and_the_log_tells_them() {
    let options = LinkOptions { verbose: true, max_registers: Some(32), ..LinkOptions::new(arch("sm_90")) };
    let cubin = linker().link_ptx(CONTRACT, &options).unwrap();
    assert!(cubin.log.contains("registers"), "{}", cubin.log);
    assert_eq!(linker().link_ptx(CONTRACT, &LinkOptions::new(arch("sm_90"))).unwrap().log, "");
}

#[test]
fn several_inputs_make_one_cubin() {
    let caller = ".version 7.0\n.target sm_75\n.address_size 64\n.extern .func (.param .b32 r) f(.param .b32 v);\n\
        .visible .entry k(.param .u64 p) { .reg .b32 %r<2>; .reg .b64 %rd; { .param .b32 v; .param .b32 r; st.param.b32 [v], 41; \
        call (r), f, (v); ld.param.b32 %r1, [r]; } ld.param.u64 %rd, [p]; st.global.u32 [%rd], %r1; ret; }";
    let callee = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .func (.param .b32 r) f(.param .b32 v) \
        { .reg .b32 %r; ld.param.b32 %r, [v]; add.s32 %r, %r, 1; st.param.b32 [r], %r; ret; }";
    let options = LinkOptions::new(arch("sm_90"));
    let inputs = [Input::Ptx { name: "caller.ptx", text: caller }, Input::Ptx { name: "callee.ptx", text: callee }];
    let info = CubinInfo::parse(&linker().link(&inputs, &options).unwrap().bytes).unwrap();
    assert!(info.kernel("k").is_some());
    assert_eq!(info.undefined, Vec::<String>::new());
    let error = linker().link(&inputs[..1], &options).unwrap_err();
    assert!(matches!(&error, Error::Unresolved { symbols, .. } if symbols.len() == 1 && symbols[0].symbol == "f"), "{error}");
}

#[test]
fn linking_twice_gives_the_same_bytes() {
    let sm_90 = arch("sm_90");
    assert_eq!(link(NESTED, sm_90, true).bytes, link(NESTED, sm_90, true).bytes);
}

#[test]
fn links_may_run_side_by_side() {
    let linker = linker();
    let options = LinkOptions { device_runtime: true, ..LinkOptions::new(arch("sm_90")) };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| linker.link_ptx(NESTED, &options).unwrap());
        }
    });
}

#[test]
fn a_linker_can_be_opened_in_the_background() {
    let opening = Linker::open_in_background(Search::from_environment());
    opening.wait().unwrap().link_ptx(CONTRACT, &LinkOptions::new(arch("sm_90"))).unwrap();
    let search = Search { explicit: Some("/nonexistent".into()), ..Search::default() };
    assert_eq!(Linker::open_in_background(search).wait().unwrap_err().code(), "E0621");
}

#[test]
fn the_doctor_finds_the_required_parts() {
    use cdp_runtime::toolkit::doctor::{State, report};
    let findings = report(&Search::from_environment());
    for component in Component::ALL.into_iter().filter(|c| c.is_required()) {
        let finding = findings.iter().find(|f| f.subject == component.name()).unwrap();
        assert_eq!(finding.state, State::Good, "{finding:?}");
        assert_eq!(finding.path.as_deref(), Some(toolkit().require(component).unwrap()));
        assert!(finding.version.is_some(), "{finding:?}");
    }
    assert!(findings.iter().any(|f| f.subject == "CUDA driver"));
}
