//! The comment that PTX starts with: what it was made of, and what it must be linked with.

use crate::Options;
use cdp_core::types::layout::PointerWidth;

/// The same for the same source and options, on every machine.
pub fn comment(options: &Options, needs_device_runtime: bool) -> String {
    let mut flags = format!("--arch {} -O{}", options.target.name(), options.opt_level);
    let mut flag = |wanted: bool, text: &str| {
        if wanted {
            flags.push(' ');
            flags.push_str(text);
        }
    };
    flag(options.width == PointerWidth::W32, "--address-size 32");
    flag(options.lineinfo, "--lineinfo");
    flag(options.ftz && !options.fast_math, "--ftz");
    flag(options.fast_math, "--fast-math");
    let name = options.source_name.replace(['\n', '\r'], " ");
    let link = if needs_device_runtime { "// link with libcudadevrt\n" } else { "" };
    format!("// {name}: cdpc {} {flags}\n{link}\n", env!("CARGO_PKG_VERSION"))
}
