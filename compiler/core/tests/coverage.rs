//! Every builtin is used: by a program that the suite runs, by a golden case where it is device code, and by an example of the reference.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail where it stands")]

use cdp_core::builtins::{
    AtomicOp, BarrierOp, CacheHint, Conversion, Intrinsic, Lanes, MemoryScope, PackedOp, PartsFn, Register, RoundedOp,
    Rounding, RuntimeFn, Side, TextureOp, WarpOp,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What is used nowhere yet, by where it is missing. An entry that is covered is an error: the lists only shrink.
const NOT_RUN: &[&str] = &[];
const NOT_GOLDEN: &[&str] = &[];
const NOT_SHOWN: &[&str] = &[];

/// The pages of the reference.
const REFERENCE: [&str; 5] = ["language.md", "builtins.md", "mathematics.md", "textures.md", "runtime-calls.md"];

/// What no table has.
const OTHERS: [&str; 12] = [
    "printf",
    "assert",
    "__ldg",
    "__threadfence",
    "__threadfence_block",
    "__threadfence_cluster",
    "__threadfence_system",
    "__cluster_map_shared_rank",
    "__cluster_query_shared_rank",
    "make_cudaPos",
    "make_cudaExtent",
    "make_cudaPitchedPtr",
];
/// The same, of use in host code.
const HOST_OTHERS: [&str; 2] = ["device", "cudaCreateChannelDesc"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every builtin by its name, and whether device code has it.
fn builtins() -> Vec<(String, bool)> {
    let scopes = [MemoryScope::Block, MemoryScope::Device, MemoryScope::System];
    let device = |name: &str| (name.to_owned(), true);
    let mut all: Vec<(String, bool)> = Intrinsic::ALL.iter().map(|i| device(i.name())).collect();
    all.extend(RoundedOp::ALL.iter().flat_map(|op| op.double_names()).map(device));
    all.extend(Conversion::ALL.iter().map(|conversion| device(conversion.name)));
    all.extend(PartsFn::ALL.into_iter().map(|function| device(function.name())));
    all.extend(BarrierOp::ALL.into_iter().map(|op| device(op.name())));
    all.extend(
        scopes
            .iter()
            .flat_map(|scope| AtomicOp::ALL.into_iter().map(move |op| (format!("{}{}", op.name(), scope.suffix()), true))),
    );
    all.extend(WarpOp::ALL.into_iter().map(|op| device(op.name())));
    all.extend(CacheHint::ALL.iter().map(|hint| device(hint.name())));
    all.extend(TextureOp::ALL.iter().map(|op| device(op.name())));
    // what a call gives is used by the name of the call
    let register = |register: Register| match register.name().split_once('.') {
        Some((call, _)) if register.is_call() => device(call),
        _ => device(register.name()),
    };
    all.extend(Register::ALL.into_iter().map(register));
    let calls = RuntimeFn::ALL.iter().filter(|call| call.side() != Side::Internal);
    all.extend(calls.map(|call| (call.name().to_owned(), call.side() != Side::Host)));
    all.extend(OTHERS.into_iter().map(device));
    all.extend(HOST_OTHERS.into_iter().map(|name| (name.to_owned(), false)));
    all
}

/// The builtins that a program's text names, other than in comments and texts.
fn used(program: &str, into: &mut BTreeSet<String>) {
    for line in program.lines() {
        let code = line.split("//").next().unwrap_or("");
        for (index, piece) in code.split('"').enumerate() {
            if index % 2 == 1 {
                continue;
            }
            let words = piece.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
            for word in words {
                let (first, axis) = word.split_once('.').unwrap_or((word, ""));
                let canonical = Intrinsic::from_name(first).map_or(first, |(intrinsic, _)| intrinsic.name());
                into.insert(canonical.to_owned());
                into.insert(first.to_owned());
                into.insert(format!("{first}.{axis}"));
                // what stands behind a point, as in `0..warpSize`, is a word of its own
                into.extend(word.split('.').map(str::to_owned));
            }
        }
    }
}

/// What the programs of a folder use.
fn used_in(folder: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(root().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "cdp") {
            used(&read(&path), &mut found);
        }
    }
    found
}

/// What the examples of the reference use, other than those of mistakes.
fn used_in_examples() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in REFERENCE {
        let page = read(&root().join("docs").join(name));
        for part in page.split("\n```cdp\n").skip(1) {
            used(part.split("\n```").next().unwrap_or(""), &mut found);
        }
    }
    found
}

/// The names that differ from this one in their rounding alone, or in how many numbers they take from a word.
fn siblings(name: &str) -> Vec<String> {
    if let Some((op, _)) = PackedOp::from_name(name) {
        return [Lanes::Two, Lanes::Four].map(|lanes| op.name(lanes).to_owned()).to_vec();
    }
    let stem = Rounding::ALL.iter().find_map(|rounding| name.strip_suffix(rounding.suffix())).unwrap_or(name);
    Rounding::ALL.iter().map(|rounding| format!("{stem}{}", rounding.suffix())).collect()
}

/// What is neither used nor excepted, and what is excepted although it is used. `alike`: of names that are [`siblings`], one
/// will do.
fn check(place: &str, used: &BTreeSet<String>, excepted: &[&str], alike: bool, wanted: impl Fn(bool) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, on_device) in builtins() {
        let covered = used.contains(&name) || (alike && siblings(&name).iter().any(|other| used.contains(other)));
        match excepted.contains(&name.as_str()) {
            true if covered => wrong.push(format!("{place}: `{name}` is used; delete its exception")),
            false if !covered && wanted(on_device) => wrong.push(format!("{place}: `{name}` is missing")),
            _ => {}
        }
    }
    wrong
}

#[test]
fn every_builtin_is_run_compiled_and_shown() {
    let mut wrong = check("lang-tests/run", &used_in("lang-tests/run"), NOT_RUN, false, |_| true);
    wrong.extend(check("ptx-golden/cases", &used_in("ptx-golden/cases"), NOT_GOLDEN, false, |on_device| on_device));
    wrong.extend(check("the reference in docs, examples", &used_in_examples(), NOT_SHOWN, true, |_| true));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn comments_and_texts_do_not_count() {
    let mut found = BTreeSet::new();
    used("x = sinf(a) + threadIdx.y; // cos(a)\nprintf(\"tan(1)\", exp(b));\nfor i in 0..warpSize {}", &mut found);
    for name in ["sin", "threadIdx.y", "printf", "exp", "warpSize"] {
        assert!(found.contains(name), "{name}");
    }
    for name in ["cos", "tan", "threadIdx.x"] {
        assert!(!found.contains(name), "{name}");
    }
}
