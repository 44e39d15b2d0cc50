//! The loop over a grid's threads, and the choice where it is launched.

use super::block::{Kept, has_one_entry};
use super::same::Same;
use super::variant::{Grids, Variants};
use super::warp::{NONE, Warps};
use super::{Extent, FEW, InPlaceSite, Runner};
use crate::ir::{
    BinaryOp, BlockId, CastKind, Const, Function, FunctionBuilder, FunctionId, FunctionKind, Launch, LocalId, Module, Operand,
    Rvalue, StatementKind, TerminatorKind,
};
use crate::pass::merge::facts::{MOST_THREADS_Z, most_threads};
use crate::pass::runtime::code::Code;
use crate::pass::runtime::site::{Site, replace_first};
use crate::source::Span;
use crate::types::{TypeId, TypeTable};
use std::collections::{BTreeSet, HashMap, HashSet};

const U32: TypeId = TypeTable::U32;
const U64: TypeId = TypeTable::U64;

/// A function that runs all threads of a grid of this kernel, one after the other.
pub(super) fn grid(module: &Module, kernel: FunctionId, variant: FunctionId, word: &str) -> Option<Function> {
    let kernel = module.function(kernel)?;
    let span = kernel.span;
    let name = format!("cdpc${word}_grid${}", kernel.name);
    let symbol = format!("cdpc${word}_grid${}", kernel.symbol);
    let mut builder = FunctionBuilder::new(name, symbol, FunctionKind::Plain, TypeTable::VOID, span);
    let params = kernel.locals.iter().take(kernel.param_count as usize);
    let mut args: Vec<Operand> = params.map(|p| builder.param(&p.name, p.ty, false, span).into()).collect();
    let extents = [(); 6].map(|()| Operand::from(builder.param("", U32, false, span)));
    let mut code = Code { builder: &mut builder, span };
    // the innermost counter is the thread's x
    let mut counters: Vec<(LocalId, Operand)> = Vec::new();
    let mut ends = Vec::new();
    let [gx, gy, gz, bx, by, bz] = &extents;
    for extent in [gz, gy, gx, bz, by, bx] {
        let counter = code.builder.temporary(U32, span);
        code.set(counter, Const::u32(0).into());
        let [header, body, end] = [(); 3].map(|()| code.block());
        code.goto(header);
        code.go_on_in(header);
        let more = code.compare(BinaryOp::Lt, &counter.into(), extent);
        code.branch(more, body, end);
        code.go_on_in(body);
        counters.push((counter, extent.clone()));
        ends.push((header, end));
    }
    // blockIdx, gridDim, threadIdx, blockDim, each in x, y, z
    let (blocks, threads) = counters.split_at(3);
    for part in [blocks, threads] {
        args.extend(part.iter().rev().map(|(counter, _)| Operand::from(*counter)));
        args.extend(part.iter().rev().map(|(_, extent)| extent.clone()));
    }
    code.builder.push(StatementKind::Call { dst: None, function: variant, args }, span);
    for ((counter, _), (header, end)) in counters.iter().zip(ends).rev() {
        let next = code.binary(U32, BinaryOp::Add, &Operand::from(*counter), &Const::u32(1).into());
        code.set(*counter, next);
        code.goto(header);
        code.go_on_in(end);
    }
    code.give(None);
    Some(builder.finish())
}

/// More rounds than these of threads that wait for one load take a block longer than until another grid would have started.
const BLOCK_ROUNDS: u32 = 96;

/// Rewrites launches.
pub(super) struct Rewrite<'a> {
    pub sites: &'a [InPlaceSite],
    pub variants: Variants,
    pub grids: Grids,
    pub warps: Option<Warps>,
    /// Kernels whose blocks may run what is too much for their warps.
    pub by_block: BTreeSet<FunctionId>,
    /// Of launches of which more than few rounds' are run in place: which.
    pub ways: HashMap<(FunctionId, Span), Extent>,
}

