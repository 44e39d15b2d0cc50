//! `cdpc lsp`, as an editor talks to it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// An editor with one session.
struct Editor {
    server: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    next: i64,
    /// What was published last.
    diagnostics: Vec<Value>,
}

const URI: &str = "file:///nowhere/main.cdp";

impl Editor {
    fn new() -> Self {
        Self::with(&[])
    }

    /// Whose server has these options.
    fn with(options: &[&str]) -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_cdpc"))
            .args(["lsp", "--stdio"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = server.stdin.take();
        let from = BufReader::new(server.stdout.take().unwrap());
        let mut editor = Self { server, to, from, next: 0, diagnostics: Vec::new() };
        let answer = editor.ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }));
        assert_eq!(answer["serverInfo"]["name"], "cdpc");
        assert_eq!(answer["capabilities"]["hoverProvider"], true);
        editor.tell("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let to = self.to.as_mut().unwrap();
        write!(to, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        to.flush().unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the server went away");
            match line.trim().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().unwrap(),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn response(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
            self.keep(message);
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let message = self.response(method, params);
        assert!(message["error"].is_null(), "{method}: {message}");
        message["result"].clone()
    }

    fn keep(&mut self, message: Value) {
        if message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == URI {
            self.diagnostics = message["params"]["diagnostics"].as_array().unwrap().clone();
        }
    }

    /// Gives the text its contents and waits until the server has looked at it.
    fn write(&mut self, text: &str, version: i32) {
        if version == 1 {
            let document = json!({ "uri": URI, "languageId": "cdp", "version": 1, "text": text });
            self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        } else {
            let document = json!({ "uri": URI, "version": version });
            self.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [{ "text": text }] }));
        }
        self.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    }

    /// Asks about the place of `|` in the text, which is what the server has without it.
    fn about(&mut self, method: &str, marked: &str) -> Value {
        let (before, _) = marked.split_once('|').unwrap();
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap().encode_utf16().count();
        let position = json!({ "line": line, "character": column });
        self.ask(method, json!({ "textDocument": { "uri": URI }, "position": position }))
    }

    fn hover(&mut self, marked: &str) -> String {
        self.about("textDocument/hover", marked)["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// The text at the place that the definition names.
    fn definition(&mut self, text: &str, marked: &str) -> String {
        let location = self.about("textDocument/definition", marked);
        let range = &location["range"];
        let line = text.lines().nth(range["start"]["line"].as_u64().unwrap() as usize).unwrap();
        let column = |end: &str| range[end]["character"].as_u64().unwrap() as usize;
        format!("{}:{}", range["start"]["line"], &line[column("start")..column("end")])
    }

    fn labels(&mut self, marked: &str) -> Vec<String> {
        let list = self.about("textDocument/completion", marked);
        list.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.server.wait();
    }
}

const PROGRAM: &str = "\
/// A row of a table.
struct Row { begin: i32, len: i64 }
enum Shape { Empty, Full }
const BLOCK: u32 = 128;

/// Scales a row.
kernel scale(x: *global f32, row: Row, by: f32) {
    let i = threadIdx.x as i64; // \u{1f600} wide
    if i < row.len { x[row.begin + i as i32] *= by; }
}

kernel start(x: *global f32, shape: Shape) {
    let row = Row(0, 4);
    if shape == Shape::Full { scale<<<1, BLOCK, 0, cudaStreamFireAndForget>>>(x, row, 2.0); }
}
";

/// The program with `|` behind the `count`th occurrence of `place`, a character before its end.
fn marked(place: &str, count: usize) -> String {
    let (at, _) = PROGRAM.match_indices(place).nth(count).unwrap();
    let at = at + place.len() - 1;
    format!("{}|{}", &PROGRAM[..at], &PROGRAM[at..])
}

#[test]
fn diagnostics_follow_the_text() {
    let mut editor = Editor::new();
    editor.write("kernel k(x: *global f32) {\n    // \u{1f600}\n    /* \u{1f600} */ x[0] = y;\n}\n", 1);
    let [found] = editor.diagnostics.as_slice() else { panic!("{:?}", editor.diagnostics) };
    assert_eq!(found["code"], "E0201");
    assert_eq!(found["severity"], 1);
    // columns count UTF-16 units: the smiley is two
    assert_eq!(found["range"], json!({ "start": { "line": 2, "character": 20 }, "end": { "line": 2, "character": 21 } }));
    editor.write("kernel k(x: *global f32) { x[0] = 1.0; }\n", 2);
    assert!(editor.diagnostics.is_empty(), "{:?}", editor.diagnostics);
    editor.write("kernel k(x: *global f32) { x[0] = ", 3);
    assert!(!editor.diagnostics.is_empty());
    editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    assert!(editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } })).is_null());
    assert!(editor.diagnostics.is_empty(), "a closed text has no diagnostics");
}

