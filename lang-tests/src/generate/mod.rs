//! Random programs that are right: well typed, defined for every input, free of races, and the same on every device.
//!
//! A program has structures, a constant table, functions, and kernels of which each launches some of those before it; a test launches the last one and
//! condenses everything that the grids wrote into one number. What is left out is what may differ between sound devices: order of unordered
//! grids, bits of NaN, functions of libdevice. Signed arithmetic wraps by name, divisors are never 0, shifts and indices are masked.
//!
//! - this file: the program and its kernels
//! - `values`: types and expressions
//! - `statements`: bodies

#![allow(clippy::indexing_slicing, reason = "every index is drawn below the length")]

mod statements;
mod values;

use crate::hostile::mutate::Draw;
use std::fmt::Write as _;
use values::{Scope, Type};

/// A function that generated code may call.
#[derive(Clone, Debug)]
struct Function {
    name: String,
    params: Vec<Type>,
    result: Type,
    /// Statements that a call executes, about.
    cost: u64,
}

/// A kernel that was written.
#[derive(Clone, Debug)]
struct Kernel {
    params: Vec<Type>,
    block: u32,
    grid: u32,
    /// Elements of the result that one grid of it and its children fill.
    words: u32,
    /// Statements that one grid and its children execute, about.
    cost: u64,
}

/// The program that is being written.
struct Writer {
    draw: Draw,
    structs: Vec<Vec<Type>>,
    functions: Vec<Function>,
    out: String,
    /// What tells the names of this program from those of others in the same file.
    tag: String,
}

/// What one thread may execute, and a whole program.
const THREAD: u64 = 3_000;
const PROGRAM: u64 = 400_000;

/// The program of a seed. Its test prints the number, or with `expected` asserts it.
#[must_use]
pub fn program(seed: u64, expected: Option<u64>) -> String {
    let mut writer = Writer {
        draw: Draw::new(seed),
        structs: Vec::new(),
        functions: Vec::new(),
        out: String::new(),
        tag: format!("_{seed}"),
    };
    let _ = writeln!(writer.out, "// program {seed}\n");
    let _ = write!(
        writer.out,
        "fn mix{}(h: u64, v: u64) -> u64 {{\n    let m = (h ^ v) * 0x9e3779b97f4a7c15u64;\n    return m ^ (m >> 29);\n}}\n\n",
        writer.tag
    );
    writer.table();
    for _ in 0..1 + writer.draw.below(3) {
        writer.structure();
    }
    for index in 0..writer.draw.below(4) {
        writer.function(index);
    }
    let mut kernels: Vec<Kernel> = Vec::new();
    for index in 0..1 + writer.draw.below(4) {
        let kernel = writer.kernel(index, &kernels);
        kernels.push(kernel);
    }
    writer.test(&kernels, expected);
    writer.out
}

impl Writer {
    /// `constant table: [u32; 16]`
    fn table(&mut self) {
        let values: Vec<String> = (0..16).map(|_| format!("{}", self.draw.bits() >> 32)).collect();
        let (tag, values) = (&self.tag, values.join(", "));
        let _ = writeln!(self.out, "constant table{tag}: [u32; 16] = [{values}];\nglobal var counted{tag}: u64 = 0;\n");
    }

    fn structure(&mut self) {
        let index = self.structs.len();
        let fields: Vec<Type> = (0..1 + self.draw.below(5)).map(|_| self.scalar()).collect();
        let list: Vec<String> = fields.iter().enumerate().map(|(at, ty)| format!("f{at}: {}", ty.name(""))).collect();
        let tag = &self.tag;
        let _ = writeln!(self.out, "struct S{index}{tag} {{ {} }}\n", list.join(", "));
        self.structs.push(fields);
    }

    /// A type of a parameter or variable.
    fn any_type(&mut self) -> Type {
        match self.draw.below(5) {
            0 => Type::Struct(self.draw.below(self.structs.len())),
            _ => self.scalar(),
        }
    }

    fn scalar(&mut self) -> Type {
        self.draw.one(&values::SCALARS).copied().unwrap_or(Type::Bool)
    }

    fn function(&mut self, index: usize) {
        let params: Vec<Type> = (0..self.draw.below(4)).map(|_| self.any_type()).collect();
        let result = self.any_type();
        let mut scope = Scope::new(THREAD / 8);
        let list = scope.parameters(&params, &self.tag);
        let tag = self.tag.clone();
        let attribute = ["", "", "@noinline\n", "@inline\n"][self.draw.below(4)];
        let _ = writeln!(self.out, "{attribute}fn f{index}{tag}({list}) -> {} {{", result.name(&tag));
        let count = 1 + self.draw.below(4);
        self.statements(&mut scope, count, 1);
        let value = self.expression(&mut scope, result, 3);
        let _ = writeln!(self.out, "    return {value};\n}}\n");
        self.functions.push(Function { name: format!("f{index}{tag}"), params, result, cost: scope.spent() });
    }

