//! Which tree a text has.

use super::clean;
use crate::syntax::ast::{
    Arg, Expr, ExprKind, FunctionKind, Item, ItemKind, Path, Space, StmtKind, Suffix, TypeExpr, TypeKind,
};

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn path(path: &Path) -> String {
    let qualifier = path.qualifier.as_ref().map_or(String::new(), |name| format!("{}::", name.name));
    let args = if path.args.is_empty() { String::new() } else { format!("::[{}]", list(&path.args, show)) };
    format!("{qualifier}{}{args}", path.name.name)
}

fn ty(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeKind::Path(name) => path(name),
        TypeKind::Pointer { space, qualifiers, pointee } => {
            let space = space.map_or(String::new(), |space| format!("{} ", space.name()));
            let constant = if qualifiers.is_const { "const " } else { "" };
            let volatile = if qualifiers.is_volatile { "volatile " } else { "" };
            format!("*{space}{constant}{volatile}{}", self::ty(pointee))
        }
        TypeKind::Array { element, length } => format!("[{}; {}]", self::ty(element), show(length)),
        TypeKind::DynamicArray(element) => format!("[{}]", self::ty(element)),
        TypeKind::Error => "error".to_owned(),
    }
}

fn arg(arg: &Arg) -> String {
    arg.name.as_ref().map_or(String::new(), |name| format!("{}: ", name.name)) + &show(&arg.value)
}

/// With a parenthesis around every operation.
fn show(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Int { value, suffix } => format!("{value}{}", suffix.map_or("", Suffix::name)),
        ExprKind::Float { text, suffix } => format!("{text}{}", suffix.map_or("", Suffix::name)),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Char(byte) => format!("'{}'", char::from(*byte)),
        ExprKind::String(text) => format!("{text:?}"),
        ExprKind::Path(name) => path(name),
        ExprKind::Paren(inner) => format!("<{}>", show(inner)),
        ExprKind::Array(elements) => format!("[{}]", list(elements, show)),
        ExprKind::Repeat { value, count } => format!("[{}; {}]", show(value), show(count)),
        ExprKind::Unary { op, operand } => format!("({}{})", op.symbol(), show(operand)),
        ExprKind::Binary { op, lhs, rhs, .. } => format!("({} {} {})", show(lhs), op.symbol(), show(rhs)),
        ExprKind::Cast { operand, ty } => format!("({} as {})", show(operand), self::ty(ty)),
        ExprKind::If { cond, then, otherwise } => format!("(if {} {} {})", show(cond), show(then), show(otherwise)),
        ExprKind::Call { callee, args } => format!("{}({})", show(callee), list(args, arg)),
        ExprKind::Launch { kernel, config, args, .. } => {
            format!("{}<<<{}>>>({})", show(kernel), list(config, show), list(args, arg))
        }
        ExprKind::Index { base, index } => format!("{}[{}]", show(base), show(index)),
        ExprKind::Field { base, name } => format!("{}.{}", show(base), name.name),
        ExprKind::SizeOf(ty) => format!("sizeof({})", self::ty(ty)),
        ExprKind::AlignOf(ty) => format!("alignof({})", self::ty(ty)),
        ExprKind::OffsetOf { ty, field } => format!("offsetof({}, {})", self::ty(ty), field.name),
        ExprKind::Type(ty) => format!("type {}", self::ty(ty)),
        ExprKind::Error => "error".to_owned(),
    }
}

fn item(text: &str) -> Item {
    let mut items = clean(text).items;
    assert_eq!(items.len(), 1, "{text}");
    items.remove(0)
}

fn stmts(text: &str) -> Vec<StmtKind> {
    match item(&format!("fn f() {{ {text} }}")).kind {
        ItemKind::Function(function) => function.body.unwrap().stmts.into_iter().map(|stmt| stmt.kind).collect(),
        other => panic!("{other:?}"),
    }
}

fn expr(text: &str) -> Expr {
    match stmts(&format!("return {text};")).remove(0) {
        StmtKind::Return(Some(expr)) => expr,
        other => panic!("{other:?}"),
    }
}

