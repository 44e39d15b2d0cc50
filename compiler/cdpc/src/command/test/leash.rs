//! Stopping a process: it reads its standard input, and stops what it does when the other end is closed. Whoever dies closes it, too.

use std::collections::HashMap;
use std::io::{PipeReader, PipeWriter};
use std::sync::Mutex;

use crate::watch::lock;

/// All processes that can be stopped.
#[derive(Debug, Default)]
pub struct Leashes {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    pipes: HashMap<u64, PipeWriter>,
    made: u64,
    cut: bool,
}

/// One of them.
#[derive(Debug)]
pub struct Leash<'a> {
    all: &'a Leashes,
    number: u64,
}

impl Leashes {
    /// A new one, and the standard input of its process.
    ///
    /// # Errors
    /// When the system has no more pipes.
    pub fn make(&self) -> std::io::Result<(Leash<'_>, PipeReader)> {
        let (reader, writer) = std::io::pipe()?;
        let mut held = lock(&self.held);
        held.made += 1;
        let number = held.made;
        if !held.cut {
            held.pipes.insert(number, writer);
        }
        Ok((Leash { all: self, number }, reader))
    }

    /// Stops every process, now and later.
    pub fn cut_all(&self) {
        let mut held = lock(&self.held);
        held.cut = true;
        held.pipes.clear();
    }
}

impl Leash<'_> {
    /// Stops the process; whether it was running free until now.
    pub fn cut(&self) -> bool {
        lock(&self.all.held).pipes.remove(&self.number).is_some()
    }
}

impl Drop for Leash<'_> {
    fn drop(&mut self) {
        self.cut();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn the_other_end_sees_the_cut() {
        let all = Leashes::default();
        let (one, mut first) = all.make().unwrap();
        let (_two, mut second) = all.make().unwrap();
        assert!(one.cut() && !one.cut());
        assert_eq!(first.read(&mut [0; 4]).unwrap(), 0);
        all.cut_all();
        assert_eq!(second.read(&mut [0; 4]).unwrap(), 0);
        let (_three, mut third) = all.make().unwrap();
        assert_eq!(third.read(&mut [0; 4]).unwrap(), 0);
    }
}