    fn kernel(&mut self, index: usize, before: &[Kernel]) -> Kernel {
        let params: Vec<Type> = (0..self.draw.below(5)).map(|_| self.any_type()).collect();
        let block = [1, 32, 64, 96][self.draw.below(4)];
        let grid = 1 + self.draw.below(3) as u32;
        let mut scope = Scope::new(THREAD);
        let list = scope.parameters(&params, &self.tag);
        let comma = if params.is_empty() { "" } else { ", " };
        let tag = self.tag.clone();
        let _ = writeln!(self.out, "kernel k{index}{tag}(out: *global u64{comma}{list}) {{");
        self.out.push_str("    let t = threadIdx.x;\n    let i = blockIdx.x * blockDim.x + t;\n");
        scope.declare("t", Type::U32, false);
        scope.declare("i", Type::U32, false);
        let count = 1 + self.draw.below(4);
        self.statements(&mut scope, count, 1);
        if self.draw.below(2) == 0 {
            self.exchange(&mut scope, block);
        }
        let mut kernel = Kernel { params, block, grid, words: grid * block, cost: 0 };
        let mut children = 0;
        for _ in 0..self.draw.below(3) {
            let Some(child) = (!before.is_empty()).then(|| self.draw.below(before.len())) else { break };
            let Some(called) = before.get(child) else { break };
            if children + called.cost < PROGRAM / 4 {
                self.launch(&mut scope, child, called, kernel.words);
                kernel.words += called.words;
                children += called.cost;
            }
        }
        let count = self.draw.below(3);
        self.statements(&mut scope, count, 1);
        let hash = self.hash(&scope);
        let _ = writeln!(self.out, "    out[i] = {hash};\n    atomicAdd(&counted{tag}, out[i] >> 40);\n}}\n");
        kernel.cost = u64::from(grid * block) * scope.spent() + children;
        kernel
    }

    /// One thread launches a child, with a piece of the result of its own.
    fn launch(&mut self, scope: &mut Scope, index: usize, kernel: &Kernel, at: u32) {
        let arguments: Vec<String> = kernel.params.iter().map(|ty| self.expression(scope, *ty, 2)).collect();
        let stream = ["", ", 0, cudaStreamFireAndForget", ", 0, cudaStreamTailLaunch", ", 0, 0"][self.draw.below(4)];
        let comma = if arguments.is_empty() { "" } else { ", " };
        let grid = if self.draw.below(2) == 0 { kernel.grid.to_string() } else { format!("dim3({}, 1, 1)", kernel.grid) };
        let tag = &self.tag;
        let _ = writeln!(
            self.out,
            "    if i == 0 {{\n        let error = k{index}{tag}<<<{grid}, {}{stream}>>>(out + {at}{comma}{});\n        assert(error == cudaSuccess);\n    }}",
            kernel.block,
            arguments.join(", "),
        );
    }

    /// Threads of a block read what others wrote, and lanes of a warp exchange values.
    fn exchange(&mut self, scope: &mut Scope, block: u32) {
        let ty = values::WIDE[self.draw.below(values::WIDE.len())];
        let value = self.expression(scope, ty, 2);
        let (tile, read) = (scope.fresh(), scope.fresh());
        let shift = 1 + self.draw.below(40);
        let _ = writeln!(
            self.out,
            "    shared {tile}: [{}; {block}];\n    {tile}[t] = {value};\n    __syncthreads();\n    let {read} = {tile}[(t + {shift}) % {block}];\n    __syncthreads();",
            ty.name(&self.tag)
        );
        scope.declare(&read, ty, false);
        if block.is_multiple_of(32) {
            let value = self.expression(scope, ty, 2);
            let lanes = 1 + self.draw.below(31);
            let name = scope.fresh();
            let _ = writeln!(self.out, "    let {name} = __shfl_xor_sync(0xffffffff, {value}, {lanes});");
            scope.declare(&name, ty, false);
        }
    }

    /// Everything in scope in one number.
    fn hash(&self, scope: &Scope) -> String {
        let mut hash = "1u64".to_owned();
        for (name, ty) in scope.variables() {
            for part in parts(&self.structs, name, *ty) {
                hash = format!("mix{}({hash}, {part})", self.tag);
            }
        }
        hash
    }

    fn test(&mut self, kernels: &[Kernel], expected: Option<u64>) {
        let Some(kernel) = kernels.last() else { return };
        let arguments: Vec<String> = kernel.params.iter().map(|ty| self.literal(*ty)).collect();
        let comma = if arguments.is_empty() { "" } else { ", " };
        let end = match expected {
            Some(value) => format!("assert(h == {value}u64, \"%llu\", h);"),
            None => "printf(\"%llu\\n\", h);".to_owned(),
        };
        let _ = write!(
            self.out,
            "test \"result {tag}\" {{\n    let out = device(u64, {words});\n    let error = k{last}{tag}<<<{}, {}>>>(out{comma}{});\n    assert(error == cudaSuccess);\n    \
             assert(cudaDeviceSynchronize() == cudaSuccess);\n    var h = counted{tag};\n    for i in 0..{words} {{ h = mix{tag}(h, out[i]); }}\n    {end}\n}}\n",
            kernel.grid,
            kernel.block,
            arguments.join(", "),
            words = kernel.words,
            last = kernels.len() - 1,
            tag = self.tag,
        );
    }
}

/// The bits of a value, structures field by field; those of a NaN are no one's business.
fn parts(structs: &[Vec<Type>], name: &str, ty: Type) -> Vec<String> {
    match ty {
        Type::Struct(index) => {
            let fields = structs.get(index).into_iter().flatten().enumerate();
            fields.flat_map(|(at, ty)| parts(structs, &format!("{name}.f{at}"), *ty)).collect()
        }
        Type::F64 | Type::F32 => vec![format!("(if isnan({name}) {{ 7u64 }} else {{ __float_as_int({name}) as u64 }})")],
        Type::F16 => vec![format!("(if {name} != {name} {{ 7u64 }} else {{ __float_as_int({name} as f32) as u64 }})")],
        _ => vec![format!("{name} as u64")],
    }
}
