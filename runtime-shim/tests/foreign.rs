//! Code of other compilers: what nvcc and fatbinary write is read as cuobjdump and nvJitLink read it, links with PTX of ours, and every way to fail
//! is found before the linker fails.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // helpers of tests may end the test

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cdp_runtime::foreign::fatbin::{self, Entry, Form};
use cdp_runtime::foreign::{Kind, What};
use cdp_runtime::{Arch, Component, CubinInfo, Foreign, Input, LinkOptions};
use common::{arch, linker, output, tool, write};
use proptest::prelude::*;

const THEIRS: &str = r#"
extern "C" __global__ void ours(int *x, int n);
extern "C" __device__ int twice(int v);
__device__ int counter[4] = { 1, 2, 3, 4 };
__constant__ float table[8];
extern "C" __device__ int plus(int a, int b) { return a + b; }
extern "C" __global__ void theirs(int *x, char c, double d) { x[0] = c + (int)d + (int)table[1]; }
extern "C" __global__ void starts(int *x, int n) { ours<<<1, 32>>>(x, n); x[1] = twice(n) + counter[2]; }
"#;

const OURS: &str = "
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) plus(.param .b32 a, .param .b32 b);
.visible .func (.param .b32 r) twice(.param .b32 v) {
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [v];
    shl.b32 %r2, %r1, 1;
    st.param.b32 [r], %r2;
    ret;
}
.visible .entry ours(.param .u64 x, .param .u32 n) {
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [n];
    {
        .param .b32 a; .param .b32 b; .param .b32 r;
        st.param.b32 [a], %r1;
        st.param.b32 [b], 1;
        call (r), plus, (a, b);
        ld.param.b32 %r2, [r];
    }
    st.global.b32 [%rd1], %r2;
    ret;
}
";

/// What nvcc makes of a text, and the file's bytes.
fn nvcc(dir: &Path, name: &str, text: &str, arguments: &[&str]) -> (PathBuf, Vec<u8>) {
    let source = write(dir, &format!("{name}.cu"), text);
    let made = dir.join(name);
    output(Command::new(tool(Component::Nvcc)).args(["-ccbin", "gcc"]).args(arguments).arg("-o").arg(&made).arg(&source));
    let bytes = std::fs::read(&made).unwrap();
    (made, bytes)
}

fn object() -> &'static [u8] {
    static OBJECT: OnceLock<Vec<u8>> = OnceLock::new();
    OBJECT.get_or_init(|| nvcc(tempfile::tempdir().unwrap().path(), "k.o", THEIRS, &["-arch=sm_90", "-dc"]).1)
}

fn foreign(name: &str, bytes: &[u8]) -> Foreign {
    Foreign::new(name.to_owned(), bytes.to_vec()).unwrap_or_else(|error| panic!("{error}"))
}

fn ours() -> Input<'static> {
    Input::Ptx { name: "ours.ptx", text: OURS }
}

