//! The documentation is held to the code.
//!
//! - Examples: a `cdp` block of a page is a whole file without any diagnostic. `cdp,fail,E0401` has exactly these codes; `cdp,run` is run elsewhere, too; `cdp,fragment` is a
//!   piece of a function's body that parses.
//! - Tables: what stands between `<!-- NAME: … -->` and `<!-- end -->` is made here, from the compiler's own tables. `make bless` writes it anew.
//!
//! That links lead somewhere is a matter of `book.rs`, and what commands print one of `compiler/cdpc/tests/book`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail where it stands")]

use cdp_core::builtins::{
    AtomicOp, BarrierOp, CacheHint, Cdp, Conversion, CudaEnum, Domain, Intrinsic, Lanes, MemoryScope, NamedKind, PackedOp,
    PartsFn, Register, RoundedOp, Rounding, RuntimeFn, RuntimeParam, Side, TexelChoice, TextureOp, WarpOp, named_constants,
};
use cdp_core::diag::{Code, Diagnostic};
use cdp_core::lower::{self, LowerOptions};
use cdp_core::source::SourceMap;
use cdp_core::types::TypeTable;
use cdp_core::{rules, sema, syntax, verify};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The pages of the book, by file name.
fn pages() -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), read(&path)))
        .collect();
    list.sort();
    list
}

// ------------------------------------------------------------------------------------------------------------- examples

/// A fenced block: where it starts, what its fence says, its text.
struct Example {
    line: usize,
    info: String,
    text: String,
}

fn examples(page: &str) -> Vec<Example> {
    let mut result: Vec<Example> = Vec::new();
    let mut open = false;
    for (index, line) in page.lines().enumerate() {
        let text = line.trim_start();
        // deeper in, it is text that shows a fence
        let shown = line.len() - text.len() > 4;
        if let Some(info) = text.strip_prefix("```").filter(|_| !shown) {
            if !open {
                result.push(Example { line: index + 1, info: info.trim().to_owned(), text: String::new() });
            }
            open = !open;
        } else if open {
            let text = &mut result.last_mut().unwrap().text;
            text.push_str(line);
            text.push('\n');
        }
    }
    assert!(!open, "a block is not closed");
    result.retain(|example| example.info.split(',').next() == Some("cdp"));
    result
}

/// Everything that the front end says of a file.
fn diagnostics(name: &str, text: &str, cdp: Cdp) -> Vec<Diagnostic> {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    let (file, mut found) = syntax::parse(id, text);
    if found.has_errors() {
        return found.finish();
    }
    let mut levels = rules::Levels::new();
    levels.read(&file);
    let (program, more) = sema::check(&[file], &sources, sema::Options { cdp, ..sema::Options::default() });
    found.extend(more);
    if !found.has_errors() {
        let (module, more) = lower::lower(program, &LowerOptions::default());
        found.extend(more);
        if !found.has_errors() {
            let verified = verify::verify(&module);
            assert!(verified.is_ok(), "{name}: {:?}", verified.err());
            found.extend(rules::check(&module, &levels, cdp));
        }
    }
    found.finish()
}

