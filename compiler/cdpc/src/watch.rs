//! Watching runs on the reference executor: how far they are, and stopping them at Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cdp_executor::Control;

use crate::failure::{Failure, INTERRUPTED, Result};
use crate::terminal;

/// All runs of this process.
#[derive(Debug, Default)]
pub struct Watch {
    controls: Mutex<Vec<Arc<Control>>>,
    stopped: AtomicBool,
}

/// A run is long after this; before, nobody wants to know how far it is.
const LONG: Duration = Duration::from_secs(2);
/// How often that is said anew.
const TICK: Duration = Duration::from_millis(250);

impl Watch {
    /// At Ctrl-C everything is stopped, and says where it was, and `also` is called; at the second one the process ends.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn interrupts(also: impl Fn() + Send + 'static) -> Result<Arc<Self>> {
        let watch = Arc::new(Self::default());
        let mine = Arc::clone(&watch);
        ctrlc::set_handler(move || {
            if mine.is_stopped() {
                end();
            }
            mine.stop();
            also();
        })
        .map_err(|error| Failure::usage(format!("cdpc cannot watch for Ctrl-C: {error}")))?;
        Ok(watch)
    }

    /// Stops everything, now and later.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        lock(&self.controls).iter().for_each(|control| control.stop());
    }

    /// Whether everything was stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// For a run that is about to start.
    pub fn control(&self) -> Arc<Control> {
        let control = Arc::new(Control::default());
        lock(&self.controls).push(Arc::clone(&control));
        // looked at behind the push: a stop that came before has not seen it
        if self.is_stopped() {
            control.stop();
        }
        control
    }

    /// Does something while a terminal is told how far it is.
    pub fn with_progress<T>(&self, work: impl FnOnce() -> T) -> T {
        let progress = |elapsed: Duration| {
            let list = lock(&self.controls);
            let steps = list.iter().map(|control| control.steps()).sum();
            let grids = list.iter().map(|control| control.grids()).sum();
            (elapsed >= LONG).then(|| line(elapsed, list.len(), steps, grids))
        };
        ticking(progress, work)
    }
}

/// Whatever a thread that panicked has left behind, is used on: its panic ends the process anyway.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something while a terminal is told what another function says, from time to time.
pub fn ticking<T>(mut text: impl FnMut(Duration) -> Option<String> + Send, work: impl FnOnce() -> T) -> T {
    if !terminal::has_status() {
        return work();
    }
    let (done, waiting) = mpsc::channel::<()>();
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || {
            while waiting.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if let Some(text) = text(start.elapsed()) {
                    terminal::status(&text);
                }
            }
            terminal::status("");
        });
        let result = work();
        drop(done);
        result
    })
}

/// Ends the process, as Ctrl-C does.
#[allow(clippy::exit, reason = "the user wants the process to end now, whatever it is at")]
pub fn end() -> ! {
    std::process::exit(i32::from(INTERRUPTED))
}

/// "12 s, run 3, 1.2 billion steps (98 million a second), 204 grids"
fn line(elapsed: Duration, runs: usize, steps: u64, grids: u64) -> String {
    let rate = (steps as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    let run = if runs > 1 { format!(", run {runs}") } else { String::new() };
    format!("{} s{run}, {} steps ({} a second), {} grids", elapsed.as_secs(), rounded(steps), rounded(rate), rounded(grids))
}

/// "98 million"
fn rounded(number: u64) -> String {
    let scaled = |unit: u64, name: &str| {
        let value = number as f64 / unit as f64;
        if value < 10.0 { format!("{value:.1} {name}") } else { format!("{value:.0} {name}") }
    };
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{} thousand", number / 1000),
        1_000_000..1_000_000_000 => scaled(1_000_000, "million"),
        _ => scaled(1_000_000_000, "billion"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_starts_after_a_stop_is_stopped_too() {
        let watch = Watch::default();
        let before = watch.control();
        assert!(!before.is_stopped());
        watch.stop();
        assert!(before.is_stopped() && watch.control().is_stopped());
    }

    #[test]
    fn numbers_are_short() {
        let texts = [7, 12_345, 1_240_000, 98_700_000, 4_560_000_000].map(rounded);
        assert_eq!(texts, ["7", "12 thousand", "1.2 million", "99 million", "4.6 billion"]);
        assert_eq!(
            line(Duration::from_secs(10), 3, 1_000_000_000, 20),
            "10 s, run 3, 1.0 billion steps (100 million a second), 20 grids"
        );
    }
}
