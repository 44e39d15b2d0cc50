//! Texts for the properties: programs that parse, and words that do not.

/// Writes programs that parse, from a seed.
struct Writer {
    state: u64,
    out: String,
}

impl Writer {
    fn roll(&mut self, sides: u64) -> u64 {
        // xorshift
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % sides
    }

    fn token(&mut self, token: &str) {
        self.out.push_str(token);
        let blank = match self.roll(40) {
            0 => "\n",
            1 => "\n\n\n  ",
            2 => " // why\n",
            3 => " /* in */ ",
            4 => "\n// own line\n",
            5 => "\n/* several\n   lines */\n",
            6 => "\t",
            7 => "    /* far */\n",
            _ => " ",
        };
        self.out.push_str(blank);
    }

    fn tokens(&mut self, text: &str) {
        for token in text.split(' ') {
            self.token(token);
        }
    }

    fn list(&mut self, most: u64, mut element: impl FnMut(&mut Self)) {
        let count = self.roll(most + 1);
        for index in 0..count {
            if index > 0 {
                self.token(",");
            }
            element(self);
        }
        if count > 0 && self.roll(4) == 0 {
            self.token(",");
        }
    }

    fn expr(&mut self, depth: u64) {
        let choice = if depth == 0 { self.roll(6) } else { self.roll(22) };
        match choice {
            0 => self.token("x"),
            1 => self.token("some_longer_name_of_a_value"),
            2 => self.token("1_000u32"),
            3 => self.token("1.5e-3f32"),
            4 => self.token("\"text // no comment\""),
            5 => self.token("'a'"),
            6 | 7 => {
                self.expr(depth - 1);
                let operators = ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||"];
                let operator = operators[self.roll(12) as usize];
                self.token(operator);
                self.expr(depth - 1);
            }
            8 => {
                self.token("(");
                self.expr(depth - 1);
                self.token(")");
            }
            9 => {
                let operator = ["-", "!", "*", "&"][self.roll(4) as usize];
                self.token(operator);
                self.expr(0);
            }
            10 => {
                self.token("y");
                let ty = ["as * global const f32", "as * const volatile f32", "as * volatile f32"][self.roll(3) as usize];
                self.tokens(ty);
            }
            11 => {
                self.tokens("( if");
                self.expr(depth - 1);
                self.token("{");
                self.expr(depth - 1);
                self.tokens("} else {");
                self.expr(depth - 1);
                self.tokens("} )");
            }
            12 | 13 => {
                self.tokens("called (");
                self.list(5, |w| w.expr(depth - 1));
                self.token(")");
            }
            14 => {
                self.tokens("Row ( begin :");
                self.expr(depth - 1);
                self.token(")");
            }
            15 => {
                self.tokens("child <<<");
                self.expr(depth - 1);
                self.token(",");
                self.expr(depth - 1);
                self.tokens(">>> (");
                self.list(5, |w| w.expr(depth - 1));
                self.token(")");
            }
            16 => {
                self.tokens("p [");
                self.expr(depth - 1);
                self.tokens("] . field");
            }
            17 => {
                self.token("[");
                self.list(20, |w| w.expr(0));
                self.token("]");
            }
            18 => self.tokens("device ( [ f32 ; 4 ] , n )"),
            19 => self.tokens("max :: [ * global f32 ] ( a , b )"),
            20 => self.tokens("sizeof ( * const Pair [ f32 , 3 ] )"),
            _ => self.tokens("Color :: Red"),
        }
    }

    fn block(&mut self, depth: u64) {
        self.token("{");
        for _ in 0..self.roll(4) {
            self.stmt(depth);
        }
        self.token("}");
    }

