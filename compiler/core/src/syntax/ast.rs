//! The syntax tree: what the parser makes of one file, before any name has a meaning.
//!
//! Every node has a [`Span`]. Places that did not parse are `Error` nodes ([`ExprKind::Error`], [`StmtKind::Error`],
//! [`TypeKind::Error`], [`ItemKind::Error`]); they were reported already, so later phases stay silent about them. The names that
//! occurred in source dropped by error recovery are in [`File::damaged_names`], so that no one complains that they are undeclared.
//!
//! No expression or type is deeper than [`MAX_DEPTH`], and no blocks nest deeper (each `else if` counted as one more), so that recursive
//! walkers are safe.

use crate::source::{FileId, Span};

/// How deep brackets, expressions and blocks may nest; deeper source gets E0110.
pub const MAX_DEPTH: u16 = 256;

/// One source file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Which file.
    pub id: FileId,
    /// Its items in source order.
    pub items: Vec<Item>,
    /// All of its comments in source order, doc comments included.
    pub comments: Vec<Comment>,
    /// Names that occurred in source which error recovery dropped, sorted, without repetitions; empty for a file without errors.
    pub damaged_names: Vec<String>,
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Which form.
    pub kind: CommentKind,
    /// With its delimiters, without the line end.
    pub span: Span,
}

/// The forms of comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentKind {
    /// `// …`
    Line,
    /// `/* … */`, nested
    Block,
    /// `/// …`, documentation of what follows
    Doc,
}

/// A name as written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ident {
    /// The name.
    pub name: String,
    /// Where.
    pub span: Span,
}

/// A string literal with its escapes resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringLit {
    /// What it stands for.
    pub value: String,
    /// With its quotes.
    pub span: Span,
}

/// `name`, `Enum::name`, `name::[args]`; in type position also `name[args]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// `Color` in `Color::Red`.
    pub qualifier: Option<Ident>,
    /// `Red` in `Color::Red`.
    pub name: Ident,
    /// Compile-time arguments, each a type ([`Expr::as_type`]) or an integer expression.
    pub args: Vec<Expr>,
    /// The whole path.
    pub span: Span,
}

impl Path {
    /// The name, if it is nothing but a name.
    #[must_use]
    pub fn as_ident(&self) -> Option<&Ident> {
        (self.qualifier.is_none() && self.args.is_empty()).then_some(&self.name)
    }
}

/// `@name` or `@name(args)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Without the `@`.
    pub name: Ident,
    /// The arguments; empty without parentheses.
    pub args: Vec<Arg>,
    /// From the `@` on.
    pub span: Span,
}

// ---------------------------------------------------------------------------------------------------------------- items

/// A declaration at the top of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The lines of its `///` comments, without the slashes and one following blank.
    pub docs: Vec<String>,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// What it is.
    pub kind: ItemKind,
    /// Attributes included, comments not.
    pub span: Span,
}

/// The kinds of item.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `import "other.cdp";`
    Import(StringLit),
    /// `struct S { … }`
    Struct(StructDecl),
    /// `enum E { … }`
    Enum(EnumDecl),
    /// `const N: u32 = 1;`
    Const(ConstDecl),
    /// `global var x: T = …;`, `constant x: T = …;`
    Variable(VariableDecl),
    /// `fn`, `host fn`, `kernel`, and their `extern` forms
    Function(FunctionDecl),
    /// `test "name" { … }`
    Test(TestDecl),
    /// Reported already.
    Error,
}

/// `T` or `N: u32` in `[T, N: u32]` after the name of a function, kernel or struct.
#[derive(Clone, Debug, PartialEq)]
pub struct GenericParam {
    /// Its name.
    pub name: Ident,
    /// `None`: a type. `Some`: an integer of this type.
    pub ty: Option<TypeExpr>,
    /// The whole parameter.
    pub span: Span,
}

/// `struct Name[generics] { fields }`
#[derive(Clone, Debug, PartialEq)]
pub struct StructDecl {
    /// Its name.
    pub name: Ident,
    /// Compile-time parameters.
    pub generics: Vec<GenericParam>,
    /// The fields in order.
    pub fields: Vec<Field>,
}

