//! `cdpc layout`: where kernels and launches keep their parameters, by the compiler and by the cubin.

use std::fmt::Write as _;
use std::path::PathBuf;

use cdp_runtime::cubin::CubinInfo;
use cdp_runtime::manifest::{Kernel, LaunchAbi, LaunchSite, Manifest};
use serde_json::{Value, json as object};

use crate::driver;
use crate::failure::{Failure, Result};
use crate::options::Compile;
use crate::report::Reporter;
use crate::style::Style;
use crate::terminal;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source, `-` for standard input; with it objects, libraries, fatbins, cubins and PTX to link it with
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How to show it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Without the cubin's own table, and so without a CUDA toolkit
    #[arg(long)]
    no_cubin: bool,
    #[command(flatten)]
    compile: Compile,
}

/// How to show tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// # Errors
/// Those of the source, the toolkit, and a layout that differs.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let build = driver::Build::begin(&args.files, &args.compile, reporter, !args.no_cubin)?;
    let code = build.generate(false)?;
    let cubin = if args.no_cubin { None } else { Some(build.link(&code)?.info) };
    terminal::print(match args.format {
        Format::Text => text(&code.manifest, cubin.as_ref(), reporter.style_out()),
        Format::Json => json(&code.manifest, cubin.as_ref())?,
    })
}

/// The manifest, with the cubin's own table beside it.
fn json(manifest: &Manifest, cubin: Option<&CubinInfo>) -> Result<String> {
    let mut value = serde_json::to_value(manifest).map_err(|error| Failure::bug(error.to_string()))?;
    if let (Some(object), Some(cubin)) = (value.as_object_mut(), cubin) {
        object
            .insert("cubin".to_owned(), object!({ "arch": cubin.arch.to_string(), "kernels": cubin_kernels(manifest, cubin) }));
    }
    serde_json::to_string_pretty(&value).map(|text| text + "\n").map_err(|error| Failure::bug(error.to_string()))
}

fn cubin_kernels(manifest: &Manifest, cubin: &CubinInfo) -> Vec<Value> {
    let ours = manifest.kernels.iter().filter_map(|kernel| cubin.kernel(&kernel.symbol));
    ours.map(|kernel| {
        let params: Vec<Value> =
            kernel.params.iter().map(|p| object!({ "ordinal": p.ordinal, "offset": p.offset, "size": p.size })).collect();
        object!({
            "name": kernel.name, "params": params, "param_base": kernel.param_base, "param_size": kernel.param_size,
            "registers": kernel.registers, "shared_size": kernel.shared_size, "frame_size": kernel.frame_size,
        })
    })
    .collect()
}

fn text(manifest: &Manifest, cubin: Option<&CubinInfo>, style: Style) -> String {
    let mut out = String::new();
    for kernel in &manifest.kernels {
        kernel_table(&mut out, kernel, cubin, style);
    }
    for site in &manifest.launch_sites {
        site_line(&mut out, site, manifest, style);
    }
    if manifest.kernels.is_empty() {
        out.push_str("no kernels\n");
    } else if cubin.is_some() {
        out.push_str("the cubin's table is the same for every kernel and launch site\n");
    }
    out
}

fn kernel_table(out: &mut String, kernel: &Kernel, cubin: Option<&CubinInfo>, style: Style) {
    let align = kernel.params.iter().map(|p| p.align).max().unwrap_or(1);
    let _ =
        writeln!(out, "kernel {}: {} bytes of parameters, aligned to {align}", style.bold(&kernel.name), kernel.param_size());
    let theirs = cubin.and_then(|cubin| cubin.kernel(&kernel.symbol));
    if !kernel.params.is_empty() {
        let heading = if theirs.is_some() { "  cubin" } else { "" };
        let width = kernel.params.iter().map(|p| p.name.len() + 2 + p.ty.len()).max().unwrap_or(0).max(9);
        let line = format!("  offset    size   align  padding  {:width$}{heading}", "parameter");
        let _ = writeln!(out, "{}", style.dim(line.trim_end()));
        let mut end = 0;
        for (index, param) in kernel.params.iter().enumerate() {
            let padding = match param.offset.saturating_sub(end) {
                0 => String::new(),
                bytes => bytes.to_string(),
            };
            end = param.offset + param.size;
            let name = format!("{}: {}", param.name, param.ty);
            let actual = theirs.and_then(|kernel| kernel.params.get(index)).map(|p| format!("  {} +{}", p.offset, p.size));
            let actual = actual.unwrap_or_default();
            let row = format!("  {:6}  {:6}  {:6}  {padding:>7}  {name:width$}{actual}", param.offset, param.size, param.align);
            let _ = writeln!(out, "{}", row.trim_end());
        }
    }
    if let Some(kernel) = theirs {
        let _ = writeln!(
            out,
            "  {} registers, {} bytes of shared memory, a stack frame of {} bytes, parameters at {:#x}",
            kernel.registers, kernel.shared_size, kernel.frame_size, kernel.param_base
        );
    }
    out.push('\n');
}

fn site_line(out: &mut String, site: &LaunchSite, manifest: &Manifest, style: Style) {
    let abi = match site.abi {
        LaunchAbi::V1 => "V1",
        LaunchAbi::V2 => "V2",
    };
    let place = format!("{}:{}", site.file, site.line);
    let _ = writeln!(out, "launch of {} in {} at {place}, {abi}", style.mark(&site.kernel), site.function);
    let params = manifest.kernel(&site.kernel).map_or(&[][..], |kernel| &kernel.params);
    for (index, store) in site.stores.iter().enumerate() {
        let name = params.get(index).map_or("", |param| &param.name);
        let _ = writeln!(out, "  {:6}  {:6}  {name}", store.offset, store.size);
    }
    out.push('\n');
}
