//! A Python module: ctypes structures, NumPy dtypes, and launches over cuda-bindings.

use std::fmt::Write as _;

use cdp_runtime::manifest::{Enum, Global, Kernel, Manifest, Struct};

use super::model::{Scalar, Type, Types};
use super::names::Names;
use crate::failure::Result;

/// Keywords.
const WORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or",
    "pass", "raise", "return", "try", "while", "with", "yield",
];

/// What the generated text has at module level, and the built-ins that it uses.
const MODULE: &[&str] = &[
    "ctypes",
    "enum",
    "operator",
    "os",
    "struct",
    "CudaError",
    "dtype",
    "Kernels",
    "_check",
    "_driver",
    "call",
    "_context",
    "_raise_limits",
    "_extent",
    "_stream",
    "_address",
    "_flat",
    "_bf16",
    "_bytes",
    "_Module",
    "bytes",
    "bytearray",
    "memoryview",
    "callable",
    "enumerate",
    "getattr",
    "hasattr",
    "int",
    "isinstance",
    "len",
    "list",
    "map",
    "max",
    "open",
    "str",
    "super",
    "tuple",
    "type",
    "zip",
    "TypeError",
    "ValueError",
    "OverflowError",
    "ImportError",
    "RuntimeError",
];

/// The module of a program.
///
/// # Errors
/// When the manifest does not say what a type is.
pub fn python(manifest: &Manifest) -> Result<String> {
    let mut writer = Writer {
        manifest,
        types: Types(manifest),
        names: Names::new(&[WORDS, MODULE]),
        called: Vec::new(),
        out: String::new(),
    };
    writer.file()?;
    Ok(writer.out)
}

struct Writer<'a> {
    manifest: &'a Manifest,
    types: Types<'a>,
    /// At module level.
    names: Names,
    /// What structures are called here, by their names in the source.
    called: Vec<(&'a str, String)>,
    out: String,
}

