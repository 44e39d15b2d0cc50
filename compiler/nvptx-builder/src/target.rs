//! The GPUs, and LLVM's target machine for each.

use crate::Error;
use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple};
use std::sync::Once;

/// How wide an address is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressWidth {
    /// `.address_size 32`
    W32,
    /// `.address_size 64`
    #[default]
    W64,
}

impl AddressWidth {
    /// 32 or 64.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::W32 => 32,
            Self::W64 => 64,
        }
    }
}

/// Architectures, each with the lowest PTX version (major * 10 + minor) that knows it: PTX ISA, table "target architectures".
const TARGETS: &[(&str, u32)] = &[
    ("sm_70", 60),
    ("sm_72", 61),
    ("sm_75", 63),
    ("sm_80", 70),
    ("sm_86", 71),
    ("sm_87", 74),
    ("sm_88", 90),
    ("sm_89", 78),
    ("sm_90", 78),
    ("sm_90a", 80),
    ("sm_100", 86),
    ("sm_100a", 86),
    ("sm_100f", 88),
    ("sm_101", 86),
    ("sm_101a", 86),
    ("sm_101f", 88),
    ("sm_103", 88),
    ("sm_103a", 88),
    ("sm_103f", 88),
    ("sm_110", 90),
    ("sm_110a", 90),
    ("sm_110f", 90),
    ("sm_120", 87),
    ("sm_120a", 87),
    ("sm_120f", 88),
    ("sm_121", 88),
    ("sm_121a", 88),
    ("sm_121f", 88),
];

/// A GPU architecture that PTX can be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    name: &'static str,
    ptx_version: u32,
}

impl Target {
    /// The architecture with this name, `sm_90`.
    ///
    /// # Errors
    /// [`Error::UnknownTarget`] for any other name.
    pub fn new(name: &str) -> Result<Self, Error> {
        TARGETS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(name, ptx_version)| Self { name, ptx_version: *ptx_version })
            .ok_or_else(|| Error::UnknownTarget(name.to_owned()))
    }

    /// Every architecture, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        TARGETS.iter().map(|(name, ptx_version)| Self { name, ptx_version: *ptx_version })
    }

    /// `sm_90`
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The compute capability as one number: 90 for `sm_90` and `sm_90a`.
    #[must_use]
    pub fn capability(self) -> u32 {
        self.name.bytes().filter(u8::is_ascii_digit).fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
    }

    /// The lowest PTX version that knows this architecture, major * 10 + minor.
    #[must_use]
    pub const fn ptx_version(self) -> u32 {
        self.ptx_version
    }

    /// LLVM's machine for it. `needs_version` is the lowest PTX version that the module's contents need; the machine's is not lower than
    /// the architecture's own.
    pub(crate) fn machine(self, width: AddressWidth, optimise: u8, needs_version: u32) -> Result<TargetMachine, Error> {
        initialise();
        let triple = TargetTriple::create(triple(width));
        let target = LlvmTarget::from_triple(&triple).map_err(|e| Error::Llvm(e.to_string()))?;
        let features = format!("+ptx{}", self.ptx_version.max(needs_version));
        let level = match optimise {
            0 => OptimizationLevel::None,
            1 => OptimizationLevel::Less,
            2 => OptimizationLevel::Default,
            _ => OptimizationLevel::Aggressive,
        };
        target
            .create_target_machine(&triple, self.name, &features, level, RelocMode::Default, CodeModel::Default)
            .ok_or_else(|| Error::UnknownTarget(self.name.to_owned()))
    }
}

/// LLVM's name for the target.
pub(crate) const fn triple(width: AddressWidth) -> &'static str {
    match width {
        AddressWidth::W32 => "nvptx-nvidia-cuda",
        AddressWidth::W64 => "nvptx64-nvidia-cuda",
    }
}

/// Registers NVPTX, and nothing else of LLVM, on first use.
fn initialise() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        LlvmTarget::initialize_nvptx(&InitializationConfig {
            asm_parser: false,
            asm_printer: true,
            base: true,
            disassembler: false,
            info: true,
            machine_code: true,
        });
    });
}
