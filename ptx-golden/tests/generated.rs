//! Generated programs through the whole compiler: ptxas takes what comes out. `CDPC_GENERATED_CASES` says how many (default 24), 12 in a module.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use lang_tests::generate::program;
use ptx_golden::assemble::assemble;
use ptx_golden::case::{Case, Options};
use ptx_golden::compile::ptx;

const IN_A_MODULE: u64 = 12;

#[test]
fn generated_programs_are_assembled() {
    let count: u64 = std::env::var("CDPC_GENERATED_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(24);
    let all = ["", "-O0", "-O1 --lineinfo", "-O2 --launch-abi=v2", "--ftz", "--fast-math", "--fmad=false", "-O0 --arch=sm_90"];
    for start in (0..count).step_by(IN_A_MODULE as usize) {
        let seeds = start..(start + IN_A_MODULE).min(count);
        let text = seeds.map(|seed| program(seed, None)).collect::<Vec<_>>().join("\n");
        let words = all[(start / IN_A_MODULE) as usize % all.len()];
        let options = Options::read(words).unwrap();
        let case = Case { name: format!("generated{start}"), text, options: options.clone() };
        let ptx = ptx(&case).unwrap_or_else(|error| panic!("programs from {start} with `{words}`: {error}"));
        assemble(&case.name, &ptx, options.target.name(), options.width, options.cdp)
            .unwrap_or_else(|error| panic!("programs from {start} with `{words}`: {}", error.get(..4_000).unwrap_or(&error)));
    }
}
