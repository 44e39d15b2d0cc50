//! What a grid launches: children in streams, behind events, for each block, copies, and tails; by one thread or by two.

use super::{Grid, MODULUS, Maker, View};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Streams whose launches are in order: two named ones, and the block's NULL stream.
const LANES: [&str; 3] = ["s[0]", "s[1]", "cudaStreamDefault"];
const FORGET: &str = "cudaStreamFireAndForget";

/// The launches of a grid while they are made.
struct Launches {
    /// Each with the phase it belongs to.
    parts: Vec<(usize, String)>,
    /// Of each lane: what comes before its next launch.
    before: [Vec<usize>; 3],
    launched: Vec<usize>,
    events: usize,
}

impl Maker {
    pub(super) fn children(&mut self, grid: &mut Grid, known: &[usize], depth: usize) -> String {
        let me = self.first_block(grid);
        let mut inherited = known.to_vec();
        inherited.push(me);
        let mut made = Launches { parts: Vec::new(), before: Default::default(), launched: Vec::new(), events: 0 };
        let barrier = self.edge();
        let fan =
            if self.draw.chance(if grid.blocks > 1 { 60 } else { 10 }) { self.fan(grid, &mut made) } else { String::new() };
        let count = 1 + self.draw.below(4);
        // from this launch on, another thread launches
        let cut = if count > 1 && self.draw.chance(40) { 1 + self.draw.below(count - 1) } else { count };
        let mut second = String::new();
        for place in 0..count {
            // the first child reads its parent, so that the barrier before the launch is an edge
            let mut must = if place == 0 { vec![me] } else { Vec::new() };
            if place == cut {
                // so does the first one of the second thread with what the first thread has written
                let (text, view) = self.hand_over();
                second = text;
                inherited.push(view);
                must.push(view);
                grid.subtree.push(view);
            }
            self.child(usize::from(place >= cut), must, &inherited, depth, &mut made);
        }
        let done = self.tails(grid, &inherited, depth, &mut made);
        grid.subtree.extend(done);
        self.text(grid, barrier, &fan, &second, &made)
    }

    /// The slots of the block that launches: the others are not ordered with it.
    fn first_block(&mut self, grid: &Grid) -> usize {
        if grid.blocks == 1 {
            return grid.view;
        }
        let View { first, values } = &self.views[grid.view];
        let values = values.iter().take(grid.threads).copied().collect();
        self.views.push(View { first: *first, values });
        self.views.len() - 1
    }

    /// A slot that the first launching thread writes when it has done, and the barrier behind which the second one goes on.
    fn hand_over(&mut self) -> (String, usize) {
        self.features.insert("two launching threads");
        let value = self.draw.below(MODULUS as usize) as u32;
        let view = self.view(vec![value]);
        let slot = self.views[view].first;
        let barrier = if self.edge() { "    __syncthreads();\n" } else { "" };
        (format!("    d[{slot}] = {};\n    }}\n{barrier}", self.literal(value)), view)
    }

