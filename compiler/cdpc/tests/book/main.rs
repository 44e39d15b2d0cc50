//! The sessions of the book: what a page says that a command prints is what it prints.
//!
//! A block whose first line is a comment with a file's name, `// hello.cdp`, is that file. A `console` block holds commands, each behind `$ `, and what
//! they print, both streams together. A page's files and commands share one folder; what a command needs stands above it. `…` alone on a line stands for
//! any number of lines, and times in milliseconds are not compared. Commands run without a GPU. A picture `pictures/NAME.svg` is the file NAME.svg that a command of
//! some page has written. The tests of a `cdp,run` block pass, in several orders; those of `cdp,run,E0740` fail with this code. `make bless` writes output anew where nothing is left out, and pictures.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail where it stands")]

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The lines of a page between two fences.
struct Block<'a> {
    /// What stands behind the opening fence.
    info: &'a str,
    /// The first line within, counted from 0.
    first: usize,
    lines: Vec<&'a str>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = Vec::new();
    let mut open = false;
    for (number, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(info) if !open => {
                found.push(Block { info: info.trim(), first: number + 1, lines: Vec::new() });
                open = true;
            }
            Some(_) => open = false,
            None if open => found.last_mut().unwrap().lines.push(line),
            None => {}
        }
    }
    assert!(!open, "a block is not closed");
    found
}

/// The name in a first line that is a comment and nothing but the name of a file.
fn file_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix("// ").or_else(|| line.strip_prefix("# "))?;
    let (stem, ending) = name.rsplit_once('.')?;
    let word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (word(stem) && word(ending)).then_some(name)
}

/// What a command prints, on both streams as they come.
fn output(folder: &Path, line: &str) -> String {
    let mut tools = vec![Path::new(env!("CARGO_BIN_EXE_cdpc")).parent().unwrap().to_owned()];
    tools.extend(common::toolkit().map(|toolkit| toolkit.join("bin")));
    tools.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(folder).stdin(Stdio::null());
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    command.env("PATH", std::env::join_paths(tools).unwrap()).env("CUDA_VISIBLE_DEVICES", "").env("TERM", "dumb");
    command.envs(common::toolkit().map(|toolkit| ("CDPC_CUDA", toolkit))).env_remove("RUST_BACKTRACE");
    let mut child = command.spawn().unwrap();
    // with it goes the last writer but the child's own
    drop(command);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text
}

/// A line as it is compared: without what differs from run to run.
fn steady(line: &str) -> String {
    match line.strip_suffix(" ms)").and_then(|rest| rest.rsplit_once('(')) {
        Some((before, time)) if time.parse::<u32>().is_ok() => format!("{before}(1 ms)"),
        _ => line.to_owned(),
    }
}

/// Whether lines are those expected, of which `…` is any number.
fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((line, rest)) if line == "…" => (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..])),
        Some((line, rest)) => actual.first() == Some(line) && matches(rest, &actual[1..]),
    }
}

/// What running a page gave.
struct Outcome {
    wrong: Vec<String>,
    commands: usize,
    /// The page with the output that there is.
    page: String,
    /// The pictures that its commands drew, by name.
    drawn: Vec<(String, String)>,
    /// The names of those that it shows.
    shown: Vec<String>,
}

fn run(name: &str, page: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    let mut edits: Vec<(usize, usize, Vec<String>)> = Vec::new();
    for block in blocks(page) {
        if let Some(file) = block.lines.first().and_then(|line| file_name(line)) {
            std::fs::write(folder.path().join(file), block.lines.join("\n") + "\n").unwrap();
        }
        if let Some(code) = block.info.strip_prefix("cdp,run") {
            count += 1;
            std::fs::write(folder.path().join("example.cdp"), block.lines.join("\n") + "\n").unwrap();
            let text = output(folder.path(), "cdpc test --schedules 4 example.cdp");
            let right = match code.strip_prefix(',') {
                Some(code) => text.contains(&format!("error[{code}]")) && text.matches("error[").count() == 1,
                None => text.contains(" 0 failed") && !text.contains("warning"),
            };
            if !right {
                wrong.push(format!("docs/{name}:{}: a block of `{}` prints\n{text}", block.first, block.info));
            }
        }
        if block.info != "console" {
            continue;
        }
        let starts: Vec<usize> = (0..block.lines.len()).filter(|at| block.lines[*at].starts_with("$ ")).collect();
        assert!(starts.first() == Some(&0), "docs/{name}:{}: a session starts with a command", block.first);
        for (index, start) in starts.iter().enumerate() {
            count += 1;
            let end = starts.get(index + 1).copied().unwrap_or(block.lines.len());
            let expected = &block.lines[start + 1..end];
            let text = output(folder.path(), &block.lines[*start][2..]);
            let lines = |text: &[&str]| -> Vec<String> {
                let end = text.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
                text[..end].iter().map(|line| steady(line.trim_end())).collect()
            };
            let (actual, expected) = (lines(&text.lines().collect::<Vec<_>>()), lines(expected));
            if !matches(&expected, &actual) {
                wrong.push(format!("docs/{name}:{}: {} prints\n{text}", block.first + start + 1, block.lines[*start]));
                if !expected.iter().any(|line| line == "…") {
                    edits.push((block.first + start + 1, block.first + end, actual));
                }
            }
        }
    }
    for (from, to, new) in edits.into_iter().rev() {
        lines.splice(from..to, new);
    }
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    let shown = page.split("](pictures/").skip(1).filter_map(|rest| rest.split_once(')')).map(|(name, _)| name.to_owned());
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let drawn = files
        .filter(|name| name.ends_with(".svg"))
        .map(|name| (name.clone(), std::fs::read_to_string(folder.path().join(&name)).unwrap()));
    Outcome { wrong, commands: count, page: text, drawn: drawn.collect(), shown: shown.collect() }
}