/// `name: T` in a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The lines of its `///` comments.
    pub docs: Vec<String>,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: TypeExpr,
    /// The whole field.
    pub span: Span,
}

/// `enum Name: u8 { members }`
#[derive(Clone, Debug, PartialEq)]
pub struct EnumDecl {
    /// Its name.
    pub name: Ident,
    /// The type after the colon; `i32` where there is none.
    pub underlying: Option<TypeExpr>,
    /// The members in order.
    pub members: Vec<EnumMember>,
}

/// `Name` or `Name = value` in an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumMember {
    /// The lines of its `///` comments.
    pub docs: Vec<String>,
    /// Its name.
    pub name: Ident,
    /// Its value; otherwise one more than the former's, or 0.
    pub value: Option<Expr>,
    /// The whole member.
    pub span: Span,
}

/// `const NAME: T = value;`, as an item or a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstDecl {
    /// Its name.
    pub name: Ident,
    /// Its type; taken from the value where there is none.
    pub ty: Option<TypeExpr>,
    /// Its value.
    pub value: Expr,
}

/// `global var name: T = value;` or `constant name: T = value;`
#[derive(Clone, Debug, PartialEq)]
pub struct VariableDecl {
    /// [`Space::Global`] or [`Space::Constant`].
    pub space: Space,
    /// `global volatile var`
    pub is_volatile: bool,
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: TypeExpr,
    /// Its initial value; zero where there is none.
    pub value: Option<Expr>,
    /// Declared by `extern global var` or `extern constant`: defined in an object linked in.
    pub is_extern: bool,
}

/// What a function is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `fn`: called from kernels, functions and host code
    Plain,
    /// `host fn`
    Host,
    /// `kernel`: launched, never called
    Kernel,
}

/// A function or kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionDecl {
    /// Which keyword.
    pub kind: FunctionKind,
    /// Its name.
    pub name: Ident,
    /// Compile-time parameters.
    pub generics: Vec<GenericParam>,
    /// The parameters in order.
    pub params: Vec<Param>,
    /// The type after `->`. The parser lets a kernel have one.
    pub result: Option<TypeExpr>,
    /// `None` for `extern`: defined in an object linked in.
    pub body: Option<Block>,
}

/// `name: T` in a parameter list.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The lines of its `///` comments.
    pub docs: Vec<String>,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: TypeExpr,
    /// The whole parameter.
    pub span: Span,
}

/// `test "name" { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct TestDecl {
    /// Its name.
    pub name: StringLit,
    /// What it does.
    pub body: Block,
}

// ---------------------------------------------------------------------------------------------------------------- types

/// An address space that a pointer type or a variable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `global`
    Global,
    /// `shared`
    Shared,
    /// `local`
    Local,
    /// `constant`
    Constant,
}

/// What stands between a pointer's space and what it points at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Qualifiers {
    /// `const`: the pointee is read-only.
    pub is_const: bool,
    /// `volatile`: every access happens, as written.
    pub is_volatile: bool,
}

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeExpr {
    /// What.
    pub kind: TypeKind,
    /// Where.
    pub span: Span,
    pub(crate) depth: u16,
}

/// The forms of type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `i32`, `Row`, `T`, `Pair[f32]`
    Path(Path),
    /// `*T`, `*global T`, `*global const T`, `*global volatile T`
    Pointer {
        /// `None`: generic.
        space: Option<Space>,
        /// What holds for every access through it.
        qualifiers: Qualifiers,
        /// What it points to.
        pointee: Box<TypeExpr>,
    },
    /// `[T; N]`
    Array {
        /// The element type.
        element: Box<TypeExpr>,
        /// How many.
        length: Box<Expr>,
    },
    /// `[T]`: shared memory whose size the launch gives
    DynamicArray(Box<TypeExpr>),
    /// Reported already.
    Error,
}

// ----------------------------------------------------------------------------------------------------------- statements