#[test]
fn precedence_is_rusts() {
    for (text, tree) in [
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("a << b + c & d ^ e | f", "((((a << (b + c)) & d) ^ e) | f)"),
        ("a & b == c", "((a & b) == c)"),
        ("a || b && c == d || e", "((a || (b && (c == d))) || e)"),
        ("-a as f32 * b", "(((-a) as f32) * b)"),
        ("a + b as u32 as f64 / c", "(a + (((b as u32) as f64) / c))"),
        ("*p.f[0]", "(*p.f[0])"),
        ("&x[i].y", "(&x[i].y)"),
        ("!a && - -b < c", "((!a) && ((-(-b)) < c))"),
        ("a - (b - c)", "(a - <(b - c)>)"),
        ("if a { b } else if c { d } else { e }", "(if a b (if c d e))"),
        ("x as *global const f32", "(x as *global const f32)"),
        ("a % b / c * d", "(((a % b) / c) * d)"),
        ("a >> 1 << 2", "((a >> 1) << 2)"),
    ] {
        assert_eq!(show(&expr(text)), tree, "{text}");
    }
}

#[test]
fn expressions() {
    for (text, tree) in [
        ("Row(begin: 0, len: 4)", "Row(begin: 0, len: 4)"),
        ("max::[f32](a, b)", "max::[f32](a, b)"),
        ("tile::[N + 1]<<<g, b, 0, cudaStreamTailLaunch>>>(x)", "tile::[(N + 1)]<<<g, b, 0, cudaStreamTailLaunch>>>(x)"),
        ("k<<<dim3(1, 2, 3), n >> 1>>>()", "k<<<dim3(1, 2, 3), (n >> 1)>>>()"),
        ("device([f32; 4], n)", "device([f32; 4], n)"),
        ("device(*global const Row, n,)", "device(type *global const Row, n)"),
        ("device(*Row, n)", "device((*Row), n)"),
        (
            "sizeof([Pair[f32, 3]; 4]) + alignof(*T) + offsetof(Row, len)",
            "((sizeof([Pair::[f32, 3]; 4]) + alignof(*T)) + offsetof(Row, len))",
        ),
        ("Color::Red as u8", "(Color::Red as u8)"),
        ("[1, 2, 3]", "[1, 2, 3]"),
        ("[0; 16]", "[0; 16]"),
        ("f('a', \"b\\n\", true, 0xffu8, 1_0.5e-1_0f32)", "f('a', \"b\\n\", true, 255u8, 10.5e-10f32)"),
        ("test.host(step, import)", "test.host(step, import)"),
    ] {
        assert_eq!(show(&expr(text)), tree, "{text}");
    }
}

#[test]
fn expressions_read_as_types() {
    for (text, wanted) in [
        ("f32", Some("f32")),
        ("*f32", Some("*f32")),
        ("**Row", Some("**Row")),
        ("[f32; 4]", Some("[f32; 4]")),
        ("[[f32; 4]; N]", Some("[[f32; 4]; N]")),
        ("*global const Row", Some("*global const Row")),
        ("[*shared f32; 2]", Some("[*shared f32; 2]")),
        ("Pair[f32]", Some("Pair::[f32]")),
        ("Pair::[f32, 2]", Some("Pair::[f32, 2]")),
        ("a + b", None),
        ("1", None),
        ("f(x)", None),
    ] {
        assert_eq!(expr(text).as_type().as_ref().map(ty).as_deref(), wanted, "{text}");
    }
}

#[test]
fn statements() {
    let list = stmts(
        "let a: i32 = 1; var b; shared tile: [f32; 256]; shared dyn: [f32]; const N: u32 = 2; x[0] += 1; x = y; f(); \
         if a { } else if b { } else { } while a { } for i in threadIdx.x as i32 .. s.n step 256 { } loop { break; continue; } \
         switch a { case 1, 2 { } default { } } return; { }",
    );
    let kinds: Vec<&str> = list
        .iter()
        .map(|kind| match kind {
            StmtKind::Let { mutable: false, .. } => "let",
            StmtKind::Let { .. } => "var",
            StmtKind::Const(_) => "const",
            StmtKind::Shared { ty, .. } if matches!(ty.kind, TypeKind::DynamicArray(_)) => "dynamic shared",
            StmtKind::Shared { .. } => "shared",
            StmtKind::Expr(_) => "expr",
            StmtKind::Assign { op, .. } => op.map_or("=", |op| op.symbol()),
            StmtKind::If { arms, otherwise } => {
                assert_eq!((arms.len(), otherwise.is_some()), (2, true));
                "if"
            }
            StmtKind::While { .. } => "while",
            StmtKind::For { start, end, step, .. } => {
                assert_eq!(show(start), "(threadIdx.x as i32)");
                assert_eq!(show(end), "s.n");
                assert_eq!(step.as_ref().map(show).as_deref(), Some("256"));
                "for"
            }
            StmtKind::Loop { body } => {
                assert_eq!(body.stmts.len(), 2);
                "loop"
            }
            StmtKind::Switch { cases, .. } => {
                assert_eq!(cases.iter().map(|case| case.values.len()).collect::<Vec<_>>(), [2, 0]);
                "switch"
            }
            StmtKind::Return(None) => "return",
            StmtKind::Block(_) => "block",
            other => panic!("{other:?}"),
        })
        .collect();
    let wanted = [
        "let",
        "var",
        "shared",
        "dynamic shared",
        "const",
        "+",
        "=",
        "expr",
        "if",
        "while",
        "for",
        "loop",
        "switch",
        "return",
        "block",
    ];
    assert_eq!(kinds, wanted);
}

