//! Who calls, launches and needs what.

use crate::builtins::{RuntimeFn, Side};
use crate::ir::{BlockId, Function, FunctionId, FunctionKind, Module, StatementKind};
use crate::source::Span;

/// A launch statement in device code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchStatement {
    /// The function that it stands in.
    pub function: FunctionId,
    /// Its block.
    pub block: BlockId,
    /// Its place in the block, from 0.
    pub statement: usize,
    /// The kernel that it starts.
    pub kernel: FunctionId,
    /// The launch expression.
    pub span: Span,
}

/// What one function does, and who can get to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Functions that it calls itself, by id, each once.
    pub callees: Vec<FunctionId>,
    /// Kernels that it launches itself, by id, each once.
    pub launches: Vec<FunctionId>,
    /// It is a kernel or exported, or such a function calls it, perhaps through others: it is compiled for the device.
    pub on_device: bool,
    /// It is a host function or test, or such a function calls it, perhaps through others.
    pub on_host: bool,
    /// It calls itself, perhaps through others.
    pub recursive: bool,
    /// It, or a function that it calls, launches or calls the device runtime.
    pub needs_device_runtime: bool,
}

/// What back ends want to know of a whole module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleInfo {
    /// By function.
    pub functions: Vec<FunctionInfo>,
    /// Every launch statement of device code, before launch lowering.
    pub launches_on_device: Vec<LaunchStatement>,
}

impl ModuleInfo {
    /// Looks at a module of which only the ids of callees need to be right.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        let mut functions: Vec<FunctionInfo> = module.functions.iter().map(own).collect();
        spread(&mut functions, |info| &mut info.on_device);
        spread(&mut functions, |info| &mut info.on_host);
        gather_runtime_need(&mut functions);
        mark_recursion(&mut functions);
        let mut info = Self { functions, launches_on_device: Vec::new() };
        info.launches_on_device = info.find_launches_on_device(module);
        info
    }

    /// What is known of a function; nothing for a foreign id.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> Option<&FunctionInfo> {
        self.functions.get(id.index())
    }

    /// Whether the function is compiled for the device.
    #[must_use]
    pub fn is_on_device(&self, id: FunctionId) -> bool {
        self.function(id).is_some_and(|info| info.on_device)
    }

    /// Whether host code can get to the function.
    #[must_use]
    pub fn is_on_host(&self, id: FunctionId) -> bool {
        self.function(id).is_some_and(|info| info.on_host)
    }

    /// Whether the module must be linked with the device runtime (R24): device code launches or calls it.
    #[must_use]
    pub fn needs_device_runtime(&self) -> bool {
        self.functions.iter().any(|info| info.on_device && info.needs_device_runtime)
    }

    /// Whether device code launches this kernel.
    #[must_use]
    pub fn is_launched_from_device(&self, kernel: FunctionId) -> bool {
        self.functions.iter().any(|info| info.on_device && info.launches.contains(&kernel))
    }

    fn find_launches_on_device(&self, module: &Module) -> Vec<LaunchStatement> {
        let mut sites = Vec::new();
        for (function, data) in module.functions().filter(|(id, _)| self.is_on_device(*id)) {
            for (index, block) in data.blocks.iter().enumerate() {
                let block_id = BlockId(u32::try_from(index).unwrap_or(u32::MAX));
                for (statement, data) in block.statements.iter().enumerate() {
                    if let StatementKind::Launch(launch) = &data.kind {
                        let site =
                            LaunchStatement { function, block: block_id, statement, kernel: launch.kernel, span: data.span };
                        sites.push(site);
                    }
                }
            }
        }
        sites
    }
}

/// Whether a runtime call in device code needs libcudadevrt: all but `malloc` and `free`, which are the driver's own,
/// and what is instructions.
const fn is_in_device_runtime(call: RuntimeFn) -> bool {
    !matches!(call.side(), Side::Host) && !call.is_inline() && !matches!(call, RuntimeFn::DeviceMalloc | RuntimeFn::DeviceFree)
}

