//! Every call of the library against a real GPU; for a machine with one, where no test runner may be.
//!
//! ```text
//! cargo run -p cdp-runtime --example gpu_check            all checks
//! cargo run -p cdp-runtime --example gpu_check printf     how much of device printf survives in a ring of a given size
//! ```
//!
//! The exit code is 0 when every check passed.
#![allow(clippy::print_stdout)] // it is a program, and its output is the point
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a failed check may end it

use std::process::{Command, ExitCode};
use std::time::Duration;

use cdp_runtime::isolate::{self, Channel, Ending};
use cdp_runtime::{
    Arch, Context, DevicePtr, Error, LaunchConfig, Limits, LinkOptions, LoadOptions, Manifest, Module, Result, Runtime,
    RuntimeOptions,
};

const NESTED: &str = include_str!("nested.ptx");
const NESTED_MANIFEST: &str = include_str!("nested.json");
const PRINT: &str = include_str!("print.ptx");
const PRINT_MANIFEST: &str = r#"{
  "kernels": [
    { "name": "print0", "symbol": "print0", "params": [{ "name": "n", "type": "u32", "offset": 0, "size": 4, "align": 4 }] },
    { "name": "print1", "symbol": "print1", "params": [{ "name": "n", "type": "u32", "offset": 0, "size": 4, "align": 4 }] },
    { "name": "print4", "symbol": "print4", "params": [{ "name": "n", "type": "u32", "offset": 0, "size": 4, "align": 4 }] },
    { "name": "count", "symbol": "count", "params": [{ "name": "by", "type": "u32", "offset": 0, "size": 4, "align": 4 }] },
    { "name": "fault", "symbol": "fault", "params": [{ "name": "at", "type": "*global u32", "offset": 0, "size": 8, "align": 8 }] },
    { "name": "spin", "symbol": "spin", "params": [{ "name": "nanoseconds", "type": "u64", "offset": 0, "size": 8, "align": 8 }] },
    { "name": "wide", "symbol": "wide" }
  ],
  "globals": [{ "name": "counter", "symbol": "counter", "size": 4 }]
}"#;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] => checks(),
        ["printf"] => printf_table(),
        ["print", kernel, count, ring] => print(kernel, count.parse().unwrap(), ring.parse().unwrap()),
        ["fault"] => fault(),
        _ => {
            println!("usage: gpu_check [printf]");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error{error}");
            ExitCode::FAILURE
        }
    }
}

struct Report {
    all_good: bool,
}

impl Report {
    fn check(&mut self, what: &str, good: bool, detail: impl std::fmt::Debug) {
        println!("{} {what}: {detail:?}", if good { "ok  " } else { "FAIL" });
        self.all_good &= good;
    }

    fn refused<T: std::fmt::Debug>(&mut self, what: &str, code: &str, result: Result<T>) {
        match result {
            Err(error) => self.check(what, error.code() == code, error.message()),
            Ok(value) => self.check(what, false, value),
        }
    }
}

fn checks() -> Result<bool> {
    let mut report = Report { all_good: true };
    let runtime = Runtime::with_options(&RuntimeOptions {
        limits: Limits { stack: Some(2048), ..Limits::default() },
        ..RuntimeOptions::default()
    })?;
    let device = runtime.context().device().clone();
    println!("{device:?}, driver for CUDA {}", runtime.context().driver().version());

    limits(&mut report, runtime.context())?;
    let print = runtime.load_ptx(PRINT, &Manifest::from_json(PRINT_MANIFEST)?, &LoadOptions::default())?;
    let nested = runtime.load_ptx(NESTED, &Manifest::from_json(NESTED_MANIFEST)?, &LoadOptions::default())?;
    nested_launch(&mut report, &runtime, &nested)?;
    memory(&mut report, &runtime)?;
    streams(&mut report, &runtime, &print)?;
    launches(&mut report, &runtime, &print)?;
    refusals(&mut report, &runtime, &nested)?;
    isolation(&mut report)?;
    println!("{}", if report.all_good { "all checks passed" } else { "SOME CHECKS FAILED" });
    Ok(report.all_good)
}

fn limits(report: &mut Report, context: &Context) -> Result<()> {
    let before = context.limits()?;
    report.check("limits are read", before.stack >= Some(2048), before);
    let asked = Limits { pending_launches: Some(1), printf_fifo: Some(4 << 20), malloc_heap: Some(16 << 20), stack: None };
    let got = context.set_limits(&asked)?;
    report.check(
        "limits are set and read back",
        got.pending_launches >= Some(1) && got.printf_fifo >= Some(4 << 20) && got.malloc_heap >= Some(16 << 20),
        got,
    );
    report.refused(
        "the limit of CDP1",
        "E0709",
        context.set_limit(cudarc::driver::sys::CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 4),
    );
    Ok(())
}

