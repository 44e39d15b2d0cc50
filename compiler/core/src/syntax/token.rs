//! The tokens, recognised by logos.
//!
//! A token carries no payload: names, numbers and texts are read from the source under its span, so that a token is one byte and
//! the parser's tables stay small. Comments are tokens here; [`super::lexer`] takes them out.

use logos::{FilterResult, Lexer, Logos};

/// What the state machine could not make a token of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TokenError {
    #[default]
    UnknownCharacter,
    UnterminatedComment,
    UnterminatedString,
    UnterminatedChar,
    /// A preprocessor line, up to its end.
    Preprocessor,
}

/// The token table: an identifier, the logos pattern, and how the token is called in messages.
macro_rules! tokens {
    ($($(#[$meta:meta])* $name:ident $friendly:literal;)*) => {
        #[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[logos(error = TokenError, skip r"[ \t\r\n\x0C\u{FEFF}]+")]
        pub(crate) enum Token { $($(#[$meta])* $name,)* }

        impl Token {
            /// Every kind.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// How the token is called in messages.
            pub(crate) const fn friendly(self) -> &'static str {
                match self { $(Token::$name => $friendly,)* }
            }
        }
    };
}

tokens! {
    #[token("//", line_comment)] LineComment "a comment";
    #[token("/*", block_comment)] BlockComment "a comment";

    #[regex("[A-Za-z_][A-Za-z0-9_]*")] Name "a name";
    #[regex(r"[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9][0-9_]*)?[A-Za-z0-9_]*")]
    #[regex(r"0[xX][0-9A-Za-z_]*")] Number "a number";
    #[token("\"", string)] String "a string";
    #[token("'", character)] Char "a character";

    #[token("alignof")] AlignOf "`alignof`";
    #[token("as")] As "`as`";
    #[token("break")] Break "`break`";
    #[token("case")] Case "`case`";
    #[token("const")] Const "`const`";
    #[token("constant")] Constant "`constant`";
    #[token("continue")] Continue "`continue`";
    #[token("default")] Default "`default`";
    #[token("else")] Else "`else`";
    #[token("enum")] Enum "`enum`";
    #[token("extern")] Extern "`extern`";
    #[token("false")] False "`false`";
    #[token("fn")] Fn "`fn`";
    #[token("for")] For "`for`";
    #[token("global")] Global "`global`";
    #[token("host")] Host "`host`";
    #[token("if")] If "`if`";
    #[token("import")] Import "`import`";
    #[token("in")] In "`in`";
    #[token("kernel")] Kernel "`kernel`";
    #[token("let")] Let "`let`";
    #[token("local")] Local "`local`";
    #[token("loop")] Loop "`loop`";
    #[token("offsetof")] OffsetOf "`offsetof`";
    #[token("return")] Return "`return`";
    #[token("shared")] Shared "`shared`";
    #[token("sizeof")] SizeOf "`sizeof`";
    #[token("step")] Step "`step`";
    #[token("struct")] Struct "`struct`";
    #[token("switch")] Switch "`switch`";
    #[token("test")] Test "`test`";
    #[token("true")] True "`true`";
    #[token("var")] Var "`var`";
    #[token("volatile")] Volatile "`volatile`";
    #[token("while")] While "`while`";

    #[token("(")] ParenOpen "`(`";
    #[token(")")] ParenClose "`)`";
    #[token("[")] BracketOpen "`[`";
    #[token("]")] BracketClose "`]`";
    #[token("{")] BraceOpen "`{`";
    #[token("}")] BraceClose "`}`";
    #[token("<<<")] LaunchOpen "`<<<`";
    #[token(">>>")] LaunchClose "`>>>`";
    #[token(",")] Comma "`,`";
    #[token(";")] Semicolon "`;`";
    #[token(":")] Colon "`:`";
    #[token("::")] PathSeparator "`::`";
    #[token(".")] Dot "`.`";
    #[token("..")] DotDot "`..`";
    #[token("..=")] DotDotEqual "`..=`";
    #[token("->")] Arrow "`->`";
    #[token("@")] At "`@`";
    #[token("?")] Question "`?`";

    #[token("=")] Equal "`=`";
    #[token("+=")] PlusEqual "`+=`";
    #[token("-=")] MinusEqual "`-=`";
    #[token("*=")] StarEqual "`*=`";
    #[token("/=")] SlashEqual "`/=`";
    #[token("%=")] PercentEqual "`%=`";
    #[token("&=")] AndEqual "`&=`";
    #[token("|=")] OrEqual "`|=`";
    #[token("^=")] CaretEqual "`^=`";
    #[token("<<=")] ShiftLeftEqual "`<<=`";
    #[token(">>=")] ShiftRightEqual "`>>=`";

    #[token("+")] Plus "`+`";
    #[token("-")] Minus "`-`";
    #[token("*")] Star "`*`";
    #[token("/")] Slash "`/`";
    #[token("%")] Percent "`%`";
    #[token("&")] And "`&`";
    #[token("|")] Or "`|`";
    #[token("^")] Caret "`^`";
    #[token("!")] Not "`!`";
    #[token("~")] Tilde "`~`";
    #[token("<<")] ShiftLeft "`<<`";
    #[token(">>")] ShiftRight "`>>`";
    #[token("==")] EqualEqual "`==`";
    #[token("!=")] NotEqual "`!=`";
    #[token("<")] Less "`<`";
    #[token("<=")] LessEqual "`<=`";
    #[token(">")] Greater "`>`";
    #[token(">=")] GreaterEqual "`>=`";
    #[token("&&")] AndAnd "`&&`";
    #[token("||")] OrOr "`||`";
    #[token("++")] PlusPlus "`++`";
    #[token("--")] MinusMinus "`--`";

    #[token("#", preprocessor)] Preprocessor "a preprocessor line";

    /// `(` right behind `@name`, made by the lexer so that the grammar needs no look-ahead.
    AttributeOpen "`(`";
    /// What was reported already.
    Error "something that is wrong";
}

impl Token {
    /// Whether an expression may end with it, so that an operator behind it is infix.
    pub(crate) const fn ends_expression(self) -> bool {
        matches!(
            self,
            Self::Name
                | Self::Number
                | Self::String
                | Self::Char
                | Self::True
                | Self::False
                | Self::ParenClose
                | Self::BracketClose
                | Self::BraceClose
                | Self::Error
                | Self::Host
                | Self::Import
                | Self::Step
                | Self::Test
        )
    }

    /// Whether it is a name: a plain one or one of the words that are keywords in their own place only.
    pub(crate) const fn is_name(self) -> bool {
        matches!(self, Self::Name | Self::Host | Self::Import | Self::Step | Self::Test)
    }

    /// Whether it opens a bracket.
    pub(crate) const fn is_open(self) -> bool {
        matches!(self, Self::ParenOpen | Self::AttributeOpen | Self::BracketOpen | Self::BraceOpen | Self::LaunchOpen)
    }

    /// Whether it closes a bracket.
    pub(crate) const fn is_close(self) -> bool {
        matches!(self, Self::ParenClose | Self::BracketClose | Self::BraceClose | Self::LaunchClose)
    }

    /// The closing bracket that belongs to an opening one.
    pub(crate) const fn closer(self) -> Self {
        match self {
            Self::BracketOpen => Self::BracketClose,
            Self::BraceOpen => Self::BraceClose,
            Self::LaunchOpen => Self::LaunchClose,
            _ => Self::ParenClose,
        }
    }

    /// Whether only a statement starts with it.
    pub(crate) const fn starts_statement(self) -> bool {
        matches!(
            self,
            Self::Let
                | Self::Var
                | Self::While
                | Self::For
                | Self::Loop
                | Self::Switch
                | Self::Break
                | Self::Continue
                | Self::Return
                | Self::Shared
        )
    }
}

fn line_comment(lexer: &mut Lexer<'_, Token>) {
    let rest = lexer.remainder();
    let line = rest.find('\n').unwrap_or(rest.len());
    let line = rest.get(..line).map_or(line, |text| text.trim_end_matches('\r').len());
    lexer.bump(line);
}

fn block_comment(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), TokenError> {
    let mut depth = 1usize;
    let bytes = lexer.remainder().as_bytes();
    let mut at = 0;
    while depth > 0 {
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'*'), Some(b'/')) => {
                depth -= 1;
                at += 2;
            }
            (Some(b'/'), Some(b'*')) => {
                depth += 1;
                at += 2;
            }
            (Some(_), _) => at += 1,
            (None, _) => {
                lexer.bump(bytes.len());
                return FilterResult::Error(TokenError::UnterminatedComment);
            }
        }
    }
    lexer.bump(at);
    FilterResult::Emit(())
}

/// How many bytes up to and with the unescaped `quote`, which must be on the same line; otherwise how many there are on the line.
fn quoted(rest: &str, quote: u8) -> Result<usize, usize> {
    let bytes = rest.as_bytes();
    let mut at = 0;
    loop {
        match bytes.get(at) {
            Some(b'\\') if !matches!(bytes.get(at + 1), None | Some(b'\n' | b'\r')) => at += 2,
            Some(byte) if *byte == quote => return Ok(at + 1),
            None | Some(b'\n' | b'\r') => return Err(at),
            Some(_) => at += 1,
        }
    }
}

fn string(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), TokenError> {
    match quoted(lexer.remainder(), b'"') {
        Ok(length) => {
            lexer.bump(length);
            FilterResult::Emit(())
        }
        Err(length) => {
            // leave what most likely stands behind the forgotten quote
            let line = lexer.remainder().get(..length).unwrap_or("");
            let length = line.trim_end_matches([' ', '\t', ';', ')', ',', '{', '}']).len();
            lexer.bump(length);
            FilterResult::Error(TokenError::UnterminatedString)
        }
    }
}

fn character(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), TokenError> {
    if let Ok(length) = quoted(lexer.remainder(), b'\'') {
        lexer.bump(length);
        FilterResult::Emit(())
    } else {
        FilterResult::Error(TokenError::UnterminatedChar)
    }
}

fn preprocessor(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), TokenError> {
    let rest = lexer.remainder();
    let word = rest.trim_start_matches([' ', '\t']);
    if !["include", "define", "if", "endif", "else", "elif", "pragma", "undef", "error"]
        .iter()
        .any(|name| word.starts_with(name))
    {
        return FilterResult::Error(TokenError::UnknownCharacter);
    }
    line_comment(lexer);
    FilterResult::Error(TokenError::Preprocessor)
}