fn own(function: &Function) -> FunctionInfo {
    let mut info = FunctionInfo {
        on_device: function.is_kernel() || (function.exported && matches!(function.kind, FunctionKind::Plain)),
        on_host: function.is_host(),
        ..FunctionInfo::default()
    };
    for statement in function.blocks.iter().flat_map(|block| &block.statements) {
        match &statement.kind {
            StatementKind::Call { function, .. } => info.callees.push(*function),
            StatementKind::Launch(launch) => {
                info.launches.push(launch.kernel);
                info.needs_device_runtime = true;
            }
            StatementKind::Runtime { call, .. } if is_in_device_runtime(*call) => info.needs_device_runtime = true,
            _ => {}
        }
    }
    for list in [&mut info.callees, &mut info.launches] {
        list.sort_unstable();
        list.dedup();
    }
    info
}

/// Gives a flag of callers to all that they call.
fn spread(functions: &mut [FunctionInfo], flag: impl Fn(&mut FunctionInfo) -> &mut bool) {
    let mut work: Vec<FunctionId> = Vec::new();
    for info in functions.iter_mut() {
        if *flag(info) {
            work.extend(&info.callees);
        }
    }
    while let Some(id) = work.pop() {
        if let Some(info) = functions.get_mut(id.index())
            && !*flag(info)
        {
            *flag(info) = true;
            work.extend(&info.callees);
        }
    }
}

/// A caller needs what its callees need.
fn gather_runtime_need(functions: &mut [FunctionInfo]) {
    let callers = callers(functions);
    let needing = functions.iter().enumerate().filter(|(_, info)| info.needs_device_runtime).map(|(index, _)| index);
    let mut work: Vec<usize> = needing.collect();
    while let Some(index) = work.pop() {
        for caller in callers.get(index).into_iter().flatten() {
            if let Some(info) = functions.get_mut(*caller)
                && !info.needs_device_runtime
            {
                info.needs_device_runtime = true;
                work.push(*caller);
            }
        }
    }
}

fn callers(functions: &[FunctionInfo]) -> Vec<Vec<usize>> {
    let mut callers = vec![Vec::new(); functions.len()];
    for (caller, info) in functions.iter().enumerate() {
        for callee in &info.callees {
            if let Some(list) = callers.get_mut(callee.index()) {
                list.push(caller);
            }
        }
    }
    callers
}

/// A function is recursive when it is on a cycle of the call graph. Functions that only lead to functions without callees are none;
/// from each of the others, few as a rule, a search tells.
fn mark_recursion(functions: &mut [FunctionInfo]) {
    let callers = callers(functions);
    let mut open: Vec<usize> = functions.iter().map(|info| info.callees.len()).collect();
    let mut ended: Vec<bool> = open.iter().map(|count| *count == 0).collect();
    let mut work: Vec<usize> = ended.iter().enumerate().filter(|(_, ended)| **ended).map(|(index, _)| index).collect();
    while let Some(index) = work.pop() {
        for caller in callers.get(index).into_iter().flatten() {
            if let (Some(count), Some(flag)) = (open.get_mut(*caller), ended.get_mut(*caller)) {
                *count = count.saturating_sub(1);
                if *count == 0 && !*flag {
                    *flag = true;
                    work.push(*caller);
                }
            }
        }
    }
    let recursive: Vec<bool> = ended.iter().enumerate().map(|(start, ended)| !ended && returns_to(functions, start)).collect();
    for (info, recursive) in functions.iter_mut().zip(recursive) {
        info.recursive = recursive;
    }
}

/// Whether calls lead from a function back to it.
fn returns_to(functions: &[FunctionInfo], start: usize) -> bool {
    let mut seen = vec![false; functions.len()];
    let mut work = vec![start];
    while let Some(index) = work.pop() {
        for callee in functions.get(index).into_iter().flat_map(|info| &info.callees) {
            if callee.index() == start {
                return true;
            }
            if let Some(flag) = seen.get_mut(callee.index())
                && !*flag
            {
                *flag = true;
                work.push(callee.index());
            }
        }
    }
    false
}
