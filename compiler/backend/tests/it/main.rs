//! Tests of the back end from source to PTX, in one binary because LLVM is linked into it. Every PTX goes through `ptxas`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod arithmetic;
mod builder;
mod calls;
mod lanes;
mod launches;
mod memory;
mod names;
mod output;
mod params;
mod programs;
mod support;
mod threads;
