//! What a host program must know of a module: made from the IR, the lowered launches and what the back end emitted.

use cdp_backend::Output;
use cdp_core::ir::{Function, Module};
use cdp_core::pass::{LaunchSite, SiteAbi};
use cdp_core::types::Space;
use cdp_core::types::layout::{ParamsLayout, PointerWidth};
use cdp_core::verify::ModuleInfo;
use cdp_runtime::manifest::{self, Manifest, Store};
use cdp_runtime::{Arch, Limits};

use crate::driver::{Front, Lowered};
use crate::failure::{Failure, Result};

/// Bytes of stack a thread for programs that recurse; CUDA's default is 1024, which a few calls use up.
const RECURSION_STACK: usize = 8192;

/// The manifest of a compiled module.
///
/// # Errors
/// When a size does not fit 32 bits, which the checks before should have refused.
pub fn of(front: &Front, lowered: &Lowered, output: &Output, arch: Arch) -> Result<Manifest> {
    // with the kernels that lowering added
    let module = &lowered.module;
    let kernels = module.functions.iter().filter(|function| output.kernels.contains(&function.symbol));
    let globals =
        lowered.module.globals.iter().filter(|global| global.exported && !global.external && global.space != Space::Shared);
    Ok(Manifest {
        ptx_version: ptx_version(&output.ptx),
        arch: arch.to_string(),
        source: front.sources.name(front.file).to_owned(),
        needs_device_runtime: output.needs_device_runtime,
        kernels: kernels.map(|function| kernel(module, function)).collect::<Result<_>>()?,
        launch_sites: lowered.launches.iter().map(|site| launch_site(front, module, site)).collect::<Result<_>>()?,
        globals: globals
            .map(|global| manifest::Global {
                name: global.name.clone(),
                symbol: global.symbol.clone(),
                size: module.types.layout(global.ty, PointerWidth::W64).size,
            })
            .collect(),
        limits: Limits { stack: recurses(lowered).then_some(RECURSION_STACK), ..Limits::default() },
        ..Manifest::default()
    })
}

/// Whether device code calls itself, perhaps through other functions: then the assembler cannot tell how much stack it needs.
fn recurses(lowered: &Lowered) -> bool {
    let info = ModuleInfo::new(&lowered.module);
    info.functions.iter().any(|function| function.on_device && function.recursive)
}

fn kernel(module: &Module, function: &Function) -> Result<manifest::Kernel> {
    let layout = module.types.params_layout(function.param_types(), PointerWidth::W64);
    let params = function.locals.iter().zip(&layout.params).map(|(local, param)| {
        Ok(manifest::Param {
            name: local.name.clone(),
            ty: module.types.display(local.ty),
            offset: narrow(param.offset)?,
            size: narrow(param.size)?,
            align: param.align,
        })
    });
    let (max_threads, min_blocks) = function.launch_bounds.unzip();
    Ok(manifest::Kernel {
        name: function.name.clone(),
        symbol: function.symbol.clone(),
        params: params.collect::<Result<_>>()?,
        max_threads,
        min_blocks: min_blocks.filter(|blocks| *blocks > 0),
        dynamic_shared: false,
    })
}

fn launch_site(front: &Front, module: &Module, site: &LaunchSite) -> Result<manifest::LaunchSite> {
    let name = |id: cdp_core::ir::FunctionId| module.functions.get(id.index());
    Ok(manifest::LaunchSite {
        function: name(site.function).map(|function| function.name.clone()).unwrap_or_default(),
        file: front.sources.name(site.span.file).to_owned(),
        line: front.sources.line_column(site.span).line,
        kernel: name(site.kernel).map(|function| function.symbol.clone()).unwrap_or_default(),
        abi: match site.abi {
            SiteAbi::V1 => manifest::LaunchAbi::V1,
            SiteAbi::V2 => manifest::LaunchAbi::V2,
        },
        stores: stores(&site.params)?,
    })
}

fn stores(params: &ParamsLayout) -> Result<Vec<Store>> {
    let store = params.params.iter().map(|param| Ok(Store { offset: narrow(param.offset)?, size: narrow(param.size)? }));
    store.collect()
}

fn narrow(bytes: u64) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| Failure::bug(format!("parameters of {bytes} bytes got through the checks")))
}

/// The version in the PTX's own words.
fn ptx_version(ptx: &str) -> String {
    ptx.lines().find_map(|line| line.strip_prefix(".version ")).unwrap_or_default().trim().to_owned()
}
