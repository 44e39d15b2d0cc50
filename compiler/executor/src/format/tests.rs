use super::{Format, Value};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

fn printed(format: &str, args: Vec<Value<'_>>) -> String {
    let mut out = Vec::new();
    Format::new(format).write(args.into_iter(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn int(value: i64) -> Value<'static> {
    Value::Int(value.cast_unsigned())
}

/// A format with one conversion, the value to try it on, and how the reference program reads that value.
struct Case {
    format: String,
    value: Value<'static>,
    /// `i`, `l`, `f`, `s`, `c` or `p`: `int`, `long`, the bits of a `double`, a string, a character, a pointer.
    kind: char,
    text: String,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |format: &str, kind: char, text: String, value: Value<'static>| {
        cases.push(Case { format: format.to_owned(), value, kind, text })
    };
    for flags in ["", "-", "+", " ", "0", "#", "-0", "+0", " 0", "-+", "#0", "+ "] {
        for width in ["", "1", "5", "12"] {
            for precision in ["", ".", ".0", ".1", ".3", ".10"] {
                for kind in ["d", "i", "u", "o", "x", "X", "hd", "hhd", "hu", "hhx"] {
                    let format = format!("%{flags}{width}{precision}{kind}");
                    for v in [0i64, 1, -1, 7, 42, -128, 255, 65536, 2_147_483_647, -2_147_483_648] {
                        add(&format, 'i', v.to_string(), int(v));
                    }
                }
                for kind in ["ld", "lld", "lu", "llu", "lx", "llo", "zu", "zx"] {
                    let format = format!("%{flags}{width}{precision}{kind}");
                    for v in [0i64, -1, 1 << 40, i64::MAX, i64::MIN] {
                        add(&format, 'l', v.to_string(), int(v));
                    }
                }
            }
        }
    }
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.5,
        2.5,
        0.1,
        0.25,
        0.125,
        1e10,
        123_456.0,
        1_234_567.0,
        0.0001,
        0.000_012_345,
        9.999_999_5,
        999_999.5,
        1e100,
        1e-100,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        2f64.powi(-1074) * 12345.0,
        1.0 / 3.0,
        1e23,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.996_093_75,
        1.996_093_75,
    ];
    for flags in ["", "-", "+", " ", "0", "#", "+0", "#0"] {
        for width in ["", "3", "20"] {
            for precision in ["", ".", ".0", ".1", ".2", ".6", ".15", ".20", ".40"] {
                for kind in ["f", "F", "e", "E", "g", "G", "a", "A", "lf"] {
                    let format = format!("%{flags}{width}{precision}{kind}");
                    for v in floats {
                        add(&format, 'f', v.to_bits().to_string(), Value::Float(v));
                    }
                }
            }
        }
    }
    for flags in ["", "-"] {
        for width in ["", "1", "9"] {
            for precision in ["", ".0", ".2", ".9"] {
                for text in ["", "a", "hello"] {
                    add(&format!("%{flags}{width}{precision}s"), 's', text.to_owned(), Value::Str(Cow::Borrowed(text)));
                }
            }
            add(&format!("%{flags}{width}c"), 'c', "120".to_owned(), int(120));
            for p in [0u64, 0x1234_5678, 0x7fff_0000_1000] {
                add(&format!("%{flags}{width}p"), 'p', p.to_string(), Value::Pointer(p));
            }
        }
    }
    cases
}

/// Reads lines of kind, format and value, and prints each.
const REFERENCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        char *format = line + 2, *value = strchr(format, '\t');
        *value++ = 0;
        unsigned long bits = *value == '-' ? (unsigned long)strtol(value, 0, 10) : strtoul(value, 0, 10);
        double number;
        memcpy(&number, &bits, 8);
        switch (line[0]) {
            case 'i': case 'c': printf(format, (int)bits); break;
            case 'l': printf(format, bits); break;
            case 'f': printf(format, number); break;
            case 's': printf(format, value); break;
            case 'p': printf(format, (void *)bits); break;
        }
        putchar('\n');
    }
    return 0;
}
"#;

/// The C library is the standard: one program prints every case, and so do we.
#[test]
fn agrees_with_the_c_library() {
    // glibc drops the zeroes that `#` asks for where rounding makes one more digit of `%g`
    let known_fault = |case: &Case| {
        case.format.contains('#')
            && case.format.to_lowercase().ends_with('g')
            && matches!(case.value, Value::Float(v) if v == 999_999.5)
    };
    let cases: Vec<Case> = cases().into_iter().filter(|case| !known_fault(case)).collect();
    let folder = std::env::temp_dir().join(format!("cdp-printf-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let binary = folder.join("reference");
    let mut compiler = Command::new("cc")
        .args(["-x", "c", "-w", "-o"])
        .arg(&binary)
        .arg("-")
        .stdin(Stdio::piped())
        .spawn()
        .expect("a C compiler");
    compiler.stdin.take().unwrap().write_all(REFERENCE.as_bytes()).unwrap();
    assert!(compiler.wait().unwrap().success());
    let mut input = String::new();
    for Case { format, kind, text, .. } in &cases {
        let _ = writeln!(input, "{kind} [{format}]\t{text}");
    }
    let lines = folder.join("cases");
    std::fs::write(&lines, input).unwrap();
    let output = Command::new(&binary).stdin(std::fs::File::open(&lines).unwrap()).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let expected = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<&str> = expected.lines().collect();
    assert_eq!(expected.len(), cases.len());
    assert!(cases.len() > 10_000);
    for (Case { format, value, text, .. }, expected) in cases.into_iter().zip(expected) {
        let got = printed(&format!("[{format}]"), vec![value]);
        assert_eq!(got, expected, "printf(\"{format}\", {text})");
    }
}

#[test]
fn text_and_percent_stand_as_they_are() {
    assert_eq!(printed("100%% of %d\n", vec![int(3)]), "100% of 3\n");
    assert_eq!(printed("50%! %k", vec![]), "50%! %k");
    assert_eq!(printed("%", vec![]), "%");
    assert_eq!(printed("größer: %d", vec![int(1)]), "größer: 1");
}

#[test]
fn width_and_precision_may_be_arguments() {
    assert_eq!(printed("[%*d]", vec![int(5), int(42)]), "[   42]");
    assert_eq!(printed("[%*d]", vec![int(-5), int(42)]), "[42   ]");
    assert_eq!(printed("[%.*f]", vec![int(2), Value::Float(1.0)]), "[1.00]");
    assert_eq!(printed("[%.*f]", vec![int(-1), Value::Float(1.0)]), "[1.000000]");
    assert_eq!(printed("[%*.*s]", vec![int(6), int(2), Value::Str(Cow::Borrowed("hello"))]), "[    he]");
}

#[test]
fn not_a_number_has_a_name_and_a_sign() {
    assert_eq!(
        printed("%f %E %5g", vec![Value::Float(f64::NAN), Value::Float(f64::NAN), Value::Float(f64::NAN)]),
        "nan NAN   nan"
    );
    assert_eq!(printed("%f", vec![Value::Float(-f64::NAN)]), "-nan");
}