/// What is wrong with an example, if anything.
fn check_example(place: &str, example: &Example) -> Option<String> {
    let mut words = example.info.split(',').skip(1);
    match words.next() {
        Some("cdp1") => {
            let found = diagnostics(place, &example.text, Cdp::Cdp1);
            let list: Vec<String> = found.iter().map(|d| format!("{}: {}", d.code.id(), d.message)).collect();
            (!list.is_empty()).then(|| format!("{place}: {}", list.join("; ")))
        }
        // `run` is for `compiler/cdpc/tests/book`, and compiles as others do
        None | Some("run") => {
            let found = diagnostics(place, &example.text, Cdp::Cdp2);
            let list: Vec<String> = found.iter().map(|d| format!("{}: {}", d.code.id(), d.message)).collect();
            (!list.is_empty()).then(|| format!("{place}: {}", list.join("; ")))
        }
        Some("fail") => {
            let wanted: Vec<&str> = words.collect();
            let mut codes: Vec<&str> = diagnostics(place, &example.text, Cdp::Cdp2).iter().map(|d| d.code.id()).collect();
            codes.dedup();
            (wanted != codes || codes.is_empty()).then(|| format!("{place}: has {codes:?}, the fence says {wanted:?}"))
        }
        Some("fragment") => {
            let text = format!("kernel fragment() {{\n{}}}\n", example.text);
            let mut sources = SourceMap::new();
            let id = sources.add(place, text.as_str());
            let (_, found) = syntax::parse(id, &text);
            let list: Vec<String> = found.iter().map(|d| d.message.clone()).collect();
            (!list.is_empty()).then(|| format!("{place}: does not parse: {}", list.join("; ")))
        }
        Some(other) => Some(format!("{place}: the fence says `{other}`, which means nothing")),
    }
}