#[test]
fn lints_are_shown_and_can_be_allowed() {
    let mut editor = Editor::new();
    let child = "kernel child(x: *global i32, y: *global i32) { y[threadIdx.x] = x[threadIdx.x]; }\n";
    let parent = "kernel parent(x: *global i32, y: *global i32) {\n    x[threadIdx.x] = 1;\n    if threadIdx.x == 0 { child<<<1, 32>>>(x, y); }\n}\n";
    editor.write(&format!("{child}{parent}"), 1);
    let [found] = editor.diagnostics.as_slice() else { panic!("{:?}", editor.diagnostics) };
    assert_eq!((&found["code"], &found["severity"], &found["range"]["start"]["line"]), (&json!("W0502"), &json!(2), &json!(3)));
    editor.write(&format!("{child}@allow(missing_barrier)\n{parent}"), 2);
    assert!(editor.diagnostics.is_empty(), "{:?}", editor.diagnostics);
}

#[test]
fn places_that_hinted_stores_write_are_known() {
    let mut editor = Editor::new();
    let text = "kernel k(x: *global f32, value: f32) { __stcg(&x[0], value); }\n";
    editor.write(text, 1);
    let hover = editor.hover("kernel k(x: *global f32, value: f32) { __stcg(&x[0], val|ue); }\n");
    assert!(hover.contains("f32"), "{hover}");
    assert_eq!(editor.definition(text, "kernel k(x: *global f32, value: f32) { __stcg(&|x[0], value); }\n"), "0:x");
}

#[test]
fn hovers_show_types_and_layout() {
    let mut editor = Editor::new();
    editor.write(PROGRAM, 1);
    let row = editor.hover(&marked("row", 3));
    assert!(
        row.contains("row: Row") && row.contains("| 8 | 8 | len | `i64` |") && row.contains("16 bytes, aligned to 8"),
        "{row}"
    );
    let scale = editor.hover(&marked("scale", 1));
    assert!(scale.contains("kernel scale(x: *global f32, row: Row, by: f32)") && scale.contains("Scales a row."), "{scale}");
    assert!(scale.contains("| 24 | 4 | by | `f32` |") && scale.contains("28 bytes of parameters"), "{scale}");
    let begin = editor.hover(&marked("begin", 1));
    assert!(begin.contains("Row.begin: i32") && begin.contains("at byte 0"), "{begin}");
    assert!(editor.hover(&marked("BLOCK", 1)).contains("const BLOCK: u32 = 128;"));
    assert!(editor.hover(&marked("Row", 1)).contains("A row of a table."));
    assert!(editor.hover(&marked("cudaStreamFireAndForget", 0)).contains("= 4"));
    assert!(editor.about("textDocument/hover", &marked("*= ", 0)).is_null());
}

#[test]
fn definitions_are_found() {
    let mut editor = Editor::new();
    editor.write(PROGRAM, 1);
    assert_eq!(editor.definition(PROGRAM, &marked("scale", 1)), "6:scale");
    assert_eq!(editor.definition(PROGRAM, &marked("row", 6)), "12:row");
    assert_eq!(editor.definition(PROGRAM, &marked("begin", 1)), "1:begin");
    assert_eq!(editor.definition(PROGRAM, &marked("Row", 1)), "1:Row");
    assert_eq!(editor.definition(PROGRAM, &marked("BLOCK", 1)), "3:BLOCK");
    assert_eq!(editor.definition(PROGRAM, &marked("Full", 1)), "2:Full");
    assert_eq!(editor.definition(PROGRAM, &marked(" by", 1)), "6:by");
}

