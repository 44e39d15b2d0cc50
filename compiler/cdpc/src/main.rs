//! The `cdpc` command.
fn main() {}
