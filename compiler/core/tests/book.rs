//! The book hangs together: every page is in the summary once, every link leads to a page and a place on it, every file that is named exists.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail where it stands")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The pages by name, what they include put in its place.
fn pages() -> BTreeMap<String, String> {
    let folder = root().join("docs");
    let paths = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), with_includes(&folder, &read(&path))))
        .collect()
}

fn with_includes(folder: &Path, page: &str) -> String {
    let mut out = String::new();
    for line in page.lines() {
        match line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
            Some(name) => out.push_str(&read(&folder.join(name))),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// The lines of a page that are text: those of code, between fences or indented behind a blank line, are not.
fn prose(page: &str) -> Vec<&str> {
    let (mut fenced, mut indented, mut blank) = (false, false, true);
    // where the text of the present item of a list begins, 0 outside of lists
    let mut item = 0;
    let mut out = Vec::new();
    for line in page.lines() {
        let text = line.trim_start();
        if text.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if text.is_empty() {
            blank = true;
            continue;
        }
        let indent = line.len() - text.len();
        // four columns deeper than the text around it; in a list less than that goes on with the item
        let deep = indent >= item + 4;
        indented = deep && (indented || blank);
        if indent < 4 {
            let number = text.split_once(". ").filter(|(number, _)| number.parse::<u32>().is_ok());
            item = if text.starts_with("- ") {
                indent + 2
            } else {
                number.map_or(item.min(indent), |(n, _)| indent + n.len() + 2)
            };
        }
        blank = false;
        if !fenced && !indented {
            out.push(line);
        }
    }
    out
}

/// Where links may lead on a page: its headings, by the names that mdBook and GitHub give them, and marks set by hand.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in prose(page) {
        if let Some((_, title)) = line.split_once("# ").filter(|(before, _)| before.chars().all(|c| c == '#')) {
            let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            let mut name: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
            // a second heading of one name has a number
            if found.contains(&name) {
                name = (1..).map(|number| format!("{name}-{number}")).find(|name| !found.contains(name)).unwrap();
            }
            found.insert(name);
        }
        for mark in line.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(found.insert(mark.to_owned()), "two places are called {mark}");
        }
    }
    found
}

