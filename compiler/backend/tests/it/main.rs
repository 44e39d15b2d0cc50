//! Tests of the back end from source to PTX, in one binary because LLVM is linked into it. Every PTX goes through `ptxas`.

mod arithmetic;
mod calls;
mod launches;
mod memory;
mod names;
mod output;
mod params;
mod programs;
mod support;
mod threads;