fn nested_launch(report: &mut Report, runtime: &Runtime, module: &Module) -> Result<()> {
    report.check(
        "the manifest's limit is set",
        runtime.context().limits()?.pending_launches >= Some(4096),
        runtime.context().limits()?,
    );
    let out = runtime.alloc(4 * 1024)?;
    let error = runtime.alloc(4)?;
    module.launch("parent", &LaunchConfig::new(1, 1), &[&out, &100_i32, &1024_u32, &error])?;
    runtime.synchronize()?;
    let values = integers(&out.to_vec()?);
    report.check("a nested launch gives the values", values == (100..1124).collect::<Vec<_>>(), values.len());
    module.launch("parent", &LaunchConfig::new(1, 1), &[&out, &100_i32, &1025_u32, &error])?;
    runtime.synchronize()?;
    report.check("a nested launch of 1025 threads returns 9", integers(&error.to_vec()?) == [9], integers(&error.to_vec()?));
    for kernel in ["parent", "child"] {
        let driver = module.function(kernel)?.params()?;
        let cubin: Vec<_> =
            module.cubin().kernel(kernel).unwrap().params.iter().map(|p| (p.offset as usize, p.size as usize)).collect();
        report.check("the driver's parameter table is the cubin's", driver.as_ref().is_none_or(|d| *d == cubin), driver);
    }
    Ok(())
}

fn memory(report: &mut Report, runtime: &Runtime) -> Result<()> {
    let a = runtime.context().alloc_with(&[1, 2, 3, 4])?;
    let b = runtime.alloc(8)?;
    b.copy_from(2, &a, 0, 4)?;
    b.write(7, &[9])?;
    report.check("copies", b.to_vec()? == [0, 0, 1, 2, 3, 4, 0, 9], b.to_vec()?);
    b.fill(7)?;
    report.check("fill", b.to_vec()? == [7; 8], b.to_vec()?);
    report.refused("a read past the end", "E0712", b.read(5, &mut [0; 4]));
    report.refused("a buffer larger than the GPU", "E0707", runtime.alloc(1 << 50));
    let empty = runtime.alloc(0)?;
    report.check("an empty buffer", empty.to_vec()?.is_empty() && empty.ptr() == DevicePtr(0), empty.ptr());
    let (free, total) = runtime.context().memory_info()?;
    report.check("memory information", free <= total && total > 0, (free, total));
    Ok(())
}

fn streams(report: &mut Report, runtime: &Runtime, module: &Module) -> Result<()> {
    let context = runtime.context();
    let (one, two) = (context.create_stream()?, context.create_stream()?);
    let (begin, end) = (context.create_event()?, context.create_event()?);
    begin.record(Some(&one))?;
    let config = LaunchConfig { stream: Some(&one), ..LaunchConfig::new(1, 1) };
    module.launch("spin", &config, &[&20_000_000_u64])?;
    report.check("a stream at work", !one.is_done()?, ());
    end.record(Some(&one))?;
    two.wait(&end)?;
    two.synchronize()?;
    report.check("an event orders two streams", end.is_done()? && one.is_done()?, ());
    let time = end.since(&begin)?;
    report.check("events measure", time >= Duration::from_millis(19) && time < Duration::from_secs(1), time);
    Ok(())
}

fn launches(report: &mut Report, runtime: &Runtime, module: &Module) -> Result<()> {
    module.write_global("counter", &7_u32.to_le_bytes())?;
    module.launch("count", &LaunchConfig::new((2, 3), (8, 4, 1)), &[&2_u32])?;
    runtime.synchronize()?;
    report.check(
        "a variable",
        integers(&module.read_global("counter")?) == [7 + 2 * 2 * 3 * 32],
        integers(&module.read_global("counter")?),
    );
    module.launch_raw("count", &LaunchConfig::new(1, 1), &1_u32.to_le_bytes())?;
    runtime.synchronize()?;
    report.check(
        "a launch with bytes",
        integers(&module.read_global("counter")?) == [392],
        integers(&module.read_global("counter")?),
    );
    let wide = module.function("wide")?;
    let attributes = wide.attributes()?;
    report.check("attributes", attributes.max_threads_per_block == 64, attributes);
    let config = LaunchConfig { shared: 64 << 10, ..LaunchConfig::new(1, 64) };
    module.launch("wide", &config, &[])?;
    runtime.synchronize()?;
    report.check("64 KiB of dynamic shared memory", wide.attributes()?.max_dynamic_shared >= 64 << 10, wide.attributes()?);
    report.refused("a block over the launch bounds", "E0710", module.launch("wide", &LaunchConfig::new(1, 65), &[]));
    report.refused("an empty grid", "E0710", module.launch("wide", &LaunchConfig::new(0, 1), &[]));
    report.refused("a grid too high", "E0710", module.launch("wide", &LaunchConfig::new((1, 65_536), 1), &[]));
    report.refused(
        "too much shared memory",
        "E0710",
        module.launch("wide", &LaunchConfig { shared: 1 << 20, ..LaunchConfig::new(1, 1) }, &[]),
    );
    report.refused("too few arguments", "E0705", module.launch("count", &LaunchConfig::new(1, 1), &[]));
    report.refused("a kernel that is not there", "E0706", module.launch("nothing", &LaunchConfig::new(1, 1), &[]));
    runtime.synchronize()
}

