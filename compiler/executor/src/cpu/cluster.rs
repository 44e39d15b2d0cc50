//! Clusters: blocks that run at the same time, wait for each other and reach each other's shared memory (CUDA programming guide, "Thread Block Clusters").
//!
//! In one round every block of a cluster gets a round, or, where orders are drawn, one of them does. A block whose threads wait for the others
//! says so; when all do, they wait in vain. A grid without clusters is one of clusters of one block.

use super::block::{Resident, Round};
use super::machine::{Machine, Run};
use super::schedule::Schedule;
use crate::fault::{Fault, FaultKind};
use crate::program::Program;
use cdp_core::source::Span;

/// The blocks of a cluster, by rank. Those that have ended stay until all have: others may still reach for their memory.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    blocks: Vec<Resident>,
}

/// The blocks of a cluster but one.
#[derive(Debug)]
pub(super) struct Peers<'a> {
    before: &'a mut [Resident],
    after: &'a mut [Resident],
}

impl Peers<'_> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Resident> {
        self.before.iter().chain(self.after.iter())
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Resident> {
        self.before.iter_mut().chain(self.after.iter_mut())
    }

    /// The same, for a shorter time.
    pub(super) fn reborrow(&mut self) -> Peers<'_> {
        Peers { before: self.before, after: self.after }
    }
}

/// How many blocks clusters have, and how many clusters a grid.
pub(super) struct Shape {
    cluster: [u32; 3],
    clusters: [u64; 3],
}

impl Shape {
    pub(super) fn new(grid: [u32; 3], cluster: [u32; 3]) -> Self {
        let mut clusters = grid.map(u64::from);
        for (blocks, size) in clusters.iter_mut().zip(cluster) {
            *blocks /= u64::from(size.max(1));
        }
        Self { cluster, clusters }
    }

    pub(super) const fn count(&self) -> u64 {
        let [width, height, depth] = self.clusters;
        width * height * depth
    }

    /// The blocks of the cluster with this number, by rank: x fastest.
    fn blocks(&self, linear: u64) -> impl Iterator<Item = [u32; 3]> {
        let [width, height, _] = self.clusters;
        let first = [linear % width, linear / width % height, linear / (width * height)];
        let [x, y, z] = self.cluster;
        let corner = |axis: u64, size: u32| axis as u32 * size;
        let [first_x, first_y, first_z] = [corner(first[0], x), corner(first[1], y), corner(first[2], z)];
        (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [first_x + i, first_y + j, first_z + k])))
    }
}

impl Cluster {
    /// Starts a cluster of a grid.
    pub(super) fn start(machine: &mut Machine, program: &Program, run: &Run, shape: &Shape, linear: u64) -> Self {
        let mut blocks = Vec::new();
        for (rank, index) in (0u32..).zip(shape.blocks(linear)) {
            let mut block = machine.spare.pop().unwrap_or_default();
            block.start(machine, program, run, index, rank);
            blocks.push(block);
        }
        let places = blocks.first().map(Resident::place).zip(blocks.last().map(Resident::place)).unwrap_or_default();
        blocks.iter_mut().for_each(|block| block.set_cluster(places));
        if let Some(races) = machine.races.as_mut().filter(|_| blocks.len() > 1) {
            races.start_cluster(places);
        }
        Self { blocks }
    }

    /// A block with the others of its cluster.
    fn parted(&mut self, at: usize) -> Option<(&mut Resident, Peers<'_>)> {
        let (before, rest) = self.blocks.split_at_mut_checked(at)?;
        let (block, after) = rest.split_first_mut()?;
        Some((block, Peers { before, after }))
    }

    /// Gives every block a round of turns; where orders are drawn, one that can do something.
    pub(super) fn round(&mut self, machine: &mut Machine, program: &Program, run: &mut Run) -> Result<Round, Box<Fault>> {
        let mut live: Vec<usize> = (0..).zip(&self.blocks).filter(|(_, block)| !block.has_ended()).map(|(at, _)| at).collect();
        let drawn = matches!(machine.schedule, Schedule::Random { .. }) && live.len() > 1;
        if drawn {
            let first = machine.draw.below(live.len() as u64) as usize;
            live.rotate_left(first);
        }
        let mut result = Round::Waits;
        for at in live {
            let Some((block, peers)) = self.parted(at) else { continue };
            match block.round(machine, program, run, peers)? {
                Round::Waits => continue,
                Round::Spins if result != Round::GoesOn => result = Round::Spins,
                _ => result = Round::GoesOn,
            }
            if drawn || machine.error != 0 {
                break;
            }
        }
        if self.blocks.iter().all(Resident::has_ended) {
            return Ok(Round::Ended);
        }
        if result == Round::Waits {
            return Err(self.in_vain(machine, program, run));
        }
        Ok(result)
    }

    /// Every block waits for another: who does not come to the barrier.
    fn in_vain(&mut self, machine: &mut Machine, program: &Program, run: &mut Run) -> Box<Fault> {
        let mut found = None;
        for at in 0..self.blocks.len() {
            if let Some((block, peers)) = self.parted(at) {
                found = found.or_else(|| block.in_vain(machine, program, run, peers));
            }
        }
        found.unwrap_or_else(|| {
            Box::new(Fault::at(FaultKind::Unsupported("a cluster in which nobody goes on".to_owned()), Span::default()))
        })
    }

    /// A fault when every thread that could go on only comes back to where it was, and nobody changes memory.
    pub(super) fn spins(&mut self, machine: &mut Machine, program: &Program, run: &mut Run) -> Option<Box<Fault>> {
        let mut first = None;
        for at in 0..self.blocks.len() {
            let Some((block, peers)) = self.parted(at) else { continue };
            if block.has_ended() || block.waits_for_others() {
                continue;
            }
            let fault = block.spins(machine, program, run, peers)?;
            first.get_or_insert(fault);
        }
        first
    }

    /// The cluster has ended: the shared memory of its blocks is gone, which others must have done with before.
    pub(super) fn end(&self, machine: &mut Machine, run: &Run) {
        if let Some(races) = &mut machine.races {
            if self.blocks.len() > 1 {
                self.blocks.iter().for_each(|block| block.leave(races, run, &machine.graph));
            }
            races.end_cluster(self.blocks.first().map_or(0, Resident::place));
        }
        self.blocks.iter().for_each(|block| block.end(machine));
    }

    /// The blocks, to be used again.
    pub(super) fn into_blocks(self) -> Vec<Resident> {
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_in_one_cluster() {
        let shape = Shape::new([4, 4, 2], [2, 1, 2]);
        assert_eq!(shape.count(), 8);
        let mut blocks: Vec<[u32; 3]> =
            (0..shape.count()).flat_map(|cluster| shape.blocks(cluster).collect::<Vec<_>>()).collect();
        assert_eq!(blocks.get(..4).unwrap(), [[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]]);
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), 32);
    }
}
