//! Section numbers of the CUDA Programming Guide: what a message, a page or a comment names exists, and an error's explanation gives its title.
//!
//! The numbers are those of the guide's edition 13.x: chapter 4.18, "CUDA Dynamic Parallelism", and section 5.6.4, "CUDA Device Runtime".

use std::fs;
use std::path::Path;

const SECTIONS: [(&str, &str); 51] = [
    ("4.18", "cuda dynamic parallelism"),
    ("4.18.1", "introduction"),
    ("4.18.1.1", "overview"),
    ("4.18.2", "execution environment"),
    ("4.18.2.1", "parent and child grids"),
    ("4.18.2.2", "scope of cuda primitives"),
    ("4.18.2.3", "streams and events"),
    ("4.18.2.4", "ordering and concurrency"),
    ("4.18.3", "memory coherence and consistency"),
    ("4.18.3.1", "global memory"),
    ("4.18.3.2", "mapped memory"),
    ("4.18.3.3", "shared and local memory"),
    ("4.18.3.4", "local memory"),
    ("4.18.3.4.1", "texture memory"),
    ("4.18.4", "programming interface"),
    ("4.18.4.1", "basics"),
    ("4.18.4.2", "c++ language interface for cdp"),
    ("4.18.4.2.1", "device-side kernel launch"),
    ("4.18.4.2.1.1", "launches are asynchronous"),
    ("4.18.4.2.1.2", "launch environment configuration"),
    ("4.18.4.2.2", "events"),
    ("4.18.4.2.3", "synchronization"),
    ("4.18.4.2.4", "device management"),
    ("4.18.5", "programming guidelines"),
    ("4.18.5.1", "performance"),
    ("4.18.5.1.1", "dynamic-parallelism-enabled kernel overhead"),
    ("4.18.5.2", "implementation restrictions and limitations"),
    ("4.18.5.2.1", "runtime"),
    ("4.18.5.2.1.1", "memory footprint"),
    ("4.18.5.2.1.2", "pending kernel launches"),
    ("4.18.5.3", "compatibility and interoperability"),
    ("4.18.6", "device-side launch from ptx"),
    ("4.18.6.1", "kernel launch apis"),
    ("4.18.6.1.1", "cudalaunchdevice"),
    ("4.18.6.1.2", "cudagetparameterbuffer"),
    ("4.18.6.2", "parameter buffer layout"),
    ("5.6.4", "cuda device runtime"),
    ("5.6.4.2.1", "configuration options"),
    ("5.6.4.2.2", "allocation and lifetime"),
    ("5.6.4.2.2.1.1", "device and constant memory"),
    ("5.6.4.2.2.1.2", "textures and surfaces"),
    ("5.6.4.2.2.1.3", "shared memory variable declarations"),
    ("5.6.4.2.2.1.4", "constant memory"),
    ("5.6.4.4", "launch setup apis"),
    ("5.6.4.5", "device management"),
    ("5.6.4.6", "api reference"),
    ("5.6.4.7", "api errors and launch failures"),
    ("5.6.4.8", "device runtime streams"),
    ("5.6.4.8.1", "the implicit (null) stream"),
    ("5.6.4.8.2", "the fire-and-forget stream"),
    ("5.6.4.8.3", "the tail launch stream"),
];

/// Where the guide is named.
const FOLDERS: [&str; 7] = ["README.md", "docs", "compiler", "runtime-shim", "lang-tests", "ptx-golden", "examples"];

/// Every section that is named exists, and stands with its own title where an explanation gives one.
///
/// # Errors
/// The places that name another.
pub fn sections_exist() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    let mut count = 0;
    for folder in FOLDERS {
        walk(&root.join(folder), &mut |path, text| {
            for (line, text) in text.lines().enumerate() {
                for section in sections(text) {
                    count += 1;
                    let known = SECTIONS.iter().find(|(number, _)| *number == section);
                    let fault = match known {
                        None => "the guide has no such section".to_owned(),
                        Some((_, title)) if !has_title(text, section, title) => format!("its title is \"{title}\""),
                        Some(_) => continue,
                    };
                    wrong.push(format!("{}:{}: {section}: {fault}", path.display(), line + 1));
                }
            }
        })?;
    }
    if count < 150 {
        return Err(format!("only {count} sections are named"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// The sections of the two chapters that a line names.
fn sections(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let digit = |c: char| c.is_ascii_digit() || c == '.';
    for start in ["4.18", "5.6.4"] {
        for (at, _) in line.match_indices(start) {
            let (before, rest) = line.split_at(at);
            let number = rest.find(|c| !digit(c)).map_or(rest, |end| rest.split_at(end).0).trim_end_matches('.');
            let whole = number == start || number.strip_prefix(start).is_some_and(|more| more.starts_with('.'));
            if whole && !before.ends_with(digit) {
                found.push(number);
            }
        }
    }
    found
}

/// Of the last line of an explanation, `Guide: section N, TITLE`, the title is the section's.
fn has_title(line: &str, section: &str, title: &str) -> bool {
    let Some(given) = line.strip_prefix("Guide: section ").and_then(|rest| rest.strip_prefix(section)) else { return true };
    given.is_empty() || given.strip_prefix(", ").is_some_and(|given| given.eq_ignore_ascii_case(title))
}

/// Hands on every text of a folder, or one file.
fn walk(path: &Path, take: &mut impl FnMut(&Path, &str)) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("{}: {error}", path.display());
    if path.is_file() {
        if path.extension().is_some_and(|ending| ending == "md" || ending == "rs" || ending == "cdp" || ending == "stderr") {
            take(path, &fs::read_to_string(path).map_err(fail)?);
        }
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(fail)? {
        let inner = entry.map_err(fail)?.path();
        if inner.file_name().is_none_or(|name| name != "target" && name != "node_modules") {
            walk(&inner, take)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{has_title, sections};

    #[test]
    fn sections_are_found_in_lines() {
        assert_eq!(sections("(guide 4.18.3.3, 4.18.3.4)."), ["4.18.3.3", "4.18.3.4"]);
        assert_eq!(sections("chapter 4.18 and 5.6.4.8.3; 14.18.2, 4.180, 4.18x2"), ["4.18", "4.18", "5.6.4.8.3"]);
    }

    #[test]
    fn titles_are_those_of_the_guide() {
        assert!(has_title("Guide: section 4.18.3.1", "4.18.3.1", "global memory"));
        assert!(has_title("Guide: section 4.18.3.1, Global memory", "4.18.3.1", "global memory"));
        assert!(!has_title("Guide: section 4.18.3.1, memory", "4.18.3.1", "global memory"));
    }
}
