//! Launch lowering: from one launch statement to calls of the device runtime (CUDA programming guide 4.18.6; cdp2 rules R26 to R34).
//!
//! - this file: options, sites, and the walk over device code
//! - `emit`: the calls: buffer, null check, one store for each parameter at its offset, launch
//! - `stream`: which launches may take interface V1
//! - `size`: kernels whose parameters do not fit
//!
//! A buffer may be null: the runtime has no room, or (V2) it refuses the configuration. Then nothing is stored and nothing launched.
//! V2's buffer call has set the thread's last error by then (measured, R29), so the launch's result is `cudaPeekAtLastError()`, and
//! `cudaGetLastError()` tells the same later. Should it say success, as might be after V1's buffer call, of which no document says
//! that it sets the last error, the result is `cudaErrorLaunchPendingCountExceeded` (69), what the card gives when launches run out
//! (R20); a program that looks at `cudaGetLastError()` only would then see nothing, which is why the result is what to look at.

mod emit;
mod size;
pub(super) mod stream;
#[cfg(test)]
mod tests;

pub(super) use emit::NO_ROOM;

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{BlockId, Function, FunctionId, Module, StatementKind};
use crate::source::Span;
use crate::types::layout::{ParamsLayout, PointerWidth};
use crate::verify::ModuleInfo;
use stream::StreamKind;

/// Which launch interface to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaunchAbi {
    /// V1 where the stream can be no special one, else V2.
    #[default]
    Auto,
    /// V1; launches that it cannot serve are errors (E0413).
    V1,
    /// V2.
    V2,
}

/// What the user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchOptions {
    /// `--launch-abi`
    pub abi: LaunchAbi,
    /// Of the PTX module.
    pub width: PointerWidth,
    /// The most bytes of parameters of a kernel that device code launches, at most [`MOST_PARAM_BYTES`] (R34).
    pub max_param_bytes: u64,
}

/// The most bytes of parameters that any kernel can have (PTX ISA 8.1 and up).
pub const MOST_PARAM_BYTES: u64 = 32_764;

impl Default for LaunchOptions {
    fn default() -> Self {
        Self { abi: LaunchAbi::Auto, width: PointerWidth::W64, max_param_bytes: 4096 }
    }
}

/// The interface that a launch was lowered to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteAbi {
    /// `cudaGetParameterBuffer`, `cudaLaunchDevice`
    V1,
    /// `cudaGetParameterBufferV2`, `cudaLaunchDeviceV2`
    V2,
}

/// One lowered launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSite {
    /// The function that launches.
    pub function: FunctionId,
    /// The launch expression.
    pub span: Span,
    /// What is launched.
    pub kernel: FunctionId,
    /// How.
    pub abi: SiteAbi,
    /// Where the stores go.
    pub params: ParamsLayout,
}

/// Lowers every launch of device code; those of host code stay statements, as do those of functions that nothing on the device calls.
/// A function that is called from both sides is lowered too: host code is run from the module as it was before.
///
/// Run `simplify` before, so that dead launches are gone. Reports kernels whose parameters do not fit (E0302), and launches
/// that V1 was asked for and cannot serve (E0413); those are lowered by V2, so that the module is well-formed all the same. The sites
/// are in the order of the functions and of the source within each.
#[must_use]
pub fn lower_launches(module: &mut Module, options: &LaunchOptions) -> (Vec<LaunchSite>, Diagnostics) {
    crate::pass::runtime::lower(module, &ModuleInfo::new(module));
    let info = ModuleInfo::new(module);
    let mut diagnostics = size::check(module, &info, options);
    let layouts: Vec<Option<ParamsLayout>> = module
        .functions
        .iter()
        .map(|function| function.is_kernel().then(|| module.types.params_layout(function.param_types(), options.width)))
        .collect();
    let mut sites = Vec::new();
    // functions are taken out one by one, because their types are looked up in the module
    let mut functions = std::mem::take(&mut module.functions);
    for (index, function) in functions.iter_mut().enumerate() {
        let id = FunctionId(u32::try_from(index).unwrap_or(u32::MAX));
        if info.is_on_device(id) {
            let mut found = lower_function(module, id, function, &layouts, options, &mut diagnostics);
            found.sort_by_key(|site| site.span);
            sites.append(&mut found);
        }
    }
    module.functions = functions;
    (sites, diagnostics)
}

fn lower_function(
    module: &mut Module,
    id: FunctionId,
    function: &mut Function,
    layouts: &[Option<ParamsLayout>],
    options: &LaunchOptions,
    diagnostics: &mut Diagnostics,
) -> Vec<LaunchSite> {
    let mut sites = Vec::new();
    let streams = stream::Streams::new(function);
    let mut kinds = Vec::new();
    // what streams can be is looked up before anything changes
    for block in &function.blocks {
        for statement in &block.statements {
            if let StatementKind::Launch(launch) = &statement.kind {
                kinds.push(streams.kind(&launch.stream));
            }
        }
    }
    let mut kinds = kinds.into_iter();
    for block in 0..function.blocks.len() {
        // each round lowers one launch and goes on in the block that the rest of the statements moved to
        let mut at = BlockId(u32::try_from(block).unwrap_or(u32::MAX));
        while let Some((position, launch, span)) = emit::find(function, at) {
            let kind = kinds.next().unwrap_or(StreamKind::Unknown);
            let params = layouts.get(launch.kernel.index()).cloned().flatten().unwrap_or_default();
            let abi = choose(options.abi, kind, span, diagnostics);
            at = emit::lower(module, function, at, position, &launch, &params, abi, options.width);
            sites.push(LaunchSite { function: id, span, kernel: launch.kernel, abi, params });
        }
    }
    sites
}

/// The interface for a launch; an error where V1 was asked for and would lose the buffer (R28).
fn choose(wanted: LaunchAbi, kind: StreamKind, span: Span, diagnostics: &mut Diagnostics) -> SiteAbi {
    let why = match (wanted, kind) {
        (LaunchAbi::V2, _) => return SiteAbi::V2,
        (_, StreamKind::Ordinary) => return SiteAbi::V1,
        (LaunchAbi::Auto, _) => return SiteAbi::V2,
        (LaunchAbi::V1, StreamKind::Special) => "goes into the tail or the fire-and-forget stream",
        (LaunchAbi::V1, StreamKind::Unknown) => "goes into a stream that may be the tail or the fire-and-forget stream",
    };
    let diagnostic = Diagnostic::new(Code::E0413, span, "launch interface V1 cannot serve this stream")
        .label(why)
        .help("compile with `--launch-abi auto`, which takes V1 only where it works")
        .note("V1 into a special stream returns an error and loses the parameter buffer for good (guide 4.18.6)");
    diagnostics.push(diagnostic);
    SiteAbi::V2
}
