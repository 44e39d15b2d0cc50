use super::{Level, Levels, check};
use crate::builtins::Cdp;
use crate::diag::Severity;
use crate::lower::testing::module;
use crate::source::SourceMap;
use crate::syntax::parse;

/// What is reported on a text, by code.
fn codes(text: &str, levels: impl Fn(&mut Levels)) -> Vec<(&'static str, Severity)> {
    let mut sources = SourceMap::new();
    let file = sources.add("test.cdp", text);
    let mut wanted = Levels::new();
    levels(&mut wanted);
    wanted.read(&parse(file, text).0);
    check(&module(text), &wanted, Cdp::Cdp2).finish().iter().map(|d| (d.code.id(), d.severity)).collect()
}

const DIVISION: &str = "kernel k(x: *global i32) { let n = 0; x[0] = x[1] / n; }";

#[test]
fn the_innermost_attribute_wins() {
    use Severity::{Error, Warning};
    assert_eq!(codes(DIVISION, |_| {}), [("W0201", Warning)]);
    let on_item = |attribute: &str| format!("{attribute} {DIVISION}");
    assert_eq!(codes(&on_item("@allow(division_by_zero, \"on purpose\")"), |_| {}), []);
    assert_eq!(codes(&on_item("@deny(W0201)"), |_| {}), [("W0201", Error)]);
    let inner =
        "@allow(W0201) kernel k(x: *global i32) { let n = 0; if x[0] > 1 { @warn(W0201) x[0] = x[1] / n; } x[1] = 1 / n; }";
    assert_eq!(codes(inner, |_| {}), [("W0201", Warning)]);
}

#[test]
fn the_command_line_speaks_for_the_rest() {
    use Severity::{Error, Warning};
    let deny_all = |levels: &mut Levels| assert!(levels.set("warnings", Level::Deny));
    assert_eq!(codes(DIVISION, deny_all), [("W0201", Error)]);
    assert_eq!(codes(&format!("@warn(division_by_zero) {DIVISION}"), deny_all), [("W0201", Warning)]);
    assert_eq!(codes(DIVISION, |levels| assert!(levels.set("division_by_zero", Level::Allow))), []);
    assert!(!Levels::new().set("no_such_lint", Level::Allow) && !Levels::new().set("E0501", Level::Allow));
}

#[test]
fn what_a_constant_switches_off_is_not_looked_at() {
    assert_eq!(codes("const N = 0; kernel k(x: *global i32) { let n = N; if N > 0 { x[0] = x[1] / n; } }", |_| {}), []);
}

#[test]
fn the_programs_of_the_suite_can_all_be_looked_at() {
    for (_, module, _) in crate::lower::testing::programs() {
        let _ = check(&module, &Levels::new(), Cdp::Cdp2);
    }
}

#[test]
fn a_long_cycle_of_functions_is_looked_at_a_few_times_only() {
    use std::fmt::Write as _;
    let mut text = String::new();
    for n in 0..300 {
        let next = (n + 1) % 300;
        let _ = writeln!(
            text,
            "fn walk{n}(p: *global i32, a: i32) -> *global i32 {{ p[a] = {n}; if a > 9 {{ return p; }} return walk{next}(p + 1, a + 1); }}"
        );
    }
    text.push_str("kernel k(x: *global i32) { let p = walk0(x, 1); p[0] = 1; }");
    assert_eq!(codes(&text, |_| {}), []);
}