fn link(inputs: &[Input<'_>], name: &str) -> cdp_runtime::Result<CubinInfo> {
    CubinInfo::parse(&linker().link(inputs, &LinkOptions::new(arch(name)))?.bytes)
}

fn names(info: &CubinInfo) -> Vec<&str> {
    let theirs = |name: &&str| ["ours", "theirs", "starts"].contains(name);
    info.kernels.iter().map(|kernel| kernel.name.as_str()).filter(theirs).collect()
}

#[test]
fn every_form_that_nvcc_writes_is_known_by_its_bytes_and_links() {
    let dir = tempfile::tempdir().unwrap();
    let made = |name: &str, arguments: &[&str]| nvcc(dir.path(), name, THEIRS, arguments).1;
    let library = dir.path().join("lib.bin");
    std::fs::write(dir.path().join("k.o"), object()).unwrap();
    output(Command::new("ar").arg("rcs").arg(&library).arg(dir.path().join("k.o")));
    let library = std::fs::read(library).unwrap();
    let forms: [(Kind, Vec<u8>); 8] = [
        (Kind::Object, object().to_vec()),
        (Kind::Object, made("two.o", &["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90", "-dc"])),
        (Kind::Object, made("ptx.o", &["-gencode=arch=compute_80,code=compute_80", "-dc"])),
        (Kind::Object, made("lto.o", &["-gencode=arch=compute_80,code=lto_80", "-dc"])),
        (Kind::Library, library),
        (Kind::Fatbin, made("k.fatbin", &["-arch=sm_90", "-rdc=true", "-fatbin"])),
        (Kind::Cubin, made("k.cubin", &["-arch=sm_90", "-rdc=true", "-cubin"])),
        (Kind::Ptx, made("k.ptx", &["-arch=sm_90", "-rdc=true", "-ptx"])),
    ];
    for (kind, bytes) in forms {
        let theirs = foreign("theirs", &bytes);
        assert_eq!(theirs.kind(), kind);
        let info = link(&[ours(), Input::Foreign(&theirs)], "sm_90").unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert_eq!(names(&info), ["ours", "starts", "theirs"], "{kind:?}");
        let places: Vec<_> = info.kernel("theirs").unwrap().params.iter().map(|p| (p.offset, p.size)).collect();
        assert_eq!(places, [(0, 8), (8, 1), (16, 8)]);
        // `starts` launches, so the device runtime was linked in without being asked for
        assert!(info.undefined.iter().all(|symbol| symbol.starts_with("__cuda_syscall")), "{:?}", info.undefined);
    }
}

#[test]
fn symbols_are_the_same_in_every_form() {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [&["-dc"][..], &["-rdc=true", "-fatbin"], &["-rdc=true", "-cubin"], &["-rdc=true", "-ptx"]] {
        let (_, bytes) = nvcc(dir.path(), "k", THEIRS, &[&["-arch=sm_90"], arguments].concat());
        let theirs = foreign("k", &bytes);
        let parts = theirs.parts(arch("sm_90")).unwrap();
        let symbols = parts[0].symbols.unwrap();
        let mut defined: Vec<_> = symbols.defined.iter().map(|d| (d.name.as_str(), d.what)).collect();
        defined.sort_by_key(|(name, _)| *name);
        let variable = |size| What::Variable { size: Some(size) };
        let expected = [
            ("counter", variable(16)),
            ("plus", What::Function),
            ("starts", What::Kernel),
            ("table", variable(32)),
            ("theirs", What::Kernel),
        ];
        assert_eq!(defined, expected, "{arguments:?}");
        for needed in ["ours", "twice", "__cudaCDP2GetParameterBufferV2", "__cudaCDP2LaunchDeviceV2"] {
            assert!(symbols.needed.iter().any(|name| name == needed), "{needed} in {:?} of {arguments:?}", symbols.needed);
        }
    }
}

#[test]
fn every_compression_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let (cubin, bytes) = nvcc(dir.path(), "k.cubin", THEIRS, &["-arch=sm_90", "-rdc=true", "-cubin"]);
    let (ptx, _) = nvcc(dir.path(), "k.ptx", THEIRS, &["-arch=sm_90", "-rdc=true", "-ptx"]);
    for mode in ["none", "default", "size", "speed", "balance"] {
        let made = dir.path().join(format!("{mode}.fatbin"));
        let fatbinary = tool(Component::Nvcc).with_file_name("fatbinary");
        let mut command = Command::new(fatbinary);
        command.args(["-64", "--device-c", "--compress-all", &format!("--compress-mode={mode}")]);
        command.arg(format!("--image3=kind=elf,sm=90,file={}", cubin.display()));
        command.arg(format!("--image3=kind=ptx,sm=90,file={}", ptx.display())).arg(format!("--create={}", made.display()));
        output(&mut command);
        let read = fatbin::read(&std::fs::read(&made).unwrap()).unwrap_or_else(|error| panic!("{mode}: {error}"));
        let [entries] = &read[..] else { panic!("{mode}: {} containers", read.len()) };
        assert_eq!(entries.iter().map(|e| (e.form, e.sm)).collect::<Vec<_>>(), [(Form::Cubin, 90), (Form::Ptx, 90)]);
        assert!(entries[0].bytes.starts_with(&bytes), "{mode}");
        // fatbinary rewrites PTX: without comments, for one
        assert!(String::from_utf8_lossy(&entries[1].bytes).contains(".entry starts"), "{mode}");
    }
}

#[test]
fn cuobjdump_and_the_linker_read_what_we_write() {
    let dir = tempfile::tempdir().unwrap();
    let (_, cubin) = nvcc(dir.path(), "k.cubin", THEIRS, &["-arch=sm_90", "-rdc=true", "-cubin"]);
    let ptx = nvcc(dir.path(), "k.ptx", THEIRS, &["-arch=sm_90", "-rdc=true", "-ptx"]).1;
    let entries = [Entry { form: Form::Cubin, sm: 90, bytes: cubin }, Entry { form: Form::Ptx, sm: 90, bytes: ptx }];
    let container = fatbin::write(&entries);
    let file = dir.path().join("written.fatbin");
    std::fs::write(&file, &container).unwrap();
    let listed = output(Command::new(tool(Component::Cuobjdump)).args(["-lelf", "-lptx"]).arg(file));
    assert!(listed.contains("sm_90.cubin") && listed.contains("sm_90.ptx"), "{listed}");
    for name in ["sm_90", "sm_100"] {
        // machine code for the one, PTX for the other
        let theirs = foreign("written", &container);
        assert_eq!(names(&link(&[ours(), Input::Foreign(&theirs)], name).unwrap()), ["ours", "starts", "theirs"], "{name}");
    }
}

