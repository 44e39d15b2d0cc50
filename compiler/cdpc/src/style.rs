//! Colours for text on a terminal; the empty style adds nothing.

/// Whether to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// With escape sequences.
    pub color: bool,
}

impl Style {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Headings and names.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Less important.
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Success.
    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Failure.
    pub fn error(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// Doubt.
    pub fn warning(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// What the eye should find: launch sites.
    pub fn mark(self, text: &str) -> String {
        self.wrap("1;36", text)
    }
}