    fn stmt(&mut self, depth: u64) {
        if self.roll(12) == 0 {
            self.tokens("@ unroll @( 4 )".replace("@(", "(").as_str());
        }
        let choice = if depth == 0 { self.roll(6) } else { self.roll(14) };
        match choice {
            0 => {
                self.tokens("let value : [ f32 ; 4 ] =");
                self.expr(depth + 1);
                self.token(";");
            }
            1 => self.tokens("var s : cudaStream_t ;"),
            2 => {
                self.tokens("x [ 0 ] +=");
                self.expr(depth + 1);
                self.token(";");
            }
            3 => self.tokens("shared tile : [ f32 ] ;"),
            4 => {
                self.tokens("return");
                self.expr(depth + 1);
                self.token(";");
            }
            5 => {
                self.tokens("called (");
                self.list(6, |w| w.expr(2));
                self.tokens(") ;");
            }
            6 | 7 => {
                self.token("if");
                self.expr(2);
                self.block(depth - 1);
                if self.roll(2) == 0 {
                    self.tokens("else if");
                    self.expr(2);
                    self.block(depth - 1);
                }
                if self.roll(2) == 0 {
                    self.token("else");
                    self.block(depth - 1);
                }
            }
            8 => {
                self.token("while");
                self.expr(2);
                self.block(depth - 1);
            }
            9 => {
                self.tokens("for i in 0 .. n step 4");
                self.block(depth - 1);
            }
            10 => {
                self.token("loop");
                self.block(depth - 1);
            }
            11 => {
                self.tokens("switch x { case 1 , 2");
                self.block(depth - 1);
                self.token("default");
                self.block(depth - 1);
                self.token("}");
            }
            12 => self.block(depth - 1),
            _ => {
                self.tokens("total += if a {");
                self.expr(2);
                self.tokens("} else if b {");
                self.expr(1);
                self.tokens("} else {");
                self.expr(1);
                self.tokens("} ;");
            }
        }
    }

    fn item(&mut self) {
        match self.roll(8) {
            0 => self.tokens("struct Row [ T , N : u32 ] { begin : i32 , @ align ( 16 ) rows : [ T ; N ] }"),
            1 => self.tokens("enum Color : u8 { Red , Green = 2 , }"),
            2 => {
                self.tokens("const LIMIT : u32 = if a {");
                self.expr(3);
                self.tokens("} else {");
                self.expr(3);
                self.tokens("} ;");
            }
            3 if self.roll(2) == 0 => self.tokens("global volatile var flag : u32 ;"),
            3 => self.tokens("global var launched : u32 = 0 ;"),
            4 => self.tokens("@ restrict extern kernel other ( x : * global const f32 ) ;"),
            5 => self.tokens("import \"other.cdp\" ;"),
            6 => {
                self.tokens("test \"name\"");
                self.block(3);
            }
            _ => {
                self.tokens("@ launch_bounds ( 256 , 2 ) kernel k ( @ restrict x : * global f32 , n : i32 )");
                self.block(3);
            }
        }
    }
}

pub(super) fn program(seed: u64) -> String {
    let mut writer = Writer { state: seed | 1, out: String::new() };
    for _ in 0..=writer.roll(4) {
        writer.item();
    }
    writer.out
}

/// Words that meet in every order.
pub(super) const SOUP: &[&str] = &[
    "fn",
    "kernel",
    "host",
    "struct",
    "enum",
    "const",
    "global",
    "var",
    "constant",
    "extern",
    "import",
    "test",
    "let",
    "if",
    "else",
    "for",
    "in",
    "while",
    "loop",
    "switch",
    "case",
    "default",
    "return",
    "break",
    "shared",
    "as",
    "step",
    "sizeof",
    "x",
    "f32",
    "int",
    "mut",
    "and",
    "not",
    "__global__",
    "1",
    "2.5",
    "1.",
    "0x",
    "\"s\"",
    "\"open",
    "'c'",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<<<",
    ">>>",
    ",",
    ";",
    ":",
    "::",
    ".",
    "..",
    "..=",
    "->",
    "@",
    "?",
    "=",
    "+=",
    "+",
    "-",
    "*",
    "/",
    "&",
    "|",
    "!",
    "~",
    "<",
    ">",
    "==",
    "&&",
    "++",
    "--",
    "//c\n",
    "/*",
    "*/",
    "///d\n",
    "\n",
    "#include",
    "ä",
    "×",
    "“",
    "”",
    "\\",
];