#[test]
fn examples_are_true() {
    let mut wrong = Vec::new();
    let mut count = 0;
    let readme = [("../README.md".to_owned(), read(&root().join("README.md")))];
    for (name, page) in pages().iter().chain(&readme) {
        for example in examples(page) {
            count += 1;
            wrong.extend(check_example(&format!("docs/{name}:{}", example.line), &example));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 20, "only {count} examples found");
}

#[test]
fn wrong_examples_are_found() {
    let example = |info: &str, text: &str| Example { line: 1, info: info.to_owned(), text: text.to_owned() };
    assert!(check_example("a", &example("cdp", "kernel k() { k(); }")).is_some());
    assert!(check_example("a", &example("cdp,fail,E0401", "kernel k() { k(); }")).is_none());
    let waits = "kernel k() { cudaDeviceSynchronize(); }";
    assert!(check_example("a", &example("cdp,cdp1", waits)).is_none() && check_example("a", &example("cdp", waits)).is_some());
    assert!(check_example("a", &example("cdp,cdp1", "kernel k() { k(); }")).is_some());
    assert!(check_example("a", &example("cdp,fail", "kernel k() { k(); }")).is_some());
    assert!(check_example("a", &example("cdp,fail,E0401", "kernel k() {}")).is_some());
    assert!(check_example("a", &example("cdp,fragment", "let x = ;")).is_some());
    assert!(check_example("a", &example("cdp,fragment", "let x = unknown;")).is_none());
    assert_eq!(examples("```cdp\na\n```\n\n```c\nb\n```\n").len(), 1);
}

// --------------------------------------------------------------------------------------------------------------- tables

fn row(out: &mut String, cells: &[&str]) {
    // infallible: a String takes everything
    let _ = writeln!(out, "| {} |", cells.join(" | "));
}

fn head(cells: &[&str]) -> String {
    let mut out = String::new();
    row(&mut out, cells);
    row(&mut out, &vec!["---"; cells.len()]);
    out
}

fn domain(domain: Domain) -> String {
    let text = match domain {
        Domain::Float => "`f32` or `f64`, the result alike",
        Domain::AnyFloat => "`f16`, `bf16`, `f32` or `f64`, the result alike",
        Domain::F32 => "`f32`, the result alike",
        Domain::FloatToBool => "`f32` or `f64`, gives `bool`",
        Domain::FloatInt => "`f32` or `f64` and an `i32`, the result as the first",
        Domain::Number => "any integer or float type, the result alike",
        Domain::Integer => "any integer type, the result alike",
        Domain::BitsToInt => "32- or 64-bit integer, gives `i32`",
        Domain::Bits => "32- or 64-bit integer, the result alike",
        Domain::U32 => "`u32`, the result alike",
        Domain::FloatToBits => "`f32` or `f64`, gives `i32` or `i64`",
        Domain::BitsToFloat => "32- or 64-bit integer, gives `f32` or `f64`",
        Domain::FloatToInt => "`f32` or `f64`, gives `i32`",
        Domain::FloatToLong => "`f32` or `f64`, gives `i64`",
        Domain::IntFloat => "an `i32` and `f32` or `f64`, the result as the second",
        Domain::Address => "a pointer; gives `bool`",
        Domain::Word => "`i32` or `u32`, the result alike",
        Domain::Differences => "two `i32` or two `u32`, and a `u32`; gives `u32`",
        Domain::Products => {
            "two packed numbers, each `i32` or `u32`, and a sum: `u32` where both are unsigned, `i32` otherwise; gives such a sum"
        }
        Domain::Fixed(types, result) => {
            let table = TypeTable::new();
            let list: Vec<String> = types.iter().map(|ty| format!("`{}`", table.display(*ty))).collect();
            return format!("{}; gives `{}`", list.join(", "), table.display(result));
        }
    };
    text.to_owned()
}

/// A name in all four roundings: `__fadd_rn`, `_rz`, `_ru`, `_rd`.
fn roundings(stem: &str) -> String {
    let others: Vec<String> = Rounding::ALL[1..].iter().map(|rounding| format!("`{}`", rounding.suffix())).collect();
    format!("`{stem}_rn`, {}", others.join(", "))
}

fn parts() -> String {
    let mut out = head(&["name", "what it computes"]);
    for function in PartsFn::ALL {
        let pointers = if function.pointers() == 2 { "x, &sine, &cosine" } else { "x, &part" };
        row(&mut out, &[&format!("`{}({pointers})`", function.name()), function.doc()]);
    }
    out
}

fn rounded() -> String {
    let mut out = head(&["`f32`", "`f64`", "arguments", "what it computes"]);
    for op in RoundedOp::ALL {
        let names = op.names().map(|names| roundings(names[0].trim_end_matches("_rn")));
        let arity = Intrinsic::Rounded(*op, Rounding::Nearest).arity().to_string();
        row(&mut out, &[&names[0], &names[1], &arity, op.doc()]);
    }
    out
}

fn packed() -> String {
    let mut out = head(&["halves", "bytes", "arguments", "what it computes of each"]);
    for op in PackedOp::ALL {
        let [halves, bytes] = [Lanes::Two, Lanes::Four].map(|lanes| format!("`{}`", op.name(lanes)));
        row(&mut out, &[&halves, &bytes, &op.arity().to_string(), op.doc()]);
    }
    out
}

fn conversions() -> String {
    let types = TypeTable::new();
    let mut out = head(&["name", "from", "to"]);
    for conversion in Conversion::ALL.iter().filter(|conversion| conversion.rounding == Rounding::Nearest) {
        let all = Conversion::ALL.iter().filter(|other| other.family() == conversion.family()).count() == 4;
        let name = if all { roundings(conversion.family()) } else { format!("`{}`", conversion.name) };
        let [from, to] = [conversion.from, conversion.to].map(|ty| format!("`{}`", types.display(ty)));
        row(&mut out, &[&name, &from, &to]);
    }
    out
}

fn registers() -> String {
    let mut out = head(&["name", "type"]);
    for register in Register::ALL {
        let name = match register.name().split_once('.') {
            Some((call, axis)) if register.is_call() => format!("`{call}().{axis}`"),
            _ => format!("`{}{}`", register.name(), if register.is_call() { "()" } else { "" }),
        };
        let ty = if register == Register::ClusterSpecified { "bool".to_owned() } else { format!("u{}", register.bits()) };
        row(&mut out, &[&name, &format!("`{ty}`")]);
    }
    out
}

fn intrinsics() -> String {
    let mut out = head(&["name", "arguments", "types", "what it computes"]);
    for intrinsic in
        Intrinsic::ALL.iter().filter(|intrinsic| !matches!(intrinsic, Intrinsic::Rounded(..) | Intrinsic::Packed(..)))
    {
        let arity = intrinsic.arity().to_string();
        row(&mut out, &[&format!("`{}`", intrinsic.name()), &arity, &domain(intrinsic.domain()), intrinsic.doc()]);
    }
    out
}

fn barriers() -> String {
    let mut out = head(&["name", "result", "what it does"]);
    for op in BarrierOp::ALL {
        let (args, result, text) = match op {
            BarrierOp::Block => {
                ("()", "none", "waits for all threads of the block, and makes their writes visible to each other")
            }
            BarrierOp::BlockCount => ("(predicate)", "`i32`", "the same, and counts the threads whose predicate is true"),
            BarrierOp::BlockAnd => ("(predicate)", "`bool`", "the same, and tells whether it is true for all"),
            BarrierOp::BlockOr => ("(predicate)", "`bool`", "the same, and tells whether it is true for one"),
            BarrierOp::Warp => ("()", "none", "waits for all lanes of the warp, or for those of a mask given as argument"),
            BarrierOp::ClusterArrive => ("()", "none", "arrives at the barrier of the [cluster](#clusters), and goes on"),
            BarrierOp::ClusterArriveRelaxed => ("()", "none", "the same, and hands on only what was fenced before"),
            BarrierOp::ClusterWait => {
                ("()", "none", "waits until all threads of the cluster have arrived, and sees what they did before")
            }
        };
        row(&mut out, &[&format!("`{}{args}`", op.name()), result, text]);
    }
    out
}

fn atomics() -> String {
    let scopes = [MemoryScope::Device, MemoryScope::Block, MemoryScope::System];
    let mut out = head(&["device", "block", "system"]);
    for op in AtomicOp::ALL {
        let names: Vec<String> = scopes.iter().map(|scope| format!("`{}{}`", op.name(), scope.suffix())).collect();
        row(&mut out, &names.iter().map(String::as_str).collect::<Vec<_>>());
    }
    out
}

fn warps() -> String {
    let mut out = head(&["name", "arguments", "result"]);
    for op in WarpOp::ALL {
        let (args, result) = match op {
            WarpOp::ActiveMask => ("", "`u32`: the lanes that are here together"),
            WarpOp::All => ("mask, predicate", "`bool`: whether the predicate is true in all lanes"),
            WarpOp::Any => ("mask, predicate", "`bool`: whether it is true in one of them"),
            WarpOp::Ballot => ("mask, predicate", "`u32`: one bit for each lane"),
            WarpOp::Shfl => ("mask, value, lane, width", "the value of that lane"),
            WarpOp::ShflUp => ("mask, value, delta, width", "the value of the lane `delta` below"),
            WarpOp::ShflDown => ("mask, value, delta, width", "the value of the lane `delta` above"),
            WarpOp::ShflXor => ("mask, value, lane mask, width", "the value of the lane whose number differs by these bits"),
            WarpOp::MatchAny => ("mask, value", "`u32`: the lanes with the same value"),
            WarpOp::MatchAll => (
                "mask, value, &all",
                "`u32`: the mask where all lanes have the same value, otherwise 0; `all`, an `i32` or `bool`, becomes whether they have",
            ),
            WarpOp::ReduceAdd => ("mask, value", "the sum, modulo 2 to the 32nd"),
            WarpOp::ReduceMin => ("mask, value", "the smallest value"),
            WarpOp::ReduceMax => ("mask, value", "the largest value"),
            WarpOp::ReduceAnd => ("mask, value", "bitwise and"),
            WarpOp::ReduceOr => ("mask, value", "bitwise or"),
            WarpOp::ReduceXor => ("mask, value", "bitwise exclusive or"),
        };
        row(&mut out, &[&format!("`{}`", op.name()), args, result]);
    }
    out
}

fn hints() -> String {
    let mut out = head(&["name", "result", "PTX", "how"]);
    for hint in CacheHint::ALL {
        let (args, result, ptx) =
            if hint.is_store() { ("pointer, value", "none", "st") } else { ("pointer", "the value", "ld") };
        let call = format!("`{}({args})`", hint.name());
        row(&mut out, &[&call, result, &format!("`{ptx}.global.{}`", hint.operator()), hint.doc()]);
    }
    out
}

fn textures() -> String {
    let types = TypeTable::new();
    let mut out = head(&["name", "arguments", "what it reads or writes"]);
    for op in TextureOp::ALL {
        let mut args = vec![types.display(op.object())];
        args.extend((0..op.coordinates()).map(|index| types.display(op.coordinate(index))));
        if op.is_write() {
            args.insert(0, "value".to_owned());
        }
        args.extend(op.choice().map(|choice| match choice {
            TexelChoice::Boundary => types.display(choice.ty()),
            TexelChoice::Component => "component".to_owned(),
        }));
        row(&mut out, &[&format!("`{}`", op.name()), &format!("`{}`", args.join(", ")), op.doc()]);
    }
    out
}

fn runtime() -> String {
    let types = TypeTable::new();
    let mut out = head(&["call", "where", "result", "what it does"]);
    for call in RuntimeFn::ALL.iter().filter(|call| call.side() != Side::Internal) {
        let params: Vec<String> = call
            .params()
            .iter()
            .map(|param| match param {
                RuntimeParam::Value(ty) => types.display(*ty),
                RuntimeParam::Flags(_) => "flags".to_owned(),
                RuntimeParam::Out(ty) => format!("&{}", types.display(*ty)),
                RuntimeParam::OutPointer => "&pointer".to_owned(),
                RuntimeParam::Memory => "pointer".to_owned(),
                RuntimeParam::ConstMemory => "const pointer".to_owned(),
                RuntimeParam::Address => "address".to_owned(),
                RuntimeParam::ConstAddress => "const address".to_owned(),
                RuntimeParam::Size => "size".to_owned(),
                RuntimeParam::Dim3 => "dim3".to_owned(),
                RuntimeParam::Kernel => "kernel".to_owned(),
                RuntimeParam::Struct(which) => which.name().to_owned(),
                RuntimeParam::InStruct(which) | RuntimeParam::OutStruct(which) | RuntimeParam::Description(which) => {
                    format!("&{}", which.name())
                }
            })
            .collect();
        let side = match call.side() {
            Side::Both => "device, host",
            Side::Device => "device",
            _ => "host",
        };
        let result =
            if call.result() == TypeTable::VOID { "none".to_owned() } else { format!("`{}`", types.display(call.result())) };
        row(&mut out, &[&format!("`{}({})`", call.name(), params.join(", ")), side, &result, call.doc()]);
    }
    out
}

/// CUDA's enumerations.
fn enumerations() -> String {
    let mut out = head(&["type", "members"]);
    for found in CudaEnum::ALL {
        row(&mut out, &[&format!("`{}`", found.name()), constants(NamedKind::Enum(*found)).trim_end()]);
    }
    out
}

/// Names with their values, of one kind.
fn constants(kind: NamedKind) -> String {
    let list: Vec<String> =
        named_constants().filter(|c| c.kind == kind).map(|c| format!("`{}` ({})", c.name, c.value)).collect();
    list.join(", ") + "\n"
}

fn codes() -> String {
    let mut out = head(&["code", "title"]);
    for code in Code::ALL {
        row(&mut out, &[&format!("[{0}](#{0})", code.id()), code.title()]);
    }
    for code in Code::ALL {
        let id = code.id();
        let _ = write!(out, "\n<a id=\"{id}\"></a>\n\n{{{{#include ../compiler/core/src/diag/codes/{id}.md}}}}\n");
    }
    out
}

/// Which of our crates each of them uses, outside of its tests.
fn edges() -> String {
    const FOLDERS: [(&str, &str); 9] = [
        ("cdp-core", "compiler/core"),
        ("nvptx-builder", "compiler/nvptx-builder"),
        ("cdp-backend", "compiler/backend"),
        ("cdp-executor", "compiler/executor"),
        ("cdp-runtime", "runtime-shim"),
        ("cdpc", "compiler/cdpc"),
        ("cdp-build", "runtime-shim/cdp-build"),
        ("lang-tests", "lang-tests"),
        ("ptx-golden", "ptx-golden"),
    ];
    let mut out = head(&["crate", "uses"]);
    for (name, folder) in FOLDERS {
        let manifest = read(&root().join(folder).join("Cargo.toml"));
        let section = manifest.split("\n[").find(|section| section.starts_with("dependencies]")).unwrap_or("");
        let used = |other: &str| section.lines().any(|line| line.starts_with(&format!("{other}.")));
        let list: Vec<String> =
            FOLDERS.iter().filter(|(other, _)| used(other)).map(|(other, _)| format!("`{other}`")).collect();
        row(&mut out, &[&format!("`{name}`"), &if list.is_empty() { "none".to_owned() } else { list.join(", ") }]);
    }
    out
}

fn lints() -> String {
    let mut out = head(&["lint", "code", "what it reports"]);
    for lint in rules::lints() {
        let code = lint.code.id();
        row(&mut out, &[&format!("`{}`", lint.name), &format!("[{code}](error-index.md#{code})"), lint.code.title()]);
    }
    out
}

/// The tables: the page, the name in the comment before the table, and the text.
fn tables() -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("language.md", "lints", lints()),
        ("builtins.md", "registers", registers()),
        ("builtins.md", "barriers", barriers()),
        ("builtins.md", "atomics", atomics()),
        ("builtins.md", "warps", warps()),
        ("builtins.md", "hints", hints()),
        ("mathematics.md", "intrinsics", intrinsics()),
        ("mathematics.md", "parts", parts()),
        ("mathematics.md", "packed", packed()),
        ("mathematics.md", "rounded", rounded()),
        ("mathematics.md", "conversions", conversions()),
        ("textures.md", "textures", textures()),
        ("runtime-calls.md", "runtime", runtime()),
        ("runtime-calls.md", "streams", constants(NamedKind::Stream)),
        ("runtime-calls.md", "stream-flags", constants(NamedKind::StreamFlag)),
        ("runtime-calls.md", "event-flags", constants(NamedKind::EventFlag)),
        ("runtime-calls.md", "record-flags", constants(NamedKind::RecordFlag)),
        ("runtime-calls.md", "occupancy-flags", constants(NamedKind::OccupancyFlag)),
        ("runtime-calls.md", "array-flags", constants(NamedKind::ArrayFlag)),
        ("runtime-calls.md", "enumerations", enumerations()),
        ("runtime-calls.md", "errors", constants(NamedKind::Error)),
        ("architecture.md", "edges", edges()),
        ("error-index.md", "codes", codes()),
    ]
}

#[test]
fn tables_are_those_of_the_compiler() {
    let bless = std::env::var_os("CDPC_BLESS").is_some();
    for (page, name, text) in tables() {
        let path = root().join("docs").join(page);
        let old = read(&path);
        let start = format!("<!-- {name}: made by compiler/core/tests/docs.rs -->\n\n");
        let text = text + "\n";
        let from = old.find(&start).unwrap_or_else(|| panic!("docs/{page} has no table `{name}`")) + start.len();
        let rest = &old[from..];
        let to = from + rest.find("<!-- end -->").unwrap_or_else(|| panic!("the table `{name}` of docs/{page} has no end"));
        if old[from..to] == text {
            continue;
        }
        assert!(bless, "the table `{name}` of docs/{page} is not what the compiler has; `make bless` writes it anew");
        std::fs::write(&path, format!("{}{text}{}", &old[..from], &old[to..])).unwrap();
    }
}
