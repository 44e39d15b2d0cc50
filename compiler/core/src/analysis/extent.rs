//! With how many threads a block kernels are launched, as far as the module says.

use crate::ir::{FunctionId, Module, Operand, StatementKind};

/// How many threads the blocks of a kernel have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// Nothing in the module launches the kernel.
    #[default]
    Unknown,
    /// Every launch in the module is with one thread a block.
    One,
    /// Some launch is, or may be, with more.
    Many,
}

/// What is known of the launches of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// How many threads its blocks have.
    pub threads: Threads,
    /// Some launch surely has more than one thread a block: its constants say so.
    pub surely_many: bool,
    /// Every launch in the module is with one block of at most this many threads along x, and one along y and z; none where that is not known.
    pub whole: Option<u64>,
}

/// By kernel, how it is launched. Another module, or a host, may launch a kernel too: these are facts for lints.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    list: Vec<Extent>,
}

fn product(sizes: &[Operand; 3]) -> Option<u64> {
    sizes.iter().try_fold(1u64, |product, size| product.checked_mul(size.as_bits()?))
}

impl Extents {
    /// Looks at every launch of a module, host code's too.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        let mut list = vec![Extent::default(); module.functions.len()];
        for statement in module.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.statements) {
            let StatementKind::Launch(launch) = &statement.kind else { continue };
            let Some(entry) = list.get_mut(launch.kernel.index()) else { continue };
            let threads = product(&launch.block);
            let whole = product(&launch.grid).filter(|blocks| *blocks == 1).and(threads);
            if entry.threads == Threads::Unknown {
                entry.whole = whole;
            } else {
                entry.whole = entry.whole.zip(whole).map(|(a, b)| a.max(b));
            }
            entry.surely_many |= threads.is_some_and(|threads| threads > 1);
            entry.threads = match (entry.threads, threads) {
                (Threads::Unknown | Threads::One, Some(1)) => Threads::One,
                _ => Threads::Many,
            };
        }
        Self { list }
    }

    /// What is known of a kernel.
    #[must_use]
    pub fn of(&self, kernel: FunctionId) -> Extent {
        self.list.get(kernel.index()).copied().unwrap_or_default()
    }

    /// How many threads a launch starts in all, where its configuration is constant.
    #[must_use]
    pub fn launched(launch: &crate::ir::Launch) -> Option<u64> {
        product(&launch.grid)?.checked_mul(product(&launch.block)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::testing::module;

    #[test]
    fn launches_are_counted_from_both_sides() {
        let module = module(
            "kernel a() {} kernel b() { a<<<1, 1>>>(); } kernel c() {}
             test \"t\" { b<<<1, 64>>>(); let n = 7; a<<<3, 1>>>(); b<<<1, 32>>>(); }",
        );
        let extents = Extents::new(&module);
        let of = |name| extents.of(module.kernel(name).unwrap());
        assert_eq!(of("a").threads, Threads::One);
        assert_eq!(of("b"), Extent { threads: Threads::Many, surely_many: true, whole: Some(64) });
        assert_eq!(of("c"), Extent::default());
        assert_eq!(of("a").whole, None, "three blocks are not one");
    }
}
