//! A program in a process of its own: a device fault ends that process's context for good, so whoever wants to go on after one must not
//! share it. The output is passed on as it comes; exit, signal and time-out become an [`Outcome`].

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Which output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Standard output: host and device `printf`.
    Output,
    /// Standard error.
    Error,
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal: 11 is a segmentation fault, 6 an abort, 9 a kill (memory ran out, for example).
    Signal(i32),
    /// It ran too long and was killed.
    TimedOut,
}

/// The end of a run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// From start to end.
    pub duration: Duration,
    /// Bytes of standard output.
    pub output_bytes: u64,
}

impl Outcome {
    /// Whether it exited with code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.ending == Ending::Exit(0)
    }
}

/// Starts `command` and waits for it, giving `sink` every piece of output in the order it came on each channel. Standard input is as
/// `command` has it. Processes that it leaves behind keep nothing waiting: once it is gone, what they still write is not waited for.
///
/// # Errors
/// [`Error::Io`] when the program cannot be started.
pub fn run(mut command: Command, timeout: Option<Duration>, mut sink: impl FnMut(Channel, &[u8])) -> Result<Outcome> {
    let start = Instant::now();
    let program = command.get_program().to_owned();
    let failed = |source| Error::Io { action: "start", path: program.clone().into(), source };
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;

    let (sender, receiver) = mpsc::channel();
    if let Some(pipe) = child.stdout.take() {
        pump(pipe, Channel::Output, sender.clone());
    }
    if let Some(pipe) = child.stderr.take() {
        pump(pipe, Channel::Error, sender);
    }

    let mut output_bytes = 0;
    let mut ended: Option<(Ending, Instant)> = None;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok((channel, bytes)) => {
                if channel == Channel::Output {
                    output_bytes += bytes.len() as u64;
                }
                sink(channel, &bytes);
                continue;
            }
            // both pipes are closed, so the child is about to end, or has
            Err(RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(1)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        match ended {
            // nothing came for a while after its end: a process left behind holds the pipe
            Some((ending, _)) => return Ok(Outcome { ending, duration: start.elapsed(), output_bytes }),
            None => ended = end_of(&mut child, start, timeout).map_err(failed)?.map(|ending| (ending, Instant::now())),
        }
    }
}

/// How often to look whether it ended.
const POLL: Duration = Duration::from_millis(20);

fn end_of(child: &mut Child, start: Instant, timeout: Option<Duration>) -> std::io::Result<Option<Ending>> {
    if let Some(status) = child.try_wait()? {
        return Ok(Some(ending(status)));
    }
    if timeout.is_some_and(|limit| start.elapsed() >= limit) {
        child.kill()?;
        child.wait()?;
        return Ok(Some(Ending::TimedOut));
    }
    Ok(None)
}

fn ending(status: ExitStatus) -> Ending {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exit(code),
        (None, signal) => Ending::Signal(signal.unwrap_or(0)),
    }
}

fn pump(mut pipe: impl Read + Send + 'static, channel: Channel, sender: mpsc::Sender<(Channel, Vec<u8>)>) {
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let piece = buffer.get(..count).unwrap_or_default().to_vec();
                    if sender.send((channel, piece)).is_err() {
                        break;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Option<Duration>) -> (Outcome, String, String) {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let outcome = run(command, timeout, |channel, bytes| match channel {
            Channel::Output => out.extend_from_slice(bytes),
            Channel::Error => err.extend_from_slice(bytes),
        })
        .unwrap();
        (outcome, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn output_and_exit_code() {
        let (outcome, out, err) = shell("echo a; echo b >&2; echo c; exit 3", None);
        assert_eq!(outcome.ending, Ending::Exit(3));
        assert_eq!((out.as_str(), err.as_str(), outcome.output_bytes), ("a\nc\n", "b\n", 4));
        assert!(shell("true", None).0.is_success());
    }

    #[test]
    fn a_signal_is_survived_and_told() {
        assert_eq!(shell("kill -SEGV $$", None).0.ending, Ending::Signal(11));
    }

    #[test]
    fn a_run_that_does_not_end_is_ended() {
        let (outcome, out, _) = shell("echo begun; exec sleep 60", Some(Duration::from_millis(300)));
        assert_eq!(outcome.ending, Ending::TimedOut);
        assert_eq!(out, "begun\n");
        assert!(outcome.duration < Duration::from_secs(20));
    }

    #[test]
    fn much_output_is_whole() {
        let (outcome, out, _) = shell("seq 1 100000", None);
        assert!(outcome.is_success());
        assert_eq!(out.lines().count(), 100_000);
        assert!(out.ends_with("100000\n"));
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error = run(Command::new("/nonexistent/program"), None, |_, _| ()).unwrap_err();
        assert_eq!(error.code(), "E0631");
    }
}
