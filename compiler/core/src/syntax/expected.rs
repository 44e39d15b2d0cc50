//! Words for what the parser would have accepted, in place of a list of thirty tokens.

use super::token::Token;

/// The terminals that the parser would have accepted.
pub(super) struct Expected<'list>(pub(super) &'list [String]);

impl Expected<'_> {
    /// Whether a terminal, as the grammar writes it without quotes, is among them.
    pub(super) fn has(&self, terminal: &str) -> bool {
        self.0.iter().any(|name| name.trim_matches('"') == terminal)
    }

    /// Whether an expression may start here.
    pub(super) fn has_expression(&self) -> bool {
        self.has("number") && self.has("!")
    }

    /// Whether a statement may start here.
    pub(super) fn has_statement(&self) -> bool {
        self.has("let")
    }

    fn has_type(&self) -> bool {
        self.has("name") && self.has("*") && self.has("[") && !self.has("number")
    }

    fn has_infix(&self) -> bool {
        self.has("+") && self.has("<=")
    }

    /// "an expression", "`)` or `,`", "a name".
    pub(super) fn describe(&self) -> String {
        let mut words: Vec<&str> = Vec::new();
        let punctuation: &[&str] = if self.has_statement() {
            words.push("a statement");
            &["}"]
        } else if self.has_expression() {
            words.push("an expression");
            &[]
        } else if self.has_type() {
            words.push("a type");
            &[]
        } else if self.has_infix() {
            &[";", ",", ")", "]", "}", "{", ">>>", ":", "=", ".."]
        } else {
            if self.has("name") {
                words.push("a name");
            }
            &[
                "string", "{", "}", "(", ")", "[", "]", ",", ";", ":", "=", "->", "in", "..", "if", "else", "case", "default",
                "fn", "kernel", "var",
            ]
        };
        let quoted: Vec<String> = punctuation
            .iter()
            .filter(|terminal| self.has(terminal))
            .map(|terminal| if *terminal == "string" { "a string".to_owned() } else { format!("`{terminal}`") })
            .collect();
        words.extend(quoted.iter().map(String::as_str).take(4));
        match words.as_slice() {
            [] if self.has_infix() => "an operator".to_owned(),
            [] => "something else".to_owned(),
            [only] => (*only).to_owned(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        }
    }
}

/// Whether a token found where a name was wanted is a word of the language.
pub(super) fn is_keyword(token: Token, word: &str) -> bool {
    !token.is_name()
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && !matches!(token, Token::Number | Token::String | Token::Char | Token::Error)
}
