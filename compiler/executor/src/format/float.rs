//! Digits of floating-point numbers, exactly rounded.

/// The digits of a finite number without its sign, and a prefix that zeroes go behind (`0x` of `%a`).
pub(super) fn digits(value: f64, kind: char, precision: Option<usize>, alternate: bool) -> (&'static str, String) {
    match kind {
        'f' => ("", fixed(value, precision.unwrap_or(6), alternate)),
        'e' => ("", exponential(value, precision.unwrap_or(6), alternate)),
        'a' => ("0x", hexadecimal(value, precision, alternate)),
        _ => ("", general(value, precision.unwrap_or(6).max(1), alternate)),
    }
}

/// No finite `f64` has more digits than this behind its point; the rest are zeroes.
const MOST_DECIMALS: usize = 1100;

fn fixed(value: f64, precision: usize, alternate: bool) -> String {
    let exact = precision.min(MOST_DECIMALS);
    let mut text = format!("{value:.exact$}");
    text.push_str(&"0".repeat(precision - exact));
    if precision == 0 && alternate {
        text.push('.');
    }
    text
}

/// Mantissa digits and the decimal exponent, rounded to this many digits behind the point.
fn scientific(value: f64, precision: usize) -> (String, i32) {
    let exact = precision.min(MOST_DECIMALS);
    let text = format!("{value:.exact$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (format!("{mantissa}{}", "0".repeat(precision - exact)), exponent.parse().unwrap_or(0))
}

fn exponential(value: f64, precision: usize, alternate: bool) -> String {
    let (mut mantissa, exponent) = scientific(value, precision);
    if precision == 0 && alternate {
        mantissa.push('.');
    }
    with_exponent(&mantissa, exponent)
}

/// At least two digits of exponent, with its sign.
fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// `%g`: `precision` significant digits; exponents below -4 or from `precision` on are written, trailing zeroes are not.
fn general(value: f64, precision: usize, alternate: bool) -> String {
    let (mantissa, exponent) = scientific(value, precision - 1);
    let significant = i32::try_from(precision).unwrap_or(i32::MAX);
    let strip = |text: String| {
        if alternate || !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if exponent < -4 || exponent >= significant {
        let mut mantissa = strip(mantissa);
        if alternate && !mantissa.contains('.') {
            mantissa.push('.');
        }
        return with_exponent(&mantissa, exponent);
    }
    let decimals = usize::try_from(significant - 1 - exponent).unwrap_or(0);
    strip(fixed(value, decimals, alternate))
}

/// `%a` without its `0x`: `1.8p+0`; a subnormal starts with 0, as glibc writes it.
fn hexadecimal(value: f64, precision: Option<usize>, alternate: bool) -> String {
    let bits = value.to_bits();
    let field = (bits >> 52) & 0x7ff;
    let mut mantissa = bits & ((1 << 52) - 1);
    let mut lead = u64::from(field != 0);
    let exponent = if bits == 0 { 0 } else { i64::from(field.max(1) as u32) - 1023 };
    let mut digits = 13;
    if let Some(precision) = precision
        && precision < 13
    {
        let dropped = 4 * (13 - precision as u32);
        let whole = (lead << 52) | mantissa;
        let kept = whole >> dropped;
        let rest = whole & ((1 << dropped) - 1);
        let half = 1u64 << (dropped - 1);
        let rounded = kept + u64::from(rest > half || (rest == half && kept & 1 == 1));
        let width = 52 - dropped;
        lead = rounded >> width;
        mantissa = rounded & ((1u64 << width) - 1);
        digits = precision;
    }
    let mut text = if digits == 0 { String::new() } else { format!("{mantissa:0digits$x}") };
    match precision {
        None => text.truncate(text.trim_end_matches('0').len()),
        Some(precision) => text.push_str(&"0".repeat(precision.saturating_sub(13))),
    }
    let point = if text.is_empty() && !alternate { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{lead:x}{point}{text}p{sign}{}", exponent.unsigned_abs())
}
