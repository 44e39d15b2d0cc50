//! The host half of an object, in C: what `nvcc -dc` adds to device code so that C++ launches kernels with `<<<…>>>` and finds variables by name.
//!
//! Each kernel gets a function of its name, which passes the arguments on to `cudaLaunchKernel`; its types matter only for how the host's
//! compiler passes them, so that they have the sizes and the elements of the real ones and names of their own. A constructor registers
//! kernels and variables under an identifier of the object, which nvlink reads from the section `__nv_module_id` (`crt/host_runtime.h` and
//! `crt/link.stub` of the toolkit say what is called).

use std::collections::HashMap;
use std::fmt::Write as _;

use cdp_runtime::manifest::{Manifest, Struct};

use super::header::c_scalar;
use super::model::{Scalar, Type, Types};
use crate::failure::Result;

const PROLOGUE: &str = "\
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cdpc_dim3 { unsigned x, y, z; };
extern unsigned __cudaPopCallConfiguration(struct cdpc_dim3 *, struct cdpc_dim3 *, size_t *, void *);
extern int cudaLaunchKernel(const void *, struct cdpc_dim3, struct cdpc_dim3, void **, size_t, void *);
extern void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
extern void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);

static void cdpc_launch(const void *kernel, void **arguments) {
    struct cdpc_dim3 grid, block;
    size_t shared;
    void *stream;
    if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == 0) {
        (void)cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
    }
}

static void cdpc_reference(void *place) { (void)place; }
";

/// The text. `fatbin` is a file with the device code; `id` identifies the object among those of a program, in letters, digits and `_`.
///
/// # Errors
/// When the manifest does not say what a type is.
pub fn host(manifest: &Manifest, fatbin: &str, id: &str) -> Result<String> {
    let mut writer = Writer { types: Types(manifest), out: PROLOGUE.to_owned(), names: HashMap::new() };
    let mut entities = String::new();
    for (number, kernel) in super::kernels(manifest).filter(|kernel| !kernel.external).enumerate() {
        let types: Vec<String> = kernel.params.iter().map(|param| writer.of(&param.ty)).collect::<Result<_>>()?;
        let declared: Vec<String> = types.iter().enumerate().map(|(n, ty)| format!("{ty} p{n}")).collect();
        let declared = if declared.is_empty() { "void".to_owned() } else { declared.join(", ") };
        let passed: String = (0..types.len()).map(|n| format!("&p{n}, ")).collect();
        let symbol = &kernel.symbol;
        let _ = writeln!(
            writer.out,
            "\nextern void cdpc_kernel_{number}({declared}) __asm__(\"{symbol}\");\n\
             void cdpc_kernel_{number}({declared}) {{\n    void *arguments[] = {{ {passed}0 }};\n    \
             cdpc_launch((const void *)cdpc_kernel_{number}, arguments);\n}}"
        );
        let _ = writeln!(
            entities,
            "    __cudaRegisterFunction(handle, (const char *)cdpc_kernel_{number}, (char *)\"{symbol}\", \"{symbol}\", -1, 0, 0, 0, 0, 0);"
        );
    }
    for (number, global) in manifest.globals.iter().filter(|global| !global.external).enumerate() {
        let (symbol, size, constant) = (&global.symbol, global.size, i32::from(global.constant));
        let _ = writeln!(
            writer.out,
            "\nextern char cdpc_variable_{number}[{size}] __asm__(\"{symbol}\");\nchar cdpc_variable_{number}[{size}];"
        );
        let _ = writeln!(
            entities,
            "    __cudaRegisterVar(handle, cdpc_variable_{number}, (char *)\"{symbol}\", \"{symbol}\", 0, {size}, {constant}, 0);"
        );
    }
    let _ = write!(
        writer.out,
        "
static void cdpc_entities(void **handle) {{
    (void)handle;
{entities}}}

__asm__(\".section __nv_relfatbin,\\\"a\\\"\\n.balign 8\\ncdpc_fatbin:\\n.incbin \\\"{fatbin}\\\"\\n.balign 8\\n.previous\");
extern const unsigned long long cdpc_fatbin[];
const struct {{ int magic, version; const void *data; void *file; }} __fatbinwrap_{id}
    __attribute__((aligned(8), section(\".nvFatBinSegment\"))) = {{ 0x466243b1, 1, cdpc_fatbin, 0 }};
static const unsigned char cdpc_id[] __attribute__((section(\"__nv_module_id\"), aligned(16))) = \"_{id}\";

extern void __cudaRegisterLinkedBinary_{id}(void (*)(void **), void *, void *, void (*)(void *));
__attribute__((constructor)) static void cdpc_register(void) {{
    __cudaRegisterLinkedBinary_{id}(cdpc_entities, (void *)&__fatbinwrap_{id}, (void *)cdpc_id, cdpc_reference);
}}
"
    );
    Ok(writer.out)
}

struct Writer<'a> {
    types: Types<'a>,
    out: String,
    /// The C name of each type that has a definition, by its name in the manifest.
    names: HashMap<String, String>,
}

impl Writer<'_> {
    fn of(&mut self, written: &str) -> Result<String> {
        let ty = self.types.read(written)?;
        self.spell(&ty, written)
    }

    fn spell(&mut self, ty: &Type<'_>, written: &str) -> Result<String> {
        Ok(match ty {
            Type::Scalar(scalar) => c_scalar(*scalar).to_owned(),
            Type::Pointer { .. } => "void *".to_owned(),
            Type::Error => "int".to_owned(),
            Type::Handle => "uint64_t".to_owned(),
            Type::Enum(found) => c_scalar(Scalar::base(found)).to_owned(),
            Type::Vector(vector, lane, lanes) => {
                self.define(written, &format!("{} v[{lanes}];", c_scalar(*lane)), u64::from(vector.size), vector.align)
            }
            // C++ has no parameter like this but in a structure
            Type::Array(element, count) => {
                let (size, align) = (self.types.size_of(element) * count, self.types.align_of(element));
                let inside = written.strip_prefix('[').and_then(|rest| rest.rsplit_once("; ")).map_or("", |(inside, _)| inside);
                let element = self.spell(element, inside)?;
                self.define(written, &format!("{element} v[{count}];"), size, align)
            }
            Type::Struct(found) => self.structure(found)?,
        })
    }

    fn structure(&mut self, found: &Struct) -> Result<String> {
        if let Some(name) = self.names.get(&found.name) {
            return Ok(name.clone());
        }
        let mut fields = String::new();
        for (number, field) in found.fields.iter().enumerate() {
            let ty = self.of(&field.ty)?;
            let _ = write!(fields, " __attribute__((aligned({}))) {ty} f{number};", field.align);
        }
        Ok(self.define(&found.name, &fields, found.size, found.align))
    }

    fn define(&mut self, written: &str, fields: &str, size: u64, align: u32) -> String {
        if let Some(name) = self.names.get(written) {
            return name.clone();
        }
        let name = format!("struct cdpc_type_{}", self.names.len());
        let _ = writeln!(
            self.out,
            "\n{name} {{ {fields} }} __attribute__((aligned({align})));\n_Static_assert(sizeof({name}) == {size}, \"layout\");"
        );
        self.names.insert(written.to_owned(), name.clone());
        name
    }
}
