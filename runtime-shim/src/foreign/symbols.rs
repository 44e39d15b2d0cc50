//! What a link comes to, seen from the symbols of its inputs and before anything is linked: the linker itself finds out late, tells it badly, or
//! leaves it to the driver.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::arch::Arch;
use crate::error::{Error, Result};

/// What one compilation defines for others, and what it needs from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// Visible definitions, in order.
    pub defined: Vec<Definition>,
    /// Names that it uses and does not define, each once.
    pub needed: Vec<String>,
}

/// Something that others can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its symbol.
    pub name: String,
    /// Whether another definition may take its place.
    pub weak: bool,
    /// What it is.
    pub what: What,
}

/// What a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A kernel.
    Kernel,
    /// A function.
    Function,
    /// A variable in global or constant memory.
    Variable {
        /// Its bytes, where they are known.
        size: Option<u64>,
    },
}

/// Which dynamic parallelism a symbol of the device runtime belongs to (cdp2 rule R27).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cdp {
    /// The one with `cudaDeviceSynchronize`, below sm_90.
    Cdp1,
    /// The one with tail launches.
    Cdp2,
}

/// The symbols of the device runtime that stand for it: those that CDP1 and CDP2 both have. What cooperative groups call (`cudaCGSynchronize` …)
/// belongs to neither. As libcudadevrt.a of CUDA 12.9 and 13.0 has them.
const RUNTIME: &[&str] = &[
    "DeviceGetAttribute",
    "DeviceGetCacheConfig",
    "DeviceGetLimit",
    "DeviceGetSharedMemConfig",
    "EventCreateWithFlags",
    "EventDestroy",
    "EventRecord",
    "Free",
    "FuncGetAttributes",
    "GetDevice",
    "GetDeviceCount",
    "GetErrorName",
    "GetErrorString",
    "GetLastError",
    "GetParameterBuffer",
    "GetParameterBufferV2",
    "LaunchDevice",
    "LaunchDeviceV2",
    "Malloc",
    "Memcpy2DAsync",
    "Memcpy3DAsync",
    "MemcpyAsync",
    "Memset2DAsync",
    "Memset3DAsync",
    "MemsetAsync",
    "OccupancyMaxActiveBlocksPerMultiprocessor",
    "OccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "PeekAtLastError",
    "RuntimeGetVersion",
    "StreamCreateWithFlags",
    "StreamDestroy",
    "StreamWaitEvent",
    // CDP1 alone
    "DeviceSynchronize",
];

/// Whether libcudadevrt defines this symbol.
#[must_use]
pub fn is_device_runtime(symbol: &str) -> bool {
    symbol.starts_with("__cudaCDP2")
        || symbol.starts_with("cudaCG")
        || symbol == "__cudaDeviceSynchronizeDeprecationAvoidance"
        || is_plain(symbol)
}

/// `cudaMalloc`, and `cudaMemcpyAsync_ptsz` for code compiled with a default stream for each thread.
fn is_plain(symbol: &str) -> bool {
    let symbol = symbol.strip_suffix("_ptsz").unwrap_or(symbol);
    symbol.strip_prefix("cuda").is_some_and(|name| RUNTIME.contains(&name))
}

impl Cdp {
    /// The family of a symbol, in code for `arch`; `None` for one that is of neither.
    #[must_use]
    pub fn of(symbol: &str, arch: Arch) -> Option<Self> {
        match symbol {
            _ if symbol.starts_with("__cudaCDP2") => Some(Self::Cdp2),
            // from sm_90 on the plain names are CDP2's (measured)
            _ if is_plain(symbol) && arch.sm >= 90 => Some(Self::Cdp2),
            "__cudaDeviceSynchronizeDeprecationAvoidance" => Some(Self::Cdp1),
            _ if is_plain(symbol) => Some(Self::Cdp1),
            _ => None,
        }
    }
}

impl std::fmt::Display for Cdp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cdp1 => "CDP1",
            Self::Cdp2 => "CDP2",
        })
    }
}