fn refusals(report: &mut Report, runtime: &Runtime, nested: &Module) -> Result<()> {
    let other = if runtime.arch().sm == 80 { Arch::base(90) } else { Arch::base(80) };
    let cubin = runtime.linker()?.link_ptx(NESTED, &LinkOptions { device_runtime: true, ..LinkOptions::new(other) })?;
    report.refused(
        "code for another GPU",
        "E0704",
        runtime.load_cubin(&cubin.bytes, nested.manifest(), &LoadOptions::default()),
    );
    report.refused("a damaged cubin", "E0628", runtime.context().load(cubin.bytes.get(..1000).unwrap_or_default()));
    report.refused("a GPU that is not there", "E0702", Context::new(99));
    Ok(())
}

/// A fault in a process of its own, seen from here, and this process goes on.
fn isolation(report: &mut Report) -> Result<()> {
    let mut output = Vec::new();
    let outcome = isolate::run(again(&["fault"]), Some(Duration::from_secs(60)), |channel, bytes| {
        if channel == Channel::Output {
            output.extend_from_slice(bytes);
        }
    })?;
    let text = String::from_utf8_lossy(&output).into_owned();
    report.check(
        "a fault in a child process",
        outcome.ending == Ending::Exit(1) && text.contains("E0708") && text.contains("700"),
        text,
    );
    Context::new(0)?.synchronize()?;
    report.check("this process goes on", true, ());
    Ok(())
}

fn again(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments);
    command
}

fn print_module(runtime: &Runtime) -> Result<Module> {
    runtime.load_ptx(PRINT, &Manifest::from_json(PRINT_MANIFEST)?, &LoadOptions::default())
}

fn fault() -> Result<bool> {
    let runtime = Runtime::new()?;
    print_module(&runtime)?.launch("fault", &LaunchConfig::new(1, 1), &[&DevicePtr(16)])?;
    let first = runtime.synchronize();
    if !matches!(runtime.synchronize(), Err(Error::DeviceFault { .. })) {
        println!("the context survived");
    }
    first.map(|()| true)
}

fn print(kernel: &str, count: u32, ring: usize) -> Result<bool> {
    let limits = Limits { printf_fifo: Some(ring), ..Limits::default() };
    let runtime = Runtime::with_options(&RuntimeOptions { limits, ..RuntimeOptions::default() })?;
    println!("ring {:?}", runtime.context().limits()?.printf_fifo.unwrap_or_default());
    print_module(&runtime)?.launch(kernel, &LaunchConfig::new(1, 1), &[&count])?;
    runtime.synchronize()?;
    println!("end");
    Ok(true)
}

/// For several rings and numbers of arguments: how many of very many lines come out, and so how many bytes of the ring each takes.
fn printf_table() -> Result<bool> {
    for kernel in ["print0", "print1", "print4"] {
        for ring in [64 << 10, 1 << 20, 4 << 20] {
            let (count, ring) = (400_000_u32.to_string(), i32::to_string(&ring));
            let mut output = Vec::new();
            let outcome = isolate::run(again(&["print", kernel, &count, &ring]), Some(Duration::from_secs(60)), |_, bytes| {
                output.extend_from_slice(bytes);
            })?;
            let text = String::from_utf8_lossy(&output);
            let lines: Vec<&str> = text.lines().collect();
            let actual: usize =
                lines.first().and_then(|l| l.strip_prefix("ring ")).and_then(|l| l.parse().ok()).unwrap_or_default();
            let printed = lines.len().saturating_sub(2);
            println!(
                "{kernel}: ring asked {ring}, got {actual}; {printed} of {count} lines, {:.2} bytes each; first `{}`, last `{}`; {:?}",
                actual as f64 / printed.max(1) as f64,
                lines.get(1).unwrap_or(&""),
                lines.get(lines.len().saturating_sub(2)).unwrap_or(&""),
                outcome.ending
            );
        }
    }
    Ok(true)
}

fn integers(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).filter_map(|c| c.first_chunk()).map(|c| i32::from_le_bytes(*c)).collect()
}
