//! The fuzzer's inputs that are worth keeping, tried again: those that once broke a promise (`fuzz/found`), and a few for every part of the code
//! that the fuzzer has come to (`fuzz/kept`, made by `scripts/fuzz.sh`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail where it stands")]

use flate2::read::GzDecoder;
use lang_tests::data::root;
use lang_tests::hostile::target;
use std::fs::{self, File};
use std::io::Read;
use std::panic::catch_unwind;
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::Duration;

/// One input may take this long: most take milliseconds, also without optimisation.
const LIMIT: Duration = Duration::from_secs(30);

/// The inputs of a target, with names to find them by.
fn inputs(name: &str) -> Vec<(String, Vec<u8>)> {
    let fuzz = root().join("fuzz");
    let found = fs::read_dir(fuzz.join("found").join(name)).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut inputs: Vec<_> = found.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect();
    let archive = fuzz.join("kept").join(format!("{name}.tar.gz"));
    let file = File::open(&archive).unwrap_or_else(|error| panic!("{}: {error}", archive.display()));
    for entry in tar::Archive::new(GzDecoder::new(file)).entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut input = Vec::new();
        entry.read_to_end(&mut input).unwrap();
        inputs.push((format!("{} in {}", entry.path().unwrap().display(), archive.display()), input));
    }
    inputs
}

/// Tries every input of the target, in a thread of its own: the one that takes too long is named.
fn replay(name: &str, target: fn(&[u8])) {
    let inputs = inputs(name);
    assert!(inputs.len() > 50, "{name} has only {} inputs", inputs.len());
    let (done, results) = channel();
    let tried = inputs.clone();
    let thread = Builder::new().stack_size(8 << 20).spawn(move || {
        for (_, input) in tried {
            done.send(catch_unwind(|| target(&input)).is_ok()).unwrap();
        }
    });
    for (from, input) in inputs {
        let text = String::from_utf8_lossy(&input);
        let kept = results.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("{from} takes longer than {LIMIT:?}:\n{text}"));
        assert!(kept, "{from} breaks a promise of {name}:\n{text}");
    }
    thread.unwrap().join().unwrap();
}

#[test]
fn lexer() {
    replay("lexer", target::lexer);
}

#[test]
fn parser() {
    replay("parser", target::parser);
}

#[test]
fn format() {
    replay("format", target::format);
}

#[test]
fn checker() {
    replay("checker", target::checker);
}

#[test]
fn ir_text() {
    replay("ir_text", target::ir_text);
}

#[test]
fn cubin() {
    replay("cubin", target::cubin);
}

/// Every target has its program, its archive and its test above; nothing else is kept.
#[test]
fn every_target_is_replayed() {
    let names = |folder: &str, ending: &str| -> Vec<String> {
        let entries = fs::read_dir(root().join("fuzz").join(folder)).unwrap();
        let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = files.map(|file| file.strip_suffix(ending).unwrap_or(&file).to_owned()).collect();
        names.sort_unstable();
        names
    };
    let targets = names("fuzz_targets", ".rs");
    assert_eq!(names("kept", ".tar.gz"), targets);
    let tests = include_str!("kept.rs");
    for name in targets {
        assert!(tests.contains(&format!("fn {name}() {{\n    replay(\"{name}\", target::{name});")), "{name} is not replayed");
    }
}
