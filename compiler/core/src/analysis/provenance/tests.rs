use super::*;
use crate::lower::testing::module;

/// Where the first argument of each call of `see` points, in order of the source.
fn seen(text: &str) -> Vec<Vec<String>> {
    let text = format!("@noinline fn see(p: *const i32) {{}} {text}");
    let module = module(&text);
    let program = Program::new(&module);
    let provenance = Provenance::new(&program);
    let mut list = Vec::new();
    for body in program.bodies.iter().filter(|body| body.function.is_kernel()) {
        for (point, statement) in body.statements() {
            let StatementKind::Call { function, args, .. } = &statement.kind else { continue };
            if module.function(*function).is_some_and(|f| f.name == "see") {
                let parts = provenance.operand(&program, body, point, args.first().unwrap());
                let mut shown: Vec<String> = parts.iter().map(|part| show(&module, body, &part.address)).collect();
                shown.sort();
                list.push((statement.span.start, shown));
            }
        }
    }
    list.sort_by_key(|(start, _)| *start);
    list.into_iter().map(|(_, shown)| shown).collect()
}

fn show(module: &Module, body: &Body<'_>, address: &Address) -> String {
    let local = |id: &LocalId| body.function.locals[id.index()].name.clone();
    let root = match &address.origin.root {
        Root::Param(id) => format!("param {}", local(id)),
        Root::Local(id) => format!("local {}", local(id)),
        Root::Global(id) => format!("{} {}", module.globals[id.index()].space.name(), module.globals[id.index()].name),
        Root::Gone => "gone".to_owned(),
        Root::Fresh(_) => "fresh".to_owned(),
        Root::Null => "null".to_owned(),
        Root::Unknown => "unknown".to_owned(),
    };
    let path: String = address.origin.path.iter().map(|step| format!(".{step}")).collect();
    let read = if address.origin.loaded { " read" } else { "" };
    let index = match address.index.as_known() {
        Some(0) => String::new(),
        Some(index) => format!("[{index}]"),
        None => "[…]".to_owned(),
    };
    let fields: String = address.fields.iter().map(|field| format!("/{field}")).collect();
    format!("{root}{path}{read}{index}{fields}")
}

fn texts(list: &[&[&str]]) -> Vec<Vec<String>> {
    list.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect()
}

#[test]
fn copies_offsets_and_selections() {
    let found = seen(
        "global var g: [i32; 8];
         kernel k(x: *global i32, n: i32) {
             shared s: [i32; 8];
             var y = n;
             see(x);
             let p = x + 3;
             see(p + 1);
             see(&s[2]);
             see(&y);
             see(&g[n]);
             see(if n > 3 { &s[0] as *const i32 } else { x });
             see(null);
         }",
    );
    let wanted: &[&[&str]] =
        &[&["param x"], &["param x[4]"], &["shared s[2]"], &["local y"], &["global g[…]"], &["param x", "shared s"], &["null"]];
    assert_eq!(found, texts(wanted));
}

#[test]
fn a_variable_is_followed_through_its_assignments() {
    let found = seen(
        "kernel k(x: *global i32, n: i32) {
             shared s: [i32; 8];
             var p: *const i32 = &s[0];
             see(p);
             p = x;
             see(p);
             if n > 3 { p = &s[1]; }
             see(p);
         }",
    );
    let wanted: &[&[&str]] = &[&["shared s"], &["param x"], &["param x", "shared s[1]"]];
    assert_eq!(found, texts(wanted));
}

#[test]
fn structures_keep_their_fields_apart() {
    let found = seen(
        "struct P { a: *const i32, b: *const i32 }
         struct N { value: i32, next: *global N }
         kernel k(x: *global i32, q: P, m: *global N) {
             shared s: [i32; 8];
             var p = P(a: x, b: &s[0]);
             see(p.a);
             see(p.b);
             p.b = x + 1;
             see(p.b);
             see(q.b);
             see(&m.value);
             see(&m.next.value);
         }",
    );
    let wanted: &[&[&str]] =
        &[&["param x"], &["shared s"], &["param x[1]"], &["param q.1"], &["param m/0"], &["param m.1 read/0"]];
    assert_eq!(found, texts(wanted));
}

#[test]
fn helpers_are_followed() {
    let found = seen(
        "fn second(p: *const i32, q: *const i32) -> *const i32 { return q + 1; }
         fn pick(c: bool, p: *const i32, q: *const i32) -> *const i32 { return if c { p } else { second(p, q) }; }
         fn own() -> *const i32 { var y = 3; return &y; }
         fn up(p: *const i32, n: i32) -> *const i32 { return if n == 0 { p } else { up(p + 1, n - 1) }; }
         kernel k(x: *global i32, n: i32) {
             shared s: [i32; 8];
             see(second(&s[0], x + 2));
             see(pick(n > 3, x, &s[0]));
             see(own());
             see(up(x, n));
             var p: *i32;
             if cudaMalloc(&p, 64) == cudaSuccess { see(p); }
         }",
    );
    let wanted: &[&[&str]] = &[&["param x[3]"], &["param x", "shared s[1]"], &["gone"], &["param x[…]"], &["fresh", "null"]];
    assert_eq!(found, texts(wanted));
}
