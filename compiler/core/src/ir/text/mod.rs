//! The text form of the IR: `print` writes it, `parse` reads it back.
