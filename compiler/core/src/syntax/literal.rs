//! The values of number, string and character literals.

use super::ast::{ExprKind, Suffix};
use std::ops::Range;

/// What is wrong with a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NumberProblem {
    /// `0x`, `0b`
    NoDigits,
    /// `0b12`: the digit and the base
    Digit(char, u32),
    /// `1q`: what stands behind the digits
    Suffix(String),
    /// `1.5i32`, `0x1f32` is none
    FloatWithIntegerSuffix(Suffix),
    /// more than 64 bits
    TooLarge,
    /// `1e999`, infinite even as `f64`
    FloatTooLarge,
}

const SUFFIXES: [Suffix; 12] = [
    Suffix::BF16,
    Suffix::I8,
    Suffix::I16,
    Suffix::I32,
    Suffix::I64,
    Suffix::U8,
    Suffix::U16,
    Suffix::U32,
    Suffix::U64,
    Suffix::F16,
    Suffix::F32,
    Suffix::F64,
];

/// The node of a number as written.
pub(super) fn number(text: &str) -> Result<ExprKind, NumberProblem> {
    let lower = text.to_ascii_lowercase();
    let (base, body) = match lower.get(..2) {
        Some("0x") => (16, lower.get(2..).unwrap_or("")),
        Some("0b") => (2, lower.get(2..).unwrap_or("")),
        Some("0o") => (8, lower.get(2..).unwrap_or("")),
        _ => (10, lower.as_str()),
    };
    if base != 10 {
        return based(body, base);
    }
    let (digits, suffix) = split_decimal(body);
    let suffix = suffix_of(suffix).ok_or_else(|| NumberProblem::Suffix(suffix.to_owned()))?;
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    let has_point_or_exponent = plain.contains(['.', 'e']);
    match suffix {
        Some(suffix) if has_point_or_exponent && !suffix.is_float() => Err(NumberProblem::FloatWithIntegerSuffix(suffix)),
        suffix if has_point_or_exponent || suffix.is_some_and(Suffix::is_float) => match plain.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(ExprKind::Float { text: plain, suffix }),
            _ => Err(NumberProblem::FloatTooLarge),
        },
        suffix => {
            let value = plain.parse::<u64>().map_err(|_| NumberProblem::TooLarge)?;
            Ok(ExprKind::Int { value, suffix })
        }
    }
}

/// Separates the digits, point and exponent of a decimal number from what stands behind them.
fn split_decimal(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while matches!(bytes.get(at), Some(b'0'..=b'9' | b'_')) {
            at += 1;
        }
        at
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if bytes.get(end) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if matches!(bytes.get(end + 1 + sign), Some(b'0'..=b'9')) {
            end = digits(end + 1 + sign);
        }
    }
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn suffix_of(text: &str) -> Option<Option<Suffix>> {
    if text.is_empty() {
        return Some(None);
    }
    SUFFIXES.into_iter().find(|suffix| suffix.name() == text).map(Some)
}

/// A number with a base prefix; `f` and `b` are digits of base 16, so only integer suffixes may follow there.
fn based(body: &str, base: u32) -> Result<ExprKind, NumberProblem> {
    let split = body.find(['i', 'u']).unwrap_or(body.len());
    let (digits, suffix_text) = body.split_at_checked(split).unwrap_or((body, ""));
    let mut value: Option<u64> = Some(0);
    let mut any = false;
    for c in digits.chars().filter(|c| *c != '_') {
        let digit = match c.to_digit(base) {
            Some(digit) => digit,
            None if c.is_ascii_digit() || base == 16 => return Err(NumberProblem::Digit(c, base)),
            None => return Err(NumberProblem::Suffix(digits.get(digits.find(c).unwrap_or(0)..).unwrap_or("").to_owned())),
        };
        any = true;
        value = value.and_then(|v| v.checked_mul(u64::from(base))).and_then(|v| v.checked_add(u64::from(digit)));
    }
    if !any {
        return Err(NumberProblem::NoDigits);
    }
    let suffix = suffix_of(suffix_text).ok_or_else(|| NumberProblem::Suffix(suffix_text.to_owned()))?;
    let value = value.ok_or(NumberProblem::TooLarge)?;
    Ok(ExprKind::Int { value, suffix })
}

/// The suffix that a C programmer's suffix stands for: `f`, `u`, `ul`, `ull`, `ll`, `l`.
pub(super) fn c_suffix(text: &str) -> Option<Suffix> {
    match text {
        "f" => Some(Suffix::F32),
        "u" => Some(Suffix::U32),
        "l" | "ll" => Some(Suffix::I64),
        "ul" | "ull" | "lu" | "llu" => Some(Suffix::U64),
        _ => None,
    }
}