fn refused(result: cdp_runtime::Result<CubinInfo>, code: &str, texts: &[&str]) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    for text in texts {
        assert!(error.to_string().contains(text), "`{text}` is missing in {error}");
    }
}

#[test]
fn what_no_input_defines_is_named_with_those_who_need_it() {
    let theirs = foreign("k.o", object());
    refused(link(&[Input::Foreign(&theirs)], "sm_90"), "E0625", &["`ours`", "`twice`", "needed by `k.o`"]);
    refused(link(&[ours()], "sm_90"), "E0625", &["`plus`"]);
}

#[test]
fn what_two_inputs_define_is_named_with_both() {
    let one = foreign("one.o", object());
    let two = foreign("two.o", object());
    let result = link(&[ours(), Input::Foreign(&one), Input::Foreign(&two)], "sm_90");
    refused(result, "E0632", &["`plus`", "`theirs` is defined in `one.o`, `two.o`"]);
}

#[test]
fn code_for_other_gpus_is_no_code() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = nvcc(dir.path(), "k.o", THEIRS, &["-gencode=arch=compute_80,code=sm_80", "-dc"]);
    let theirs = foreign("k.o", &bytes);
    refused(
        link(&[ours(), Input::Foreign(&theirs)], "sm_90"),
        "E0633",
        &["`k.o` has no code for sm_90", "machine code for sm_80"],
    );
    // a newer minor version of the same generation runs it
    assert!(theirs.parts(arch("sm_86")).is_ok());
}

#[test]
fn what_cannot_be_linked_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let program = "__global__ void k() {} int main() { k<<<1, 1>>>(); }";
    let whole = nvcc(dir.path(), "whole.o", program, &["-arch=sm_90", "-c"]).1;
    let linked = nvcc(dir.path(), "linked.cubin", "extern \"C\" __global__ void k() {}", &["-arch=sm_90", "-cubin"]).1;
    let host = dir.path().join("host.o");
    output(Command::new("gcc").args(["-c", "-x", "c", "-o"]).arg(&host).arg(write(
        dir.path(),
        "host.c",
        "int f(void) { return 1; }",
    )));
    let cases: [(Vec<u8>, &str); 7] = [
        (whole, "not relocatable: compile it with `nvcc -dc`"),
        (linked, "it is linked already"),
        (std::fs::read(host).unwrap(), "there is no device code in it"),
        (std::fs::read("/proc/self/exe").unwrap(), "a program or a shared library"),
        (b"!<arch>\n".to_vec(), "there is no device code in it"),
        (Vec::new(), "it is no PTX, cubin, fatbin, object or library"),
        (b"int main() {}".to_vec(), "it is no PTX, cubin, fatbin, object or library"),
    ];
    for (bytes, reason) in cases {
        let error = Foreign::new("x".into(), bytes).unwrap_err();
        assert_eq!(error.code(), "E0637", "{error}");
        assert!(error.to_string().contains(reason), "`{reason}` in {error}");
    }
}

#[test]
fn ptx_that_the_assembler_refuses_is_its_authors_matter() {
    let bad = foreign("bad.ptx", OURS.replace("shl.b32", "shll.b32").as_bytes());
    refused(link(&[Input::Foreign(&bad)], "sm_90"), "E0637", &["`bad.ptx`", "shll"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn damaged_objects_never_panic(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24), cut in any::<Option<prop::sample::Index>>()) {
        let mut bytes = object().to_vec();
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(read) = Foreign::new("x".into(), bytes) {
            let _ = read.parts(Arch::base(90));
        }
    }

    #[test]
    fn damaged_containers_and_archives_never_panic(magic in 0..4_usize, bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        let start: &[u8] = [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0][..], b"!<arch>\n", b"\x7fELF\x02\x01\x01", b".version 8.0\n.target sm_80\n"][magic];
        let bytes = [start, &bytes].concat();
        let _ = Foreign::new("x".into(), bytes);
    }
}
