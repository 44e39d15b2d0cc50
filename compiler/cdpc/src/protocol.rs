//! What a worker process tells the one that started it, in the midst of its program's output: events between control characters and a token
//! that the program cannot guess. One channel keeps the order, so that every test's output is its own.

use cdp_core::pass::PRINT_MARK;
use serde_json::{Value, json};

use crate::failure::Message;

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
        /// What device code printed, where that is counted.
        printed: Option<Printed>,
    },
    /// A program without tests ran.
    Ran(Option<Printed>),
}

/// How often device code printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Calls of `printf`.
    pub calls: u64,
    /// Bytes of the ring that their output waits in.
    pub ring: u64,
}

impl Printed {
    /// What is to be said where so many of the calls were seen in the output.
    pub fn lost(self, seen: u64) -> Option<Message> {
        let Self { calls, ring } = self;
        let lost = calls.checked_sub(seen).filter(|lost| *lost > 0)?;
        // as if all calls took the same room, and the next power of two for those that take more
        let wanted = u128::from(ring) * u128::from(calls) / u128::from(seen.max(1));
        let wanted = u64::try_from(wanted).unwrap_or(u64::MAX).checked_next_power_of_two().unwrap_or(ring);
        Some(Message {
            code: Some("E0711".to_owned()),
            text: format!("printf output was lost: {lost} of {calls} calls in device code are missing"),
            notes: vec![format!(
                "output of device code waits in a ring of {ring} bytes until the host waits for the device; when the ring is full, the \
                 oldest output is overwritten"
            )],
            helps: vec![format!(
                "before the first launch: `cudaDeviceSetLimit(cudaLimitPrintfFifoSize, {wanted});`, or wait for the device more often"
            )],
        })
    }

    fn json(self) -> Value {
        json!({ "calls": self.calls, "ring": self.ring })
    }

    fn of(value: Option<&Value>) -> Option<Self> {
        let number = |name: &str| value?.get(name)?.as_u64();
        Some(Self { calls: number("calls")?, ring: number("ring")? })
    }
}

/// Takes the marks of device output out of a program's output, and counts them: [`cdp_core::pass::count_prints`].
#[derive(Debug, Default)]
pub struct Marks {
    /// What may be the beginning of one.
    held: Vec<u8>,
    seen: u64,
}

impl Marks {
    /// The output without the marks, as far as that can be told.
    pub fn remove(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mark = PRINT_MARK.as_bytes();
        let mut out = Vec::with_capacity(bytes.len());
        for byte in bytes {
            self.held.push(*byte);
            if self.held == mark {
                self.seen += 1;
                self.held.clear();
            } else if !mark.starts_with(&self.held) {
                // only the last byte can begin a mark, since a mark has no byte twice
                let last = if mark.first() == Some(byte) { self.held.pop() } else { None };
                out.append(&mut self.held);
                self.held.extend(last);
            }
        }
        out
    }

    /// What was held back, and how many there were; from here on it starts anew.
    pub fn end(&mut self) -> (Vec<u8>, u64) {
        (std::mem::take(&mut self.held), std::mem::take(&mut self.seen))
    }
}

/// A piece of a worker's standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The program's.
    Output(Vec<u8>),
    /// The worker's.
    Event(Event),
}

/// Unlike anything that a program prints, without a random number generator: no two processes or moments are the same.
pub fn token() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("cdpc-{}-{}:", std::process::id(), now.as_nanos())
}

/// The bytes that carry an event.
pub fn encode(token: &str, event: &Event) -> Vec<u8> {
    let value = match event {
        Event::Begin(test) => json!({ "begin": test }),
        Event::End { test, passed, stopped, milliseconds, told, printed } => {
            let printed = printed.map(Printed::json);
            json!({ "end": test, "passed": passed, "stopped": stopped, "ms": milliseconds, "told": told, "printed": printed })
        }
        Event::Ran(printed) => json!({ "ran": true, "printed": printed.map(Printed::json) }),
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
    let printed = Printed::of(value.get("printed"));
    if value.get("ran").is_some() {
        return Some(Event::Ran(printed));
    }
    Some(Event::End {
        test: index("end")?,
        passed: value.get("passed")?.as_bool()?,
        stopped: value.get("stopped")?.as_bool()?,
        milliseconds: number("ms")?,
        told: value.get("told")?.as_str()?.to_owned(),
        printed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_of_the_stream_gives_the_same() {
        let end =
            Event::End { test: 1, passed: false, stopped: true, milliseconds: 7, told: "why\u{1e}\n".into(), printed: None };
        let printed = Some(Printed { calls: 3, ring: 1 << 20 });
        let mut stream = b"before\x1e".to_vec();
        stream.extend(encode("tok", &Event::Begin(1)));
        stream.extend(b"in\x1etest\n");
        stream.extend(encode("tok", &end));
        stream.extend(encode("tok", &Event::Ran(printed)));
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
            assert_eq!(events, [(7, Event::Begin(1)), (15, end.clone()), (15, Event::Ran(printed))]);
        }
    }

    #[test]
    fn marks_are_counted_however_the_output_is_cut() {
        let output = b"\x1e\x1fone\n\x1e\x1e\x1f\x1etwo\x1f\x1e\x1f\x1e\x1f\x1e";
        for size in 1..=output.len() {
            let mut marks = Marks::default();
            let mut text: Vec<u8> = output.chunks(size).flat_map(|chunk| marks.remove(chunk)).collect();
            let (rest, seen) = marks.end();
            text.extend(rest);
            assert_eq!((text.as_slice(), seen), (&b"one\n\x1e\x1etwo\x1f\x1e"[..], 4), "{size}");
            assert_eq!(marks.end(), (Vec::new(), 0));
        }
    }

    #[test]
    fn missing_calls_are_an_error_with_a_way_out() {
        let printed = Printed { calls: 40_000, ring: 1 << 20 };
        assert_eq!((printed.lost(40_000), printed.lost(40_001)), (None, None));
        let message = printed.lost(10_000).unwrap();
        assert_eq!(message.code.as_deref(), Some("E0711"));
        assert!(message.text.contains("30000 of 40000 calls"), "{message:?}");
        assert!(message.helps[0].contains("cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4194304);"), "{message:?}");
        assert!(printed.lost(0).is_some());
        assert!(Printed { calls: u64::MAX, ring: u64::MAX }.lost(1).is_some());
    }
}
