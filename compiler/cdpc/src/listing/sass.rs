//! Machine code as nvdisasm prints it.

use std::path::Path;
use std::process::Command;

use super::{Function, Instruction};
use crate::failure::{Failure, Result};

/// Disassembles a cubin, with source lines.
///
/// # Errors
/// When nvdisasm cannot be started or refuses the cubin.
pub fn disassemble(nvdisasm: &Path, cubin: &[u8]) -> Result<String> {
    let temporary = |error: std::io::Error| Failure::file("write", &std::env::temp_dir(), &error);
    let file = tempfile::Builder::new().prefix("cdpc-").suffix(".cubin").tempfile().map_err(temporary)?;
    std::fs::write(file.path(), cubin).map_err(temporary)?;
    let output = Command::new(nvdisasm).args(["--print-line-info", "--print-code"]).arg(file.path()).output();
    let output = output.map_err(|error| Failure::file("start", nvdisasm, &error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure::usage(format!("`{}` cannot read the cubin", nvdisasm.display())).note(said));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The sections of a listing that hold the functions for which `keep` is true; those of the device runtime are of no interest.
pub fn only(listing: &str, keep: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    let mut kept = false;
    for line in listing.lines() {
        if let Some(symbol) = section(line) {
            if kept {
                out.push('\n');
            }
            kept = keep(symbol);
        }
        if kept {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// The functions of a listing; instructions that come from other files than `file` get no line.
pub fn functions(listing: &str, file: &str) -> Vec<Function> {
    let mut functions: Vec<Function> = Vec::new();
    let mut line = 0;
    for text in listing.lines() {
        if let Some(symbol) = section(text) {
            functions.push(Function { symbol: symbol.to_owned(), instructions: Vec::new() });
            line = 0;
        } else if let Some(place) = text.trim().strip_prefix("//## File ") {
            line = source_line(place, file).unwrap_or(0);
        } else if text.trim_start().starts_with("/*")
            && let Some(function) = functions.last_mut()
        {
            let words: Vec<&str> = text.split_whitespace().collect();
            function.instructions.push(Instruction { line, text: words.join(" ") });
        }
    }
    functions
}

/// The symbol of a text section's header.
fn section(line: &str) -> Option<&str> {
    line.trim().strip_prefix(".section")?.trim_start().strip_prefix(".text.")?.split([',', '"']).next()
}

/// `"/a/b.cdp", line 3`, perhaps with an `inlined at` behind it.
fn source_line(place: &str, file: &str) -> Option<u32> {
    let (name, rest) = place.strip_prefix('"')?.split_once('"')?;
    let same = Path::new(name).file_name() == Path::new(file).file_name();
    let digits: String = rest.strip_prefix(", line ")?.chars().take_while(char::is_ascii_digit).collect();
    if same { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
\t.section\t.text.k,\"ax\",@progbits
\t.align\t128
.text.k:
\t//## File \"/tmp/a.cdp\", line 7
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File \"/tmp/other.h\", line 9
        /*0010*/                   EXIT ;
\t.section\t.text.theirs,\"ax\",@progbits
        /*0000*/                   EXIT ;
";

    #[test]
    fn lines_of_the_file_only() {
        let found = functions(LISTING, "a.cdp");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].instructions[0], Instruction { line: 7, text: "/*0000*/ LDC R1, c[0x0][0x28] ;".into() });
        assert_eq!(found[0].instructions[1].line, 0);
    }

    #[test]
    fn foreign_sections_are_dropped() {
        let text = only(LISTING, |symbol| symbol == "k");
        assert!(text.contains("LDC") && !text.contains("theirs"), "{text}");
    }
}