impl Rewrite<'_> {
    pub(super) fn all(&mut self, module: &mut Module) {
        let mut functions: Vec<FunctionId> = self.sites.iter().map(|site| site.function).collect();
        functions.sort_unstable();
        functions.dedup();
        for id in functions {
            taken_out(module, id, |module, function| self.function(module, id, function));
        }
    }

    fn function(&mut self, module: &mut Module, id: FunctionId, function: &mut Function) {
        let same = Same::new(function);
        let by_block = self.by_block.contains(&id) && has_one_entry(function);
        let mut kept: Option<Kept> = None;
        // a launch that is not run in place stands in a block of its own
        let mut done = HashSet::new();
        let mut block = 0;
        while block < function.blocks.len() {
            let here = function.blocks.get(block).filter(|_| !done.contains(&block)).and_then(|data| {
                data.statements.iter().find_map(|statement| match &statement.kind {
                    StatementKind::Launch(launch) => {
                        let here = |site: &&InPlaceSite| {
                            site.function == id && site.kernel == launch.kernel && site.span == statement.span
                        };
                        Some(((**launch).clone(), self.sites.iter().find(here)?))
                    }
                    _ => None,
                })
            });
            if let Some((launch, found)) = here {
                let wanted = |kind: &StatementKind| matches!(kind, StatementKind::Launch(found) if **found == launch);
                replace_first(module, function, block, wanted, |site, _, end| {
                    done.insert(self.choose(site, found, &launch, (&same, by_block), &mut kept, end));
                });
            }
            block += 1;
        }
        if let (Some(kept), Some(warps)) = (kept, &self.warps)
            && let Some(variant) = self.variants.get(&kept.kernel())
        {
            kept.finish(module, function, warps, *variant);
        }
    }

    /// Runs the child, or launches it; goes on in `end` with the result. Gives the block of the launch.
    fn choose(
        &mut self,
        site: &mut Site<'_>,
        found: &InPlaceSite,
        launch: &Launch,
        (same, by_block): (&Same, bool),
        kept: &mut Option<Kept>,
        end: BlockId,
    ) -> usize {
        let [direct, run] = [(); 2].map(|()| site.block());
        let below = found.below.as_ref().copied().unwrap_or_default();
        let (fits, total) = fits(site, launch, below);
        let values = launch.args.iter().chain(&launch.grid).chain(&launch.block).cloned();
        let by_warp = match (found.by, &mut self.warps) {
            (Runner::Warp { light }, Some(warps)) => warps
                .function(site.module, same, (launch, site.span), &self.variants)
                .map(|function| (function, warps.rounds(light.is_some()), light)),
            _ => None,
        };
        let grid = self.grids.get(&launch.kernel);
        if let Some((function, rounds, light)) = by_warp {
            let threads = site.assign(U32, Rvalue::Cast(CastKind::Int, total));
            let threads = site.assign(U32, Rvalue::Select(fits, threads, Const::u32(NONE).into()));
            let always = light.is_some() && !found.asked && always_few(site.module, launch, below);
            let unlimited = found.asked || always;
            let rounds = if unlimited { Const::u32(u32::MAX).into() } else { site.call(U32, rounds, Vec::new()) };
            let args = values.chain([threads, rounds]).collect();
            let left = site.call(U32, function, args);
            let ran = site.compare(BinaryOp::Eq, &left, &Const::u32(0).into());
            if always {
                site.terminate(TerminatorKind::Goto(run));
                self.ways.insert((found.function, found.span), Extent::All);
            } else if let Some(depth) = light.filter(|_| by_block && !found.asked)
                && kept.as_ref().is_none_or(|kept| kept.takes(launch))
            {
                let kept = kept.get_or_insert_with(|| Kept::new(site, launch, same, BLOCK_ROUNDS / depth.max(1)));
                let rest = site.block();
                site.terminate(TerminatorKind::Branch { condition: ran, then: run, otherwise: rest });
                site.current = rest;
                kept.keep(site, launch, left, run, direct);
                self.ways.insert((found.function, found.span), Extent::Block);
            } else {
                site.terminate(TerminatorKind::Branch { condition: ran, then: run, otherwise: direct });
            }
            site.current = run;
        } else if let Some(grid) = grid {
            site.terminate(TerminatorKind::Branch { condition: fits, then: run, otherwise: direct });
            site.current = run;
            site.push(StatementKind::Call { dst: None, function: *grid, args: values.collect() });
        } else {
            site.terminate(TerminatorKind::Goto(direct));
            site.current = run;
        }
        if let Some(dst) = launch.dst {
            let success = Const::bits(TypeTable::CUDA_ERROR, 0).into();
            site.push(StatementKind::Assign { dst, value: Rvalue::Use(success) });
        }
        site.terminate(TerminatorKind::Goto(end));
        site.current = direct;
        if self.ways.get(&(found.function, found.span)) != Some(&Extent::All) {
            site.push(StatementKind::Launch(Box::new(launch.clone())));
        }
        site.terminate(TerminatorKind::Goto(end));
        direct.index()
    }
}