/// `{ … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// In order.
    pub stmts: Vec<Stmt>,
    /// With the braces.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// What.
    pub kind: StmtKind,
    /// Attributes and `;` included.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "assignments are the most frequent kind")]
pub enum StmtKind {
    /// `let x: T = value;`, `var x: T = value;`, `var x: T;`
    Let {
        /// `var` rather than `let`.
        mutable: bool,
        /// Its name.
        name: Ident,
        /// Its type; taken from the value where there is none.
        ty: Option<TypeExpr>,
        /// Its value; the parser lets either the type or the value, or both, be absent.
        value: Option<Expr>,
    },
    /// `const N: u32 = 1;`
    Const(ConstDecl),
    /// `shared tile: [f32; 256];`, `shared dyn: [f32];`
    Shared {
        /// Its name.
        name: Ident,
        /// `shared volatile`
        is_volatile: bool,
        /// Its type; [`TypeKind::DynamicArray`] for dynamic shared memory.
        ty: TypeExpr,
    },
    /// `e;`, a call or a launch; the parser lets every expression pass.
    Expr(Expr),
    /// `target = value;`, `target += value;`
    Assign {
        /// The place; the parser lets every expression pass.
        target: Expr,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// The span of `=`, `+=` …
        op_span: Span,
        /// The value.
        value: Expr,
    },
    /// `if a { … } else if b { … } else { … }`, flat
    If {
        /// Conditions and blocks in order; at least one.
        arms: Vec<IfArm>,
        /// The last `else`.
        otherwise: Option<Block>,
    },
    /// `while c { … }`
    While {
        /// The condition.
        cond: Expr,
        /// The body.
        body: Block,
    },
    /// `for i in a..b step c { … }`
    For {
        /// The loop variable.
        var: Ident,
        /// The first value.
        start: Expr,
        /// One past the last value.
        end: Expr,
        /// The step; 1 where there is none.
        step: Option<Expr>,
        /// The body.
        body: Block,
    },
    /// `loop { … }`
    Loop {
        /// The body.
        body: Block,
    },
    /// `switch e { case 1, 2 { … } default { … } }`; a case never falls through
    Switch {
        /// What is compared.
        value: Expr,
        /// The cases in order; the parser does not look for repetitions.
        cases: Vec<SwitchCase>,
    },
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return;`, `return e;`
    Return(Option<Expr>),
    /// `{ … }`
    Block(Block),
    /// Reported already.
    Error,
}

impl StmtKind {
    /// The blocks inside the statement.
    #[must_use]
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Self::If { arms, otherwise } => arms.iter().map(|arm| &arm.body).chain(otherwise).collect(),
            Self::While { body, .. } | Self::For { body, .. } | Self::Loop { body } => vec![body],
            Self::Switch { cases, .. } => cases.iter().map(|case| &case.body).collect(),
            Self::Block(block) => vec![block],
            _ => Vec::new(),
        }
    }
}

/// A condition with its block.
#[derive(Clone, Debug, PartialEq)]
pub struct IfArm {
    /// The condition.
    pub cond: Expr,
    /// What then.
    pub body: Block,
}

/// `case 1, 2 { … }` or `default { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchCase {
    /// The constant values; empty for `default`.
    pub values: Vec<Expr>,
    /// What then.
    pub body: Block,
    /// The whole case.
    pub span: Span,
}

// ---------------------------------------------------------------------------------------------------------- expressions

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What.
    pub kind: ExprKind,
    /// Where; parentheses around it are a node of their own.
    pub span: Span,
    pub(crate) depth: u16,
}

/// The type that a numeric literal's suffix names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Suffix {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
}