/// A symbol that two inputs define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The symbol.
    pub symbol: String,
    /// The inputs, in order; a member of an archive as `lib.a(member.o)`.
    pub inputs: Vec<String>,
}

/// A use of a device runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdpUse {
    /// The input.
    pub input: String,
    /// The first of its symbols that tells.
    pub symbol: String,
}

/// A symbol that nothing defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The symbol.
    pub symbol: String,
    /// The inputs that need it, as far as that is known.
    pub needed_by: Vec<String>,
}

/// The inputs of a link.
#[derive(Debug, Default)]
pub(crate) struct Table {
    inputs: Vec<Input>,
}

#[derive(Debug)]
struct Input {
    name: String,
    symbols: Symbols,
    /// A member of an archive, linked in only when something needs it.
    optional: bool,
}

impl Table {
    pub(crate) fn add(&mut self, name: String, symbols: Symbols, optional: bool) {
        self.inputs.push(Input { name, symbols, optional });
    }

    /// The inputs that will be part of the result. The linker takes members with kernels whether they are needed or not (seen with nvJitLink 13.0).
    fn included(&self) -> Vec<&Input> {
        let is_root = |input: &&Input| !input.optional || input.symbols.defined.iter().any(|d| d.what == What::Kernel);
        let mut taken: Vec<&Input> = self.inputs.iter().filter(is_root).collect();
        let mut left: Vec<&Input> = self.inputs.iter().filter(|input| !is_root(input)).collect();
        loop {
            let defined: HashSet<&str> = names(&taken);
            let open: HashSet<&str> = taken
                .iter()
                .flat_map(|input| &input.symbols.needed)
                .map(String::as_str)
                .filter(|n| !defined.contains(n))
                .collect();
            let wanted = |input: &&Input| input.symbols.defined.iter().any(|d| open.contains(d.name.as_str()));
            let Some(index) = left.iter().position(wanted) else { return taken };
            taken.push(left.remove(index));
        }
    }

    /// Whether libcudadevrt must be linked in: something needs it, and no input is it.
    pub(crate) fn needs_device_runtime(&self) -> bool {
        let taken = self.included();
        let defined = names(&taken);
        taken
            .iter()
            .flat_map(|input| &input.symbols.needed)
            .any(|symbol| is_device_runtime(symbol) && !defined.contains(symbol.as_str()))
    }

    /// # Errors
    /// [`Error::Duplicate`], [`Error::MixedCdp`].
    pub(crate) fn check(&self, arch: Arch) -> Result<()> {
        let taken = self.included();
        let mut definers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for input in &taken {
            for definition in input.symbols.defined.iter().filter(|definition| !definition.weak) {
                definers.entry(&definition.name).or_default().push(&input.name);
            }
        }
        let clashes: Vec<Clash> = definers
            .into_iter()
            .filter(|(_, inputs)| inputs.len() > 1)
            .map(|(symbol, inputs)| Clash {
                symbol: symbol.to_owned(),
                inputs: inputs.into_iter().map(str::to_owned).collect(),
            })
            .collect();
        if !clashes.is_empty() {
            return Err(Error::Duplicate { clashes });
        }
        let defined = names(&taken);
        let mut uses: HashMap<bool, CdpUse> = HashMap::new();
        for input in &taken {
            for symbol in input.symbols.needed.iter().filter(|symbol| !defined.contains(symbol.as_str())) {
                if let Some(cdp) = Cdp::of(symbol, arch) {
                    uses.entry(cdp == Cdp::Cdp1)
                        .or_insert_with(|| CdpUse { input: input.name.clone(), symbol: symbol.clone() });
                }
            }
        }
        match (uses.remove(&true), uses.remove(&false)) {
            (Some(cdp1), Some(cdp2)) => Err(Error::MixedCdp { cdp1, cdp2, arch }),
            _ => Ok(()),
        }
    }

    /// Who needs each of the symbols.
    pub(crate) fn missing(&self, symbols: Vec<String>) -> Vec<Missing> {
        let taken = self.included();
        let users = |symbol: &String| {
            let needs = |input: &&&Input| input.symbols.needed.contains(symbol);
            taken.iter().filter(needs).map(|input| input.name.clone()).collect()
        };
        symbols.into_iter().map(|symbol| Missing { needed_by: users(&symbol), symbol }).collect()
    }
}

