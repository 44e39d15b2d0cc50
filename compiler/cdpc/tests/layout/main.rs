//! Where parameters lie: random kernel signatures, compiled by cdpc, nvcc and clang, compared with what the assembler says of the cubin.
//!
//! For each signature there is a kernel, and a kernel that launches it with its own parameters. Every one of these must say the same:
//! the rule of the guide, cdpc's manifest, the parameter tables of cdpc's and nvcc's cubins for five architectures, and the bytes that
//! the PTX of the three compilers stores into the parameter buffer, under both launch interfaces.
//!
//! `CDPC_LAYOUT_CASES=2000` is the nightly form (`make nightly-layout`), `CDPC_LAYOUT_SEED` changes the signatures,
//! `CDPC_ECHO_DIR=DIR` writes the programs of `echo` there, to be run on a GPU by `cdpc test`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]
#![allow(clippy::print_stderr, reason = "a test says what it compared")]
#![allow(missing_docs, reason = "the names say it")]

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod common;
mod compilers;
mod echo;
mod print;
mod ptx;
mod signature;

use compilers::{Compilers, Module};
use print::Language;
use signature::{Random, Range, Signature, shrink};
use std::collections::BTreeSet;

/// A module holds so many signatures.
const BATCH: usize = 100;

/// What cdpc builds: every architecture, both launch interfaces.
const BUILDS: [(&str, &str); 6] =
    [("sm_90", "v1"), ("sm_75", "v2"), ("sm_80", "v1"), ("sm_90", "v2"), ("sm_100", "v1"), ("sm_120", "v2")];

pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn all_compilers_and_the_assembler_agree_on_random_signatures() {
    let cases = usize::try_from(number("CDPC_LAYOUT_CASES", 200)).unwrap();
    let mut random = Random(number("CDPC_LAYOUT_SEED", 2026));
    let compilers = Compilers::find();
    let signatures: Vec<Signature> = (0..cases).map(|_| Signature::random(&mut random)).collect();
    let mut params = 0;
    for batch in signatures.chunks(BATCH) {
        params += batch.iter().map(|s| s.params.len()).sum::<usize>();
        let failures = check(&compilers, batch);
        if let Some((signature, why)) = batch.iter().zip(&failures).find_map(|(s, f)| Some((s, f.as_ref()?))) {
            let small = shrink(signature.clone(), |many| check(&compilers, many).iter().map(Option::is_some).collect());
            let again = check(&compilers, std::slice::from_ref(&small)).pop().flatten();
            panic!(
                "{why}\n\nthe smallest signature that fails: {}\n{}\nin C++:\n{}",
                again.unwrap_or_default(),
                print::module(std::slice::from_ref(&small), Language::Cdp),
                print::module(&[small], Language::Cxx),
            );
        }
    }
    let over = signatures.iter().filter(|s| s.is_over_aligned()).count();
    eprintln!("{cases} signatures, {params} parameters, {over} signatures over-aligned, {}: no mismatch", compilers.names());
}

#[test]
fn a_wrong_offset_is_seen() {
    // the same kernels with their parameters exchanged are not the same layout
    let mut random = Random(3);
    let right = std::iter::repeat_with(|| Signature::random(&mut random)).find(|s| s.params.len() == 8).unwrap();
    let mut wrong = right.clone();
    wrong.params.reverse();
    assert_ne!(right.offsets(), wrong.offsets());
    let compilers = Compilers::find();
    let module = compilers.cdpc(std::slice::from_ref(&wrong), "sm_90", "v1").unwrap();
    assert!(check_module(&right, 0, &module).is_err());
    assert_eq!(check_module(&wrong, 0, &module), Ok(()));
}

/// For each signature what is wrong with it.
fn check(compilers: &Compilers, signatures: &[Signature]) -> Vec<Option<String>> {
    let mut failures: Vec<Option<String>> = vec![None; signatures.len()];
    let results: Vec<Result<Module, String>> = std::thread::scope(|scope| {
        let foreign = scope.spawn(|| [compilers.nvcc(signatures), compilers.clang(signatures)]);
        let mut results: Vec<_> = BUILDS.iter().map(|(arch, abi)| compilers.cdpc(signatures, arch, abi)).collect();
        results.extend(foreign.join().unwrap().into_iter().flatten());
        results
    });
    if results.iter().any(Result::is_err) && signatures.len() > 1 {
        // one of them stops a compiler: halves find it
        let (front, back) = signatures.split_at(signatures.len() / 2);
        return [front, back].into_iter().flat_map(|half| check(compilers, half)).collect();
    }
    for result in results {
        for (number, (signature, failure)) in signatures.iter().zip(&mut failures).enumerate() {
            let outcome = result.as_ref().map_err(Clone::clone).and_then(|module| check_module(signature, number, module));
            if let (Err(why), None) = (outcome, &failure) {
                *failure = Some(why);
            }
        }
    }
    failures
}

/// Compares one compiler's idea of a signature with the rule.
fn check_module(signature: &Signature, number: usize, module: &Module) -> Result<(), String> {
    let expected = signature.offsets();
    // nvcc and clang declare more than 16, and then ptxas goes by absolute addresses (R32): only sizes can be compared
    let sizes_only = module.is_foreign && signature.is_over_aligned();
    for kernel in [format!("k{number}"), format!("q{number}")] {
        for (source, table) in module.tables(&kernel)? {
            let agrees = if sizes_only { sizes(&table) == sizes(&expected) } else { table == expected };
            if !agrees {
                return Err(format!("{source}, `{kernel}`: offset and size {table:?} instead of {expected:?}"));
            }
        }
    }
    let looped = sizes(&expected).into_iter().any(|size| size > module.largest_stored);
    if sizes_only || looped || signature.params.is_empty() {
        return Ok(());
    }
    let stored = ptx::stores(&module.ptx, &format!("q{number}")).map_err(|why| format!("{}: {why}", module.name))?;
    let bytes = |ranges: Vec<Range>| -> BTreeSet<u32> { ranges.into_iter().flat_map(|(at, size)| at..at + size).collect() };
    let missing: Vec<u32> = bytes(signature.data()).difference(&stored).copied().collect();
    let beyond: Vec<u32> = stored.difference(&bytes(expected)).copied().collect();
    if missing.is_empty() && beyond.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}, launch in `q{number}`: bytes {missing:?} are not stored, bytes {beyond:?} belong to no parameter",
        module.name
    ))
}

fn sizes(table: &[Range]) -> Vec<u32> {
    table.iter().map(|(_, size)| *size).collect()
}