/// The kinds of expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `1`, `0xffu8`, `0b1010`, `1_000`; never negative, never with a floating-point suffix
    Int {
        /// Its value.
        value: u64,
        /// The type it names.
        suffix: Option<Suffix>,
    },
    /// `1.5`, `1e-3f32`, `2f64`
    Float {
        /// Decimal digits without underscores and suffix, which `str::parse` of any floating-point type accepts: rounding to the
        /// wanted type must start here.
        text: String,
        /// The type it names: a floating-point one.
        suffix: Option<Suffix>,
    },
    /// `true`, `false`
    Bool(bool),
    /// `'a'`: an integer literal of one ASCII byte
    Char(u8),
    /// `"text"`, only as an argument
    String(String),
    /// A name, an enum member, a generic function with its arguments.
    Path(Path),
    /// `(e)`
    Paren(Box<Expr>),
    /// `[a, b, c]`
    Array(Vec<Expr>),
    /// `[value; count]`; as a type argument the array type `[T; N]`
    Repeat {
        /// The value of every element.
        value: Box<Expr>,
        /// How many.
        count: Box<Expr>,
    },
    /// `-a`, `!a`, `*a`, `&a`
    Unary {
        /// Which.
        op: UnaryOp,
        /// On what.
        operand: Box<Expr>,
    },
    /// `a + b`
    Binary {
        /// Which.
        op: BinaryOp,
        /// The operator itself.
        op_span: Span,
        /// Left.
        lhs: Box<Expr>,
        /// Right.
        rhs: Box<Expr>,
    },
    /// `a as T`
    Cast {
        /// What.
        operand: Box<Expr>,
        /// To which type.
        ty: TypeExpr,
    },
    /// `if c { a } else { b }`; `else if` nests
    If {
        /// The condition.
        cond: Box<Expr>,
        /// The value if so.
        then: Box<Expr>,
        /// The value otherwise.
        otherwise: Box<Expr>,
    },
    /// `f(a, b)`, `Row(begin: 0, len: 4)`, `device(T, n)`
    Call {
        /// What is called: usually a [`ExprKind::Path`].
        callee: Box<Expr>,
        /// The arguments in order.
        args: Vec<Arg>,
    },
    /// `k<<<grid, block, shared, stream>>>(a, b)`
    Launch {
        /// What is launched: usually a [`ExprKind::Path`].
        kernel: Box<Expr>,
        /// What is between the angle brackets: 2 to 4 expressions.
        config: Vec<Expr>,
        /// From `<<<` to `>>>`.
        config_span: Span,
        /// The arguments in order.
        args: Vec<Arg>,
    },
    /// `a[i]`
    Index {
        /// What is indexed.
        base: Box<Expr>,
        /// Where.
        index: Box<Expr>,
    },
    /// `a.f`
    Field {
        /// Of what: a value or a pointer.
        base: Box<Expr>,
        /// Which.
        name: Ident,
    },
    /// `sizeof(T)`
    SizeOf(TypeExpr),
    /// `alignof(T)`
    AlignOf(TypeExpr),
    /// `offsetof(T, field)`
    OffsetOf {
        /// Of which struct.
        ty: TypeExpr,
        /// Which field.
        field: Ident,
    },
    /// A type that cannot be read as an expression (`*global f32`) as an argument; see [`Expr::as_type`].
    Type(TypeExpr),
    /// Reported already.
    Error,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// `begin` in `Row(begin: 0)`.
    pub name: Option<Ident>,
    /// Its value; a type where the callee wants one.
    pub value: Expr,
    /// The whole argument.
    pub span: Span,
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!`, logical on `bool`, bitwise on integers
    Not,
    /// `*`
    Deref,
    /// `&`
    AddressOf,
}

/// Infix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `|`
    BitOr,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `&&`, evaluates its right side only if needed
    And,
    /// `||`, evaluates its right side only if needed
    Or,
}

impl UnaryOp {
    /// As written.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Neg => "-",
            Self::Not => "!",
            Self::Deref => "*",
            Self::AddressOf => "&",
        }
    }
}

impl BinaryOp {
    /// As written.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::BitAnd => "&",
            Self::BitXor => "^",
            Self::BitOr => "|",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::And => "&&",
            Self::Or => "||",
        }
    }

    /// Whether it is one of `== != < <= > >=`.
    #[must_use]
    pub const fn is_comparison(self) -> bool {
        matches!(self, Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge)
    }

    /// Whether it is `&&` or `||`.
    #[must_use]
    pub const fn is_logical(self) -> bool {
        matches!(self, Self::And | Self::Or)
    }
}

impl Suffix {
    /// The suffix as written, which is the type's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Whether it names a floating-point type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }
}

impl Space {
    /// The keyword.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Constant => "constant",
        }
    }
}

fn deepest_arg(args: &[Arg]) -> u16 {
    args.iter().map(|arg| arg.value.depth).max().unwrap_or(0)
}

fn deepest(exprs: &[Expr]) -> u16 {
    exprs.iter().map(|expr| expr.depth).max().unwrap_or(0)
}

impl TypeExpr {
    /// A type at a place.
    #[must_use]
    pub fn new(kind: TypeKind, span: Span) -> Self {
        let children = match &kind {
            TypeKind::Path(path) => deepest(&path.args),
            TypeKind::Pointer { pointee, .. } => pointee.depth,
            TypeKind::Array { element, length } => element.depth.max(length.depth),
            TypeKind::DynamicArray(element) => element.depth,
            TypeKind::Error => 0,
        };
        Self { kind, span, depth: children.saturating_add(1) }
    }
}

impl Expr {
    /// An expression at a place.
    #[must_use]
    pub fn new(kind: ExprKind, span: Span) -> Self {
        let children = match &kind {
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Char(_)
            | ExprKind::String(_)
            | ExprKind::Error => 0,
            ExprKind::Path(path) => deepest(&path.args),
            ExprKind::Array(elements) => deepest(elements),
            ExprKind::Repeat { value: a, count: b }
            | ExprKind::Binary { lhs: a, rhs: b, .. }
            | ExprKind::Index { base: a, index: b } => a.depth.max(b.depth),
            ExprKind::Paren(a) | ExprKind::Unary { operand: a, .. } | ExprKind::Field { base: a, .. } => a.depth,
            ExprKind::Cast { operand, ty } => operand.depth.max(ty.depth),
            ExprKind::If { cond, then, otherwise } => cond.depth.max(then.depth).max(otherwise.depth),
            ExprKind::Call { callee, args } => callee.depth.max(deepest_arg(args)),
            ExprKind::Launch { kernel, config, args, .. } => kernel.depth.max(deepest(config)).max(deepest_arg(args)),
            ExprKind::SizeOf(ty) | ExprKind::AlignOf(ty) | ExprKind::OffsetOf { ty, .. } | ExprKind::Type(ty) => ty.depth,
        };
        Self { kind, span, depth: children.saturating_add(1) }
    }

    /// The name, if the expression is nothing but a name.
    #[must_use]
    pub fn as_ident(&self) -> Option<&Ident> {
        match &self.kind {
            ExprKind::Path(path) => path.as_ident(),
            _ => None,
        }
    }

    /// Without the parentheses around it.
    #[must_use]
    pub fn without_parens(&self) -> &Self {
        let mut expr = self;
        while let ExprKind::Paren(inner) = &expr.kind {
            expr = inner;
        }
        expr
    }

    /// The expression read as a type, where an argument may be one: `f32`, `Row`, `Pair[f32]`, `*T`, `[f32; 4]`, `*global f32`.
    /// `None` if it cannot be one.
    #[must_use]
    pub fn as_type(&self) -> Option<TypeExpr> {
        let kind = match &self.kind {
            ExprKind::Type(ty) => return Some(ty.clone()),
            ExprKind::Path(path) => TypeKind::Path(path.clone()),
            ExprKind::Unary { op: UnaryOp::Deref, operand } => {
                TypeKind::Pointer { space: None, qualifiers: Qualifiers::default(), pointee: Box::new(operand.as_type()?) }
            }
            ExprKind::Repeat { value, count } => TypeKind::Array { element: Box::new(value.as_type()?), length: count.clone() },
            ExprKind::Index { base, index } => {
                let name = base.as_ident()?.clone();
                let args = vec![index.as_ref().clone()];
                TypeKind::Path(Path { qualifier: None, name, args, span: self.span })
            }
            ExprKind::Error => TypeKind::Error,
            _ => return None,
        };
        Some(TypeExpr::new(kind, self.span))
    }
}
