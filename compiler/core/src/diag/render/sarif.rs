//! SARIF 2.1.0, the exchange format of code-scanning services.

use super::severity_name;
use crate::diag::{Code, Diagnostic, Label};
use crate::source::{SourceMap, Span};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// One log with one run, ending with a line break; also for an empty list. Columns count Unicode code points.
#[must_use]
pub fn sarif(sources: &SourceMap, list: &[Diagnostic]) -> String {
    let codes: Vec<Code> = list.iter().map(|diagnostic| diagnostic.code).collect::<BTreeSet<_>>().into_iter().collect();
    let rules: Vec<Value> = codes
        .iter()
        .map(|code| {
            json!({
                "id": code.id(),
                "shortDescription": { "text": code.title() },
                "help": { "text": code.explanation(), "markdown": code.explanation() },
                "defaultConfiguration": { "level": severity_name(code.severity()) },
            })
        })
        .collect();
    let results: Vec<Value> = list.iter().map(|diagnostic| result(sources, diagnostic, &codes)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "cdpc", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn result(sources: &SourceMap, diagnostic: &Diagnostic, codes: &[Code]) -> Value {
    let mut text = diagnostic.message.clone();
    if !diagnostic.primary.text.is_empty() {
        text.push_str(": ");
        text.push_str(&diagnostic.primary.text);
    }
    for (kind, extra) in
        diagnostic.helps.iter().map(|help| ("help", &help.text)).chain(diagnostic.notes.iter().map(|note| ("note", note)))
    {
        text.push_str(&format!("\n{kind}: {extra}"));
    }
    let mut result = json!({
        "ruleId": diagnostic.code.id(),
        "ruleIndex": codes.binary_search(&diagnostic.code).unwrap_or(0),
        "level": severity_name(diagnostic.severity),
        "message": { "text": text },
        "locations": locations(sources, std::slice::from_ref(&diagnostic.primary)),
    });
    let related = locations(sources, &diagnostic.secondary);
    let fixes: Vec<Value> = diagnostic
        .helps
        .iter()
        .filter_map(|help| help.edit.as_ref().map(|(span, replacement)| fix(sources, &help.text, *span, replacement)))
        .collect();
    if let Some(object) = result.as_object_mut() {
        if !related.is_empty() {
            object.insert("relatedLocations".to_owned(), related.into());
        }
        if !fixes.is_empty() {
            object.insert("fixes".to_owned(), fixes.into());
        }
    }
    result
}

fn locations(sources: &SourceMap, labels: &[Label]) -> Vec<Value> {
    labels
        .iter()
        .filter(|label| sources.get(label.span.file).is_some())
        .map(|label| {
            let mut location = json!({
                "physicalLocation": { "artifactLocation": artifact(sources, label.span), "region": region(sources, label.span) },
            });
            if let (false, Some(object)) = (label.text.is_empty(), location.as_object_mut()) {
                object.insert("message".to_owned(), json!({ "text": label.text }));
            }
            location
        })
        .collect()
}

fn fix(sources: &SourceMap, text: &str, span: Span, replacement: &str) -> Value {
    json!({
        "description": { "text": text },
        "artifactChanges": [{
            "artifactLocation": artifact(sources, span),
            "replacements": [{ "deletedRegion": region(sources, span), "insertedContent": { "text": replacement } }],
        }],
    })
}

fn artifact(sources: &SourceMap, span: Span) -> Value {
    json!({ "uri": uri(sources.name(span.file)) })
}

/// A file name as a relative or absolute reference: separators stay, everything that a URI does not allow is escaped.
fn uri(name: &str) -> String {
    let mut uri = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            b'\\' => uri.push('/'),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

fn region(sources: &SourceMap, span: Span) -> Value {
    let start = sources.line_column(span);
    let end = sources.line_column(span.after());
    json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
        "byteOffset": span.start,
        "byteLength": span.end.saturating_sub(span.start),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log() {
        let mut sources = SourceMap::new();
        let id = sources.add("my dir/a.cdp", "fn f() { g(); }\n");
        let span = Span::new(id, 9, 10);
        let diagnostics = [
            Diagnostic::new(Code::E0112, span, "second rule").also(Span::new(id, 3, 4), "in this"),
            Diagnostic::new(Code::E0101, span, "first rule").label("here").fix("write", span, "h").note("guide"),
        ];
        let log: Value = serde_json::from_str(&sarif(&sources, &diagnostics)).unwrap();
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "E0101");
        assert_eq!(run["results"][0]["ruleIndex"], 1);
        assert_eq!(run["results"][0]["relatedLocations"][0]["message"]["text"], "in this");
        let first = &run["results"][1];
        assert_eq!(first["ruleIndex"], 0);
        assert_eq!(first["message"]["text"], "first rule: here\nhelp: write\nnote: guide");
        let place = &first["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "my%20dir/a.cdp");
        assert_eq!(place["region"]["startColumn"], 10);
        assert_eq!(first["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"], "h");
    }

    #[test]
    fn an_empty_log() {
        let log: Value = serde_json::from_str(&sarif(&SourceMap::new(), &[])).unwrap();
        assert_eq!(log["runs"][0]["results"], json!([]));
    }
}
