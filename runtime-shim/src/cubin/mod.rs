//! Reading a cubin: which kernels it has and where their parameters lie, as the assembler decided.
//!
//! A cubin is an ELF file of NVIDIA's own kind. What is read here is undocumented; it was found by comparing with `cuobjdump -elf`, and
//! `tests/cubin.rs` compares again. Hostile bytes give an error, never a panic.
//!
//! - [`elf`]: sections and symbols, header flags.
//! - [`info`]: the attribute lists in `.nv.info` sections.

pub(crate) mod elf;
mod info;

use crate::arch::{Arch, Features, Version};
use crate::error::{Error, Result};
use elf::Elf;
use info::Attribute;

/// What a cubin says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CubinInfo {
    /// What it was assembled for.
    pub arch: Arch,
    /// The CUDA version of the assembler, where it left it.
    pub toolkit: Option<Version>,
    /// The kernels by name, those of the device runtime library among them.
    pub kernels: Vec<Kernel>,
    /// The variables in global and constant memory by name.
    pub globals: Vec<Global>,
    /// Functions and variables without a definition. In a linked cubin these are the calls that the driver answers: `vprintf`, `malloc`,
    /// `__cuda_syscall_…`.
    pub undefined: Vec<String>,
}

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Its symbol.
    pub name: String,
    /// Its parameters in order.
    pub params: Vec<Param>,
    /// Where the parameters begin in constant bank 0, in bytes: 0x160 for sm_75 to sm_89, 0x210 for sm_90, 0x380 from sm_100 on.
    pub param_base: u32,
    /// Bytes of all parameters, from the first byte of the first to the last of the last.
    pub param_size: u32,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of statically allocated shared memory; from sm_90 on the 1024 bytes that the system reserves are counted in.
    pub shared_size: u64,
    /// Bytes of the kernel's own stack frame.
    pub frame_size: u32,
    /// Bytes of stack with its callees, as far as the assembler can tell: recursion and calls through pointers are not counted.
    pub min_stack_size: u32,
    /// `.maxntid`.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`.
    pub required_threads: Option<[u32; 3]>,
    /// Bytes of code.
    pub code_size: u64,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its place among the parameters, from 0.
    pub ordinal: u16,
    /// Its first byte, counted from the start of the parameters.
    pub offset: u32,
    /// Its bytes.
    pub size: u32,
}

/// A variable that the host can reach by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its symbol.
    pub name: String,
    /// Its bytes.
    pub size: u64,
    /// Whether it lies in constant memory.
    pub constant: bool,
}

impl CubinInfo {
    /// Reads a cubin.
    ///
    /// # Errors
    /// [`Error::Cubin`] when the bytes are no cubin or contradict themselves.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let elf = Elf::parse(bytes)?;
        let mut kernels = Vec::new();
        let mut toolkit = None;
        for (index, section) in elf.sections.iter().enumerate() {
            let Some(name) = section.name.strip_prefix(".text.") else { continue };
            // device functions have a text section of their own too
            let Some(symbol) = elf.entry_symbol(index, name) else { continue };
            let mut kernel = Kernel { name: name.to_owned(), code_size: symbol.size, ..Kernel::default() };
            kernel.shared_size = elf.section(&format!(".nv.shared.{name}")).map_or(0, |s| s.size);
            if let Some(section) = elf.section(&format!(".nv.info.{name}")) {
                for attribute in info::attributes(section.data)? {
                    if let Attribute::ApiVersion(tenths) = attribute {
                        toolkit = Some(Version::new(tenths / 10, tenths % 10));
                    }
                    kernel.apply(&attribute);
                }
            }
            kernel.finish()?;
            kernels.push(kernel);
        }
        if let Some(section) = elf.section(".nv.info") {
            for attribute in info::attributes(section.data)? {
                let Some(owner) = attribute.owner().and_then(|symbol| elf.symbol_name(symbol)) else { continue };
                if let Some(kernel) = kernels.iter_mut().find(|k| k.name == owner) {
                    kernel.apply(&attribute);
                }
            }
        }
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        let mut globals: Vec<Global> = elf.variables().collect();
        globals.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { arch: elf.arch, toolkit, kernels, globals, undefined: elf.undefined() })
    }

    /// The kernel with this symbol.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The variable with this symbol.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<&Global> {
        self.globals.iter().find(|global| global.name == name)
    }
}

impl Kernel {
    fn apply(&mut self, attribute: &Attribute) {
        match *attribute {
            Attribute::Param(param) => self.params.push(param),
            Attribute::ParamBank { base, size } => {
                self.param_base = base;
                self.param_size = size;
            }
            Attribute::ParamSize(size) => self.param_size = size,
            Attribute::MaxThreads(dims) => self.max_threads = Some(dims),
            Attribute::RequiredThreads(dims) => self.required_threads = Some(dims),
            Attribute::Registers { count, .. } => self.registers = count,
            Attribute::FrameSize { size, .. } => self.frame_size = size,
            Attribute::MinStackSize { size, .. } => self.min_stack_size = size,
            Attribute::ApiVersion(_) => {}
        }
    }

    /// Orders the parameters and makes sure that each is there once and lies inside the block.
    fn finish(&mut self) -> Result<()> {
        self.params.sort_by_key(|p| p.ordinal);
        for (expected, param) in self.params.iter().enumerate() {
            if usize::from(param.ordinal) != expected {
                return Err(damaged(format!(
                    "kernel `{}` has no parameter {expected}, but a parameter {}",
                    self.name, param.ordinal
                )));
            }
            if param.offset.checked_add(param.size).is_none_or(|end| end > self.param_size) {
                return Err(damaged(format!(
                    "parameter {expected} of kernel `{}` lies outside its {} bytes",
                    self.name, self.param_size
                )));
            }
        }
        Ok(())
    }
}

/// The base architecture for the number in the header.
const fn arch_of(sm: u32) -> Arch {
    // the letter is not in the header: `sm_90a` reads as `sm_90`
    Arch { sm, features: Features::Base }
}

fn damaged(reason: impl Into<String>) -> Error {
    Error::Cubin { reason: reason.into() }
}
