//! A whole host program: PTX in which a kernel launches a kernel, to a cubin, to the GPU, and back.
//!
//! ```text
//! cargo run -p cdp-runtime --example host
//! ```
//!
//! Without a GPU it links, checks the layout, and says that it stops there. The PTX and the manifest stand beside this file; the compiler
//! writes both (`cdpc build --emit=ptx`, and the manifest beside it).
#![allow(clippy::print_stdout, clippy::print_stderr)] // it is a program, and its output is the point

use std::process::ExitCode;
use std::time::Instant;

use cdp_runtime::{
    Arch, CubinInfo, Error, LaunchConfig, LinkOptions, Linker, LoadOptions, Manifest, Result, Runtime, Toolkit, layout_check,
};

const PTX: &str = include_str!("nested.ptx");
const MANIFEST: &str = include_str!("nested.json");

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error{error}");
            ExitCode::from(if error.is_environment() { 2 } else { 1 })
        }
    }
}

/// Whether the values were right, where there was a GPU to make them.
fn run() -> Result<bool> {
    let manifest = Manifest::from_json(MANIFEST)?;
    match Runtime::new() {
        Ok(runtime) => launch(&runtime, &manifest),
        // compiling and linking need no GPU
        Err(error @ (Error::NoDriver | Error::NoDevice { .. })) => {
            link_only(&manifest)?;
            println!("not run: {}", error.message());
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

fn launch(runtime: &Runtime, manifest: &Manifest) -> Result<bool> {
    let device = runtime.context().device();
    println!("GPU: {} ({}), driver for CUDA {}", device.name, device.arch(), runtime.context().driver().version());

    let start = Instant::now();
    let module = runtime.load_ptx(PTX, manifest, &LoadOptions::default())?;
    println!("linked, checked and loaded in {:.1?}; limits: {:?}", start.elapsed(), runtime.context().limits()?);

    let threads = 64_u32;
    let out = runtime.alloc(4 * threads as usize)?;
    let error = runtime.alloc(4)?;
    module.launch("parent", &LaunchConfig::new(1, 1), &[&out, &1000_i32, &threads, &error])?;
    runtime.synchronize()?;

    let code = integers(&error.to_vec()?).first().copied().unwrap_or_default();
    println!("the parent's launch returned {code}");
    let values = integers(&out.to_vec()?);
    println!("the child wrote {values:?}");
    let expected: Vec<i32> = (1000..1064).collect();
    let right = code == 0 && values == expected;
    println!("{}", if right { "as expected" } else { "NOT as expected" });
    Ok(right)
}

fn link_only(manifest: &Manifest) -> Result<()> {
    let linker = Linker::new(Toolkit::find())?;
    let options = LinkOptions { device_runtime: manifest.needs_device_runtime, ..LinkOptions::new(Arch::base(90)) };
    let start = Instant::now();
    let cubin = linker.link_ptx(PTX, &options)?;
    println!(
        "nvJitLink {} made a cubin of {} bytes for {} in {:.1?}",
        linker.version(),
        cubin.bytes.len(),
        options.arch,
        start.elapsed()
    );
    let info = CubinInfo::parse(&cubin.bytes)?;
    layout_check::check(manifest, &info)?;
    for kernel in &manifest.kernels {
        println!("kernel {}: {} bytes of parameters, as the assembler laid them out", kernel.name, kernel.param_size());
    }
    Ok(())
}

fn integers(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).filter_map(|c| c.first_chunk()).map(|c| i32::from_le_bytes(*c)).collect()
}
