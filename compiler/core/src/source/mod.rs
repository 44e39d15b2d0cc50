//! Source files and positions in them.
//!
//! A [`SourceMap`] owns the text of every file of one compilation; a [`Span`] names a byte range of one of them.

mod map;

pub use map::{LineColumn, SourceFile, SourceMap};

/// A file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u16);

/// A byte range of one file: `start` is the first byte, `end` the first one after. Offsets are bytes of UTF-8.
///
/// Every node has one; there is no "unknown" span. What the compiler makes up carries the span of the source that asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file that the offsets count in.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of bytes `start..end` of `file`.
    #[must_use]
    pub const fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// The smallest span that covers both. Both must be of one file; otherwise `self` is returned.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        if self.file != other.file {
            return self;
        }
        Self { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The empty span right behind this one.
    #[must_use]
    pub const fn after(self) -> Self {
        Self { file: self.file, start: self.end, end: self.end }
    }

    /// The bytes as a range, for slicing the file's text.
    #[must_use]
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}
