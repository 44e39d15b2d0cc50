//! `printf`, byte for byte as the C library formats.
//!
//! - this file: formats and their conversions
//! - `float`: `e f g a`

mod float;

/// A format, taken apart once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Conversion(Conversion),
}

/// One `%…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conversion {
    flags: Flags,
    width: Amount,
    precision: Amount,
    length: Length,
    kind: char,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Amount {
    None,
    Fixed(usize),
    /// `*`: the next argument
    Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Char,
    Short,
    Int,
    Long,
}

/// A value to print.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// An integer's bits, extended to 64 by its sign.
    Int(u64),
    /// A floating-point number.
    Float(f64),
    /// An address.
    Pointer(u64),
    /// A string.
    Str(std::borrow::Cow<'a, str>),
}

/// Wider fields than this are a mistake, and would only fill memory.
const MAX_WIDTH: usize = 1 << 20;

impl Format {
    /// Takes a format apart. What is no conversion is printed as it stands.
    #[must_use]
    pub fn new(format: &str) -> Self {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            text.push_str(rest.get(..at).unwrap_or(""));
            let after = rest.get(at + 1..).unwrap_or("");
            if let Some(next) = after.strip_prefix('%') {
                text.push('%');
                rest = next;
            } else if let Some((conversion, next)) = conversion(after) {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Conversion(conversion));
                rest = next;
            } else {
                text.push('%');
                rest = after;
            }
        }
        text.push_str(rest);
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Self { pieces }
    }

    /// Whether there is nothing to print.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Appends the text. A missing argument counts as 0; one of another kind is converted as C's promotion would not, but sensibly.
    pub fn write<'a>(&self, mut args: impl Iterator<Item = Value<'a>>, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Conversion(conversion) => conversion.write(&mut args, out),
            }
        }
    }
}

/// A conversion after its `%`, and what follows it.
fn conversion(text: &str) -> Option<(Conversion, &str)> {
    let mut flags = Flags::default();
    let mut rest = text;
    loop {
        let flag = match rest.chars().next()? {
            '-' => &mut flags.left,
            '+' => &mut flags.plus,
            ' ' => &mut flags.space,
            '#' => &mut flags.alternate,
            '0' => &mut flags.zero,
            _ => break,
        };
        *flag = true;
        rest = rest.get(1..)?;
    }
    let (width, after) = amount(rest)?;
    rest = after;
    let mut precision = Amount::None;
    if let Some(after) = rest.strip_prefix('.') {
        let (amount, after) = amount(after)?;
        precision = if amount == Amount::None { Amount::Fixed(0) } else { amount };
        rest = after;
    }
    let lengths = [
        ("hh", Length::Char),
        ("h", Length::Short),
        ("ll", Length::Long),
        ("l", Length::Long),
        ("z", Length::Long),
        ("j", Length::Long),
        ("t", Length::Long),
    ];
    let mut length = Length::Int;
    for (prefix, meaning) in lengths {
        if let Some(after) = rest.strip_prefix(prefix) {
            length = meaning;
            rest = after;
            break;
        }
    }
    let kind = rest.chars().next()?;
    if !"diouxXcspfFeEgGaA".contains(kind) {
        return None;
    }
    Some((Conversion { flags, width, precision, length, kind }, rest.get(1..)?))
}

fn amount(text: &str) -> Option<(Amount, &str)> {
    if let Some(rest) = text.strip_prefix('*') {
        return Some((Amount::Next, rest));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits)?;
    if number.is_empty() {
        return Some((Amount::None, rest));
    }
    Some((Amount::Fixed(number.parse().unwrap_or(MAX_WIDTH).min(MAX_WIDTH)), rest))
}

impl Value<'_> {
    fn bits(&self) -> u64 {
        match self {
            Self::Int(bits) | Self::Pointer(bits) => *bits,
            Self::Float(value) => (*value as i64).cast_unsigned(),
            Self::Str(_) => 0,
        }
    }

    fn float(&self) -> f64 {
        match self {
            Self::Float(value) => *value,
            Self::Int(bits) | Self::Pointer(bits) => bits.cast_signed() as f64,
            Self::Str(_) => 0.0,
        }
    }
}

