//! Wrong programs made of right ones: tokens taken out, doubled, exchanged, brought in from other programs, and bytes that are none.

use cdp_core::source::FileId;
use cdp_core::syntax;

/// Draws that are the same for the same seed, everywhere (splitmix64).
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// A sequence of its own for each seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `count`; 0 when there is none.
    pub const fn below(&mut self, count: usize) -> usize {
        if count == 0 { 0 } else { (self.bits() % count as u64) as usize }
    }

    /// One of the list.
    pub fn one<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }
}

/// What programs are made of, beside what stands in them.
const WORDS: &[&str] = &[
    "<<<",
    ">>>",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    ":",
    "::",
    "..",
    "->",
    "=",
    "==",
    "&",
    "&&",
    "*",
    "-",
    "!",
    "/",
    "%",
    "<<",
    ">>",
    "<",
    "as",
    "let",
    "var",
    "const",
    "global",
    "shared",
    "local",
    "constant",
    "kernel",
    "fn",
    "host",
    "struct",
    "enum",
    "switch",
    "case",
    "default",
    "if",
    "else",
    "for",
    "in",
    "step",
    "while",
    "loop",
    "break",
    "continue",
    "return",
    "test",
    "extern",
    "import",
    "@",
    "@align(16)",
    "@inline",
    "@unroll",
    "@launch_bounds(32)",
    "@restrict",
    "sizeof",
    "offsetof",
    "null",
    "true",
    "0",
    "1",
    "-1",
    "255u8",
    "0x7fffffff",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615u64",
    "1.5",
    "1e400",
    "1e-400f32",
    "'a'",
    "\"%d\\n\"",
    "\"%s\"",
    "i32",
    "u8",
    "i64",
    "bool",
    "f16",
    "bf16",
    "f32",
    "f64",
    "f32x4",
    "i8x3",
    "dim3",
    "void",
    "cudaStream_t",
    "cudaEvent_t",
    "cudaError_t",
    "cudaStreamTailLaunch",
    "cudaStreamFireAndForget",
    "threadIdx",
    "blockIdx.x",
    "__syncthreads()",
    "__shfl_sync",
    "atomicAdd",
    "atomicCAS",
    "printf",
    "assert",
    "cudaDeviceSynchronize()",
    "cudaMalloc",
    "cudaMemsetAsync",
    "cudaGetLastError()",
    "device",
    "max",
    "sqrt",
    "__ldg",
    "/*",
    "*/",
    "//",
    "///",
    "\"",
    "\u{e4}",
    "\u{1f600}",
    "\0",
    "\r\n",
    "\u{feff}",
    "?",
    "#",
    "$",
    "`",
];

/// A program that is somewhat like `text`, with words of `other`, one to eight changes away.
#[must_use]
pub fn mutated(draw: &mut Draw, text: &str, other: &str) -> String {
    let mut words = split(text);
    let others = split(other);
    for _ in 0..=draw.below(8) {
        let at = draw.below(words.len() + 1);
        match draw.below(9) {
            0 if at < words.len() => drop(words.remove(at)),
            1 => {
                let to = (at + draw.below(12)).min(words.len());
                words.drain(at..to);
            }
            2 => {
                let to = (at + draw.below(40)).min(words.len());
                let copy: Vec<&str> = words.get(at..to).unwrap_or_default().to_vec();
                let place = draw.below(words.len() + 1);
                words.splice(place..place, copy);
            }
            3 if at < words.len() => {
                let with = draw.below(words.len());
                words.swap(at, with);
            }
            4 | 5 => {
                let from = draw.below(others.len());
                let to = (from + 1 + draw.below(30)).min(others.len());
                words.splice(at..at, others.get(from..to).unwrap_or_default().iter().copied());
            }
            6 if at < words.len() => {
                let word = draw.one(&others).copied().unwrap_or_default();
                words.splice(at..=at, [word]);
            }
            7 if at < words.len() => {
                let word = draw.one(WORDS).copied().unwrap_or_default();
                words.splice(at..=at, [word]);
            }
            _ => words.insert(at, draw.one(WORDS).copied().unwrap_or_default()),
        }
    }
    let mut result = String::with_capacity(text.len() + 64);
    for word in words {
        result.push_str(word);
        // now and then nothing, so that words grow together
        if draw.below(30) != 0 {
            result.push(' ');
        }
    }
    if draw.below(10) == 0 {
        let cut = draw.below(result.len() + 1);
        result.truncate((0..=cut).rev().find(|at| result.is_char_boundary(*at)).unwrap_or(0));
    }
    result
}

/// The tokens and comments of a text; line comments keep their line's end.
fn split(text: &str) -> Vec<&str> {
    let (spans, _) = syntax::tokens(FileId(0), text);
    let word = |range: std::ops::Range<usize>| {
        let comment = text.get(range.clone()).is_some_and(|word| word.starts_with("//"));
        text.get(range.start..range.end + usize::from(comment && range.end < text.len()))
    };
    spans.iter().filter_map(|span| word(span.range())).collect()
}
