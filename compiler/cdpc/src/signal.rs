//! Names of the signals that end processes.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// The signal that ended a process.
pub fn of(status: ExitStatus) -> String {
    status.signal().map_or_else(|| "an unknown cause".to_owned(), name)
}

/// What a signal means.
pub fn name(number: i32) -> String {
    let known = match number {
        2 => "an interrupt",
        4 => "an undefined instruction",
        6 => "an abort",
        7 => "a bus error",
        8 => "an arithmetic exception",
        9 => "a kill, perhaps for lack of memory",
        11 => "a segmentation fault",
        15 => "a request to end",
        _ => return format!("signal {number}"),
    };
    format!("signal {number}, {known}")
}