fn names<'a>(inputs: &[&'a Input]) -> HashSet<&'a str> {
    inputs.iter().flat_map(|input| &input.symbols.defined).map(|definition| definition.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(defined: &[&str], needed: &[&str]) -> Symbols {
        let definition = |name: &&str| match name.strip_prefix('~') {
            Some(name) => Definition { name: name.into(), weak: true, what: What::Function },
            None => Definition { name: (*name).into(), weak: false, what: What::Function },
        };
        Symbols { defined: defined.iter().map(definition).collect(), needed: needed.iter().map(|n| (*n).into()).collect() }
    }

    fn table(inputs: &[(&str, &[&str], &[&str])]) -> Table {
        let mut table = Table::default();
        for (name, defined, needed) in inputs {
            table.add((*name).into(), symbols(defined, needed), name.ends_with(')'));
        }
        table
    }

    const OLD: Arch = Arch::base(80);

    #[test]
    fn a_clash_names_all_inputs_but_not_weak_ones_nor_members_that_nobody_wants() {
        let found = table(&[
            ("a", &["f", "~w"], &["g"]),
            ("b", &["f", "~w"], &[]),
            ("l.a(x)", &["g", "f"], &[]),
            ("l.a(y)", &["f"], &[]),
        ]);
        let Error::Duplicate { clashes } = found.check(OLD).unwrap_err() else { unreachable!("another error") };
        assert_eq!(clashes, [Clash { symbol: "f".into(), inputs: vec!["a".into(), "b".into(), "l.a(x)".into()] }]);
        table(&[("a", &["f"], &["g"]), ("l.a(x)", &["g"], &["h"]), ("l.a(y)", &["h"], &[])]).check(OLD).unwrap();
    }

    #[test]
    fn the_families_of_the_device_runtime() {
        for (one, other, old, new) in [
            ("cudaLaunchDevice", "__cudaCDP2LaunchDevice", true, false),
            ("cudaDeviceSynchronize", "__cudaCDP2GetLastError", true, false),
            ("cudaMemcpyAsync_ptsz", "__cudaCDP2Malloc", true, false),
            ("cudaCGSynchronize", "__cudaCDP2LaunchDeviceV2", false, false),
            ("cudaLaunchDevice", "cudaGetParameterBuffer", false, false),
            ("malloc", "__cudaCDP2LaunchDevice", false, false),
        ] {
            let found = table(&[("a", &["k"], &[one]), ("b", &["l"], &[other])]);
            assert_eq!(found.check(OLD).is_err(), old, "{one} {other}");
            assert_eq!(found.check(Arch::base(90)).is_err(), new, "{one} {other}");
            assert!(found.needs_device_runtime());
        }
        let mixed =
            table(&[("a", &[], &["cudaLaunchDevice"]), ("b", &[], &["__cudaCDP2LaunchDevice"])]).check(OLD).unwrap_err();
        assert!(mixed.to_string().contains("`a`") && mixed.to_string().contains("`b`"), "{mixed}");
    }

    #[test]
    fn the_device_runtime_is_needed_only_where_nothing_else_is_it() {
        assert!(!table(&[("a", &["f"], &["g", "malloc"])]).needs_device_runtime());
        assert!(!table(&[("a", &[], &["cudaMalloc"]), ("r.a(x)", &["cudaMalloc"], &[])]).needs_device_runtime());
        assert!(!table(&[("a", &[], &[]), ("r.a(x)", &["f"], &["cudaMalloc"])]).needs_device_runtime());
    }

    #[test]
    fn who_needs_what_is_missing() {
        let found = table(&[("a", &[], &["f"]), ("b", &[], &["f", "g"])]).missing(vec!["f".into(), "h".into()]);
        assert_eq!(found[0].needed_by, ["a", "b"]);
        assert!(found[1].needed_by.is_empty());
    }
}