#[test]
fn items() {
    let ItemKind::Function(kernel) = item("@launch_bounds(256, 2) kernel k[T, N: u32](@restrict x: *global T, n: i32) {}").kind
    else {
        panic!()
    };
    assert_eq!(kernel.kind, FunctionKind::Kernel);
    assert_eq!(kernel.generics.iter().map(|param| param.ty.is_some()).collect::<Vec<_>>(), [false, true]);
    assert_eq!(kernel.params[0].attributes[0].name.name, "restrict");
    let ItemKind::Function(function) = item("extern fn g(a: i32) -> *global const f32;").kind else { panic!() };
    assert!(function.body.is_none());
    assert_eq!(function.result.as_ref().map(ty).as_deref(), Some("*global const f32"));
    for space in ["", "global ", "shared ", "local ", "constant "] {
        for access in ["", "const ", "volatile ", "const volatile "] {
            let result = format!("*{space}{access}f32");
            let ItemKind::Function(function) = item(&format!("fn g(a: i32) -> {result} {{ return a; }}")).kind else {
                panic!()
            };
            assert_eq!(function.result.as_ref().map(ty).as_ref(), Some(&result));
        }
    }
    assert!(matches!(item("host fn main() {}").kind, ItemKind::Function(f) if f.kind == FunctionKind::Host));
    assert!(matches!(item("import \"other.cdp\";").kind, ItemKind::Import(path) if path.value == "other.cdp"));
    assert!(
        matches!(item("enum Color: u8 { Red, Green = 2, }").kind, ItemKind::Enum(e) if e.members.len() == 2 && e.underlying.is_some())
    );
    assert!(
        matches!(item("global var x: u32 = 0;").kind, ItemKind::Variable(v) if v.space == Space::Global && v.value.is_some())
    );
    assert!(
        matches!(item("extern constant x: [f32; 4];").kind, ItemKind::Variable(v) if v.space == Space::Constant && v.is_extern)
    );
    assert!(matches!(item("const X: i32 = if A > 1 { 2 } else { 3 };").kind, ItemKind::Const(_)));
    assert!(matches!(item("test \"name\" { assert(true); }").kind, ItemKind::Test(t) if t.name.value == "name"));
}

#[test]
fn doc_comments_belong_to_what_follows() {
    let ItemKind::Struct(row) = item("/// A row.\n///\n/// Of a matrix.\n@align(8)\nstruct Row {\n    /// Where.\n    begin: i32,\n    len: i32, // no doc\n}").kind
    else {
        panic!()
    };
    assert_eq!(row.fields[0].docs, ["Where."]);
    assert!(row.fields[1].docs.is_empty());
    let file = clean("/// A row.\n///\n/// Of a matrix.\n@align(8)\nstruct Row { begin: i32 }\n// not a doc\nfn f() {}");
    assert_eq!(file.items[0].docs, ["A row.", "", "Of a matrix."]);
    assert!(file.items[1].docs.is_empty());
    assert_eq!(file.comments.len(), 4);
}

#[test]
fn spans_cover_what_they_name() {
    let text = "kernel k(x: *global i32) { x[0] = 1 + y; k<<<1, 2>>>(x); }";
    let file = clean(text);
    let ItemKind::Function(kernel) = &file.items[0].kind else { panic!() };
    let at = |span: crate::source::Span| &text[span.range()];
    assert_eq!(at(file.items[0].span), text);
    let body = kernel.body.as_ref().unwrap();
    assert_eq!(at(body.stmts[0].span), "x[0] = 1 + y;");
    let StmtKind::Assign { target, value, op_span, .. } = &body.stmts[0].kind else { panic!() };
    assert_eq!((at(target.span), at(*op_span), at(value.span)), ("x[0]", "=", "1 + y"));
    let StmtKind::Expr(Expr { kind: ExprKind::Launch { config_span, config, .. }, .. }) = &body.stmts[1].kind else { panic!() };
    assert_eq!((at(*config_span), at(config[1].span)), ("<<<1, 2>>>", "2"));
}
