//! ptxas over a PTX, for several architectures.

use cdp_core::builtins::Cdp;
use cdp_core::types::layout::PointerWidth;
use cdp_runtime::Toolkit;
use cdp_runtime::toolkit::Component;
use std::process::Command;

/// The architectures that every golden PTX is assembled for, as far as its `.target` allows.
pub const ARCHS: [&str; 4] = ["sm_80", "sm_90", "sm_100", "sm_120"];

/// The same for launches that are merged, which use more of what architectures differ in.
const MERGED_ARCHS: [&str; 7] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];

/// `90` for `sm_90`
fn number(arch: &str) -> u32 {
    arch.trim_start_matches("sm_").parse().unwrap_or(0)
}

/// What ptxas says of every module with addresses of 32 bits since CUDA 12, before it reads further: below sm_90, and from there on.
const NO_32_BITS: [&str; 2] = ["32-Bit compilation is no longer supported", "32-Bit ABI"];

/// Assembles a PTX, as relocatable code, for every architecture that is not older than its own. Of addresses of 32 bits ptxas must say that it
/// knows them no more, and nothing else; from sm_90 on it must refuse a module for CDP1, which has to wait for children.
///
/// # Errors
/// When there is no ptxas, or it refuses the PTX: its own words.
pub fn assemble(name: &str, ptx: &str, target: &str, width: PointerWidth, cdp: Cdp) -> Result<(), String> {
    for arch in ARCHS.into_iter().filter(|arch| number(arch) >= number(target)) {
        if cdp == Cdp::Cdp1 && number(arch) >= 90 {
            let (succeeded, log) = ptxas(name, ptx, arch)?;
            if succeeded || !log.contains("Unsupported Function 'cudaDeviceSynchronize'") {
                return Err(format!("ptxas -arch={arch} was expected to refuse CDP1's waiting:\n{log}\n{ptx}"));
            }
            continue;
        }
        let (succeeded, log) = ptxas(name, ptx, arch)?;
        if width == PointerWidth::W32 {
            if NO_32_BITS.iter().any(|words| log.contains(words)) && !log.contains("error") {
                continue;
            }
            return Err(format!("ptxas -arch={arch} was expected to refuse 32 bits and say nothing else:\n{log}\n{ptx}"));
        }
        accepted(arch, succeeded, &log, ptx)?;
    }
    Ok(())
}

/// Assembles a PTX of merged launches for every architecture that is not older than its own.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_merged(name: &str, ptx: &str, target: &str) -> Result<(), String> {
    let archs = MERGED_ARCHS.into_iter().filter(|arch| number(arch) >= number(target));
    archs.into_iter().try_for_each(|arch| assemble_for(name, ptx, arch))
}

/// Assembles a PTX for one architecture.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_for(name: &str, ptx: &str, arch: &str) -> Result<(), String> {
    let (succeeded, log) = ptxas(name, ptx, arch)?;
    accepted(arch, succeeded, &log, ptx)
}

fn accepted(arch: &str, succeeded: bool, log: &str, ptx: &str) -> Result<(), String> {
    if succeeded && !log.contains("warning") {
        return Ok(());
    }
    Err(format!("ptxas -arch={arch} does not take it:\n{log}\n{ptx}"))
}

/// Whether ptxas took it, and what it said.
fn ptxas(name: &str, ptx: &str, arch: &str) -> Result<(bool, String), String> {
    let toolkit = Toolkit::find();
    let ptxas = toolkit.require(Component::Ptxas).map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let input = folder.path().join(format!("{name}.ptx"));
    std::fs::write(&input, ptx).map_err(|error| error.to_string())?;
    let output = folder.path().join("out.cubin");
    let mut command = Command::new(ptxas);
    command.arg("-c").arg(format!("-arch={arch}")).arg(&input).arg("-o").arg(&output);
    let result = command.output().map_err(|error| format!("{}: {error}", ptxas.display()))?;
    let log = String::from_utf8_lossy(&result.stderr).into_owned() + &String::from_utf8_lossy(&result.stdout);
    Ok((result.status.success(), log))
}
