//! The cubin reader against `cuobjdump -elf`, against nvcc, and against hostile bytes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // helpers of tests may end the test

mod common;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::OnceLock;

use cdp_runtime::cubin::{Kernel, Param};
use cdp_runtime::{Arch, Component, CubinInfo, LinkOptions, Manifest, layout_check};
use common::{LARGE, NESTED, NESTED_MANIFEST, PARAMETERS, arch, dump, link, linker, tool};
use proptest::prelude::*;

/// What `cuobjdump -elf` prints of every function, read from its text.
fn oracle(bytes: &[u8]) -> BTreeMap<String, Kernel> {
    let text = dump(Component::Cuobjdump, &["-elf"], bytes);
    let mut kernels: BTreeMap<String, Kernel> = BTreeMap::new();
    let (mut section, mut attribute) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix(".nv.info") {
            section = name.strip_prefix('.').unwrap_or_default().to_owned();
        } else if line.starts_with('.') {
            section = "-".into();
        } else if let Some(name) = line.trim().strip_prefix("Attribute:") {
            attribute = name.trim().to_owned();
        } else if let Some(value) = line.trim().strip_prefix("Value:")
            && section != "-"
        {
            apply(&mut kernels, &section, &attribute, value.trim());
        }
    }
    kernels
}

fn apply(kernels: &mut BTreeMap<String, Kernel>, section: &str, attribute: &str, value: &str) {
    let numbers: Vec<u32> = value
        .split_whitespace()
        .filter_map(|word| {
            word.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok()).or_else(|| word.parse().ok())
        })
        .collect();
    // "function: k1(0x15)	register count: 14"
    let owner = value.strip_prefix("function: ").and_then(|rest| rest.split('(').next()).unwrap_or(section);
    let kernel = kernels.entry(owner.to_owned()).or_default();
    let triple = || [numbers[0], numbers[1], numbers[2]];
    match attribute {
        "EIATTR_KPARAM_INFO" | "EIATTR_KPARAM_INFO_V2" => {
            kernel.params.push(Param { ordinal: u16::try_from(numbers[1]).unwrap(), offset: numbers[2], size: numbers[3] })
        }
        "EIATTR_PARAM_CBANK" => kernel.param_base = numbers[1] & 0xffff,
        "EIATTR_CBANK_PARAM_SIZE" => kernel.param_size = numbers[0],
        "EIATTR_MAX_THREADS" => kernel.max_threads = Some(triple()),
        "EIATTR_REQNTID" => kernel.required_threads = Some(triple()),
        "EIATTR_REGCOUNT" => kernel.registers = *numbers.last().unwrap(),
        "EIATTR_FRAME_SIZE" => kernel.frame_size = *numbers.last().unwrap(),
        "EIATTR_MIN_STACK_SIZE" => kernel.min_stack_size = *numbers.last().unwrap(),
        _ => {}
    }
}

/// Compares everything that both know, for every kernel; gives the number of kernels.
fn compare(bytes: &[u8]) -> usize {
    let info = CubinInfo::parse(bytes).unwrap();
    let oracle = oracle(bytes);
    assert!(!info.kernels.is_empty());
    for kernel in &info.kernels {
        let mut expected = oracle.get(&kernel.name).unwrap_or_else(|| panic!("cuobjdump has no `{}`", kernel.name)).clone();
        expected.params.sort_by_key(|p| p.ordinal);
        expected.name.clone_from(&kernel.name);
        // these two are in the section headers, not among the attributes
        expected.shared_size = kernel.shared_size;
        expected.code_size = kernel.code_size;
        assert_eq!(kernel, &expected);
    }
    info.kernels.len()
}

const ARCHS: [&str; 6] = ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"];

#[test]
fn the_tables_agree_with_cuobjdump() {
    for name in ARCHS {
        assert_eq!(compare(&link(PARAMETERS, arch(name), false).bytes), 5, "{name}");
        assert_eq!(compare(&link(LARGE, arch(name), false).bytes), 2, "{name}");
        assert!(compare(&link(NESTED, arch(name), true).bytes) > 2, "{name}: the device runtime's own kernels are read too");
    }
}

#[test]
fn the_numbers_are_those_of_the_source() {
    for (name, base) in [("sm_75", 0x160), ("sm_80", 0x160), ("sm_90", 0x210), ("sm_100", 0x380), ("sm_120", 0x380)] {
        let info = CubinInfo::parse(&link(PARAMETERS, arch(name), false).bytes).unwrap();
        let names: Vec<&str> = info.kernels.iter().map(|k| k.name.as_str()).collect();
        assert_eq!(names, ["aligned32", "full", "mixed", "narrow", "none"]);
        let places = |kernel: &str| info.kernel(kernel).unwrap().params.iter().map(|p| (p.offset, p.size)).collect::<Vec<_>>();
        assert_eq!(places("mixed"), [(0, 1), (16, 48), (64, 8), (72, 2), (80, 8)], "{name}");
        assert_eq!(places("narrow"), [(0, 1), (1, 1), (2, 1), (4, 2), (8, 8)], "{name}");
        assert_eq!(places("full"), [(0, 4096)]);
        assert_eq!(places("none"), []);
        let mixed = info.kernel("mixed").unwrap();
        assert_eq!((mixed.param_base, mixed.param_size), (base, 88), "{name}");
        assert_eq!((mixed.max_threads, mixed.required_threads), (Some([128, 2, 1]), None));
        assert_eq!(info.kernel("none").unwrap().required_threads, Some([64, 1, 1]));
        assert!(mixed.shared_size >= 100 && mixed.registers > 0 && mixed.code_size > 0);
        let globals: Vec<(&str, u64, bool)> = info.globals.iter().map(|g| (g.name.as_str(), g.size, g.constant)).collect();
        assert_eq!(globals, [("counter", 16, false), ("initial", 8, false), ("table", 32, true)], "{name}");
        assert_eq!(info.arch, arch(name));
        assert_eq!(info.toolkit.map(|v| v.major), Some(linker().version().major));
    }
}