impl Conversion {
    fn write<'a>(mut self, args: &mut impl Iterator<Item = Value<'a>>, out: &mut Vec<u8>) {
        let mut width = match self.width {
            Amount::None => 0,
            Amount::Fixed(width) => width,
            Amount::Next => {
                let given = args.next().map_or(0, |value| value.bits() as i32);
                self.flags.left |= given < 0;
                given.unsigned_abs() as usize
            }
        };
        width = width.min(MAX_WIDTH);
        let precision = match self.precision {
            Amount::None => None,
            Amount::Fixed(precision) => Some(precision),
            Amount::Next => args.next().and_then(|value| usize::try_from(value.bits() as i32).ok()),
        };
        let precision = precision.map(|precision| precision.min(MAX_WIDTH));
        let value = args.next().unwrap_or(Value::Int(0));
        match self.kind {
            'd' | 'i' => {
                let number = self.signed(value.bits());
                self.integer(number < 0, digits(number.unsigned_abs(), 10, false), "", precision, width, out);
            }
            'u' => self.integer(false, digits(self.unsigned(value.bits()), 10, false), "", precision, width, out),
            'o' => {
                let mut text = digits(self.unsigned(value.bits()), 8, false);
                if self.flags.alternate && precision.is_none_or(|precision| precision <= text.len()) && !text.starts_with('0') {
                    text.insert(0, '0');
                }
                self.integer(
                    false,
                    text,
                    "",
                    precision.map(|precision| precision.max(usize::from(self.flags.alternate))),
                    width,
                    out,
                );
            }
            'x' | 'X' => {
                let number = self.unsigned(value.bits());
                let prefix = if !self.flags.alternate || number == 0 {
                    ""
                } else if self.kind == 'x' {
                    "0x"
                } else {
                    "0X"
                };
                self.integer(false, digits(number, 16, self.kind == 'X'), prefix, precision, width, out);
            }
            'c' => self.pad(&[value.bits() as u8], width, out),
            's' => {
                let text = match &value {
                    Value::Str(text) => text.as_ref(),
                    _ => "(null)",
                };
                let bytes = text.as_bytes();
                let shown = precision.map_or(bytes.len(), |precision| precision.min(bytes.len()));
                self.pad(bytes.get(..shown).unwrap_or(bytes), width, out);
            }
            'p' => {
                let address = value.bits();
                let text = if address == 0 { "(nil)".to_owned() } else { format!("{address:#x}") };
                self.pad(text.as_bytes(), width, out);
            }
            _ => self.float(value.float(), precision, width, out),
        }
    }

    fn signed(self, bits: u64) -> i64 {
        match self.length {
            Length::Char => i64::from(bits as i8),
            Length::Short => i64::from(bits as i16),
            Length::Int => i64::from(bits as i32),
            Length::Long => bits.cast_signed(),
        }
    }

    fn unsigned(self, bits: u64) -> u64 {
        match self.length {
            Length::Char => u64::from(bits as u8),
            Length::Short => u64::from(bits as u16),
            Length::Int => u64::from(bits as u32),
            Length::Long => bits,
        }
    }

    fn sign(self, negative: bool) -> &'static str {
        if negative {
            "-"
        } else if self.flags.plus {
            "+"
        } else if self.flags.space {
            " "
        } else {
            ""
        }
    }

    fn integer(
        self,
        negative: bool,
        mut text: String,
        prefix: &str,
        precision: Option<usize>,
        width: usize,
        out: &mut Vec<u8>,
    ) {
        if precision == Some(0) && text == "0" {
            text.clear();
        }
        if let Some(precision) = precision
            && text.len() < precision
        {
            text.insert_str(0, &"0".repeat(precision - text.len()));
        }
        let sign = if matches!(self.kind, 'd' | 'i') { self.sign(negative) } else { "" };
        // a precision says how many digits there are: then `0` does nothing
        let zeroes = self.flags.zero && precision.is_none();
        self.number(&format!("{sign}{prefix}"), &text, zeroes, width, out);
    }

    fn float(self, value: f64, precision: Option<usize>, width: usize, out: &mut Vec<u8>) {
        let upper = self.kind.is_ascii_uppercase();
        let sign = self.sign(value.is_sign_negative());
        if !value.is_finite() {
            let text = match (value.is_nan(), upper) {
                (true, false) => "nan",
                (true, true) => "NAN",
                (false, false) => "inf",
                (false, true) => "INF",
            };
            return self.number(sign, text, false, width, out);
        }
        let (prefix, text) = float::digits(value.abs(), self.kind.to_ascii_lowercase(), precision, self.flags.alternate);
        let (prefix, text) =
            if upper { (prefix.to_ascii_uppercase(), text.to_ascii_uppercase()) } else { (prefix.to_owned(), text) };
        self.number(&format!("{sign}{prefix}"), &text, self.flags.zero, width, out);
    }

    /// Sign and prefix, then the digits, padded to the width.
    fn number(self, front: &str, digits: &str, zeroes: bool, width: usize, out: &mut Vec<u8>) {
        let fill = width.saturating_sub(front.len() + digits.len());
        if zeroes && !self.flags.left {
            out.extend_from_slice(front.as_bytes());
            out.resize(out.len() + fill, b'0');
            out.extend_from_slice(digits.as_bytes());
        } else {
            self.pad(format!("{front}{digits}").as_bytes(), width, out);
        }
    }

    fn pad(self, text: &[u8], width: usize, out: &mut Vec<u8>) {
        let fill = width.saturating_sub(text.len());
        if !self.flags.left {
            out.resize(out.len() + fill, b' ');
        }
        out.extend_from_slice(text);
        if self.flags.left {
            out.resize(out.len() + fill, b' ');
        }
    }
}

fn digits(value: u64, base: u32, upper: bool) -> String {
    match (base, upper) {
        (8, _) => format!("{value:o}"),
        (16, false) => format!("{value:x}"),
        (16, true) => format!("{value:X}"),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
