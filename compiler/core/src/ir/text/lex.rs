//! Tokens of the text form.

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    /// A word: letters, digits and `_`.
    Word(&'t str),
    /// A number as it is written: `12`, `-3`, `0x1f`, `1.5e-3`.
    Number(&'t str),
    /// A string without its quotes and escapes.
    Str(String),
    /// `%name#3`, `$name#3`, `&name#3`: sigil, name and number.
    Name(char, &'t str, u32),
    /// `.3`: a step into a value.
    Field(u32),
    /// `#3`, `#e3`: which of several types of one name; enumerations have an `e`.
    Which(&'t str),
    /// `->`, `..`, `<<<`, `>>>`, or one character.
    Punctuation(&'t str),
    /// Behind the last token.
    End,
}

/// A token and the byte it starts at.
pub(super) type Placed<'t> = (Token<'t>, usize);

/// What is wrong, and at which byte.
pub(super) type LexError = (String, usize);

/// Cuts a text into tokens; the last one is [`Token::End`]. `//` starts a comment.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed<'_>>, LexError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push((token, start));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Takes as many characters as fit.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or("")
    }

    fn word(&mut self) -> &'t str {
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    fn index(&mut self) -> Result<u32, LexError> {
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| ("a number below 2^32 is expected here".to_owned(), start))
    }

    fn token(&mut self) -> Result<Token<'t>, LexError> {
        let start = self.at;
        let rest = self.rest();
        let Some(first) = self.peek() else { return Ok(Token::End) };
        let second_is_digit = rest.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
        match first {
            'a'..='z' | 'A'..='Z' | '_' => Ok(Token::Word(self.word())),
            '0'..='9' => Ok(Token::Number(self.number())),
            '-' if second_is_digit => Ok(Token::Number(self.number())),
            '"' => self.string(),
            '%' | '$' | '&' => {
                self.at += 1;
                let name = if self.peek().is_some_and(|c| c.is_ascii_digit()) { "" } else { self.word() };
                if !name.is_empty() && self.peek() == Some('#') {
                    self.at += 1;
                }
                Ok(Token::Name(first, name, self.index()?))
            }
            '.' if second_is_digit => {
                self.at += 1;
                Ok(Token::Field(self.index()?))
            }
            '#' => {
                self.at += 1;
                Ok(Token::Which(self.word()))
            }
            _ => {
                let long = ["<<<", ">>>", "->", ".."].into_iter().find(|text| rest.starts_with(text));
                let len = long.map_or(first.len_utf8(), str::len);
                self.at += len;
                let known = long.is_some() || "{}()[]:;,=@*.".contains(first);
                if known {
                    Ok(Token::Punctuation(rest.get(..len).unwrap_or("")))
                } else {
                    Err((format!("{first:?} means nothing here"), start))
                }
            }
        }
    }

    fn number(&mut self) -> &'t str {
        let start = self.at;
        if self.peek() == Some('-') {
            self.at += 1;
        }
        self.word();
        let fraction = self.rest().strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if fraction {
            self.at += 1;
            self.word();
        }
        let before = self.text.get(start..self.at).unwrap_or("");
        let is_hexadecimal = before.contains('x');
        if before.ends_with(['e', 'E']) && !is_hexadecimal && self.rest().starts_with(['-', '+']) {
            self.at += 1;
            self.word();
        }
        self.text.get(start..self.at).unwrap_or("")
    }

    fn string(&mut self) -> Result<Token<'t>, LexError> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let Some(c) = self.peek() else { return Err(("this string does not end".to_owned(), start)) };
            let at = self.at;
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(Token::Str(text)),
                '\\' => {
                    let Some(escape) = self.peek() else { continue };
                    self.at += escape.len_utf8();
                    text.push(match escape {
                        '"' | '\\' => escape,
                        'n' => '\n',
                        't' => '\t',
                        'u' => self.code_point().ok_or_else(|| ("malformed escape".to_owned(), at))?,
                        _ => return Err(("there is no such escape".to_owned(), at)),
                    });
                }
                c => text.push(c),
            }
        }
    }

    /// `{1f}` as a character.
    fn code_point(&mut self) -> Option<char> {
        let digits = self.rest().strip_prefix('{')?.split('}').next()?;
        let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
        self.at += digits.len() + 2;
        Some(c)
    }
}
