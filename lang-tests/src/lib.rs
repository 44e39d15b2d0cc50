//! The conformance suite of the language. The tests are data; this crate reads, compiles and compares them.
//!
//! - `check-fail/**/*.cdp`: sources with mistakes. `//~ E0203` behind a line names every code reported on it, `//~^ E0203` on the line
//!   above, one `^` a line. The rendering must equal the `.stderr` file beside the source.
//! - `check-pass/**/*.cdp`: sources without any diagnostic, a twin for each lint among them; nor has any program of `run` or `bench` one.
//! - `run/**/*.cdp`: programs with `test` blocks, by section of the CUDA programming guide. Here they run on the reference executor; `cdpc test
//!   lang-tests/run` runs them on a GPU. What they print must equal the `.stdout` file beside them, where there is one.
//! - `defects/**/*.cdp`: programs with one mistake that shows only when they run, each with a twin `*.ok.cdp` that is without it. The reference
//!   executor reports the one where it says `//~ CODE`, in every order, and nothing of the other.
//! - hostile input: what must hold for any text (`hostile`), over mutated sources here and with a fuzzer in `fuzz/`.
//! - `reports`: which tests hold down what people ran into with other tools.
//! - `agree`: what the reference executor finds, and what the compiler says of the same mistake.
//! - `guide`: section numbers of the CUDA programming guide, wherever one is named, are the guide's.
//! - the error index: every code's explanation has one shape, its wrong example gives that code, its right one compiles.
//!
//! It deliberately does not test how commands behave: that is the command line's own suite.

pub mod agree;
pub mod annotation;
pub mod compile;
pub mod data;
pub mod defect;
pub mod execute;
pub mod generate;
pub mod guide;
pub mod hostile;
pub mod index;
pub mod reports;