#[test]
fn sessions_are_true() {
    let bless = std::env::var_os("CDPC_BLESS").is_some();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.push(root.join("README.md"));
    pages.sort();
    let (mut wrong, mut count, mut drawn, mut shown) = (Vec::new(), 0, Vec::new(), Vec::new());
    for path in pages.iter().filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let outcome = run(&path.file_name().unwrap().to_string_lossy(), &std::fs::read_to_string(path).unwrap());
        count += outcome.commands;
        if !outcome.wrong.is_empty() && bless {
            std::fs::write(path, outcome.page).unwrap();
        }
        wrong.extend(outcome.wrong);
        drawn.extend(outcome.drawn);
        shown.extend(outcome.shown);
    }
    let folder = root.join("docs/pictures");
    for name in &shown {
        let Some((_, new)) = drawn.iter().find(|(drawn, _)| drawn == name) else {
            wrong.push(format!("no command draws docs/pictures/{name}"));
            continue;
        };
        if std::fs::read_to_string(folder.join(name)).ok().as_ref() != Some(new) {
            wrong.push(format!("docs/pictures/{name} is not what the command draws"));
            if bless {
                std::fs::write(folder.join(name), new).unwrap();
            }
        }
    }
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        wrong.extend((!shown.contains(&name)).then(|| format!("docs/pictures/{name} is shown on no page")));
    }
    assert!(wrong.is_empty() || bless, "{}", wrong.join("\n"));
    assert!(count > 20, "only {count} commands are shown");
}

#[test]
fn wrong_sessions_are_found() {
    let page =
        |shown: &str| format!("```cdp\n// a.cdp\nkernel k() {{}}\n```\n\n```console\n$ cat a.cdp\n{shown}\n$ echo b\nb\n```\n");
    let right = run("a.md", &page("// a.cdp\nkernel k() {}"));
    assert!(right.wrong.is_empty() && right.commands == 2, "{:?}", right.wrong);
    assert!(run("a.md", &page("…\nkernel k() {}")).wrong.is_empty());
    let outcome = run("a.md", &page("kernel k() {}"));
    assert_eq!(outcome.wrong.len(), 1);
    assert_eq!(outcome.page, page("// a.cdp\nkernel k() {}"));
    // what leaves lines out is not written anew
    let outcome = run("a.md", &page("…\nkernel j() {}"));
    assert!(outcome.wrong.len() == 1 && outcome.page == page("…\nkernel j() {}"));
    let outcome = run("a.md", "```console\n$ echo '<svg/>' > a.svg\n```\n\n![a](pictures/b.svg)\n");
    assert_eq!((outcome.drawn, outcome.shown), (vec![("a.svg".to_owned(), "<svg/>\n".to_owned())], vec!["b.svg".to_owned()]));
    let block = |info: &str| {
        format!(
            "```{info}\nkernel k(x: *global i32) {{ *x = 1; }}\ntest \"t\" {{ let x = device(i32, 1); k<<<1, 2>>>(x); cudaDeviceSynchronize(); }}\n```\n"
        )
    };
    assert_eq!(run("a.md", &block("cdp,run")).wrong.len(), 1);
    assert_eq!(run("a.md", &block("cdp,run,E0724")).wrong.len(), 1);
    assert!(run("a.md", &block("cdp,run,E0740")).wrong.is_empty());
    assert_eq!(file_name("// hello.cdp"), Some("hello.cdp"));
    assert_eq!(file_name("// see hello.cdp"), None);
    assert_eq!(file_name("kernel.cdp"), None);
    assert_eq!(steady("a ... ok (12 ms)"), "a ... ok (1 ms)");
}

/// The page about the command line names every command and every option.
#[test]
fn every_option_is_on_its_page() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let listed = output(folder.path(), "cdpc help");
    let commands: Vec<&str> = listed
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .map_while(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 8, "{listed}");
    let (mut missing, mut count) = (Vec::new(), 0);
    for command in commands.into_iter().filter(|command| *command != "help") {
        if !page.contains(&format!("`cdpc {command}")) {
            missing.push(format!("cdpc {command}"));
        }
        let help = output(folder.path(), &format!("cdpc {command} --help"));
        for line in help.lines().map(str::trim_start).filter(|line| line.starts_with('-')) {
            let option = line.split(", ").last().unwrap_or(line);
            let option = option.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next().unwrap_or(option);
            count += 1;
            if option.starts_with("--") && option != "--help" && !page.contains(option) {
                missing.push(format!("cdpc {command} {option}"));
            }
        }
    }
    assert!(missing.is_empty(), "docs/cli.md has nothing of {}", missing.join(", "));
    assert!(count > 50, "only {count} options are listed");
}
