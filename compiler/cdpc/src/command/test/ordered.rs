//! What files say, in the order of the files, whichever is tested first: the first one that is not done speaks at once, those behind it
//! wait.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::failure::Result;
use crate::terminal;
use crate::watch::lock;

/// Something to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// On standard output.
    Print(String),
    /// On standard error.
    Say(String),
}

/// The files' turns.
#[derive(Debug, Default)]
pub struct Ordered {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The file that speaks.
    turn: usize,
    /// Those behind it, with what they have to say and whether that is all.
    waiting: BTreeMap<usize, (Vec<Word>, bool)>,
}

impl State {
    /// Words of a file that may be said now.
    fn put(&mut self, place: usize, word: Word) -> Vec<Word> {
        if place == self.turn {
            return vec![word];
        }
        self.waiting.entry(place).or_default().0.push(word);
        Vec::new()
    }

    /// A file is done: words of those behind it that may be said now.
    fn done(&mut self, place: usize) -> Vec<Word> {
        self.waiting.entry(place).or_default().1 = true;
        let mut words = Vec::new();
        while let Some((more, done)) = self.waiting.get_mut(&self.turn) {
            words.append(more);
            if !*done {
                break;
            }
            self.waiting.remove(&self.turn);
            self.turn += 1;
        }
        words
    }
}

impl Ordered {
    fn with(&self, what: impl FnOnce(&mut State) -> Vec<Word>) -> Result<()> {
        // locked until all is said, so that nobody gets in between
        let mut state = lock(&self.state);
        for word in what(&mut state) {
            match word {
                Word::Print(text) => terminal::print(text)?,
                Word::Say(text) => terminal::say(&text),
            }
        }
        Ok(())
    }

    /// A file says something, when its turn comes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&self, place: usize, word: Word) -> Result<()> {
        self.with(|state| state.put(place, word))
    }

    /// A file has said everything.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn done(&self, place: usize) -> Result<()> {
        self.with(|state| state.done(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_waits_for_those_before() {
        let mut state = State::default();
        let word = |text: &str| Word::Print(text.to_owned());
        assert_eq!(state.put(1, word("b")), []);
        assert_eq!(state.put(0, word("a")), [word("a")]);
        assert_eq!(state.done(2), []);
        assert_eq!(state.done(0), [word("b")]);
        assert_eq!(state.put(1, word("c")), [word("c")]);
        assert_eq!(state.put(3, word("d")), []);
        assert_eq!(state.done(1), [word("d")]);
        assert_eq!(state.done(3), []);
        assert_eq!((state.turn, state.waiting.len()), (4, 0));
    }
}