impl<'a> Writer<'a> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn file(&mut self) -> Result<()> {
        let about = format!(
            "Bindings of {}, made by cdpc {}: do not edit.\n\n\
             `Kernels` loads a cubin (`cdpc build`) and launches its kernels through cuda-bindings. Arrays are anything that has\n\
             `__cuda_array_interface__` (CuPy, PyTorch, Numba), or addresses; NumPy is needed for `dtype` only.",
            super::source(self.manifest),
            env!("CARGO_PKG_VERSION"),
        );
        self.doc("", &about);
        self.line("");
        self.out.push_str(include_str!("prelude.py"));
        for found in &self.manifest.enums {
            self.enumeration(found);
        }
        for structure in &self.manifest.structs {
            self.structure(structure)?;
        }
        self.kernels()
    }

    fn doc(&mut self, indent: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut lines = text.split('\n').map(|line| format!("{indent}{line}").trim_end().to_owned());
        let first = lines.next().unwrap_or_default();
        let rest: Vec<String> = lines.collect();
        let first = first.trim_start().to_owned();
        if rest.is_empty() {
            self.line(&format!("{indent}\"\"\"{first}\"\"\""));
        } else {
            self.line(&format!("{indent}\"\"\"{first}\n{}\n{indent}\"\"\"", rest.join("\n")));
        }
    }

    fn comment(&mut self, indent: &str, text: &str) {
        self.out.push_str(&super::prefixed(&format!("{indent}# "), text));
    }

    fn enumeration(&mut self, found: &'a Enum) {
        let name = self.names.take(&found.name);
        self.line(&format!("\n\nclass {name}(enum.IntEnum):"));
        let about = if found.doc.is_empty() { format!("`{}`", found.name) } else { found.doc.clone() };
        self.doc("    ", &format!("{about}\n\nStored as `{}`.", found.ty));
        self.line("");
        let mut members = Names::new(&[WORDS, &["mro", "name", "value"]]);
        for member in &found.members {
            // names that start with an underscore may have a meaning in an enumeration
            let wanted = if member.name.starts_with('_') { format!("member{}", member.name) } else { member.name.clone() };
            let own = members.take(&wanted);
            self.comment("    ", &member.doc);
            self.line(&format!("    {own} = {}", member.value));
        }
    }

    fn called(&self, wanted: &str) -> String {
        self.called.iter().find(|(name, _)| *name == wanted).map(|(_, here)| here.clone()).unwrap_or_default()
    }

    /// The ctypes type.
    fn ctype(&self, ty: &Type<'_>) -> String {
        match ty {
            Type::Scalar(scalar) => ctypes(*scalar).to_owned(),
            Type::Vector(_, element, lanes) => format!("{} * {lanes}", ctypes(*element)),
            Type::Array(element, length) => match **element {
                Type::Array(..) | Type::Vector(..) => format!("({}) * {length}", self.ctype(element)),
                _ => format!("{} * {length}", self.ctype(element)),
            },
            Type::Struct(found) => self.called(&found.name),
            Type::Enum(found) => ctypes(Scalar::base(found)).to_owned(),
            Type::Error => ctypes(Scalar::I32).to_owned(),
            Type::Pointer { .. } | Type::Handle => ctypes(Scalar::U64).to_owned(),
        }
    }

    /// The NumPy format, as Python text.
    fn format(&self, ty: &Type<'_>) -> String {
        match ty {
            Type::Scalar(scalar) => format!("\"<{}\"", numpy(*scalar)),
            Type::Vector(_, element, lanes) => format!("(\"<{}\", ({lanes},))", numpy(*element)),
            Type::Array(..) => {
                let (element, lengths) = ty.flat();
                let list: String = lengths.iter().map(|length| format!("{length}, ")).collect();
                format!("({}, ({}))", self.format(element), list.trim_end())
            }
            Type::Struct(found) => self.called(&found.name),
            Type::Enum(found) => format!("\"<{}\"", numpy(Scalar::base(found))),
            Type::Error => "\"<i4\"".to_owned(),
            Type::Pointer { .. } | Type::Handle => "\"<u8\"".to_owned(),
        }
    }

    fn structure(&mut self, structure: &'a Struct) -> Result<()> {
        let name = self.names.take(&structure.name);
        self.line(&format!("\n\nclass {name}(ctypes.Structure):"));
        let about = if structure.doc.is_empty() { format!("`{}`", structure.name) } else { structure.doc.clone() };
        self.doc("    ", &about);
        self.line("\n    _fields_ = [");
        let mut names = Names::new(&[WORDS]);
        let (mut owns, mut formats, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = 0;
        for field in &structure.fields {
            let ty = self.types.read(&field.ty)?;
            let own = names.take(&field.name);
            self.gap(&mut names, end, field.offset);
            self.comment("        ", &field.doc);
            let note = if let Type::Pointer { .. } | Type::Error | Type::Scalar(Scalar::F16 | Scalar::Bf16) = ty.flat().0 {
                format!("  # {}", field.ty)
            } else {
                String::new()
            };
            let ctype = self.ctype(&ty);
            self.line(&format!("        (\"{own}\", {ctype}),{note}"));
            owns.push(format!("\"{own}\""));
            formats.push(self.format(&ty));
            offsets.push(field.offset.to_string());
            end = field.offset + field.size;
        }
        self.gap(&mut names, end, structure.size);
        self.line("    ]");
        self.line(&format!(
            "    _cdp_ = ([{}], [{}], [{}], {})\n\n\n_check({name})",
            owns.join(", "),
            formats.join(", "),
            offsets.join(", "),
            structure.size
        ));
        self.called.push((&structure.name, name));
        Ok(())
    }

    /// Bytes between two fields: ctypes knows nothing of larger alignments.
    fn gap(&mut self, names: &mut Names, from: u64, to: u64) {
        if to > from {
            let own = names.take(&format!("_gap{from}"));
            self.line(&format!("        (\"{own}\", ctypes.c_uint8 * {}),", to - from));
        }
    }

    /// How `_bytes` makes a value's bytes, as Python text.
    fn kind(&self, ty: &Type<'_>, size: u64) -> String {
        let (element, lengths) = ty.flat();
        let count: u64 = lengths.iter().product();
        let numbers = |scalar: Scalar, count: u64| match scalar {
            Scalar::Bf16 => format!("(\"bf16\", {count})"),
            _ => format!("(\"numbers\", \"<{count}{}\")", letter(scalar)),
        };
        match element {
            Type::Scalar(scalar) => numbers(*scalar, count),
            Type::Vector(_, scalar, lanes) => numbers(*scalar, count * *lanes as u64),
            Type::Enum(found) => numbers(Scalar::base(found), count),
            Type::Error => numbers(Scalar::I32, count),
            Type::Handle => numbers(Scalar::U64, count),
            Type::Pointer { constant, to } if lengths.is_empty() => {
                let constant = if *constant { "True" } else { "False" };
                format!("(\"pointer\", {}, {constant})", self.elements(to.as_deref()))
            }
            Type::Pointer { .. } => numbers(Scalar::U64, count),
            Type::Struct(_) | Type::Array(..) => format!("(\"record\", {size})"),
        }
    }

    /// What `__cuda_array_interface__` says of the elements that a pointer points to, as Python text.
    fn elements(&self, to: Option<&Type<'_>>) -> String {
        let Some(to) = to else { return "None".to_owned() };
        match to.flat().0 {
            // which no array library has a letter for
            Type::Scalar(Scalar::Bf16) | Type::Vector(_, Scalar::Bf16, _) => "None".to_owned(),
            Type::Scalar(scalar) | Type::Vector(_, scalar, _) => format!("\"{}\"", numpy(*scalar)),
            Type::Enum(found) => format!("\"{}\"", numpy(Scalar::base(found))),
            Type::Struct(found) => format!("\"V{}\"", found.size),
            Type::Error => "\"i4\"".to_owned(),
            Type::Pointer { .. } | Type::Handle => "\"u8\"".to_owned(),
            Type::Array(..) => "None".to_owned(),
        }
    }

    fn kernels(&mut self) -> Result<()> {
        self.line("\n\nclass Kernels(_Module):");
        self.doc("    ", &format!("The kernels of {}, and the variables that a host can reach.", super::source(self.manifest)));
        let limits: Vec<String> = super::limits(self.manifest).map(|(name, value)| format!("\"{name}\": {value}")).collect();
        self.line(&format!("\n    _limits = {{{}}}", limits.join(", ")));
        let mut methods =
            Names::new(&[WORDS, &["synchronize", "_launch", "_variable", "_read", "_write", "_kernels", "_limits"]]);
        let mut named = Vec::new();
        for kernel in super::kernels(self.manifest) {
            named.push((kernel, methods.take(super::kernel_name(kernel))));
        }
        self.line("    # by name: symbol, bytes of parameters, and of each its offset, name, type, and how it is written");
        self.line("    _kernels = {");
        for (kernel, name) in &named {
            self.line(&format!("        \"{name}\": (\"{}\", {}, [", kernel.symbol, kernel.param_size()));
            for param in &kernel.params {
                let kind = self.kind(&self.types.read(&param.ty)?, param.size.into());
                self.line(&format!("            ({}, \"{}\", \"{}\", {kind}),", param.offset, param.name, param.ty));
            }
            self.line("        ]),");
        }
        self.line("    }");
        for (kernel, name) in &named {
            self.kernel(kernel, name);
        }
        for global in self.manifest.globals.iter().filter(|global| !global.ty.is_empty()) {
            self.global(global, &mut methods)?;
        }
        Ok(())
    }

    fn kernel(&mut self, kernel: &Kernel, name: &str) {
        let mut names = Names::new(&[WORDS, &["self", "grid", "block", "shared", "stream", "cluster"]]);
        let owns: Vec<String> = kernel.params.iter().map(|param| names.take(&param.name)).collect();
        let list: String = owns.iter().map(|own| format!(", {own}")).collect();
        self.line(&format!("\n    def {name}(self, grid, block{list}, *, shared=0, stream=None, cluster=None):"));
        let mut about = if kernel.doc.is_empty() { format!("Launches `{}`.", kernel.name) } else { kernel.doc.clone() };
        if let Some(threads) = kernel.max_threads {
            let _ = write!(about, "\n\nAt most {threads} threads a block.");
        }
        if let Some([x, y, z]) = kernel.cluster {
            let _ = write!(about, "\n\nA grid is made of clusters of {x} x {y} x {z} blocks.");
        }
        if kernel.dynamic_shared {
            about.push_str("\n\nTakes dynamic shared memory: `shared` bytes.");
        }
        if !owns.is_empty() {
            about.push_str("\n\nArgs:");
        }
        for (param, own) in kernel.params.iter().zip(&owns) {
            let doc = if param.doc.is_empty() { String::new() } else { format!(": {}", param.doc.replace('\n', " ")) };
            let _ = write!(about, "\n    {own}: `{}`{doc}", param.ty);
        }
        self.doc("        ", &about);
        self.line(&format!("        self._launch(\"{name}\", grid, block, shared, stream, cluster{list})"));
    }

    fn global(&mut self, global: &Global, methods: &mut Names) -> Result<()> {
        let ty = self.types.read(&global.ty)?;
        let Global { name, symbol, size, doc, .. } = global;
        let [address, read, write] = ["address", "read", "write"].map(|what| methods.take(&format!("{what}_{name}")));
        let about = if doc.is_empty() { String::new() } else { format!("{doc}\n\n") };
        self.line(&format!("\n    def {address}(self):"));
        self.doc("        ", &format!("{about}The address of `{name}`, a `{}` of {size} bytes.", global.ty));
        self.line(&format!("        return int(self._variable(\"{symbol}\"))"));
        self.line(&format!("\n    def {read}(self):"));
        self.doc("        ", &format!("The present value of `{name}`, once earlier kernels have ended."));
        self.line(&format!("        return self._read(\"{symbol}\", {})", self.ctype(&ty)));
        self.line(&format!("\n    def {write}(self, value):"));
        self.doc("        ", &format!("Sets `{name}`."));
        self.line(&format!("        self._write(\"{symbol}\", \"{}\", {}, value)", global.ty, self.kind(&ty, *size)));
        Ok(())
    }
}

