//! Signatures as programs: kernel `kN` with the signature, and kernel `qN` that launches it with its own parameters.

use super::signature::{Signature, Type};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Cdp,
    Cxx,
}

/// What nvcc's and clang's sources start with: clang knows too little of CUDA 13's headers, but those of vectors are enough.
const CXX_HEADER: &str = "\
#ifdef __clang__
#define __CUDACC__
#define __CUDA_ARCH_LIST__ 750
#include \"vector_types.h\"
typedef struct CUstream_st *cudaStream_t;
enum cudaError_t { cudaSuccess };
extern \"C\" cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, unsigned long, cudaStream_t);
extern \"C\" unsigned __cudaPushCallConfiguration(dim3, dim3, unsigned long = 0, cudaStream_t = 0);
extern \"C\" __attribute__((device)) void *cudaGetParameterBuffer(unsigned long, unsigned long);
extern \"C\" __attribute__((device)) cudaError_t cudaLaunchDevice(void *, void *, dim3, dim3, unsigned, cudaStream_t);
#endif
struct __align__(2) half1 { unsigned short x; };
struct __align__(4) half2 { unsigned short x, y; };
struct half3 { unsigned short x, y, z; };
struct __align__(8) half4 { unsigned short x, y, z, w; };
";

/// A module with all of these signatures.
pub fn module(signatures: &[Signature], language: Language) -> String {
    let mut out = if language == Language::Cxx { CXX_HEADER.to_owned() } else { String::new() };
    for (number, signature) in signatures.iter().enumerate() {
        out.push_str(&structs(signature, number, language));
        let params: Vec<String> = parameters(signature, number, language);
        let args: Vec<String> = (0..signature.params.len()).map(|i| format!("p{i}")).collect();
        let (params, args) = (params.join(", "), args.join(", "));
        out.push_str(&match language {
            Language::Cdp => format!(
                "kernel k{number}({params}) {{}}\n\
                 kernel q{number}({params}) {{ let e = k{number}<<<1, 1>>>({args}); if e != cudaSuccess {{ return; }} }}\n"
            ),
            Language::Cxx => format!(
                "extern \"C\" __global__ void k{number}({params}) {{}}\n\
                 extern \"C\" __global__ void q{number}({params}) {{ k{number}<<<1, 1>>>({args}); }}\n"
            ),
        });
    }
    out
}

/// The parameters with their types.
pub fn parameters(signature: &Signature, number: usize, language: Language) -> Vec<String> {
    let one = |(i, ty)| declare(ty, &format!("p{i}"), &format!("S{number}_{i}"), language);
    signature.params.iter().enumerate().map(one).collect()
}

/// The definitions of a signature's structures, inner ones first.
pub fn structs(signature: &Signature, number: usize, language: Language) -> String {
    let mut out = String::new();
    for (i, ty) in signature.params.iter().enumerate() {
        define(ty, &format!("S{number}_{i}"), language, &mut out);
    }
    out
}

fn define(ty: &Type, name: &str, language: Language, out: &mut String) {
    match ty {
        Type::Array(element, _) => define(element, name, language, out),
        Type::Struct { align, fields } => {
            for (i, field) in fields.iter().enumerate() {
                define(field, &format!("{name}_{i}"), language, out);
            }
            let fields: Vec<String> = fields
                .iter()
                .enumerate()
                .map(|(i, field)| declare(field, &format!("f{i}"), &format!("{name}_{i}"), language))
                .collect();
            out.push_str(&match (language, align) {
                (Language::Cdp, None) => format!("struct {name} {{ {} }}\n", fields.join(", ")),
                (Language::Cdp, Some(align)) => format!("@align({align}) struct {name} {{ {} }}\n", fields.join(", ")),
                (Language::Cxx, None) => format!("struct {name} {{ {}; }};\n", fields.join("; ")),
                (Language::Cxx, Some(align)) => format!("struct __align__({align}) {name} {{ {}; }};\n", fields.join("; ")),
            });
        }
        Type::Scalar(_) | Type::Vector(..) | Type::Pointer { .. } => {}
    }
}

fn declare(ty: &Type, variable: &str, name: &str, language: Language) -> String {
    match (language, ty) {
        (Language::Cdp, _) => format!("{variable}: {}", cdp(ty, name)),
        (Language::Cxx, Type::Array(element, len)) => format!("{} {variable}[{len}]", cxx(element, name)),
        (Language::Cxx, _) => format!("{} {variable}", cxx(ty, name)),
    }
}

fn cdp(ty: &Type, name: &str) -> String {
    match ty {
        Type::Scalar(scalar) => scalar.name.to_owned(),
        Type::Vector(element, lanes) => format!("{}x{lanes}", element.name),
        Type::Pointer { space, to } => format!("{space}{}", to.name),
        Type::Struct { .. } => name.to_owned(),
        Type::Array(element, len) => format!("[{}; {len}]", cdp(element, name)),
    }
}

fn cxx(ty: &Type, name: &str) -> String {
    match ty {
        Type::Scalar(scalar) => scalar.cxx.to_owned(),
        // the plain names of these are aligned to 16 or 32, depending on the version
        Type::Vector(element, 4) if element.size == 8 => format!("{}4_16a", element.vector),
        Type::Vector(element, lanes) => format!("{}{lanes}", element.vector),
        Type::Pointer { space, to } => format!("{}{} *", if space.contains("const") { "const " } else { "" }, to.cxx),
        Type::Struct { .. } | Type::Array(..) => name.to_owned(),
    }
}
