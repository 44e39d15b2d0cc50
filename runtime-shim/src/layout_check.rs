//! The assembler's word against the compiler's: every kernel's parameters in the cubin must lie where the manifest says, and every launch
//! site must store where the kernel will read (rule R33).

use std::fmt::Write as _;

use crate::cubin::{self, CubinInfo};
use crate::error::{Error, Result};
use crate::manifest::{Kernel, LaunchSite, Manifest};

/// The largest alignment that is safe: parameters begin at 0x210 on sm_90, so one aligned to 32 would be moved (rule R32).
pub const MAX_PARAM_ALIGN: u32 = 16;

/// A kernel or launch site about which the two disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The disagreement in one line.
    pub what: String,
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
/// [`Error::LayoutDiffers`] with every disagreement.
pub fn check(manifest: &Manifest, cubin: &CubinInfo) -> Result<()> {
    let mut differences = Vec::new();
    for kernel in &manifest.kernels {
        differences.extend(check_kernel(kernel, cubin));
    }
    for site in &manifest.launch_sites {
        differences.extend(check_site(site, manifest, cubin));
    }
    for global in &manifest.globals {
        let actual = cubin.global(&global.symbol).map(|g| g.size);
        if actual != Some(global.size) {
            differences.push(Difference {
                what: match actual {
                    Some(actual) => format!("it has {} bytes for the compiler and {actual} in the cubin", global.size),
                    None => "the cubin has no such variable".to_owned(),
                },
                subject: format!("global variable `{}`", global.symbol),
                rows: Vec::new(),
            });
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(Error::LayoutDiffers { differences }) }
}

fn check_kernel(kernel: &Kernel, cubin: &CubinInfo) -> Option<Difference> {
    let subject = format!("kernel `{}`", kernel.symbol);
    let Some(actual) = cubin.kernel(&kernel.symbol) else {
        return Some(Difference { what: "the cubin has no such kernel".to_owned(), subject, rows: Vec::new() });
    };
    let names: Vec<String> = kernel.params.iter().map(|p| format!("{}: {}", p.name, p.ty)).collect();
    let expected: Vec<(u32, u32)> = kernel.params.iter().map(|p| (p.offset, p.size)).collect();
    let mut what = compare(&expected, actual);
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
    what.map(|what| Difference { what, subject, rows: rows(&names, &expected, actual) })
}

fn check_site(site: &LaunchSite, manifest: &Manifest, cubin: &CubinInfo) -> Option<Difference> {
    let subject = format!("launch of `{}` in `{}` at {}:{}", site.kernel, site.function, site.file, site.line);
    let Some(actual) = cubin.kernel(&site.kernel) else {
        return Some(Difference { what: "the cubin has no such kernel".to_owned(), subject, rows: Vec::new() });
    };
    let params = manifest.kernel(&site.kernel).map_or(&[][..], |k| &k.params);
    let names: Vec<String> = params.iter().map(|p| format!("{}: {}", p.name, p.ty)).collect();
    let expected: Vec<(u32, u32)> = site.stores.iter().map(|s| (s.offset, s.size)).collect();
    compare(&expected, actual).map(|what| Difference { what, subject, rows: rows(&names, &expected, actual) })
}

/// The first disagreement.
fn compare(expected: &[(u32, u32)], actual: &cubin::Kernel) -> Option<String> {
    if expected.len() != actual.params.len() {
        return Some(format!("{} parameters for the compiler and {} in the cubin", expected.len(), actual.params.len()));
    }
    for (index, (&(offset, size), param)) in expected.iter().zip(&actual.params).enumerate() {
        if (offset, size) != (param.offset, param.size) {
            return Some(format!(
                "parameter {index} is {size} bytes at {offset} for the compiler and {} bytes at {} in the cubin",
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
    use crate::arch::Arch;
    use crate::manifest::{Global, Param, Store};

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
}