#[test]
fn completion_knows_the_place() {
    let mut editor = Editor::new();
    editor.write(PROGRAM, 1);
    assert_eq!(editor.labels(&marked("row.l", 0)), ["begin", "len"]);
    assert_eq!(editor.labels(&marked("Shape::F", 0)), ["Empty", "Full"]);
    let all = editor.labels(&marked("i < ", 0));
    for name in [
        "i",
        "row",
        "by",
        "BLOCK",
        "scale",
        "__syncthreads",
        "atomicAdd_block",
        "cudaStreamTailLaunch",
        "while",
        "f32x4",
        "u8x3",
        "cudaTextureDesc",
        "cudaArray_t",
        "offsetof",
        "null",
    ] {
        assert!(all.iter().any(|label| label == name), "{name} is missing");
    }
    assert!(!all.iter().any(|label| label == "shape"), "a variable of another kernel");
    // while the line is being typed, it does not parse
    let text = "struct P { a: i32, b: i32 }\nkernel k(p: P, out: *global i32) {\n    out[0] = p.\n}\n";
    editor.write(text, 2);
    assert_eq!(
        editor.labels("struct P { a: i32, b: i32 }\nkernel k(p: P, out: *global i32) {\n    out[0] = p.|\n}\n"),
        ["a", "b"]
    );
    editor.write("@", 3);
    assert!(editor.labels("@|").contains(&"launch_bounds".to_owned()));
}

#[test]
fn texts_are_formatted_and_listed() {
    let mut editor = Editor::new();
    editor.write("fn  f( ) { }\ntest \"t\" { f(); }\n", 1);
    let document = json!({ "textDocument": { "uri": URI }, "options": { "tabSize": 4, "insertSpaces": true } });
    let edits = editor.ask("textDocument/formatting", document.clone());
    assert_eq!(edits[0]["newText"], "fn f() {}\ntest \"t\" { f(); }\n");
    let symbols = editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    let names: Vec<_> = symbols.as_array().unwrap().iter().map(|symbol| symbol["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["f", "t"]);
    editor.write("fn f( {", 2);
    assert!(editor.ask("textDocument/formatting", document).is_null());
}

#[test]
fn nonsense_is_answered() {
    let mut editor = Editor::new();
    let answer = editor.response("textDocument/hover", json!({ "what": 1 }));
    assert_eq!(answer["error"]["code"], -32602);
    let answer = editor.response("textDocument/unheardOf", json!({}));
    assert_eq!(answer["error"]["code"], -32601);
    editor.ask("shutdown", Value::Null);
    editor.tell("exit", Value::Null);
    let status = editor.server.wait().unwrap();
    assert!(status.success());
}

/// The editor's grammar is JSON, and its expressions know every keyword.
#[test]
fn the_grammar_knows_the_keywords() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/editors/vscode");
    let read = |name: &str| -> Value { serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap() };
    let grammar = read("syntaxes/cdp.tmLanguage.json");
    let package = read("package.json");
    read("language-configuration.json");
    assert_eq!(package["contributes"]["grammars"][0]["scopeName"], grammar["scopeName"]);
    let words = grammar["repository"]["words"].to_string();
    let reference = std::fs::read_to_string(folder.join("../../language.md")).unwrap();
    let (_, lexical) = reference.split_once("These words are keywords:").unwrap();
    let keywords: Vec<&str> =
        lexical.lines().skip(1).skip_while(|line| line.is_empty()).take_while(|line| line.starts_with("    ")).collect();
    assert!(keywords.len() >= 2);
    for keyword in keywords.iter().flat_map(|line| line.split_whitespace()) {
        assert!(words.contains(keyword), "the grammar lacks `{keyword}`");
    }
}

#[test]
fn options_say_what_programs_mean() {
    let program = "kernel child() {}\nkernel parent(x: *global i32) {\n    child<<<1, N>>>();\n    cudaDeviceSynchronize();\n    x[0] = 1;\n}\n";
    let codes = |editor: &mut Editor| {
        editor.write(program, 1);
        let codes: Vec<String> = editor.diagnostics.iter().map(|found| found["code"].as_str().unwrap().to_owned()).collect();
        codes
    };
    let mut plain = Editor::new();
    assert_eq!(codes(&mut plain), ["E0201", "E0405"]);
    let mut other = Editor::with(&["--cdp=1", "-D", "N=32", "--allow=warnings"]);
    assert_eq!(codes(&mut other), [] as [&str; 0]);
}
