//! The table of codes. To add one: a line here, a file `codes/CODE.md` (see `docs/adding-a-diagnostic.md`).

use super::Severity;

macro_rules! codes {
    ($($id:ident $title:literal;)*) => {
        /// An entry of the error index. `E` is an error, `W` a lint.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $title] $id,)*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Code] = &[$(Code::$id,)*];

            /// `"E0401"`.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self { $(Code::$id => stringify!($id),)* }
            }

            /// The mistake in a few words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Code::$id => $title,)* }
            }

            /// The explanation: Markdown with one wrong and one right example.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                match self { $(Code::$id => include_str!(concat!("codes/", stringify!($id), ".md")),)* }
            }
        }
    };
}

codes! {
    // 01: lexical and syntax

    // 02: names and types

    // 03: layout and attributes

    // 04: launch and device runtime

    // 05: memory

    // 06: back end and link

    // 07: run time
}

impl Code {
    /// The code with this name, in either case.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.id().eq_ignore_ascii_case(id))
    }

    /// Lints start with `W`.
    #[must_use]
    pub fn severity(self) -> Severity {
        if self.id().starts_with('W') { Severity::Warning } else { Severity::Error }
    }
}
