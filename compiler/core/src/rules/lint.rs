//! The table of lints: their names in `@allow` and on the command line.

use crate::diag::Code;

/// A lint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lint {
    /// Its entry in the error index.
    pub code: Code,
    /// Its name in source and on the command line.
    pub name: &'static str,
}

const fn lint(code: Code, name: &'static str) -> Lint {
    Lint { code, name }
}

const LINTS: &[Lint] = &[
    lint(Code::W0201, "division_by_zero"),
    lint(Code::W0202, "shift_too_far"),
    lint(Code::W0203, "signed_overflow"),
    lint(Code::W0401, "unseen_launch_error"),
    lint(Code::W0402, "launch_in_every_thread"),
    lint(Code::W0403, "tiny_children"),
    lint(Code::W0404, "serial_children"),
    lint(Code::W0405, "handle_after_destroy"),
    lint(Code::W0406, "stream_not_destroyed"),
    lint(Code::W0407, "divergent_barrier"),
    lint(Code::W0408, "spin_on_child"),
    lint(Code::W0501, "perhaps_private_pointer"),
    lint(Code::W0502, "missing_barrier"),
    lint(Code::W0503, "read_after_launch"),
    lint(Code::W0504, "write_after_launch"),
    lint(Code::W0505, "cached_read_of_written"),
];

/// All lints, by code.
#[must_use]
pub const fn all() -> &'static [Lint] {
    LINTS
}

impl Lint {
    /// The lint with this name or code.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        LINTS.iter().copied().find(|lint| lint.name == name || lint.code.id().eq_ignore_ascii_case(name))
    }

    /// The lint of a code.
    #[must_use]
    pub fn of(code: Code) -> Option<Self> {
        LINTS.iter().copied().find(|lint| lint.code == code)
    }
}
