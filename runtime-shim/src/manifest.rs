//! The manifest: what the compiler knows of a module and the host needs to know. It travels as JSON beside the PTX or cubin.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A module, as the compiler sees it. Absent fields take their defaults, so that a manifest can be written by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Manifest {
    /// The `.version` of the PTX, for example `"7.8"`.
    pub ptx_version: String,
    /// The target, for example `"sm_90"`.
    pub arch: String,
    /// The source file.
    pub source: String,
    /// Whether the device runtime library must be linked in.
    pub needs_device_runtime: bool,
    /// The kernels.
    pub kernels: Vec<Kernel>,
    /// The launches in device code.
    pub launch_sites: Vec<LaunchSite>,
    /// The variables in global and constant memory.
    pub globals: Vec<Global>,
    /// The structures that parameters and variables are made of or point to; each stands behind those that it contains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub structs: Vec<Struct>,
    /// The vectors among their parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vectors: Vec<Vector>,
    /// The enumerations among their parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub enums: Vec<Enum>,
    /// Limits to set before anything runs.
    pub limits: Limits,
}

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// As the source calls it.
    pub name: String,
    /// As the PTX calls it.
    pub symbol: String,
    /// Its parameters in order.
    #[serde(default)]
    pub params: Vec<Param>,
    /// Most threads a block may have, from `@launch_bounds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_threads: Option<u32>,
    /// Fewest blocks a multiprocessor should hold, from `@launch_bounds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_blocks: Option<u32>,
    /// Blocks of a cluster along x, y and z, from `@cluster`; a grid is a multiple of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// Whether it, or a function that it calls, uses dynamic shared memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dynamic_shared: bool,
    /// Its documentation, lines separated by `\n`; empty without any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
    /// Whether it is only declared here, and defined in an object that is linked in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
}

/// A parameter: sizes and offsets in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// As the source calls it.
    pub name: String,
    /// Its type as the source writes it, for example `*global const f32`.
    #[serde(rename = "type")]
    pub ty: String,
    /// From the start of the parameters.
    pub offset: u32,
    /// Without padding behind it.
    pub size: u32,
    /// At most 16.
    pub align: u32,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
}

/// Which pair of device runtime calls a launch uses; programming guide 4.18.6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaunchAbi {
    /// `cudaGetParameterBuffer`, `cudaLaunchDevice`.
    #[default]
    V1,
    /// `cudaGetParameterBufferV2`, `cudaLaunchDeviceV2`.
    V2,
}

impl LaunchAbi {
    /// What gives the parameter buffer, and what launches.
    #[must_use]
    pub const fn calls(self) -> [&'static str; 2] {
        match self {
            Self::V1 => ["cudaGetParameterBuffer", "cudaLaunchDevice"],
            Self::V2 => ["cudaGetParameterBufferV2", "cudaLaunchDeviceV2"],
        }
    }
}

/// A launch in device code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchSite {
    /// The function it is in, as the source calls it.
    pub function: String,
    /// The file it is in.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The kernel's symbol.
    pub kernel: String,
    /// The calls it uses.
    #[serde(default)]
    pub abi: LaunchAbi,
    /// What it stores into the parameter buffer, in order.
    #[serde(default)]
    pub stores: Vec<Store>,
}

/// One argument put into the parameter buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// From the start of the buffer.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

/// A variable that lives as long as the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Global {
    /// As the source calls it.
    pub name: String,
    /// As the PTX calls it.
    pub symbol: String,
    /// Bytes.
    pub size: u64,
    /// Its type as the source writes it; empty when it is not known.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub ty: String,
    /// Whether it is in constant memory, which only a host may write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub constant: bool,
    /// Whether it is only declared here, and defined in an object that is linked in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
}

/// A structure, in C layout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Struct {
    /// As the source calls it, for an instance of a generic one `Pair[f32]`.
    pub name: String,
    /// Bytes, padding at the end included.
    pub size: u64,
    /// A power of two.
    pub align: u32,
    /// In order.
    pub fields: Vec<Field>,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
}

/// A field of a structure: offsets and sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type as the source writes it.
    #[serde(rename = "type")]
    pub ty: String,
    /// From the start of the structure.
    pub offset: u64,
    /// Of the type.
    pub size: u64,
    /// That it has here: its type's, or more by `@align`.
    pub align: u32,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
}

/// Two to four lanes, as CUDA lays them out (programming guide, "Built-in Vector Types").
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// As the source calls it: `f32x3`.
    #[serde(rename = "type")]
    pub ty: String,
    /// Bytes, without padding between the lanes.
    pub size: u32,
    /// One lane's for three lanes, else at most 16.
    pub align: u32,
}

/// An enumeration: an integer with names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enum {
    /// As the source calls it.
    pub name: String,
    /// The integer, for example `u8`.
    #[serde(rename = "type")]
    pub ty: String,
    /// In order.
    pub members: Vec<Member>,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
}

