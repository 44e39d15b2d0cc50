//! What a user sees when the compiler itself fails.

use std::backtrace::Backtrace;
use std::fmt::Write as _;

use crate::terminal;

/// The request that goes with every fault of ours.
pub const PLEASE_REPORT: &str =
    "this is a fault of cdpc, not of your program: please report it with the source and the text above";

/// Replaces Rust's panic message by a request for a report. The exit code stays 101.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|panic| {
        let mut text = String::from("error: cdpc has crashed\n");
        let said = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        let arguments: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
        let _ = writeln!(text, "  = note: {said}, at {place}");
        let _ = writeln!(text, "  = note: cdpc {}, started as `{}`", env!("CARGO_PKG_VERSION"), arguments.join(" "));
        let backtrace = Backtrace::capture();
        if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
            let _ = writeln!(text, "{backtrace}");
        } else {
            text.push_str("  = help: RUST_BACKTRACE=1 in the environment adds a backtrace to the report\n");
        }
        let _ = writeln!(text, "  = help: {PLEASE_REPORT}");
        terminal::say(&text);
    }));
}