#[test]
fn a_parameter_aligned_to_32_is_moved_by_the_constant_bank() {
    // the reason why the compiler never asks for more than 16 (rule R32): by the naive rule it would lie at 32 everywhere
    let offset = |name: &str| {
        let info = CubinInfo::parse(&link(PARAMETERS, arch(name), false).bytes).unwrap();
        info.kernel("aligned32").unwrap().params[1].offset
    };
    assert_eq!(offset("sm_90"), 16);
    assert_eq!(offset("sm_80"), 32);
}

#[test]
fn the_hand_written_manifest_fits_everywhere_and_a_wrong_one_nowhere() {
    let manifest = Manifest::from_json(NESTED_MANIFEST).unwrap();
    for name in ARCHS {
        let info = CubinInfo::parse(&link(NESTED, arch(name), true).bytes).unwrap();
        layout_check::check(&manifest, &info).unwrap();
        let mut wrong = manifest.clone();
        wrong.kernels[1].params[3].offset = 24;
        let error = layout_check::check(&wrong, &info).unwrap_err();
        assert!(error.to_string().contains("kernel `parent`"), "{error}");
        let mut wrong = manifest.clone();
        wrong.launch_sites[0].stores[1].offset = 12;
        let error = layout_check::check(&wrong, &info).unwrap_err();
        assert!(error.to_string().contains("launch of `child` in `parent` at nested.ptx:76"), "{error}");
    }
}

/// Structs as nvcc lays them out, told by the host compiler's own `sizeof` and `alignof` and by the device compiler's table.
const CUDA: &str = r#"
struct F { float a, b, c, d, e, f, g, h; };
struct N { bool a; int b; bool c; };
struct A { char c[5]; };
extern "C" __global__ void child(float *x, F v) { x[0] = v.h; }
extern "C" __global__ void narrow(bool a, signed char b, bool c, short d, int *o) { o[0] = b + d; }
extern "C" __global__ void structs(N n, A a, float3 v3, float4 v4, double d, long long l) {}
extern "C" __global__ void __launch_bounds__(256) parent(float *x, F v) { child<<<1, 1>>>(x, v); }
"#;

#[test]
fn the_tables_agree_with_nvcc() {
    let dir = tempfile::tempdir().unwrap();
    let source = common::write(dir.path(), "oracle.cu", CUDA);
    let cubin = dir.path().join("oracle.cubin");
    for name in ["sm_80", "sm_90"] {
        let mut nvcc = Command::new(tool(Component::Nvcc));
        nvcc.args(["-ccbin", "gcc", "-rdc=true", "-cubin", &format!("-arch={name}"), "-o"]).arg(&cubin).arg(&source);
        common::output(&mut nvcc);
        // a relocatable cubin: linked with the device runtime, as nvcc itself would
        let relocatable = std::fs::read(&cubin).unwrap();
        let options = LinkOptions { device_runtime: true, ..LinkOptions::new(arch(name)) };
        let input = cdp_runtime::Input::Cubin { name: "oracle.cubin", bytes: &relocatable };
        let linked = linker().link(&[input], &options).unwrap();
        compare(&linked.bytes);
        let info = CubinInfo::parse(&linked.bytes).unwrap();
        let places = |kernel: &str| info.kernel(kernel).unwrap().params.iter().map(|p| (p.offset, p.size)).collect::<Vec<_>>();
        assert_eq!(places("child"), [(0, 8), (8, 32)]);
        assert_eq!(places("narrow"), [(0, 1), (1, 1), (2, 1), (4, 2), (8, 8)]);
        assert_eq!(places("structs"), [(0, 12), (12, 5), (20, 12), (32, 16), (48, 8), (56, 8)]);
        assert_eq!(info.kernel("parent").unwrap().max_threads, Some([256, 1, 1]));
    }
}

/// A cubin to damage; the smaller one, so that a byte picked at random often matters.
fn sample() -> &'static [u8] {
    static SAMPLE: OnceLock<Vec<u8>> = OnceLock::new();
    SAMPLE.get_or_init(|| link(PARAMETERS, Arch::base(90), false).bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_bytes_never_panic(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24), cut in any::<Option<prop::sample::Index>>()) {
        let mut bytes = sample().to_vec();
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Err(error) = CubinInfo::parse(&bytes) {
            prop_assert_eq!(error.code(), "E0628");
        }
    }

    #[test]
    fn damaged_headers_never_panic(edits in prop::collection::vec((0_usize..64, any::<u8>()), 1..8), tail in prop::collection::vec((0_usize..2048, any::<u8>()), 0..8)) {
        let mut bytes = sample().to_vec();
        let len = bytes.len();
        for (at, value) in edits {
            bytes[at] = value;
        }
        // the section table is at the end of the file
        for (back, value) in tail {
            bytes[len - 1 - back.min(len - 1)] = value;
        }
        let _ = CubinInfo::parse(&bytes);
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        prop_assert!(CubinInfo::parse(&bytes).is_err());
    }
}

#[test]
fn other_files_are_told_apart() {
    let host = std::fs::read("/proc/self/exe").unwrap();
    let error = CubinInfo::parse(&host).unwrap_err();
    assert!(error.message().contains("not for a GPU"), "{error}");
    assert_eq!(CubinInfo::parse(b"").unwrap_err().code(), "E0628");
    for len in 0..sample().len().min(4096) {
        assert!(CubinInfo::parse(&sample()[..len]).is_err(), "{len} bytes");
    }
}
