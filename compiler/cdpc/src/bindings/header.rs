//! A header for C11 and C++17, over the CUDA driver API.

use std::fmt::Write as _;

use cdp_runtime::manifest::{Enum, Global, Kernel, Manifest, Param, Struct, Vector};

use super::model::{Scalar, Type, Types};
use super::names::{Names, identifier};
use crate::failure::Result;

/// Keywords of C and C++, and macros of the headers included and of compilers, which no field or parameter can be called.
const WORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "linux",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "offsetof",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "NULL",
    "CUDA_VERSION",
    "CUDA_CB",
    "CUDAAPI",
    "asm_",
    "i386",
];

/// The header of a module; its names begin with `stem`.
///
/// # Errors
/// When the manifest does not say what a type is.
pub fn header(manifest: &Manifest, stem: &str) -> Result<String> {
    let mut writer = Writer {
        manifest,
        types: Types(manifest),
        prefix: identifier(stem),
        names: Names::new(&[]),
        kernels: Names::new(&[WORDS, &["handle"]]),
        called: Vec::new(),
        out: String::new(),
    };
    writer.reserve();
    writer.file()?;
    Ok(writer.out)
}

struct Writer<'a> {
    manifest: &'a Manifest,
    types: Types<'a>,
    prefix: String,
    /// At file scope, with the prefix.
    names: Names,
    /// Members of the module's structure.
    kernels: Names,
    /// What structures, vectors and enumerations are called here, by their names in the source.
    called: Vec<(&'a str, String)>,
    out: String,
}

/// One kernel, with the names that it has here.
struct Bound<'a> {
    kernel: &'a Kernel,
    member: String,
    params: Vec<(&'a Param, String, Type<'a>)>,
}

impl<'a> Writer<'a> {
    /// Takes the names that every header has.
    fn reserve(&mut self) {
        for name in [
            "config",
            "config_1d",
            "or_one_",
            "launch_",
            "launch_bytes_",
            "raise_limit",
            "set_limits",
            "module",
            "load_data",
            "load_file",
            "unload",
            "find_kernels_",
        ] {
            self.take(name);
        }
    }

