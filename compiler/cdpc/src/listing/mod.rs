//! Reading back what was generated, to show it beside its source: instructions with the source line each comes from.
//!
//! - [`ir`]: by the spans of the IR's text
//! - [`ptx`]: by the `.loc` directives of the PTX
//! - [`sass`]: by the line table of the cubin, through nvdisasm
//! - [`html`]: all of it as a page

pub mod html;
pub mod ir;
pub mod ptx;
pub mod sass;

/// The code of one kernel or device function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its symbol.
    pub symbol: String,
    /// Its instructions in order.
    pub instructions: Vec<Instruction>,
}

/// One line of assembly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The source line it comes from, from 1; 0 for none.
    pub line: u32,
    /// Its text without indentation.
    pub text: String,
}

impl Function {
    /// The instructions that come from a source line, in order.
    pub fn of_line(&self, line: u32) -> impl Iterator<Item = &str> {
        self.instructions
            .iter()
            .filter(move |instruction| instruction.line == line)
            .map(|instruction| instruction.text.as_str())
    }
}
