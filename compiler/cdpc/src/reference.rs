//! Running a program on the reference executor, in one order or in many.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use cdp_core::builtins::Cdp;
use cdp_core::diag::Code;
use cdp_executor::{Control, CpuDevice, CpuOptions, HostProgram, Options, Outcome, Program, Schedule};

use crate::execute::Ran;
use crate::failure::Message;
use crate::options::{Meaning, Reference, describe};
use crate::terminal;
use crate::watch::{Watch, lock};

/// How to run.
#[derive(Clone, Debug)]
pub struct Executor {
    /// What the user asked for.
    pub reference: Reference,
    /// Which dynamic parallelism the program is compiled for.
    pub cdp: Cdp,
    /// Whether what ran is written down.
    pub trace: bool,
    /// How many runs at a time.
    pub threads: usize,
    /// Who watches.
    pub watch: Arc<Watch>,
}

/// Starts host code; none when there is nothing to start.
pub type Start<'a> = dyn Fn(&mut HostProgram<'_>) -> Option<Outcome> + Sync + 'a;

/// The run that is told of, by its place in the list of schedules.
struct Told {
    place: usize,
    ran: Ran,
    output: Vec<u8>,
}

impl Executor {
    /// Runs in every order that was asked for, each on a device of its own. What is told is the first failure in the list, whichever
    /// came first in time, else the first run; none when there is nothing to start.
    pub fn run(&self, program: &Arc<Program>, start: &Start<'_>) -> Option<Ran> {
        let schedules = self.reference.schedules();
        match schedules.as_slice() {
            [schedule] => self.once(program, *schedule, self.watch.control(), &mut terminal::writer(), start),
            _ => self.many(program, &schedules, start),
        }
    }

    fn many(&self, program: &Arc<Program>, schedules: &[Schedule], start: &Start<'_>) -> Option<Ran> {
        let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
        let running: Mutex<Vec<(usize, Arc<Control>)>> = Mutex::default();
        let told: Mutex<Option<Told>> = Mutex::default();
        let work = || {
            while !self.watch.is_stopped() {
                let place = next.fetch_add(1, Ordering::SeqCst);
                let Some(schedule) = schedules.get(place).filter(|_| place < failed.load(Ordering::SeqCst)) else { return };
                let control = self.watch.control();
                lock(&running).push((place, Arc::clone(&control)));
                let mut output = Vec::new();
                let Some(ran) = self.once(program, *schedule, control, &mut output, start) else { return };
                lock(&running).retain(|(other, _)| *other != place);
                if !ran.passed {
                    failed.fetch_min(place, Ordering::SeqCst);
                    // those further on in the list are no longer of interest; those before it are
                    lock(&running).iter().filter(|(other, _)| *other > place).for_each(|(_, control)| control.stop());
                }
                let mut told = lock(&told);
                // a failure before one that is further on, and that before runs which passed
                let better = |known: &Told| (ran.passed, place) < (known.ran.passed, known.place);
                if told.as_ref().is_none_or(better) {
                    *told = Some(Told { place, ran, output });
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.threads.clamp(1, schedules.len()) {
                scope.spawn(work);
            }
        });
        let Told { place, mut ran, output } = told.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        let mut writer = terminal::writer();
        // that it cannot be written is what the next line on the terminal will find, too
        let _ = writer.write_all(&output).and_then(|()| writer.flush());
        ran.schedules = schedules.len();
        ran.failed_under = schedules.get(place).copied().filter(|_| !ran.passed).map(|schedule| (place, schedule));
        Some(ran)
    }

    fn once(
        &self,
        program: &Arc<Program>,
        schedule: Schedule,
        control: Arc<Control>,
        output: &mut dyn Write,
        start: &Start<'_>,
    ) -> Option<Ran> {
        let options = CpuOptions {
            trace: self.trace,
            cdp: self.cdp,
            control: Some(Arc::clone(&control)),
            ..self.reference.options(schedule)
        };
        let mut device = CpuDevice::new(Arc::clone(program), options);
        let options = Options { control: Some(control), ..Options::default() };
        let outcome = start(&mut HostProgram::new(program, &mut device, output, options))?;
        let mut ran = Ran::of(outcome);
        ran.stopped = self.watch.is_stopped() && ran.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::E0742);
        ran.trace = self.trace.then(|| device.take_trace());
        Some(ran)
    }
}

/// Says under which of many schedules a program failed, and how to see it again: `command` is `run` or `test`, `more` are its arguments.
pub fn failed_under(
    (place, schedule): (usize, Schedule),
    (command, file, more): (&str, &Path, &[String]),
    reference: &Reference,
    meaning: &Meaning,
) -> Message {
    let before = match place {
        0 => String::new(),
        1 => ", after 1 schedule without a failure".to_owned(),
        more => format!(", after {more} schedules without a failure"),
    };
    let mut words = vec!["cdpc".to_owned(), command.to_owned(), file.display().to_string()];
    words.extend_from_slice(more);
    words.push("--device=cpu".to_owned());
    let arguments = reference.arguments_for(schedule).into_iter().chain(meaning.arguments());
    words.extend(arguments.map(|argument| argument.to_string_lossy().into_owned()));
    let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    Message {
        text: format!("this happened with {}{before}", describe(schedule)),
        helps: vec![format!("to see it again: {}", line.join(" "))],
        ..Message::default()
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(["a.cdp", "-DN=4", "", "it's 1 < 2"].map(quoted), ["a.cdp", "-DN=4", "''", "'it'\\''s 1 < 2'"]);
    }

    #[test]
    fn the_command_line_names_the_schedule() {
        let reference = Reference { schedules: Some(20), races: false, ..Reference::default() };
        let meaning = Meaning { define: vec!["N=1 << 3".to_owned()], ..Meaning::default() };
        let what = ("run", Path::new("a.cdp"), &[][..]);
        let message = failed_under((5, Schedule::Random { seed: 3 }), what, &reference, &meaning);
        assert_eq!(message.text, "this happened with an order drawn from seed 3, after 5 schedules without a failure");
        assert_eq!(
            message.helps,
            ["to see it again: cdpc run a.cdp --device=cpu --schedule=random --seed=3 --races=false '-DN=1 << 3'"]
        );
    }
}