    fn take(&mut self, name: &str) -> String {
        self.names.take(&format!("{}_{name}", self.prefix))
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn file(&mut self) -> Result<()> {
        let guard = format!("CDP_{}_H", self.prefix.to_ascii_uppercase());
        let about = format!(
            "Bindings of {} for C11 and C++17, made by cdpc {}: do not edit.\n\n\
             Kernels are loaded from a cubin (`cdpc build`) and launched through the CUDA driver API: link with libcuda. A context must be\n\
             current. Every function returns what the driver says; pointers are addresses in the GPU's memory.",
            super::source(self.manifest),
            env!("CARGO_PKG_VERSION"),
        );
        self.doc("", &about);
        self.line(&format!("#ifndef {guard}\n#define {guard}\n"));
        self.line(include_str!("prelude.h"));
        self.enums();
        for vector in &self.manifest.vectors {
            self.vector(vector)?;
        }
        for structure in &self.manifest.structs {
            self.structure(structure)?;
        }
        let text = include_str!("launch.h").replace("@p@", &self.prefix);
        self.line(&text);
        let kernels = super::kernels(self.manifest).map(|kernel| self.bind(kernel)).collect::<Result<Vec<_>>>()?;
        self.module(&kernels);
        for kernel in &kernels {
            self.kernel(kernel);
        }
        for global in &self.manifest.globals {
            self.global(global);
        }
        self.line("#endif");
        Ok(())
    }

    /// A comment; what would end it or look like the beginning of another is taken apart.
    fn doc(&mut self, indent: &str, text: &str) {
        let text = text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?");
        if text.is_empty() {
            return;
        }
        if text.contains('\n') {
            let lines = super::prefixed(&format!("{indent} * "), &text);
            let _ = writeln!(self.out, "{indent}/**\n{lines}{indent} */");
        } else {
            let _ = writeln!(self.out, "{indent}/** {text} */");
        }
    }

    fn enums(&mut self) {
        for found in &self.manifest.enums {
            let name = self.take(&found.name);
            self.doc("", &found.doc);
            let base = c_scalar(Scalar::base(found));
            self.line(&format!("typedef {base} {name};"));
            for member in &found.members {
                self.doc("", &member.doc);
                let macro_name = self.names.take(&format!("{name}_{}", member.name));
                self.line(&format!("#define {macro_name} (({name}){})", literal(found, member.value)));
            }
            self.line("");
            self.called.push((&found.name, name));
        }
    }

    fn vector(&mut self, vector: &'a Vector) -> Result<()> {
        let Type::Vector(_, element, lanes) = self.types.read(&vector.ty)? else { return Ok(()) };
        let name = self.take(&vector.ty);
        let lanes = ["x", "y", "z", "w"].get(..lanes).unwrap_or_default().join(", ");
        let Vector { ty, size, align } = vector;
        let element = c_scalar(element);
        self.doc("", &format!("`{ty}`"));
        self.line(&format!("typedef struct {name} {{"));
        match lanes.split_once(", ") {
            Some((first, rest)) => self.line(&format!("    CDP_ALIGNAS({align}) {element} {first};\n    {element} {rest};")),
            None => self.line(&format!("    {element} {lanes};")),
        }
        self.line(&format!("}} {name};"));
        self.layout_of(&name, u64::from(*size), *align);
        self.line("");
        self.called.push((ty, name));
        Ok(())
    }

    fn layout_of(&mut self, name: &str, size: u64, align: u32) {
        self.line(&format!(
            "CDP_STATIC_ASSERT(sizeof({name}) == {size} && CDP_ALIGNOF({name}) == {align}, \"{name}: size and alignment\");"
        ));
    }

    fn offset_of(&mut self, name: &str, field: &str, offset: u64) {
        self.line(&format!("CDP_STATIC_ASSERT(offsetof({name}, {field}) == {offset}, \"{name}: offset of {field}\");"));
    }

    fn structure(&mut self, structure: &'a Struct) -> Result<()> {
        let name = self.take(&structure.name);
        self.doc("", &structure.doc);
        self.line(&format!("typedef struct {name} {{"));
        let mut fields = Names::new(&[WORDS]);
        let mut offsets = Vec::new();
        let most = structure.fields.iter().map(|field| field.align).max().unwrap_or(1);
        for (index, field) in structure.fields.iter().enumerate() {
            let ty = self.types.read(&field.ty)?;
            let own = fields.take(&field.name);
            self.doc("    ", &field.doc);
            // the alignment of a structure is that of its first field, where no field has as much by itself
            let wanted = if index == 0 && structure.align > most { structure.align } else { field.align };
            let align = if wanted > self.types.align_of(&ty) { format!("CDP_ALIGNAS({wanted}) ") } else { String::new() };
            let note = note(&ty, &field.ty);
            let declared = self.declare(&ty, &own);
            self.line(&format!("    {align}{declared};{note}"));
            offsets.push((own, field.offset));
        }
        self.line(&format!("}} {name};"));
        self.layout_of(&name, structure.size, structure.align);
        for (field, offset) in offsets {
            self.offset_of(&name, &field, offset);
        }
        self.line("");
        self.called.push((&structure.name, name));
        Ok(())
    }

    fn declare(&self, ty: &Type<'_>, name: &str) -> String {
        let (element, lengths) = ty.flat();
        let lengths: String = lengths.iter().map(|length| format!("[{length}]")).collect();
        format!("{} {name}{lengths}", self.spell(element))
    }

    /// What a type that is no array is called here.
    fn spell(&self, ty: &Type<'_>) -> String {
        let called = |wanted: &str| {
            self.called.iter().find(|(name, _)| *name == wanted).map_or_else(|| identifier(wanted), |(_, here)| here.clone())
        };
        match ty {
            Type::Scalar(scalar) => c_scalar(*scalar).to_owned(),
            Type::Vector(vector, ..) => called(&vector.ty),
            Type::Pointer { .. } => "CUdeviceptr".to_owned(),
            Type::Struct(found) => called(&found.name),
            Type::Enum(found) => called(&found.name),
            Type::Error => "int32_t".to_owned(),
            Type::Handle => "uint64_t".to_owned(),
            Type::Array(element, _) => self.spell(element),
        }
    }

    fn bind(&mut self, kernel: &'a Kernel) -> Result<Bound<'a>> {
        let member = self.kernels.take(super::kernel_name(kernel));
        let mut names = Names::new(&[WORDS, &["module", "config", "arguments"]]);
        let param = |param: &'a Param| Ok((param, names.take(&param.name), self.types.read(&param.ty)?));
        let params = kernel.params.iter().map(param).collect::<Result<Vec<_>>>()?;
        Ok(Bound { kernel, member, params })
    }

    fn module(&mut self, kernels: &[Bound<'_>]) {
        let p = self.prefix.clone();
        self.doc("", "A loaded module.");
        self.line(&format!("typedef struct {p}_module {{\n    CUmodule handle;"));
        kernels.iter().for_each(|kernel| self.line(&format!("    CUfunction {};", kernel.member)));
        self.line(&format!("}} {p}_module;\n"));
        for Bound { kernel, member, .. } in kernels {
            let name = self.take(&format!("{member}_symbol"));
            self.line(&format!("#define {name} \"{}\"", kernel.symbol));
        }
        if !kernels.is_empty() {
            self.line("");
        }
        self.limits();
        self.doc("", "Unloads it.");
        self.line(&format!(
            "static inline CUresult {p}_unload({p}_module *module) {{\n    CUresult result = cuModuleUnload(module->handle);\n    module->handle = NULL;\n    return result;\n}}\n"
        ));
        let gets: String = kernels
            .iter()
            .map(|Bound { kernel, member, .. }| {
                format!(
                    "    if (result == CUDA_SUCCESS) {{\n        result = cuModuleGetFunction(&module->{member}, module->handle, \"{}\");\n    }}\n",
                    kernel.symbol
                )
            })
            .collect();
        self.line(&format!(
            "static inline CUresult {p}_find_kernels_({p}_module *module, CUresult loaded) {{\n    CUresult result = loaded;\n    if (loaded != CUDA_SUCCESS) {{\n        module->handle = NULL;\n        return loaded;\n    }}\n{gets}    if (result != CUDA_SUCCESS) {{\n        (void){p}_unload(module);\n    }}\n    return result;\n}}\n"
        ));
        for (how, call, parameter, argument, from) in [
            ("load_data", "cuModuleLoadData", "const void *cubin", "cubin", "memory"),
            ("load_file", "cuModuleLoad", "const char *path", "path", "a file"),
        ] {
            self.doc("", &format!("Sets the limits that the module wants, and loads a cubin from {from}."));
            self.line(&format!(
                "static inline CUresult {p}_{how}({p}_module *module, {parameter}) {{\n    CUresult result = {p}_set_limits();\n    if (result == CUDA_SUCCESS) {{\n        result = {call}(&module->handle, {argument});\n    }}\n    return {p}_find_kernels_(module, result);\n}}\n"
            ));
        }
    }

    fn limits(&mut self) {
        let p = self.prefix.clone();
        let raises: String = super::limits(self.manifest)
            .map(|(name, value)| {
                format!("    if (result == CUDA_SUCCESS) {{\n        result = {p}_raise_limit({name}, {value});\n    }}\n")
            })
            .collect();
        self.doc("", "Raises the limits of the current context to what the module wants; loading does so, too.");
        self.line(&format!(
            "static inline CUresult {p}_set_limits(void) {{\n    CUresult result = CUDA_SUCCESS;\n{raises}    return result;\n}}\n"
        ));
    }

    fn kernel(&mut self, bound: &Bound<'_>) {
        let p = self.prefix.clone();
        let Bound { kernel, member, params } = bound;
        let packed = self.take(&format!("{member}_params"));
        let launch = self.take(&format!("launch_{member}"));
        let launch_packed = self.take(&format!("launch_{member}_params"));
        if !params.is_empty() {
            self.params(bound, &packed);
        }
        let mut about = if kernel.doc.is_empty() { format!("Launches `{}`.", kernel.name) } else { kernel.doc.clone() };
        for (param, name, _) in params {
            let _ = write!(about, "\n@param {name} `{}`", param.ty);
            if !param.doc.is_empty() {
                let _ = write!(about, ": {}", param.doc.replace('\n', " "));
            }
        }
        if let Some(threads) = kernel.max_threads {
            let _ = write!(about, "\n@note at most {threads} threads a block");
        }
        if let Some([x, y, z]) = kernel.cluster {
            let _ = write!(about, "\n@note a grid is made of clusters of {x} x {y} x {z} blocks");
        }
        if kernel.dynamic_shared {
            about.push_str("\n@note takes dynamic shared memory: `config->shared_bytes`");
        }
        self.doc("", &about);
        let (mut list, mut addresses) = (String::new(), Vec::new());
        for (_, name, ty) in params {
            match ty.flat() {
                (element, lengths) if !lengths.is_empty() || matches!(element, Type::Struct(_)) => {
                    let _ = write!(list, ", const {} *{name}", self.spell(element));
                    addresses.push(format!("(void *)(uintptr_t){name}"));
                }
                (element, _) => {
                    let _ = write!(list, ", {} {name}", self.spell(element));
                    addresses.push(format!("&{name}"));
                }
            }
        }
        self.line(&format!("static inline CUresult {launch}(const {p}_module *module, const {p}_config *config{list}) {{"));
        if addresses.is_empty() {
            self.line(&format!("    return {p}_launch_(module->{member}, config, NULL, NULL);\n}}\n"));
            return;
        }
        self.line(&format!("    void *arguments[{}];", addresses.len()));
        for (index, address) in addresses.iter().enumerate() {
            self.line(&format!("    arguments[{index}] = {address};"));
        }
        self.line(&format!("    return {p}_launch_(module->{member}, config, arguments, NULL);\n}}\n"));
        self.doc("", &format!("The same with the parameters in one piece, as `{}` finds them.", kernel.name));
        self.line(&format!(
            "static inline CUresult {launch_packed}(const {p}_module *module, const {p}_config *config, const {packed} *params) {{\n    return {p}_launch_bytes_(module->{member}, config, params, {});\n}}\n",
            kernel.param_size()
        ));
    }

    /// The structure of all parameters. One that C would align to more than parameters have is there as its bytes.
    fn params(&mut self, bound: &Bound<'_>, packed: &str) {
        self.doc("", &format!("The parameters of `{}`.", bound.kernel.name));
        self.line(&format!("typedef struct {packed} {{"));
        for (param, name, ty) in &bound.params {
            self.doc("    ", &param.doc);
            if self.types.align_of(ty) > param.align {
                let Param { align, size, .. } = param;
                let note = format!(" /* {}, copied here byte by byte */", param.ty);
                self.line(&format!("    CDP_ALIGNAS({align}) unsigned char {name}[{size}];{note}"));
            } else {
                let declared = self.declare(ty, name);
                let note = note(ty, &param.ty);
                self.line(&format!("    {declared};{note}"));
            }
        }
        self.line(&format!("}} {packed};"));
        for (param, name, _) in &bound.params {
            self.offset_of(packed, name, u64::from(param.offset));
        }
        self.line("");
    }

    fn global(&mut self, global: &Global) {
        let p = self.prefix.clone();
        let name = self.take(&format!("address_{}", global.name));
        let size = self.take(&format!("{}_bytes", global.name));
        let mut about = if global.doc.is_empty() { String::new() } else { format!("{}\n", global.doc) };
        let _ = write!(about, "The address of `{}`, a `{}` of {} bytes.", global.name, global.ty, global.size);
        self.line(&format!("#define {size} {}", global.size));
        self.doc("", &about);
        self.line(&format!(
            "static inline CUresult {name}(const {p}_module *module, CUdeviceptr *address) {{\n    return cuModuleGetGlobal(address, NULL, module->handle, \"{}\");\n}}\n",
            global.symbol
        ));
    }
}

/// Behind a declaration, where C's type does not say all.
fn note(ty: &Type<'_>, written: &str) -> String {
    match ty.flat().0 {
        Type::Pointer { .. } | Type::Error | Type::Handle | Type::Scalar(Scalar::F16 | Scalar::Bf16) => {
            format!(" /* {} */", written)
        }
        _ => String::new(),
    }
}

pub(super) const fn c_scalar(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I8 => "int8_t",
        Scalar::I16 => "int16_t",
        Scalar::I32 => "int32_t",
        Scalar::I64 => "int64_t",
        Scalar::U8 => "uint8_t",
        // C has no type of the bits of a half
        Scalar::U16 | Scalar::F16 | Scalar::Bf16 => "uint16_t",
        Scalar::U32 => "uint32_t",
        Scalar::U64 => "uint64_t",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

/// An integer as C writes it.
fn literal(of: &Enum, value: i128) -> String {
    match of.ty.as_str() {
        "u64" => format!("UINT64_C({value})"),
        // there is no literal of the least one
        "i64" if value == i64::MIN.into() => "(-INT64_C(9223372036854775807) - 1)".to_owned(),
        "i64" => format!("INT64_C({value})"),
        _ if value < 0 => format!("({value})"),
        _ => value.to_string(),
    }
}
