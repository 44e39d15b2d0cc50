//! A Rust module over `cdp-runtime`.

use std::fmt::Write as _;

use cdp_runtime::manifest::{Enum, Global, Kernel, Manifest, Struct};

use super::model::{Scalar, Type, Types};
use super::names::Names;
use crate::failure::Result;

/// Keywords, those of later editions among them.
const WORDS: &[&str] = &[
    "Self", "_", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "try",
    "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Types that the generated text uses by their plain names.
const PLAIN: &[&str] = &[
    "bool",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "isize",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "usize",
    "f32",
    "f64",
    "char",
    "str",
    "Self",
    "Into",
    "Copy",
    "Clone",
    "Debug",
    "PartialEq",
    "Eq",
    "Hash",
    "Option",
    "Result",
    "Some",
    "None",
    "Ok",
    "Err",
    "Vec",
    "String",
    "Box",
];

/// What a structure may be called although Rust would write it otherwise.
const ALLOW: &str =
    "#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code, clippy::all, clippy::pedantic)]";

/// The module of a program.
///
/// # Errors
/// When the manifest does not say what a type is.
pub fn rust(manifest: &Manifest) -> Result<String> {
    let mut writer = Writer {
        manifest,
        types: Types(manifest),
        names: Names::new(&[WORDS, PLAIN, &["MANIFEST", "CUBIN", "Kernels"]]),
        called: Vec::new(),
        out: String::new(),
    };
    writer.file()?;
    Ok(writer.out)
}

struct Writer<'a> {
    manifest: &'a Manifest,
    types: Types<'a>,
    /// Types of the module.
    names: Names,
    /// What structures and enumerations are called here, by their names in the source.
    called: Vec<(&'a str, String)>,
    out: String,
}

impl<'a> Writer<'a> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn doc(&mut self, indent: &str, text: &str) {
        self.out.push_str(&super::prefixed(&format!("{indent}/// "), text));
    }

    fn file(&mut self) -> Result<()> {
        // no `//!`: a file that is included cannot have it
        self.line(&format!(
            "// Bindings of {}, made by cdpc {}: do not edit. They need the crate `cdp-runtime`, and a cubin (`cdpc build`).\n",
            super::source(self.manifest),
            env!("CARGO_PKG_VERSION"),
        ));
        for found in &self.manifest.enums {
            self.enumeration(found);
        }
        for structure in &self.manifest.structs {
            let name = self.names.take(&structure.name);
            self.called.push((&structure.name, name));
        }
        for structure in &self.manifest.structs {
            self.structure(structure)?;
        }
        self.kernels()?;
        let json = self.manifest.to_json()?;
        let fence = "#".repeat(1 + longest_run(&json, '#'));
        self.line(&format!(
            "\n/// What the compiler knows of the module.\n{ALLOW}\npub const MANIFEST: &str = r{fence}\"{json}\"{fence};"
        ));
        Ok(())
    }

    fn enumeration(&mut self, found: &'a Enum) {
        let name = self.names.take(&found.name);
        let base = &found.ty;
        self.doc("", &found.doc);
        self.line(&format!(
            "{ALLOW}\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[repr(transparent)]\npub struct {name}(\n    /// Any value; those with a name are constants.\n    pub {base},\n);\n\n{ALLOW}\nimpl {name} {{"
        ));
        let mut members = Names::new(&[WORDS, &["SIZE", "KIND"]]);
        for member in &found.members {
            self.doc("    ", &member.doc);
            let own = members.take(&member.name);
            self.line(&format!("    pub const {own}: Self = Self({});", member.value));
        }
        self.line("}\n");
        self.line(&format!(
            "impl ::cdp_runtime::Value for {name} {{\n    const SIZE: usize = <{base} as ::cdp_runtime::Value>::SIZE;\n    const KIND: ::cdp_runtime::Kind = ::cdp_runtime::Kind::Named(\"{}\");\n    fn store(&self, to: &mut [u8]) {{\n        ::cdp_runtime::Value::store(&self.0, to);\n    }}\n    fn load(from: &[u8]) -> Self {{\n        Self(::cdp_runtime::Value::load(from))\n    }}\n}}\n",
            found.name
        ));
        self.called.push((&found.name, name));
    }

    fn called(&self, wanted: &str) -> String {
        self.called.iter().find(|(name, _)| *name == wanted).map(|(_, here)| here.clone()).unwrap_or_default()
    }

    fn spell(&self, ty: &Type<'_>) -> String {
        match ty {
            Type::Scalar(scalar @ (Scalar::F16 | Scalar::Bf16)) => format!("::cdp_runtime::vector::{}", scalar.name()),
            Type::Scalar(scalar) => scalar.name().to_owned(),
            Type::Vector(vector, ..) => format!("::cdp_runtime::vector::{}", vector.ty),
            Type::Pointer { .. } => "::cdp_runtime::DevicePtr".to_owned(),
            Type::Array(element, length) => format!("[{}; {length}]", self.spell(element)),
            Type::Struct(found) => self.called(&found.name),
            Type::Enum(found) => self.called(&found.name),
            Type::Error => "i32".to_owned(),
            Type::Handle => "u64".to_owned(),
        }
    }

    fn structure(&mut self, structure: &'a Struct) -> Result<()> {
        let name = self.called(&structure.name);
        let mut names = Names::new(&[WORDS]);
        let mut fields = Vec::new();
        for field in &structure.fields {
            let ty = self.types.read(&field.ty)?;
            fields.push((field, names.take(&field.name), self.spell(&ty), ty));
        }
        let fields = fields;
        self.doc("", &structure.doc);
        self.line(&format!(
            "{ALLOW}\n#[derive(Clone, Copy, Debug, PartialEq)]\n#[repr(C, align({}))]\npub struct {name} {{",
            structure.align
        ));
        let mut end = 0;
        let mut gaps = Vec::new();
        for (field, own, spelled, ty) in &fields {
            // Rust has no alignment of fields: where one is asked for, the gap before it is written out
            let gap = field.offset.saturating_sub(end);
            if gap > 0 && self.types.align_of(ty) < field.align {
                let own = names.take(&format!("gap_before_{own}"));
                self.line(&format!("    {own}: [u8; {gap}],"));
                gaps.push((own, gap));
            }
            end = field.offset + field.size;
            self.doc("    ", &field.doc);
            if let Type::Pointer { .. } | Type::Error = ty {
                self.doc("    ", &format!("`{}`", field.ty));
            }
            self.line(&format!("    pub {own}: {spelled},"));
        }
        self.line("}\n");
        self.line(&format!(
            "const _: () = {{\n    assert!(size_of::<{name}>() == {} && align_of::<{name}>() == {});",
            structure.size, structure.align
        ));
        for (field, own, ..) in &fields {
            self.line(&format!("    assert!(::core::mem::offset_of!({name}, {own}) == {});", field.offset));
        }
        self.line("};\n");
        let list: Vec<String> = fields.iter().map(|(_, own, spelled, _)| format!("{own}: {spelled}")).collect();
        let gaps: String = gaps.iter().map(|(own, gap)| format!(", {own}: [0; {gap}]")).collect();
        let owns: Vec<&str> = fields.iter().map(|(_, own, ..)| own.as_str()).collect();
        self.line(&format!(
            "{ALLOW}\nimpl {name} {{\n    /// From its fields in order.\n    #[must_use]\n    pub const fn new({}) -> Self {{\n        Self {{ {}{gaps} }}\n    }}\n}}\n",
            list.join(", "),
            owns.join(", ")
        ));
        let stores: String = fields
            .iter()
            .map(|(field, own, ..)| format!("        ::cdp_runtime::value::put(to, {}, &self.{own});\n", field.offset))
            .collect();
        let loads: Vec<String> =
            fields.iter().map(|(field, ..)| format!("::cdp_runtime::value::get(from, {})", field.offset)).collect();
        self.line(&format!(
            "impl ::cdp_runtime::Value for {name} {{\n    const SIZE: usize = {};\n    const KIND: ::cdp_runtime::Kind = ::cdp_runtime::Kind::Named(\"{}\");\n    fn store(&self, to: &mut [u8]) {{\n{stores}    }}\n    fn load(from: &[u8]) -> Self {{\n        Self::new({})\n    }}\n}}\n",
            structure.size,
            structure.name,
            loads.join(", ")
        ));
        Ok(())
    }

    fn kernels(&mut self) -> Result<()> {
        let count = super::kernels(self.manifest).count();
        self.line(&format!(
            "/// The loaded module: {count} kernels, and the variables that a host can reach.\n{ALLOW}\n#[derive(Debug)]\npub struct Kernels {{\n    module: ::cdp_runtime::Module,\n}}\n\n{ALLOW}\nimpl Kernels {{"
        ));
        self.line(
            "    /// Checks a cubin against these bindings, sets the limits that it wants, and loads it.\n    ///\n    /// # Errors\n    /// Those of [`::cdp_runtime::Runtime::load_cubin`].\n    pub fn load_cubin(\n        runtime: &::cdp_runtime::Runtime,\n        cubin: &[u8],\n        options: &::cdp_runtime::LoadOptions,\n    ) -> ::cdp_runtime::Result<Self> {\n        let manifest = ::cdp_runtime::Manifest::from_json(MANIFEST)?;\n        Ok(Self { module: runtime.load_cubin(cubin, &manifest, options)? })\n    }\n\n    /// The same for PTX, which is linked for the GPU at hand; that needs a CUDA toolkit.\n    ///\n    /// # Errors\n    /// Those of [`::cdp_runtime::Runtime::load_ptx`].\n    pub fn load_ptx(\n        runtime: &::cdp_runtime::Runtime,\n        ptx: &str,\n        options: &::cdp_runtime::LoadOptions,\n    ) -> ::cdp_runtime::Result<Self> {\n        let manifest = ::cdp_runtime::Manifest::from_json(MANIFEST)?;\n        Ok(Self { module: runtime.load_ptx(ptx, &manifest, options)? })\n    }\n\n    /// The module without the types of these bindings.\n    #[must_use]\n    pub const fn module(&self) -> &::cdp_runtime::Module {\n        &self.module\n    }",
        );
        let mut methods = Names::new(&[WORDS, &["load_cubin", "load_ptx", "module"]]);
        for kernel in super::kernels(self.manifest) {
            let name = methods.take(super::kernel_name(kernel));
            self.kernel(kernel, &name)?;
        }
        for global in self.manifest.globals.iter().filter(|global| !global.ty.is_empty()) {
            self.global(global, &mut methods)?;
        }
        self.line("}");
        Ok(())
    }

    fn kernel(&mut self, kernel: &'a Kernel, name: &str) -> Result<()> {
        let mut names = Names::new(&[WORDS, &["config"]]);
        let (mut list, mut args, mut lets, mut about) = (String::new(), Vec::new(), String::new(), String::new());
        for param in &kernel.params {
            let own = names.take(&param.name);
            let ty = self.types.read(&param.ty)?;
            match ty {
                Type::Pointer { .. } => {
                    let _ = write!(list, ", {own}: impl Into<::cdp_runtime::DevicePtr>");
                    let _ = writeln!(lets, "        let {own}: ::cdp_runtime::DevicePtr = {own}.into();");
                }
                _ => {
                    let _ = write!(list, ", {own}: {}", self.spell(&ty));
                }
            }
            args.push(format!("&{own}"));
            let doc = if param.doc.is_empty() { String::new() } else { format!(": {}", param.doc.replace('\n', " ")) };
            let _ = write!(about, "\n- `{own}`, `{}`{doc}", param.ty);
        }
        let mut doc = if kernel.doc.is_empty() { format!("Launches `{}`.", kernel.name) } else { kernel.doc.clone() };
        if !about.is_empty() {
            let _ = write!(doc, "\n{about}");
        }
        if let Some(threads) = kernel.max_threads {
            let _ = write!(doc, "\n\nAt most {threads} threads a block.");
        }
        if let Some([x, y, z]) = kernel.cluster {
            let _ = write!(doc, "\n\nA grid is made of clusters of {x} x {y} x {z} blocks.");
        }
        if kernel.dynamic_shared {
            doc.push_str("\n\nTakes dynamic shared memory: `config.shared` bytes.");
        }
        doc.push_str("\n\n# Errors\nThose of [`::cdp_runtime::Module::launch`].");
        self.line("");
        self.doc("    ", &doc);
        self.line(&format!(
            "    pub fn {name}(&self, config: &::cdp_runtime::LaunchConfig<'_>{list}) -> ::cdp_runtime::Result<()> {{\n{lets}        self.module.launch(\"{}\", config, &[{}])\n    }}",
            kernel.name,
            args.join(", ")
        ));
        Ok(())
    }

    fn global(&mut self, global: &'a Global, methods: &mut Names) -> Result<()> {
        let ty = self.types.read(&global.ty)?;
        let spelled = self.spell(&ty);
        let (read, write) = (methods.take(&format!("read_{}", global.name)), methods.take(&format!("write_{}", global.name)));
        let about = if global.doc.is_empty() { String::new() } else { format!("{}\n\n", global.doc) };
        self.line("");
        self.doc(
            "    ",
            &format!(
                "{about}The present value of `{}`.\n\n# Errors\nThose of [`::cdp_runtime::Module::read_global`].",
                global.name
            ),
        );
        self.line(&format!(
            "    pub fn {read}(&self) -> ::cdp_runtime::Result<{spelled}> {{\n        self.module.read_global(\"{0}\").map(|bytes| ::cdp_runtime::Value::load(&bytes))\n    }}\n",
            global.name
        ));
        self.doc("    ", &format!("Sets `{}`.\n\n# Errors\nThose of [`::cdp_runtime::Module::write_global`].", global.name));
        self.line(&format!(
            "    pub fn {write}(&self, value: &{spelled}) -> ::cdp_runtime::Result<()> {{\n        self.module.write_global(\"{0}\", &::cdp_runtime::value::to_bytes(::core::slice::from_ref(value)))\n    }}",
            global.name
        ));
        Ok(())
    }
}

/// How often a character stands in a row at most.
fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
