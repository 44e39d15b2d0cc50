//! The assembler's word against the compiler's: every kernel's parameters in the cubin must lie where the manifest says, and every launch
//! site must store where the kernel will read (rule R33). What is only declared in the program and linked in from elsewhere is compared in the same way;
//! where it differs, the declaration is wrong and not the compiler.

use std::fmt::Write as _;

use crate::arch::Arch;
use crate::cubin::{self, CubinInfo};
use crate::error::{Error, Result};
use crate::foreign::{Foreign, What};
use crate::manifest::{Global, Kernel, LaunchSite, Manifest};

/// The largest alignment that is safe: parameters begin at 0x210 on sm_90, so one aligned to 32 would be moved (rule R32).
pub const MAX_PARAM_ALIGN: u32 = 16;

/// A kernel or launch site about which the two disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The disagreement in one line.
    pub what: String,
    /// The symbol that it is about.
    pub symbol: String,
    /// What it is about: "kernel `k`" or "launch of `k` in `f` at a.cdp:3".
    pub subject: String,
    /// Row by row.
    pub rows: Vec<Row>,
}

/// Offset and size, in bytes, on either side; `None` where that side has no such parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The parameter, `x: *global f32`, or its number.
    pub name: String,
    /// The compiler's.
    pub expected: Option<(u32, u32)>,
    /// The cubin's.
    pub actual: Option<(u32, u32)>,
}

impl Difference {
    /// Both tables side by side, differing rows marked.
    #[must_use]
    pub fn table(&self) -> String {
        let width = self.rows.iter().map(|r| r.name.len()).max().unwrap_or(0).max("parameter".len());
        let mut out = format!("{}: {}\n    {:width$}   compiler       cubin", self.subject, self.what, "parameter");
        for row in &self.rows {
            let mark = if row.expected == row.actual { "" } else { "   <-" };
            let _ = write!(out, "\n    {:width$}   {:13}  {}{mark}", row.name, cell(row.expected), cell(row.actual));
        }
        out
    }
}

fn cell(value: Option<(u32, u32)>) -> String {
    value.map_or_else(|| "none".to_owned(), |(offset, size)| format!("{offset:5} +{size}"))
}

/// Compares everything.
///
/// # Errors
/// [`Error::LayoutDiffers`] with every disagreement; [`Error::DeclarationDiffers`] when they are about what was linked in.
pub fn check(manifest: &Manifest, cubin: &CubinInfo) -> Result<()> {
    let (external, own): (Vec<&Kernel>, Vec<&Kernel>) = manifest.kernels.iter().partition(|kernel| kernel.external);
    let (foreign, ours): (Vec<&Global>, Vec<&Global>) = manifest.globals.iter().partition(|global| global.external);
    let mut differences: Vec<Difference> = external.into_iter().filter_map(|kernel| check_kernel(kernel, cubin)).collect();
    differences.extend(foreign.into_iter().filter_map(|global| check_global(global, cubin)));
    if !differences.is_empty() {
        return Err(Error::DeclarationDiffers { differences });
    }
    differences.extend(own.into_iter().filter_map(|kernel| check_kernel(kernel, cubin)));
    differences.extend(manifest.launch_sites.iter().filter_map(|site| check_site(site, manifest, cubin)));
    differences.extend(ours.into_iter().filter_map(|global| check_global(global, cubin)));
    if differences.is_empty() { Ok(()) } else { Err(Error::LayoutDiffers { differences }) }
}