/// Where the links of a page lead.
fn links(page: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in prose(page) {
        // what stands between backticks is code
        for text in line.split('`').step_by(2).collect::<Vec<_>>() {
            found.extend(text.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
        }
    }
    found
}

#[test]
fn every_page_is_in_the_summary_once() {
    let pages = pages();
    let listed = links(&pages["SUMMARY.md"]);
    for (name, page) in &pages {
        if name != "SUMMARY.md" {
            let times = listed.iter().filter(|link| *link == name).count();
            assert_eq!(times, 1, "docs/SUMMARY.md has {name} {times} times");
            assert!(page.starts_with("# "), "docs/{name} does not start with its title");
        }
    }
    assert_eq!(listed.len(), pages.len() - 1, "docs/SUMMARY.md lists what is not there");
}

#[test]
fn links_lead_somewhere() {
    let pages = pages();
    let places: BTreeMap<&str, BTreeSet<String>> = pages.iter().map(|(name, page)| (name.as_str(), anchors(page))).collect();
    let readme = read(&root().join("README.md"));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (name, page) in pages.iter().map(|(name, page)| (name.as_str(), page)).chain([("../README.md", &readme)]) {
        for link in links(page).into_iter().filter(|link| !link.contains("://")) {
            count += 1;
            let (file, place) = link.split_once('#').map_or((link, None), |(file, place)| (file, Some(place)));
            let file = if name == "../README.md" { file.strip_prefix("docs/").unwrap_or(file) } else { file };
            let folder = if name == "../README.md" && !link.starts_with("docs/") { root() } else { root().join("docs") };
            if !file.is_empty() && !folder.join(file).exists() {
                wrong.push(format!("docs/{name}: `{link}` does not exist"));
            } else if let Some(place) = place {
                let target = if file.is_empty() { name } else { file };
                if !places.get(target).is_some_and(|places| places.contains(place)) {
                    wrong.push(format!("docs/{name}: there is no such place as `{link}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "only {count} links are found");
}

#[test]
fn links_and_places_are_read() {
    let page = "# A page\n\nSee [there](b.md#here), `[not](this)`.\n\n    [nor](that)\n\n- [a](#a-page)\n    [b](c.md)\n\n      [not](code)\n\n  [d](e.md)\n\n```text\n# no [x](y)\n```\n\n## Two `words`, one\n\n<a id=\"R1\"></a>\n";
    assert_eq!(links(page), ["b.md#here", "#a-page", "c.md", "e.md"]);
    assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), ["R1", "a-page", "two-words-one"]);
}

/// The codes that a line of text names outside of code, and whether all are links to their place in the error index.
fn codes(line: &str) -> (usize, bool) {
    let is_code =
        |word: &&str| word.len() == 5 && word.starts_with(['E', 'W']) && word[1..].chars().all(|c| c.is_ascii_digit());
    let found = |text: &str| text.split(|c: char| !c.is_alphanumeric()).filter(is_code).count();
    let text: Vec<&str> = line.split('`').step_by(2).collect();
    // each is named twice in its link, once as its text and once as its place
    let linked = |part: &str| {
        part.split_once("](error-index.md#")
            .is_some_and(|(code, rest)| is_code(&code) && rest.strip_prefix(code).is_some_and(|rest| rest.starts_with(')')))
    };
    let links = text.iter().flat_map(|text| text.split('[')).filter(|part| linked(part)).count();
    let named = text.iter().map(|text| found(text)).sum::<usize>() - links;
    (named, named == links)
}

/// The error index is what `cdpc explain` prints, where a link would be noise; everywhere else a code leads there.
#[test]
fn codes_are_links() {
    assert_eq!(codes("of E0101 (E0102), `E0103`"), (2, false));
    assert_eq!(codes("([E0101](error-index.md#E0101)), [E0102](error-index.md#E0103)"), (3, false));
    assert_eq!(codes("([E0101](error-index.md#E0101)), [W0102](error-index.md#W0102)"), (2, true));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (name, page) in pages().iter().filter(|(name, _)| *name != "error-index.md") {
        for line in prose(page) {
            let (named, linked) = codes(line);
            count += named;
            if !linked {
                wrong.push(format!("docs/{name}: a code is not a link to its place: {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 200, "only {count} codes are named");
}

/// Files and folders in backticks, from the root of the repository.
#[test]
fn files_that_are_named_exist() {
    const TOPS: [&str; 10] = [
        "compiler/",
        "runtime-shim/",
        "lang-tests/",
        "ptx-golden/",
        "docs/",
        "scripts/",
        "examples/",
        "Cargo.toml",
        "Makefile",
        "README.md",
    ];
    let mut count = 0;
    for (name, page) in pages() {
        for word in page.split('`').skip(1).step_by(2) {
            let path = word.split_whitespace().next().unwrap_or("");
            let plain = path == word
                && !word.contains(['*', '…', '<', '{'])
                && !["CODE", "NAME", "KIND"].iter().any(|name| word.contains(name));
            // a function in a file: `path::function`
            let file = word.split("::").next().unwrap_or(word);
            if plain && TOPS.iter().any(|top| word.starts_with(top)) {
                count += 1;
                assert!(root().join(file).exists(), "docs/{name} names `{word}`, which does not exist");
            }
        }
    }
    assert!(count > 40, "only {count} files are named");
}

/// Names that a page says are in a file, "`check_side` and `check_flags` in `compiler/core/src/sema/runtime.rs`", are in it.
#[test]
fn names_stand_in_the_files() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (page, text) in pages() {
        for line in prose(&text) {
            let parts: Vec<&str> = line.split('`').collect();
            for at in (3..parts.len()).step_by(2) {
                let path = root().join(parts[at]);
                if parts[at - 1] != " in " || !path.is_file() {
                    continue;
                }
                let file = read(&path);
                let mut name = at - 2;
                loop {
                    let plain = parts[name].trim_end_matches(['!', '…', ')', '(']);
                    if plain.contains('/') {
                        break;
                    }
                    count += 1;
                    if !file.contains(plain) {
                        wrong.push(format!("docs/{page}: `{plain}` is not in {}", parts[at]));
                    }
                    // the names before it, of a list
                    if name < 3 || ![" and ", ", ", " or "].contains(&parts[name - 1]) {
                        break;
                    }
                    name -= 2;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 15, "only {count} names are found");
}