const fn ctypes(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "ctypes.c_bool",
        Scalar::I8 => "ctypes.c_int8",
        Scalar::I16 => "ctypes.c_int16",
        Scalar::I32 => "ctypes.c_int32",
        Scalar::I64 => "ctypes.c_int64",
        Scalar::U8 => "ctypes.c_uint8",
        // ctypes has no halves: their bits
        Scalar::U16 | Scalar::F16 | Scalar::Bf16 => "ctypes.c_uint16",
        Scalar::U32 => "ctypes.c_uint32",
        Scalar::U64 => "ctypes.c_uint64",
        Scalar::F32 => "ctypes.c_float",
        Scalar::F64 => "ctypes.c_double",
    }
}

/// NumPy's letter and size.
const fn numpy(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "b1",
        Scalar::I8 => "i1",
        Scalar::I16 => "i2",
        Scalar::I32 => "i4",
        Scalar::I64 => "i8",
        Scalar::U8 => "u1",
        Scalar::U16 | Scalar::Bf16 => "u2",
        Scalar::U32 => "u4",
        Scalar::U64 => "u8",
        Scalar::F16 => "f2",
        Scalar::F32 => "f4",
        Scalar::F64 => "f8",
    }
}

/// The letter of Python's `struct`.
const fn letter(scalar: Scalar) -> char {
    match scalar {
        Scalar::Bool => '?',
        Scalar::I8 => 'b',
        Scalar::I16 => 'h',
        Scalar::I32 => 'i',
        Scalar::I64 => 'q',
        Scalar::U8 => 'B',
        Scalar::U16 | Scalar::Bf16 => 'H',
        Scalar::U32 => 'I',
        Scalar::U64 => 'Q',
        Scalar::F16 => 'e',
        Scalar::F32 => 'f',
        Scalar::F64 => 'd',
    }
}