/// Whether a grid has a size that is known, and so small that it is always run in place, unless it is refused.
fn always_few(module: &Module, launch: &Launch, below: u32) -> bool {
    let product = |extents: &[Operand; 3]| {
        extents.iter().map(Operand::as_bits).try_fold(1u64, |product, extent| product.checked_mul(extent?))
    };
    let (Some(blocks), Some(threads)) = (product(&launch.grid), product(&launch.block)) else { return false };
    let most = u64::from(most_threads(module, launch.kernel));
    let [_, _, z] = launch.block.each_ref().map(Operand::as_bits);
    (1..=most).contains(&threads)
        && z <= Some(u64::from(MOST_THREADS_Z))
        && blocks.checked_mul(threads).is_some_and(|all| (1..u64::from(FEW.min(below))).contains(&all))
}

/// Whether the configuration is one that is not refused (R19), of fewer than `below` threads. No product overflows where all extents are
/// less than that, which is at most 2^16; where one is not, the products do not count. And how many there are (`u64`).
fn fits(site: &mut Site<'_>, launch: &Launch, below: u32) -> (Operand, Operand) {
    let most = most_threads(site.module, launch.kernel);
    let mut all = Operand::from(Const::bool(true));
    let mut product = |site: &mut Site<'_>, extents: &[Operand; 3]| {
        let mut product = Operand::from(Const::u64(1));
        for extent in extents {
            if extent.as_bits() == Some(1) {
                continue;
            }
            // also none at all is too many here
            let before = site.binary(U32, BinaryOp::Sub, extent, &Const::u32(1).into());
            require(site, &mut all, &before, &Const::u32(below.saturating_sub(1)).into());
            let wide = site.assign(U64, Rvalue::Cast(CastKind::Int, extent.clone()));
            product = site.binary(U64, BinaryOp::Mul, &product, &wide);
        }
        product
    };
    let blocks = product(site, &launch.grid);
    let threads = product(site, &launch.block);
    require(site, &mut all, &blocks, &Const::u64(u64::from(below)).into());
    require(site, &mut all, &threads, &Const::u64(u64::from(most) + 1).into());
    let [_, _, z] = &launch.block;
    if z.as_bits() != Some(1) {
        require(site, &mut all, z, &Const::u32(MOST_THREADS_Z + 1).into());
    }
    let total = site.binary(U64, BinaryOp::Mul, &blocks, &threads);
    require(site, &mut all, &total, &Const::u64(u64::from(below)).into());
    (all, total)
}

/// And `value` is less than `limit`.
fn require(site: &mut Site<'_>, all: &mut Operand, value: &Operand, limit: &Operand) {
    let less = site.compare(BinaryOp::Lt, value, limit);
    *all = site.binary(TypeTable::BOOL, BinaryOp::And, all, &less);
}

/// Changes a function while types are looked up in the module, which keeps the function's signature meanwhile.
fn taken_out(module: &mut Module, id: FunctionId, change: impl FnOnce(&mut Module, &mut Function)) {
    let Some(slot) = module.functions.get_mut(id.index()) else { return };
    let (locals, blocks) = (std::mem::take(&mut slot.locals), std::mem::take(&mut slot.blocks));
    let mut function = Function { locals, blocks, ..slot.clone() };
    change(module, &mut function);
    if let Some(slot) = module.functions.get_mut(id.index()) {
        *slot = function;
    }
}
