//! How many registers functions may take that are called where they are defined.

/// Registers with which every GPU that is supported can have as many threads at work as it has room for.
const FULL_OCCUPANCY: u32 = 32;
/// What the names of the functions start with that launch merging adds, and those that are the program's own, made anew for merged grids.
const MERGING: &str = "cdpc_merge_";
const VARIANTS: [&str; 3] = ["cdpc_merge_blocks_", "cdpc_merge_threads_", "cdpc_merge_kept_"];

/// A limit for the functions of a PTX module. Kernels get as many registers as the largest function that they call, which for what launch
/// merging adds would cost every kernel that might launch half of its threads: the assembler gives such functions all that it finds. They are
/// given no more than costs nothing. None where there are other functions, which may need more.
#[must_use]
pub fn function_registers(ptx: &str) -> Option<u32> {
    let mut names = ptx.lines().filter_map(defined).peekable();
    names.peek()?;
    let is_added = |name: &str| name.starts_with(MERGING) && !VARIANTS.iter().any(|start| name.starts_with(start));
    names.all(is_added).then_some(FULL_OCCUPANCY)
}

/// The function that a line starts to declare or define; none for one that is defined elsewhere.
fn defined(line: &str) -> Option<&str> {
    let (before, after) = line.split_once(".func")?;
    if before.split_whitespace().any(|word| !matches!(word, ".visible" | ".weak")) {
        return None;
    }
    let after = after.trim_start();
    let name = match after.strip_prefix('(') {
        Some(result) => result.split_once(')')?.1,
        None => after,
    };
    name.trim_start().split(['(', ' ']).next()
}

#[cfg(test)]
mod tests {
    use super::function_registers;

    #[test]
    fn only_what_merging_adds_is_limited() {
        let own = ".func  (.param .b32 func_retval0) cdpc_merge_child_drain$f\n(\n)\n;\n.func cdpc_merge_child_start$f(\n";
        let external = ".extern .func  (.param .b32 func_retval0) __cudaCDP2GetLastError\n";
        assert_eq!(function_registers(&format!("{own}{external}.visible .entry cdpc$merge$x(\n")), Some(32));
        assert_eq!(function_registers(&format!("{own}.func helper$f(\n")), None);
        assert_eq!(function_registers(&format!("{own}.visible .func  (.param .b32 func_retval0) helper(\n")), None);
        assert_eq!(function_registers(&format!("{own}.func cdpc_merge_threads_helper$f(\n")), None);
        assert_eq!(function_registers(&format!("{own}.func cdpc_merge_kept_helper$f(\n")), None);
        assert_eq!(function_registers(external), None);
    }
}
