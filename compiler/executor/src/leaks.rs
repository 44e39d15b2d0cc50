//! What a program made and never gave back: no mistake by itself, for everything is given back when it ends, but one that grows with the
//! time a program runs.

use cdp_core::diag::{Code, Diagnostic, Severity};
use cdp_core::source::Span;
use std::collections::BTreeMap;

/// What can be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Made {
    /// Memory of `malloc` in device code.
    Malloc,
    /// Memory of `cudaMalloc`.
    CudaMalloc,
    /// A stream.
    Stream,
    /// An event.
    Event,
    /// An array of `cudaMallocArray` or `cudaMalloc3DArray`.
    Array,
    /// A texture object.
    Texture,
    /// A surface object.
    Surface,
}

/// One thing that was not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leak {
    /// What.
    pub made: Made,
    /// Where it was made.
    pub span: Span,
    /// In bytes; 0 for what is no memory.
    pub bytes: u64,
}

impl Made {
    const fn what(self) -> &'static str {
        match self {
            Self::Malloc => "memory of `malloc`",
            Self::CudaMalloc => "memory of `cudaMalloc`",
            Self::Stream => "a stream",
            Self::Event => "an event",
            Self::Array => "an array",
            Self::Texture => "a texture object",
            Self::Surface => "a surface object",
        }
    }

    const fn call(self) -> &'static str {
        match self {
            Self::Malloc => "free",
            Self::CudaMalloc => "cudaFree",
            Self::Stream => "cudaStreamDestroy",
            Self::Event => "cudaEventDestroy",
            Self::Array => "cudaFreeArray",
            Self::Texture => "cudaDestroyTextureObject",
            Self::Surface => "cudaDestroySurfaceObject",
        }
    }
}

/// A note for each place that something was made at, in the order of the source.
pub(crate) fn notes(leaks: impl IntoIterator<Item = Leak>) -> Vec<Diagnostic> {
    let mut places: BTreeMap<(Span, Made), (u64, u64)> = BTreeMap::new();
    for Leak { made, span, bytes } in leaks {
        let (count, all) = places.entry((span, made)).or_default();
        *count += 1;
        *all += bytes;
    }
    let note = |((span, made), (count, bytes)): ((Span, Made), (u64, u64))| {
        let times = if count == 1 { String::new() } else { format!(", {count} times") };
        let size = if bytes == 0 { String::new() } else { format!("; {bytes} bytes in all") };
        let message = format!("{} was never given back{times}", made.what());
        let mut note = Diagnostic::new(Code::W0701, span, message)
            .label(format!("made here{size}"))
            .help(format!("give it back with `{}` when nothing uses it any more", made.call()));
        note.severity = Severity::Note;
        note
    };
    places.into_iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_made_at_one_place_are_one_note() {
        let span = Span { start: 4, end: 9, ..Span::default() };
        let leak = |made, span, bytes| Leak { made, span, bytes };
        let list = notes([leak(Made::Malloc, span, 16), leak(Made::Stream, Span::default(), 0), leak(Made::Malloc, span, 48)]);
        let texts: Vec<(&str, &str)> = list.iter().map(|note| (note.message.as_str(), note.primary.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                ("a stream was never given back", "made here"),
                ("memory of `malloc` was never given back, 2 times", "made here; 64 bytes in all"),
            ]
        );
        assert!(list.iter().all(|note| note.severity == Severity::Note));
    }
}
