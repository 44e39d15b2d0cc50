//! The table of codes. To add one: a line here, a file `codes/CODE.md` (see `docs/adding-a-diagnostic.md`).

use super::Severity;

macro_rules! codes {
    ($($id:ident $title:literal;)*) => {
        /// An entry of the error index. `E` is an error, `W` a lint.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $title] $id,)*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Code] = &[$(Code::$id,)*];

            /// `"E0401"`.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self { $(Code::$id => stringify!($id),)* }
            }

            /// The mistake in a few words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Code::$id => $title,)* }
            }

            /// The explanation: Markdown with one wrong and one right example.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                match self { $(Code::$id => include_str!(concat!("codes/", stringify!($id), ".md")),)* }
            }
        }
    };
}

codes! {
    // 01: lexical and syntax
    E0101 "unknown character";
    E0102 "comment that is not closed";
    E0103 "string or character literal that is not closed";
    E0104 "escape sequence or character literal that does not exist";
    E0105 "malformed number";
    E0106 "number that is too large";
    E0107 "bracket that is not closed";
    E0108 "closing bracket without an opening one";
    E0109 "file that is too large";
    E0110 "nesting that is too deep";
    E0111 "missing semicolon";
    E0112 "something else was expected";
    E0113 "not an item";
    E0114 "declaration in the order of C";
    E0115 "CUDA C++ where an item is expected";
    E0116 "`for` in the form of C";
    E0117 "`++` or `--`";
    E0118 "conversion in the form of C";
    E0119 "`->` in an expression";
    E0120 "`?:`";
    E0121 "operator of another language";
    E0122 "`=` in a condition";
    E0123 "chained comparison";
    E0124 "compile-time parameters in angle brackets";
    E0125 "struct value in braces";
    E0126 "launch configuration of the wrong length";
    E0127 "body without braces";
    E0128 "`case` in the form of C";
    E0129 "range that includes its end";
    E0130 "semicolon too many";
    E0131 "parameter or field in the order of C";

    // 02: names and types
    E0201 "name is not declared";
    E0202 "name is declared twice";
    E0203 "types do not match";
    E0204 "wrong number of arguments";
    E0205 "type is not declared";
    E0206 "no such field";
    E0207 "this cannot be called";
    E0208 "operator does not work on these types";
    E0209 "conversion is not possible";
    E0210 "assignment to what cannot be changed";
    E0211 "not a place in memory";
    E0212 "literal does not fit its type";
    E0213 "value is not known at compile time";
    E0214 "constant computation fails";
    E0215 "variable is used before it is assigned";
    E0216 "not every path returns a value";
    E0217 "`break` or `continue` outside a loop";
    E0218 "`return` does not fit the function's result";
    E0220 "compile-time arguments are wrong or cannot be inferred";
    E0221 "definition contains itself";
    E0222 "type cannot be inferred";
    E0223 "fields of a value are missing, doubled or unknown";
    E0224 "format does not fit its arguments";
    E0225 "`switch` case is wrong";
    E0226 "unknown attribute, or an attribute that does not belong here";
    E0227 "file cannot be imported";
    E0228 "only pointers can be dereferenced";
    E0229 "this cannot be indexed";
    E0230 "a value is needed, but there is none";
    E0231 "pointers are to different address spaces";
    E0232 "write through a pointer to `const`";
    E0233 "declaration is not allowed here";
    E0234 "host code and device code are mixed up";
    E0240 "accesses would no longer be `volatile`";
    E0241 "a named value of another kind";
    E0242 "width of a shuffle that is no power of two up to 32";
    E0250 "cluster of too many blocks";
    E0251 "memory that no block of a cluster shares";
    W0201 "division by zero";
    W0202 "shift by the width or more, where the values are known";
    W0203 "signed overflow, where the values are known";

    // 03: layout and attributes
    E0301 "attribute's value is wrong";
    E0302 "kernel parameters take too many bytes";
    E0303 "type cannot be used here";
    E0304 "array length is wrong";
    E0305 "symbol name is taken or not usable";

    // 04: launch and device runtime
    E0401 "kernels are launched, not called";
    E0402 "only kernels can be launched";
    E0403 "a kernel or function is not a value";
    E0404 "kernels return nothing";
    E0405 "device code cannot wait for a child grid";
    E0406 "launch configuration is never valid";
    E0407 "launch configuration has the wrong type";
    E0408 "device streams need cudaStreamNonBlocking";
    E0409 "device events need cudaEventDisableTiming";
    E0410 "events do not work on the tail and fire-and-forget streams";
    E0411 "call does not exist here";
    E0412 "streams and events belong to the grid that made them";
    E0413 "launch interface cannot serve this stream";
    E0414 "CDP1 has no such stream";
    E0420 "launch cannot be merged";
    E0421 "child cannot be run in place";
    W0401 "launch whose failure nobody can see";
    W0402 "the same launch in every thread";
    W0403 "tiny children in a loop";
    W0404 "children that run one after the other for no reason";
    W0405 "stream or event is used after it was destroyed";
    W0406 "stream is never destroyed";
    W0407 "barrier that not all threads reach";
    W0408 "waiting for what a child will write";

    // 05: memory
    E0501 "child grid is given private memory";
    E0502 "`constant` memory is never written on the device";
    E0503 "read-only cache load of memory that is not global";
    E0504 "arrays are reached through texture and surface objects";
    E0510 "index outside of an array";
    E0511 "stream or event in memory of other grids";
    W0501 "child grid may be given private memory";
    W0502 "child may not see what other threads wrote";
    W0503 "read of what a child writes";
    W0504 "write to what a child uses";
    W0505 "read-only cache load of memory that is written";

    // 06: back end and link
    E0601 "name that PTX cannot have";
    E0602 "GPU is too old for this";
    E0620 "part of the CUDA toolkit is missing";
    E0621 "named toolkit folder is not one";
    E0622 "GPU architecture that cannot be built for";
    E0623 "part of the CUDA toolkit cannot be used";
    E0624 "assembler refused the PTX";
    E0625 "symbol that nothing defines";
    E0626 "linker failed";
    E0627 "device runtime has no code for this architecture";
    E0628 "not a usable cubin";
    E0629 "assembler laid parameters out differently";
    E0630 "manifest cannot be read";
    E0631 "file cannot be read or written";
    E0632 "symbol is defined twice";
    E0633 "object has no code for this architecture";
    E0634 "declaration does not fit what is linked in";
    E0635 "CDP1 and CDP2 are mixed";
    E0636 "this architecture has no CDP1";
    E0637 "file that cannot be linked";
    E0638 "host compiler is missing or fails";

    // 07: run time
    E0701 "no CUDA driver";
    E0702 "no GPU";
    E0703 "driver is older than the code";
    E0704 "code is for another GPU";
    E0705 "launch arguments do not fit";
    E0706 "no such kernel or variable in the module";
    E0707 "CUDA call failed";
    E0708 "kernel faulted";
    E0709 "limit cannot be set";
    E0710 "impossible launch configuration";
    E0711 "printf output was lost";
    E0712 "access outside a device buffer";
    E0720 "assertion failed";
    E0721 "signed overflow";
    E0722 "division by zero";
    E0723 "shift by the width or more";
    E0724 "access outside of memory";
    E0725 "access through a null pointer";
    E0726 "misaligned access";
    E0727 "write to constant memory";
    E0728 "access to memory that was given back";
    E0729 "pointer to the private memory of another thread";
    E0730 "limit on steps is reached";
    E0731 "calls nest too deeply";
    E0732 "a call of the CUDA runtime failed";
    E0733 "barrier that not every thread reaches";
    E0734 "stream or event used as it may not be";
    E0735 "not available in the reference executor";
    E0736 "output cannot be written";
    E0737 "copy between areas that overlap";
    E0738 "shared memory of a block that is not there";
    E0739 "promise to the optimiser that does not hold";
    E0740 "two accesses race";
    E0741 "read of memory that was never written";
    E0742 "stopped from outside";
    E0743 "waiting for what need not happen";
    E0744 "texture or surface object that cannot be used";
    E0745 "access that a texture or surface does not have";
    E0746 "access outside a surface or linear memory";
    E0747 "texture read of what its own grid wrote";
    E0748 "memory given back in a way that it cannot be";
    E0749 "barrier of a cluster out of turn";
    E0750 "`__trap` was reached";
    E0751 "shuffle whose width is no power of two up to 32";
    W0701 "something was never given back";
}

impl Code {
    /// The code with this name, in either case.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.id().eq_ignore_ascii_case(id))
    }

    /// Lints start with `W`.
    #[must_use]
    pub fn severity(self) -> Severity {
        if self.id().starts_with('W') { Severity::Warning } else { Severity::Error }
    }
}