/// The value of a quoted literal with its quotes; `problem` gets the byte range of every escape sequence that does not exist.
pub(super) fn unescape(quoted: &str, mut problem: impl FnMut(Range<usize>)) -> String {
    let quote = quoted.get(..1).unwrap_or("");
    let body = quoted.get(1..).unwrap_or("");
    let body = body.strip_suffix(quote).unwrap_or(body);
    let mut value = String::with_capacity(body.len());
    let mut chars = body.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        let Some((escape_at, escape)) = chars.next() else {
            problem(at + 1..at + 2);
            break;
        };
        let mut end = escape_at + escape.len_utf8();
        let resolved = match escape {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            '0' => Some('\0'),
            'a' => Some('\x07'),
            'b' => Some('\x08'),
            'f' => Some('\x0c'),
            'v' => Some('\x0b'),
            'e' => Some('\x1b'),
            '\\' | '"' | '\'' => Some(escape),
            'x' => {
                let digits = body.get(end..end + 2).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
                digits.and_then(|digits| {
                    end += 2;
                    chars.next();
                    chars.next();
                    u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii).map(char::from)
                })
            }
            'u' => unicode(body, end).map(|(length, c)| {
                end += length;
                while chars.next_if(|(at, _)| *at < end).is_some() {}
                c
            }),
            _ => None,
        };
        match resolved {
            Some(c) => value.push(c),
            None => problem(at + 1..end + 1),
        }
    }
    value
}

/// `{1F600}` behind `\u`: how long it is and which character.
fn unicode(body: &str, start: usize) -> Option<(usize, char)> {
    let inner = body.get(start..)?.strip_prefix('{')?;
    let close = inner.find('}')?;
    let c = char::from_u32(u32::from_str_radix(inner.get(..close)?, 16).ok()?)?;
    Some((close + 2, c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: u64, suffix: Option<Suffix>) -> Result<ExprKind, NumberProblem> {
        Ok(ExprKind::Int { value, suffix })
    }

    fn float(text: &str, suffix: Option<Suffix>) -> Result<ExprKind, NumberProblem> {
        Ok(ExprKind::Float { text: text.to_owned(), suffix })
    }

    #[test]
    fn numbers() {
        assert_eq!(number("0"), int(0, None));
        assert_eq!(number("1_000u32"), int(1000, Some(Suffix::U32)));
        assert_eq!(number("0xffu8"), int(255, Some(Suffix::U8)));
        assert_eq!(number("0xDEAD_BEEF"), int(0xdead_beef, None));
        assert_eq!(number("0x1f32"), int(0x1f32, None));
        assert_eq!(number("0b1010i64"), int(10, Some(Suffix::I64)));
        assert_eq!(number("0o17"), int(15, None));
        assert_eq!(number("18446744073709551615"), int(u64::MAX, None));
        assert_eq!(number("18446744073709551616"), Err(NumberProblem::TooLarge));
        assert_eq!(number("0x1_0000_0000_0000_0000"), Err(NumberProblem::TooLarge));
        assert_eq!(number("0x"), Err(NumberProblem::NoDigits));
        assert_eq!(number("0b12"), Err(NumberProblem::Digit('2', 2)));
        assert_eq!(number("1.5f32"), float("1.5", Some(Suffix::F32)));
        assert_eq!(number("1e-3"), float("1e-3", None));
        assert_eq!(number("1E+1_0bf16"), float("1e+10", Some(Suffix::BF16)));
        assert_eq!(number("2f64"), float("2", Some(Suffix::F64)));
        assert_eq!(number("1.0f"), Err(NumberProblem::Suffix("f".to_owned())));
        assert_eq!(number("1.5i32"), Err(NumberProblem::FloatWithIntegerSuffix(Suffix::I32)));
        assert_eq!(number("1e999"), Err(NumberProblem::FloatTooLarge));
        assert_eq!(number("1e"), Err(NumberProblem::Suffix("e".to_owned())));
    }

    #[test]
    fn escapes() {
        let ok = |text: &str| {
            let mut bad = Vec::new();
            let value = unescape(text, |range| bad.push(range));
            assert!(bad.is_empty(), "{text}: {bad:?}");
            value
        };
        assert_eq!(ok(r#""a\n\t\\\"\x41\u{e4}ö""#), "a\n\t\\\"A\u{e4}ö");
        let mut bad = Vec::new();
        assert_eq!(unescape(r#""a\qb\xzz\xff""#, |range| bad.push(range)), "abzz");
        assert_eq!(bad, [2..4, 5..7, 9..13]);
    }
}
