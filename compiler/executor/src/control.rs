//! Watching and stopping a run from outside: for a progress line, and for Ctrl-C.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared between a run and whoever watches it. The run looks at it often enough that stopping takes milliseconds.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    steps: AtomicU64,
    grids: AtomicU64,
}

impl Control {
    /// Asks the run to end; it reports where it was.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Steps that host and device code have taken so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Grids that have run so far.
    #[must_use]
    pub fn grids(&self) -> u64 {
        self.grids.load(Ordering::Relaxed)
    }

    pub(crate) fn add_steps(&self, steps: u64) {
        self.steps.fetch_add(steps, Ordering::Relaxed);
    }

    pub(crate) fn add_grid(&self) {
        self.grids.fetch_add(1, Ordering::Relaxed);
    }
}
