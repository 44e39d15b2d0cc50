//! From a case to PTX, by the same phases as the command line runs.

use crate::case::Case;
use cdp_backend::{Libdevice, compile};
use cdp_core::diag::Diagnostics;
use cdp_core::diag::render::{HumanOptions, human};
use cdp_core::lower::{self, LowerOptions};
use cdp_core::pass::{self, LaunchOptions, MergeOptions};
use cdp_core::source::SourceMap;
use cdp_core::{sema, syntax, verify};
use cdp_runtime::Toolkit;
use cdp_runtime::toolkit::Component;

/// The PTX of a case.
///
/// # Errors
/// When it does not compile, the toolkit is missing, or the compiler's own verifier refuses its IR.
pub fn ptx(case: &Case) -> Result<String, String> {
    let mut sources = SourceMap::new();
    let source_name = format!("{}.cdp", case.name);
    let file = sources.add(source_name.as_str(), case.text.as_str());
    let (tree, found) = syntax::parse(file, &case.text);
    sound(&sources, found)?;
    let (program, found) = sema::check(&[tree], &sources, sema::Options { fmad: case.options.fmad, cdp: case.options.cdp });
    sound(&sources, found)?;
    let (mut module, found) = lower::lower(program, &LowerOptions { fmad: case.options.fmad });
    sound(&sources, found)?;
    pass::const_fold(&mut module);
    pass::simplify(&mut module);
    sound(&sources, pass::check_launch_hints(&module))?;
    if case.options.launch_merging {
        pass::merge_launches(&mut module, &MergeOptions { width: case.options.width, ..MergeOptions::default() });
    }
    let launch = LaunchOptions { abi: case.options.launch_abi, width: case.options.width, ..LaunchOptions::default() };
    let (_, found) = pass::lower_launches(&mut module, &launch);
    sound(&sources, found)?;
    verify::verify(&module).map_err(|errors| format!("the verifier refuses what the compiler made: {errors:?}"))?;
    let libdevice = Toolkit::find().require(Component::Libdevice).map_err(|error| error.to_string())?.to_owned();
    let options = cdp_backend::Options {
        opt_level: case.options.opt_level,
        lineinfo: case.options.lineinfo,
        ftz: case.options.ftz,
        fast_math: case.options.fast_math,
        width: case.options.width,
        cdp: case.options.cdp,
        libdevice: Libdevice::File(libdevice),
        ..cdp_backend::Options::new(case.options.target, source_name)
    };
    compile(&module, &sources, &options).map(|output| output.ptx).map_err(|error| error.to_string())
}

/// Cases compile without a word.
fn sound(sources: &SourceMap, found: Diagnostics) -> Result<(), String> {
    if found.is_empty() { Ok(()) } else { Err(human(sources, &found.finish(), &HumanOptions::default())) }
}
