//! Golden PTX: every case in `cases/` shows one thing, and its PTX is kept in `snapshots/`, with its source and options, readable alone.
//!
//! - [`case`]: a case and its `// options:` line.
//! - [`compile`]: from the source to PTX, the way the command line goes.
//! - [`assemble`]: ptxas, the second opinion: every golden PTX is assembled for several architectures.
//!
//! It deliberately does not run anything: what programs compute is in `lang-tests/run`.

pub mod assemble;
pub mod case;
pub mod compile;
