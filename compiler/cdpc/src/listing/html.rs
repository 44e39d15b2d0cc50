//! One self-contained page: source, IR, PTX and machine code side by side, and the launch sites with their parameters drawn to scale.

use cdp_runtime::manifest::Manifest;
use serde_json::{Value, json};

use super::Function;

/// What the page shows.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// The source's name.
    pub file: &'a str,
    /// The GPU and options, for the head.
    pub options: String,
    /// The source's lines.
    pub source: Vec<&'a str>,
    /// IR, PTX and machine code; a column without functions is left out.
    pub columns: [(&'static str, Vec<Function>); 3],
    /// Kernels and launch sites.
    pub manifest: &'a Manifest,
}

/// Style and behaviour; `{{title}}` and `{{data}}` stand for what differs.
const TEMPLATE: &str = include_str!("page.html");

impl Page<'_> {
    /// The page's text.
    pub fn text(&self) -> String {
        // no text of the user's can end the element
        let data = self.data().to_string().replace('<', "\\u003c");
        TEMPLATE.replace("{{title}}", &escaped(self.file)).replace("{{data}}", &data)
    }

    fn data(&self) -> Value {
        let columns = self.columns.iter().filter(|(_, functions)| !functions.is_empty()).map(|(name, functions)| {
            let functions: Vec<Value> = functions.iter().map(function).collect();
            json!({ "name": name, "functions": functions })
        });
        let sites = self.manifest.launch_sites.iter().map(|site| {
            let kernel = self.manifest.kernels.iter().find(|kernel| kernel.symbol == site.kernel);
            let params = kernel.into_iter().flat_map(|kernel| &kernel.params).map(|param| {
                json!({ "name": param.name, "type": param.ty, "offset": param.offset, "size": param.size, "align": param.align })
            });
            json!({
                "line": if site.file == self.file { site.line } else { 0 },
                "file": site.file,
                "from": site.function,
                "kernel": site.kernel,
                "calls": site.abi.calls(),
                "params": params.collect::<Vec<_>>(),
            })
        });
        json!({
            "file": self.file,
            "options": self.options,
            "source": self.source,
            "columns": columns.collect::<Vec<_>>(),
            "sites": sites.collect::<Vec<_>>(),
        })
    }
}

fn function(function: &Function) -> Value {
    let code: Vec<Value> = function.instructions.iter().map(|i| json!([i.line, i.text])).collect();
    json!({ "name": function.symbol, "code": code })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
