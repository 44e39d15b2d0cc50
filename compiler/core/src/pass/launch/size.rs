//! Kernels whose parameters do not fit (R34).

use super::{LaunchOptions, MOST_PARAM_BYTES};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::Module;
use crate::verify::ModuleInfo;

pub(super) fn check(module: &Module, info: &ModuleInfo, options: &LaunchOptions) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let from_device = options.max_param_bytes.min(MOST_PARAM_BYTES);
    for (id, kernel) in module.functions().filter(|(_, function)| function.is_kernel()) {
        let size = module.types.params_layout(kernel.param_types(), options.width).size;
        let launched = info.launches_on_device.iter().find(|launch| launch.kernel == id);
        let most = if launched.is_some() { from_device } else { MOST_PARAM_BYTES };
        if size <= most {
            continue;
        }
        let message = format!("the parameters of kernel `{}` take {size} bytes, but only {most} can be passed", kernel.name);
        let mut diagnostic = Diagnostic::new(Code::E0302, kernel.span, message)
            .label(format!("takes {size} bytes of parameters"))
            .help("put the data into global memory and pass a pointer to it");
        if let Some(launch) = launched {
            diagnostic = diagnostic.also(launch.span, "launched from device code here");
            if size <= MOST_PARAM_BYTES {
                diagnostic = diagnostic
                    .help(format!("or raise the limit with `--max-param-bytes {size}`, if all your GPUs can do with it"))
                    .note("the guide promises 4 KB for launches from the device (4.18.6.2); an H200 takes up to 32,760 bytes");
            }
        }
        diagnostics.push(diagnostic);
    }
    diagnostics
}