/// A name of an enumeration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub value: i128,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
}

/// Limits of the context; `None` leaves the driver's default. Programming guide 5.6.4.2.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// `cudaLimitDevRuntimePendingLaunchCount`: launches from the device that may wait or run at a time; 2048 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_launches: Option<usize>,
    /// `cudaLimitPrintfFifoSize`: bytes of the ring that device printf writes into; 1 MB by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub printf_fifo: Option<usize>,
    /// `cudaLimitMallocHeapSize`: bytes of the heap of device `malloc`; 8 MB by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malloc_heap: Option<usize>,
    /// `cudaLimitStackSize`: bytes of stack a thread; 1024 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<usize>,
}

impl Limits {
    /// `self`, with what `other` wants on top: the larger of the two everywhere.
    #[must_use]
    pub fn at_least(self, other: Self) -> Self {
        Self {
            pending_launches: self.pending_launches.max(other.pending_launches),
            printf_fifo: self.printf_fifo.max(other.printf_fifo),
            malloc_heap: self.malloc_heap.max(other.malloc_heap),
            stack: self.stack.max(other.stack),
        }
    }
}

impl Kernel {
    /// Bytes of all parameters: the end of the last one.
    #[must_use]
    pub fn param_size(&self) -> u32 {
        self.params.iter().map(|p| p.offset.saturating_add(p.size)).max().unwrap_or(0)
    }
}

impl Manifest {
    /// From JSON.
    ///
    /// # Errors
    /// [`Error::Manifest`].
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| Error::Manifest { reason: e.to_string() })
    }

    /// As JSON, indented, one final line break.
    ///
    /// # Errors
    /// [`Error::Manifest`]; the types above give no reason for one.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n").map_err(|e| Error::Manifest { reason: e.to_string() })
    }

    /// The kernel that the source or the PTX calls `name`.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.name == name).or_else(|| self.kernels.iter().find(|k| k.symbol == name))
    }

    /// The variable that the source or the PTX calls `name`.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<&Global> {
        self.globals.iter().find(|g| g.name == name).or_else(|| self.globals.iter().find(|g| g.symbol == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_there_and_back() {
        let manifest = Manifest {
            ptx_version: "7.8".into(),
            arch: "sm_90".into(),
            source: "a.cdp".into(),
            needs_device_runtime: true,
            kernels: vec![Kernel {
                name: "k".into(),
                symbol: "k".into(),
                params: vec![Param {
                    name: "x".into(),
                    ty: "*global f32".into(),
                    offset: 0,
                    size: 8,
                    align: 8,
                    ..Param::default()
                }],
                max_threads: Some(128),
                ..Kernel::default()
            }],
            launch_sites: vec![LaunchSite {
                function: "k".into(),
                file: "a.cdp".into(),
                line: 3,
                kernel: "k".into(),
                abi: LaunchAbi::V2,
                stores: vec![Store { offset: 0, size: 8 }],
            }],
            globals: vec![Global { name: "g".into(), symbol: "g".into(), size: 4, ty: "E".into(), ..Global::default() }],
            structs: vec![Struct {
                name: "Pair[u8]".into(),
                size: 2,
                align: 1,
                fields: vec![Field {
                    name: "a".into(),
                    ty: "u8".into(),
                    offset: 0,
                    size: 1,
                    align: 1,
                    doc: "first\nof two".into(),
                }],
                doc: String::new(),
            }],
            vectors: vec![Vector { ty: "f32x3".into(), size: 12, align: 4 }],
            enums: vec![Enum {
                name: "E".into(),
                ty: "u64".into(),
                members: vec![
                    Member { name: "Most".into(), value: u64::MAX.into(), doc: String::new() },
                    Member { name: "Least".into(), value: i64::MIN.into(), doc: String::new() },
                ],
                doc: String::new(),
            }],
            limits: Limits { pending_launches: Some(4096), ..Limits::default() },
        };
        let text = manifest.to_json().unwrap();
        assert_eq!(Manifest::from_json(&text).unwrap(), manifest);
        assert!(text.contains("\"type\": \"*global f32\"") && text.contains("\"v2\""), "{text}");
    }

    #[test]
    fn wrong_json_is_an_error() {
        for text in ["", "[1]", "{\"kernel\": []}", "{\"kernels\": [{}]}"] {
            assert_eq!(Manifest::from_json(text).unwrap_err().code(), "E0630");
        }
        assert_eq!(Manifest::from_json("{}").unwrap(), Manifest::default());
    }

    #[test]
    fn limits_join_upwards() {
        let a = Limits { stack: Some(2048), printf_fifo: Some(1), ..Limits::default() };
        let b = Limits { stack: Some(1024), malloc_heap: Some(5), ..Limits::default() };
        assert_eq!(
            a.at_least(b),
            Limits { stack: Some(2048), printf_fifo: Some(1), malloc_heap: Some(5), pending_launches: None }
        );
    }
}