/// Compares the sizes of variables that are only declared with those in the objects, before a link: nvJitLink prints a line about a difference
/// on standard error and goes on.
///
/// # Errors
/// [`Error::DeclarationDiffers`], [`Error::ForeignArch`].
pub fn check_variables(manifest: &Manifest, objects: &[Foreign], arch: Arch) -> Result<()> {
    let mut differences = Vec::new();
    for object in objects {
        for definition in object.parts(arch)?.iter().filter_map(|part| part.symbols).flat_map(|symbols| &symbols.defined) {
            let declared = manifest.globals.iter().find(|global| global.external && global.symbol == definition.name);
            if let (Some(global), What::Variable { size: Some(size) }) = (declared, definition.what)
                && global.size != size
            {
                differences.push(Difference {
                    what: format!("it has {} bytes in the declaration and {size} in `{}`", global.size, object.name()),
                    symbol: global.symbol.clone(),
                    subject: format!("global variable `{}`", global.symbol),
                    rows: Vec::new(),
                });
            }
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(Error::DeclarationDiffers { differences }) }
}

fn check_global(global: &Global, cubin: &CubinInfo) -> Option<Difference> {
    let declared = if global.external { "in the declaration" } else { "for the compiler" };
    let what = match cubin.global(&global.symbol).map(|g| g.size) {
        Some(actual) if actual == global.size => return None,
        Some(actual) => format!("it has {} bytes {declared} and {actual} in the cubin", global.size),
        None if global.external => "no input defines such a variable".to_owned(),
        None => "the cubin has no such variable".to_owned(),
    };
    let subject = format!("global variable `{}`", global.symbol);
    Some(Difference { what, symbol: global.symbol.clone(), subject, rows: Vec::new() })
}

fn check_kernel(kernel: &Kernel, cubin: &CubinInfo) -> Option<Difference> {
    let symbol = kernel.symbol.clone();
    let subject = format!("kernel `{symbol}`");
    let Some(actual) = cubin.kernel(&kernel.symbol) else {
        let what = if kernel.external { "no input defines such a kernel" } else { "the cubin has no such kernel" };
        return Some(Difference { what: what.to_owned(), symbol, subject, rows: Vec::new() });
    };
    let names: Vec<String> = kernel.params.iter().map(|p| format!("{}: {}", p.name, p.ty)).collect();
    let expected: Vec<(u32, u32)> = kernel.params.iter().map(|p| (p.offset, p.size)).collect();
    let mut what = compare(&expected, actual, if kernel.external { "in the declaration" } else { "for the compiler" });
    if what.is_none() {
        what = kernel.params.iter().find_map(|p| {
            if p.align > MAX_PARAM_ALIGN || !p.align.is_power_of_two() {
                Some(format!("`{}` has the alignment {}, and only 1, 2, 4, 8 and 16 are safe", p.name, p.align))
            } else if p.offset % p.align != 0 {
                Some(format!("`{}` lies at {}, which is no multiple of its alignment {}", p.name, p.offset, p.align))
            } else {
                None
            }
        });
    }
    what.map(|what| Difference { what, symbol, subject, rows: rows(&names, &expected, actual) })
}

fn check_site(site: &LaunchSite, manifest: &Manifest, cubin: &CubinInfo) -> Option<Difference> {
    let symbol = site.kernel.clone();
    let subject = format!("launch of `{symbol}` in `{}` at {}:{}", site.function, site.file, site.line);
    let Some(actual) = cubin.kernel(&site.kernel) else {
        return Some(Difference { what: "the cubin has no such kernel".to_owned(), symbol, subject, rows: Vec::new() });
    };
    let params = manifest.kernel(&site.kernel).map_or(&[][..], |k| &k.params);
    let names: Vec<String> = params.iter().map(|p| format!("{}: {}", p.name, p.ty)).collect();
    let expected: Vec<(u32, u32)> = site.stores.iter().map(|s| (s.offset, s.size)).collect();
    let what = compare(&expected, actual, "for the compiler")?;
    Some(Difference { what, symbol, subject, rows: rows(&names, &expected, actual) })
}

/// The first disagreement.
fn compare(expected: &[(u32, u32)], actual: &cubin::Kernel, whose: &str) -> Option<String> {
    if expected.len() != actual.params.len() {
        return Some(format!("{} parameters {whose} and {} in the cubin", expected.len(), actual.params.len()));
    }
    for (index, (&(offset, size), param)) in expected.iter().zip(&actual.params).enumerate() {
        if (offset, size) != (param.offset, param.size) {
            return Some(format!(
                "parameter {index} is {size} bytes at {offset} {whose} and {} bytes at {} in the cubin",
                param.size, param.offset
            ));
        }
    }
    None
}

fn rows(names: &[String], expected: &[(u32, u32)], actual: &cubin::Kernel) -> Vec<Row> {
    let count = expected.len().max(actual.params.len());
    let row = |index: usize| Row {
        name: names.get(index).cloned().unwrap_or_else(|| format!("parameter {index}")),
        expected: expected.get(index).copied(),
        actual: actual.params.get(index).map(|p| (p.offset, p.size)),
    };
    (0..count).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Param, Store};

    fn cubin(params: &[(u32, u32)]) -> CubinInfo {
        let params = params
            .iter()
            .enumerate()
            .map(|(i, &(offset, size))| cubin::Param { ordinal: u16::try_from(i).unwrap(), offset, size })
            .collect();
        CubinInfo {
            arch: Arch::base(90),
            toolkit: None,
            kernels: vec![cubin::Kernel { name: "k".into(), params, ..cubin::Kernel::default() }],
            globals: vec![cubin::Global { name: "g".into(), size: 4, constant: false }],
            undefined: Vec::new(),
        }
    }

    fn manifest(params: &[(u32, u32, u32)]) -> Manifest {
        let list = params.iter().enumerate();
        let params = list
            .map(|(i, &(offset, size, align))| Param {
                name: format!("p{i}"),
                ty: "T".into(),
                offset,
                size,
                align,
                doc: String::new(),
            })
            .collect();
        Manifest {
            kernels: vec![Kernel { name: "k".into(), symbol: "k".into(), params, ..Kernel::default() }],
            ..Manifest::default()
        }
    }

    fn problem(manifest: &Manifest, cubin: &CubinInfo) -> String {
        let error = check(manifest, cubin).unwrap_err();
        assert_eq!(error.code(), "E0629");
        error.to_string()
    }

    #[test]
    fn equal_tables_pass() {
        check(&manifest(&[(0, 1, 1), (8, 8, 8)]), &cubin(&[(0, 1), (8, 8)])).unwrap();
        check(&manifest(&[]), &cubin(&[])).unwrap();
    }

    #[test]
    fn a_shifted_parameter_shows_both_tables() {
        // what nvcc does with a struct aligned to 32: 32 by the naive rule, 16 in the constant bank
        let text = problem(&manifest(&[(0, 1, 1), (32, 32, 16)]), &cubin(&[(0, 1), (16, 32)]));
        assert!(text.contains("parameter 1 is 32 bytes at 32 for the compiler and 32 bytes at 16 in the cubin"), "{text}");
        assert!(text.contains("p1: T          32 +32         16 +32   <-"), "{text}");
    }

    #[test]
    fn count_size_alignment_and_absence() {
        assert!(problem(&manifest(&[(0, 8, 8)]), &cubin(&[])).contains("1 parameters for the compiler and 0"));
        assert!(problem(&manifest(&[(0, 8, 8)]), &cubin(&[(0, 4)])).contains("8 bytes at 0"));
        assert!(problem(&manifest(&[(0, 32, 32)]), &cubin(&[(0, 32)])).contains("alignment 32"));
        assert!(problem(&manifest(&[(4, 8, 8)]), &cubin(&[(4, 8)])).contains("no multiple"));
        let mut absent = manifest(&[]);
        absent.kernels[0].symbol = "other".into();
        assert!(problem(&absent, &cubin(&[])).contains("no such kernel"));
    }

    #[test]
    fn launch_sites_and_globals_are_compared_too() {
        let mut m = manifest(&[(0, 8, 8)]);
        m.launch_sites.push(LaunchSite {
            function: "parent".into(),
            file: "a.cdp".into(),
            line: 7,
            kernel: "k".into(),
            stores: vec![Store { offset: 0, size: 4 }],
            ..LaunchSite::default()
        });
        m.globals.push(Global { name: "g".into(), symbol: "g".into(), size: 8, ..Global::default() });
        m.globals.push(Global { name: "h".into(), symbol: "h".into(), size: 8, ..Global::default() });
        let text = problem(&m, &cubin(&[(0, 8)]));
        for part in ["launch of `k` in `parent` at a.cdp:7", "8 bytes for the compiler and 4", "no such variable"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn what_is_linked_in_must_be_as_it_is_declared() {
        let mut m = manifest(&[(0, 8, 8)]);
        m.kernels[0].external = true;
        check(&m, &cubin(&[(0, 8)])).unwrap();
        m.globals.push(Global { name: "g".into(), symbol: "g".into(), size: 8, external: true, ..Global::default() });
        let error = check(&m, &cubin(&[(0, 4)])).unwrap_err();
        assert_eq!(error.code(), "E0634");
        let text = error.to_string();
        for part in ["8 bytes at 0 in the declaration and 4 bytes at 0", "it has 8 bytes in the declaration and 4"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!error.is_compiler_bug());
    }
}
