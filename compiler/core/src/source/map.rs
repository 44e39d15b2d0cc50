//! The texts of a compilation and the way from byte offsets to lines.

use super::{FileId, Span};

/// One file: its name as the user gave it, its text, and where its lines start.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name to show in diagnostics and line tables.
    pub name: String,
    /// The whole text.
    pub text: String,
    line_starts: Vec<u32>,
}

/// A position for people: both count from 1; the column counts characters, not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineColumn {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// Every file of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceFile {
    fn new(name: String, text: String) -> Self {
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| offset(i + 1)))
            .collect();
        Self { name, text, line_starts }
    }

    /// The index, from 0, of the line that holds byte `at`.
    #[must_use]
    pub fn line_index(&self, at: u32) -> usize {
        self.line_starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// The byte range of line `index`, from 0, with its line break.
    #[must_use]
    pub fn line_range(&self, index: usize) -> Option<std::ops::Range<usize>> {
        let start = *self.line_starts.get(index)? as usize;
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |next| *next as usize);
        Some(start..end)
    }

    /// The text of line `index`, from 0, without its line break.
    #[must_use]
    pub fn line_text(&self, index: usize) -> &str {
        let text = self.line_range(index).and_then(|range| self.text.get(range)).unwrap_or("");
        text.trim_end_matches(['\n', '\r'])
    }

    /// How many lines there are; an empty file has one.
    #[must_use]
    pub fn line_count(&self) -> usize {
        self.line_starts.len()
    }

    /// The line and column of byte `at`.
    #[must_use]
    pub fn line_column(&self, at: u32) -> LineColumn {
        let index = self.line_index(at);
        let start = self.line_starts.get(index).copied().unwrap_or(0) as usize;
        let column = self.text.get(start..at as usize).map_or(0, |before| before.chars().count());
        LineColumn { line: offset(index + 1), column: offset(column + 1) }
    }
}

impl SourceMap {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. A compilation has at most 65,536 files of at most 4 GiB.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let id = FileId(u16::try_from(self.files.len()).unwrap_or(u16::MAX));
        self.files.push(SourceFile::new(name.into(), text.into()));
        id
    }

    /// The file, when the id is of this map.
    #[must_use]
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(usize::from(id.0))
    }

    /// The file's name; empty for a foreign id.
    #[must_use]
    pub fn name(&self, id: FileId) -> &str {
        self.get(id).map_or("", |file| &file.name)
    }

    /// The text under a span; empty for a span that does not fit.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        self.get(span.file).and_then(|file| file.text.get(span.range())).unwrap_or("")
    }

    /// Line and column of a span's first byte.
    #[must_use]
    pub fn line_column(&self, span: Span) -> LineColumn {
        self.get(span.file).map_or(LineColumn { line: 1, column: 1 }, |file| file.line_column(span.start))
    }

    /// The files in the order they were added.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(index, file)| (FileId(u16::try_from(index).unwrap_or(u16::MAX)), file))
    }
}

fn offset(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let mut map = SourceMap::new();
        let id = map.add("a.cdp", "x\näö y\n");
        let file = map.get(id).unwrap();
        assert_eq!(file.line_column(7), LineColumn { line: 2, column: 4 });
        assert_eq!(file.line_text(1), "äö y");
        assert_eq!(file.line_count(), 3);
        assert_eq!(map.text(Span::new(id, 7, 8)), "y");
    }
}
