//! What a worker process tells the one that started it, in the midst of its program's output: events between control characters and a token
//! that the program cannot guess. One channel keeps the order, so that every test's output is its own.

use serde_json::{Value, json};

/// Begins and ends an event; JSON never contains it as it is.
const MARK: u8 = 0x1e;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A test is about to run.
    Begin(usize),
    /// It ran.
    End {
        /// Which.
        test: usize,
        /// Whether it passed.
        passed: bool,
        /// Whether it was ended from outside.
        stopped: bool,
        /// How long it took.
        milliseconds: u64,
        /// What there is to say of it, rendered; empty when nothing.
        told: String,
    },
}

/// A piece of a worker's standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The program's.
    Output(Vec<u8>),
    /// The worker's.
    Event(Event),
}

/// The bytes that carry an event.
pub fn encode(token: &str, event: &Event) -> Vec<u8> {
    let value = match event {
        Event::Begin(test) => json!({ "begin": test }),
        Event::End { test, passed, stopped, milliseconds, told } => {
            json!({ "end": test, "passed": passed, "stopped": stopped, "ms": milliseconds, "told": told })
        }
    };
    let mut bytes = vec![MARK];
    bytes.extend_from_slice(token.as_bytes());
    bytes.extend_from_slice(value.to_string().as_bytes());
    bytes.push(MARK);
    bytes
}

/// Takes a worker's output apart.
#[derive(Debug)]
pub struct Splitter {
    opening: Vec<u8>,
    waiting: Vec<u8>,
}

impl Splitter {
    /// For the worker that was given this token.
    pub fn new(token: &str) -> Self {
        let mut opening = vec![MARK];
        opening.extend_from_slice(token.as_bytes());
        Self { opening, waiting: Vec::new() }
    }

    /// Everything that is complete after some more bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Piece> {
        self.waiting.extend_from_slice(bytes);
        let mut pieces = Vec::new();
        loop {
            let Some(start) = position(&self.waiting, &self.opening) else {
                // an opening may have come in half
                let keep = self
                    .waiting
                    .iter()
                    .rposition(|byte| *byte == MARK)
                    .filter(|at| self.waiting.len() - at < self.opening.len());
                let rest = self.waiting.split_off(keep.unwrap_or(self.waiting.len()));
                output(&mut pieces, std::mem::replace(&mut self.waiting, rest));
                return pieces;
            };
            let body = start + self.opening.len();
            let Some(length) = self.waiting.get(body..).and_then(|rest| rest.iter().position(|byte| *byte == MARK)) else {
                return pieces;
            };
            let rest = self.waiting.split_off(body + length + 1);
            let event = self.waiting.get(body..body + length).and_then(decode);
            self.waiting.truncate(start);
            output(&mut pieces, std::mem::replace(&mut self.waiting, rest));
            pieces.extend(event.map(Piece::Event));
        }
    }

    /// What is left when the worker has ended: output that looked like the beginning of an event.
    pub fn finish(self) -> Vec<u8> {
        self.waiting
    }
}

fn output(pieces: &mut Vec<Piece>, bytes: Vec<u8>) {
    if !bytes.is_empty() {
        pieces.push(Piece::Output(bytes));
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn decode(body: &[u8]) -> Option<Event> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let number = |name: &str| value.get(name).and_then(Value::as_u64);
    let index = |name: &str| number(name).and_then(|number| usize::try_from(number).ok());
    if let Some(test) = index("begin") {
        return Some(Event::Begin(test));
    }
    Some(Event::End {
        test: index("end")?,
        passed: value.get("passed")?.as_bool()?,
        stopped: value.get("stopped")?.as_bool()?,
        milliseconds: number("ms")?,
        told: value.get("told")?.as_str()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_of_the_stream_gives_the_same() {
        let end = Event::End { test: 1, passed: false, stopped: true, milliseconds: 7, told: "why\u{1e}\n".into() };
        let mut stream = b"before\x1e".to_vec();
        stream.extend(encode("tok", &Event::Begin(1)));
        stream.extend(b"in\x1etest\n");
        stream.extend(encode("tok", &end));
        stream.extend(b"after\x1eto");
        for size in 1..stream.len() {
            let mut splitter = Splitter::new("tok");
            let (mut text, mut events) = (Vec::new(), Vec::new());
            for piece in stream.chunks(size).flat_map(|chunk| splitter.push(chunk)) {
                match piece {
                    Piece::Output(bytes) => text.extend(bytes),
                    Piece::Event(event) => events.push((text.len(), event)),
                }
            }
            text.extend(splitter.finish());
            assert_eq!(text, b"before\x1ein\x1etest\nafter\x1eto");
            assert_eq!(events, [(7, Event::Begin(1)), (15, end.clone())]);
        }
    }
}
