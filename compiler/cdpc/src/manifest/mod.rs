//! What a host program must know of a module: made from the IR, the lowered launches and what the back end emitted.
//!
//! - this file: kernels, launch sites, variables, limits
//! - [`types`]: structures and enumerations
//! - [`docs`]: documentation comments

mod docs;
mod types;

use std::collections::HashSet;

use cdp_backend::Output;
use cdp_core::ir::{Function, FunctionId, Global, Module, Operand, PlaceBase, StatementKind};
use cdp_core::pass::{LaunchSite, SiteAbi};
use cdp_core::types::layout::{ParamsLayout, PointerWidth};
use cdp_core::types::{Space, Type};
use cdp_core::verify::ModuleInfo;
use cdp_runtime::manifest::{self, Manifest, Store};
use cdp_runtime::{Arch, Limits};

use crate::driver::{Front, Lowered};
use crate::failure::{Failure, Result};
use docs::Docs;

/// Bytes of stack a thread for programs that recurse; CUDA's default is 1024, which a few calls use up.
const RECURSION_STACK: usize = 8192;

/// The manifest of a compiled module.
///
/// # Errors
/// When a size does not fit 32 bits, which the checks before should have refused.
pub fn of(front: &Front, lowered: &Lowered, output: &Output, arch: Arch) -> Result<Manifest> {
    // with the kernels that lowering added
    let module = &lowered.module;
    let info = ModuleInfo::new(module);
    let docs = Docs::of(&front.trees);
    let used = &lowered.used;
    let emitted = |function: &Function| output.kernels.contains(&function.symbol) || used.kernels.contains(&function.symbol);
    let kernels: Vec<(FunctionId, &Function)> = module.functions().filter(|(_, function)| emitted(function)).collect();
    let is_visible = |global: &&Global| match global.external {
        true => used.globals.contains(&global.symbol),
        false => global.exported && global.space != Space::Shared,
    };
    let globals: Vec<&Global> = module.globals.iter().filter(is_visible).collect();
    let mut types = types::Found::new(&module.types, &docs);
    types.add(kernels.iter().flat_map(|(_, kernel)| kernel.param_types()));
    types.add(globals.iter().map(|global| global.ty));
    let types::Found { structs, vectors, enums, .. } = types;
    Ok(Manifest {
        ptx_version: ptx_version(&output.ptx),
        arch: arch.to_string(),
        source: front.sources.name(front.file).to_owned(),
        needs_device_runtime: output.needs_device_runtime,
        kernels: kernels.iter().map(|(id, function)| kernel(module, &info, &docs, *id, function)).collect::<Result<_>>()?,
        launch_sites: lowered.launches.iter().map(|site| launch_site(front, module, site)).collect::<Result<_>>()?,
        globals: globals
            .iter()
            .map(|global| manifest::Global {
                name: global.name.clone(),
                symbol: global.symbol.clone(),
                size: module.types.layout(global.ty, PointerWidth::W64).size,
                ty: module.types.display(global.ty),
                constant: global.space == Space::Constant,
                doc: docs.item(&global.name),
                external: global.external,
            })
            .collect(),
        structs,
        vectors,
        enums,
        limits: Limits { stack: recurses(&info).then_some(RECURSION_STACK), ..Limits::default() },
    })
}

/// Whether device code calls itself, perhaps through other functions: then the assembler cannot tell how much stack it needs.
fn recurses(info: &ModuleInfo) -> bool {
    info.functions.iter().any(|function| function.on_device && function.recursive)
}

/// Whether a kernel, or a function that it calls, names dynamic shared memory.
fn uses_dynamic_shared(module: &Module, info: &ModuleInfo, kernel: FunctionId) -> bool {
    let is_dynamic = |base: &PlaceBase| {
        let PlaceBase::Global(id) = base else { return false };
        module.global(*id).is_some_and(|global| matches!(module.types.get(global.ty), Type::Unsized { .. }))
    };
    let mut seen = HashSet::from([kernel]);
    let mut waiting = vec![kernel];
    let mut found = false;
    while let Some(id) = waiting.pop() {
        let statements = module.function(id).into_iter().flat_map(|function| &function.blocks).flat_map(|b| &b.statements);
        statements.for_each(|statement| statement.kind.each_place(&mut |place| found |= is_dynamic(&place.base)));
        let callees = info.function(id).map(|function| function.callees.as_slice()).unwrap_or_default();
        waiting.extend(callees.iter().copied().filter(|callee| seen.insert(*callee)));
    }
    found
}

/// The symbols of what is declared here, defined elsewhere and used by code that runs, on the device or on the host.
#[derive(Debug, Default)]
pub struct Used {
    kernels: HashSet<String>,
    globals: HashSet<String>,
}

impl Used {
    /// Of a module that still has its host code.
    pub fn of(module: &Module) -> Self {
        let info = ModuleInfo::new(module);
        let mut used = Self::default();
        let mut kernel = |id: FunctionId| {
            used.kernels.extend(module.function(id).filter(|f| f.is_kernel() && f.blocks.is_empty()).map(|f| f.symbol.clone()));
        };
        for (_, function) in module.functions().filter(|(id, _)| info.is_on_device(*id) || info.is_on_host(*id)) {
            for statement in function.blocks.iter().flat_map(|block| &block.statements) {
                if let StatementKind::Launch(launch) = &statement.kind {
                    kernel(launch.kernel);
                }
                statement.kind.each_operand(&mut |operand| {
                    if let Operand::Function(id) = operand {
                        kernel(*id);
                    }
                });
                statement.kind.each_place(&mut |place| {
                    let PlaceBase::Global(id) = place.base else { return };
                    used.globals
                        .extend(module.globals.get(id.index()).filter(|global| global.external).map(|g| g.symbol.clone()));
                });
            }
        }
        used
    }
}

fn kernel(module: &Module, info: &ModuleInfo, docs: &Docs, id: FunctionId, function: &Function) -> Result<manifest::Kernel> {
    let layout = module.types.params_layout(function.param_types(), PointerWidth::W64);
    let params = function.locals.iter().zip(&layout.params).map(|(local, param)| {
        Ok(manifest::Param {
            name: local.name.clone(),
            ty: module.types.display(local.ty),
            offset: narrow(param.offset)?,
            size: narrow(param.size)?,
            align: param.align,
            doc: docs.part(&function.name, &local.name),
        })
    });
    let (max_threads, min_blocks) = function.launch_bounds.unzip();
    Ok(manifest::Kernel {
        name: function.name.clone(),
        symbol: function.symbol.clone(),
        params: params.collect::<Result<_>>()?,
        max_threads,
        min_blocks: min_blocks.filter(|blocks| *blocks > 0),
        cluster: function.cluster,
        dynamic_shared: uses_dynamic_shared(module, info, id),
        doc: docs.item(&function.name),
        external: function.blocks.is_empty(),
    })
}

fn launch_site(front: &Front, module: &Module, site: &LaunchSite) -> Result<manifest::LaunchSite> {
    let name = |id: FunctionId| module.functions.get(id.index());
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