    /// One child for each block, of what that block has written.
    fn fan(&mut self, grid: &Grid, made: &mut Launches) -> String {
        self.features.insert("launches of every block");
        let number = self.grids;
        self.grids += 1;
        let Grid { blocks, threads, view, .. } = *grid;
        let constant = self.draw.below(MODULUS as usize) as u32;
        let parent = &self.views[view];
        let from = parent.first;
        let value = |i: usize| {
            let (block, t) = (i / threads, i % threads);
            (constant + t as u32 % MODULUS + parent.values[block * threads + (t + 1) % threads]) % MODULUS
        };
        let values = (0..blocks * threads).map(value).collect();
        let mine = self.view(values);
        let first = self.views[mine].first;
        let (ty, modulus, constant) = (self.ty, self.literal(MODULUS), self.literal(constant));
        let _ = write!(
            self.kernels,
            "kernel {0}k{number}(block: i32, c: {ty}, d: *global {ty}) {{
    let t = threadIdx.x as i32;
    let v = c + (t % {MODULUS}) as {ty} + d[{from} + block * {threads} + (t + 1) % {threads}];
    d[{first} + block * {threads} + t] = v % {modulus};
}}
",
            self.prefix
        );
        made.launched.push(mine);
        let stream = if self.draw.chance(50) { LANES[2] } else { FORGET };
        let launcher = self.draw.below(threads);
        format!(
            "    if threadIdx.x == {launcher} {{ assert({}k{number}<<<1, {threads}, 0, {stream}>>>(blockIdx.x as i32, {constant}, d) == cudaSuccess); }}\n",
            self.prefix
        )
    }

    /// One child, or a copy, in one of the streams.
    fn child(&mut self, phase: usize, mut must: Vec<usize>, inherited: &[usize], depth: usize, made: &mut Launches) {
        let mut part = String::new();
        let mut may = inherited.to_vec();
        let lane = self.draw.below(4);
        let mut stream = *LANES.get(lane).unwrap_or(&FORGET);
        self.features.insert(["named stream", "named stream", "NULL stream"].get(lane).unwrap_or(&"fire and forget"));
        if let Some(before) = made.before.get(lane) {
            if let Some(last) = before.last().copied() {
                if self.edge() {
                    may.extend(before);
                } else {
                    stream = FORGET;
                }
                must.push(last);
            }
            let other = (lane + 1 + self.draw.below(2)) % 3;
            let fresh: Vec<usize> = made.before[other].iter().copied().filter(|view| !before.contains(view)).collect();
            if !fresh.is_empty() && self.draw.chance(50) {
                self.features.insert("event");
                let event = made.events;
                made.events += 1;
                let _ = writeln!(part, "    assert(cudaEventRecord(e[{event}], {}) == cudaSuccess);", LANES[other]);
                if self.edge() {
                    let _ = writeln!(part, "    assert(cudaStreamWaitEvent({}, e[{event}], 0) == cudaSuccess);", LANES[lane]);
                }
                must.push(fresh[fresh.len() - 1]);
                may.extend(&fresh);
                made.before[lane].extend(&fresh);
            }
        }
        let views = match must.as_slice() {
            [from] if lane < 3 && self.draw.chance(20) => self.copy(*from, stream, &mut part),
            _ => {
                let child = self.grid(&may, &must, depth + 1, false);
                part.push_str(&self.launch(&child, stream));
                child.subtree
            }
        };
        made.parts.push((phase, part));
        made.launched.extend(&views);
        if let Some(before) = made.before.get_mut(lane) {
            // the child itself is the last: what must be read is what it wrote
            before.extend(views.iter().rev());
        }
    }

    /// A copy of what another grid wrote.
    fn copy(&mut self, from: usize, stream: &str, part: &mut String) -> Vec<usize> {
        self.features.insert("copy");
        let View { first, values } = &self.views[from];
        let (first, values) = (*first, values.clone());
        let bytes = values.len() * self.size;
        let to = self.view(values);
        let _ = writeln!(
            part,
            "    assert(cudaMemcpyAsync(d + {}, d + {first}, {bytes}, cudaMemcpyDeviceToDevice, {stream}) == cudaSuccess);",
            self.views[to].first
        );
        vec![to]
    }

    /// Tails, which may be launched before what they wait for; everything that was launched.
    fn tails(&mut self, grid: &Grid, inherited: &[usize], depth: usize, made: &mut Launches) -> Vec<usize> {
        let mut done = made.launched.clone();
        for _ in 0..self.draw.below(3) {
            let mut may = inherited.to_vec();
            may.push(grid.view);
            may.extend(&done);
            let mut must = BTreeSet::new();
            for _ in 0..if self.draw.chance(50) { 5 } else { 1 } {
                must.insert(made.launched[self.draw.below(made.launched.len())]);
            }
            if must.len() > 2 {
                self.features.insert("tail that merges");
            }
            // no tail: without its edge, this grid would come before it, which is wrong but no race
            let stream = if self.edge() { "cudaStreamTailLaunch" } else { FORGET };
            let must: Vec<usize> = must.into_iter().collect();
            let tail = self.grid(&may, &must, depth + 1, true);
            let launch = self.launch(&tail, stream);
            let place =
                if done.len() == made.launched.len() { self.draw.below(made.parts.len() + 1) } else { made.parts.len() };
            let phase = made.parts.get(place).or(made.parts.last()).map_or(0, |(phase, _)| *phase);
            made.parts.insert(place, (phase, launch));
            done.extend(tail.subtree);
        }
        done
    }

    /// The launches as source. One launching thread has its handles to itself; two have them in shared memory.
    fn text(&mut self, grid: &Grid, barrier: bool, fan: &str, second: &str, made: &Launches) -> String {
        let mut text = String::new();
        if !second.is_empty() {
            text.push_str("    shared s: [cudaStream_t; 2];\n");
            if made.events > 0 {
                let _ = writeln!(text, "    shared e: [cudaEvent_t; {}];", made.events);
            }
        }
        if barrier {
            text.push_str("    __syncthreads();\n");
        }
        text.push_str(fan);
        let launcher = self.draw.below(grid.threads);
        let _ = writeln!(text, "    if blockIdx.x == 0 && threadIdx.x == {launcher} {{");
        if second.is_empty() {
            text.push_str("    var s: [cudaStream_t; 2];\n");
            if made.events > 0 {
                let _ = writeln!(text, "    var e: [cudaEvent_t; {}];", made.events);
            }
        }
        let events = made.events;
        text.push_str(
            "    for i in 0..2 { assert(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking) == cudaSuccess); }\n",
        );
        if events > 0 {
            let _ = writeln!(
                text,
                "    for i in 0..{events} {{ assert(cudaEventCreateWithFlags(&e[i], cudaEventDisableTiming) == cudaSuccess); }}"
            );
        }
        for (_, part) in made.parts.iter().filter(|(phase, _)| *phase == 0) {
            text.push_str(part);
        }
        if !second.is_empty() {
            text.push_str(second);
            let other = (launcher + 1 + self.draw.below(grid.threads - 1)) % grid.threads;
            let _ = writeln!(text, "    if blockIdx.x == 0 && threadIdx.x == {other} {{");
            for (_, part) in made.parts.iter().filter(|(phase, _)| *phase == 1) {
                text.push_str(part);
            }
        }
        if events > 0 {
            let _ = writeln!(text, "    for i in 0..{events} {{ assert(cudaEventDestroy(e[i]) == cudaSuccess); }}");
        }
        text.push_str("    for i in 0..2 { assert(cudaStreamDestroy(s[i]) == cudaSuccess); }\n    }\n");
        text
    }
}
