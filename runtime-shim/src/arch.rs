//! GPU architectures that can be built for, and the CUDA and PTX versions each needs.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A version with two parts, of CUDA or of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Before the point.
    pub major: u32,
    /// After it.
    pub minor: u32,
}

impl Version {
    /// `major.minor`.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// From CUDA's way of counting: 13000 is 13.0, 12090 is 12.9.
    #[must_use]
    pub const fn from_cuda_number(number: u32) -> Self {
        Self { major: number / 1000, minor: number % 1000 / 10 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What beside the base instructions the code may use, and so where else it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Features {
    /// `sm_90`: runs on every GPU of the same major version and a minor version at least as high.
    Base,
    /// `sm_100f`: features of the family.
    Family,
    /// `sm_90a`: features of this architecture; runs on it alone.
    Specific,
}

/// A real architecture, `sm_NN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    /// Ten times the major compute capability plus the minor: 90, 121.
    pub sm: u32,
    /// The letter behind it.
    pub features: Features,
}

impl Arch {
    /// The base architecture, `sm_90` for 90.
    #[must_use]
    pub const fn base(sm: u32) -> Self {
        Self { sm, features: Features::Base }
    }

    /// The lowest PTX version that knows this target; `None` for an architecture that this crate does not know.
    #[must_use]
    pub fn min_ptx(self) -> Option<Version> {
        TABLE.iter().find(|row| row.arch() == self).map(|row| row.ptx)
    }

    /// `self`, where CDP1 exists: below sm_90.
    ///
    /// # Errors
    /// [`Error::Cdp1Arch`].
    pub const fn check_cdp1(self) -> Result<Self> {
        if self.sm < 90 { Ok(self) } else { Err(Error::Cdp1Arch { arch: self }) }
    }

    /// Whether a cubin for `self` runs on a GPU of architecture `gpu` (a base one).
    /// The rule of the programming guide: same major version, minor not lower; with `a` the very same; with `f` the same family,
    /// which here is the same major version too; `sm_87` and `sm_88`, the integrated ones, stand alone.
    #[must_use]
    pub const fn runs_on(self, gpu: Self) -> bool {
        match self.features {
            _ if matches!(self.sm, 87 | 88) || matches!(gpu.sm, 87 | 88) => self.sm == gpu.sm,
            Features::Specific => self.sm == gpu.sm,
            Features::Base | Features::Family => self.sm / 10 == gpu.sm / 10 && self.sm <= gpu.sm,
        }
    }

    /// Every architecture that nvJitLink of CUDA `toolkit` accepts, lowest first.
    /// nvJitLink has no call that lists them; the table was checked against the library (`tests/link.rs` does it again).
    #[must_use]
    pub fn supported_by(toolkit: Version) -> Vec<Self> {
        TABLE
            .iter()
            .filter(|row| row.since <= toolkit && row.until.is_none_or(|until| toolkit < until))
            .map(Row::arch)
            .collect()
    }

    /// All that any supported toolkit can build for.
    #[must_use]
    pub fn all() -> Vec<Self> {
        TABLE.iter().map(Row::arch).collect()
    }

    /// `self`, where `toolkit` can build for it.
    ///
    /// # Errors
    /// [`Error::UnsupportedArch`] with the list.
    pub fn check(self, toolkit: Version) -> Result<Self> {
        let supported = Self::supported_by(toolkit);
        if supported.contains(&self) {
            return Ok(self);
        }
        Err(Error::UnsupportedArch { asked: self.to_string(), supported: names(&supported), toolkit: Some(toolkit) })
    }
}

fn names(list: &[Arch]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.features {
            Features::Base => "",
            Features::Family => "f",
            Features::Specific => "a",
        };
        write!(f, "sm_{}{letter}", self.sm)
    }
}

impl FromStr for Arch {
    type Err = Error;

    /// `sm_90`, `sm_90a`, `sm_100f`; the `sm_` may be left out.
    fn from_str(text: &str) -> Result<Self> {
        let unsupported = || Error::UnsupportedArch {
            asked: text.to_owned(),
            supported: names(&Self::supported_by(Version::new(13, 0))),
            toolkit: None,
        };
        let digits = text.strip_prefix("sm_").unwrap_or(text);
        let (digits, features) = match (digits.strip_suffix('a'), digits.strip_suffix('f')) {
            (Some(rest), _) => (rest, Features::Specific),
            (None, Some(rest)) => (rest, Features::Family),
            (None, None) => (digits, Features::Base),
        };
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(unsupported());
        }
        let sm = digits.parse().map_err(|_| unsupported())?;
        let arch = Self { sm, features };
        if TABLE.iter().any(|row| row.arch() == arch) { Ok(arch) } else { Err(unsupported()) }
    }
}

struct Row {
    sm: u32,
    features: Features,
    since: Version,
    until: Option<Version>,
    ptx: Version,
}

impl Row {
    const fn arch(&self) -> Arch {
        Arch { sm: self.sm, features: self.features }
    }
}

const fn row(sm: u32, features: Features, since: (u32, u32), ptx: (u32, u32)) -> Row {
    Row { sm, features, since: Version::new(since.0, since.1), until: None, ptx: Version::new(ptx.0, ptx.1) }
}

// nvJitLink begins with CUDA 12.0. `sm_101` was renamed to `sm_110` in CUDA 13.0.
const TABLE: &[Row] = &[
    Row { until: Some(Version::new(13, 0)), ..row(70, Features::Base, (12, 0), (6, 0)) },
    Row { until: Some(Version::new(13, 0)), ..row(72, Features::Base, (12, 0), (6, 1)) },
    row(75, Features::Base, (12, 0), (6, 3)),
    row(80, Features::Base, (12, 0), (7, 0)),
    row(86, Features::Base, (12, 0), (7, 1)),
    row(87, Features::Base, (12, 0), (7, 4)),
    row(88, Features::Base, (13, 0), (9, 0)),
    row(89, Features::Base, (12, 0), (7, 8)),
    row(90, Features::Base, (12, 0), (7, 8)),
    row(90, Features::Specific, (12, 0), (8, 0)),
    row(100, Features::Base, (12, 8), (8, 6)),
    row(100, Features::Family, (12, 9), (8, 8)),
    row(100, Features::Specific, (12, 8), (8, 6)),
    row(103, Features::Base, (12, 9), (8, 8)),
    row(103, Features::Family, (12, 9), (8, 8)),
    row(103, Features::Specific, (12, 9), (8, 8)),
    row(110, Features::Base, (13, 0), (9, 0)),
    row(110, Features::Family, (13, 0), (9, 0)),
    row(110, Features::Specific, (13, 0), (9, 0)),
    row(120, Features::Base, (12, 8), (8, 7)),
    row(120, Features::Family, (12, 9), (8, 8)),
    row(120, Features::Specific, (12, 8), (8, 7)),
    row(121, Features::Base, (12, 9), (8, 8)),
    row(121, Features::Family, (12, 9), (8, 8)),
    row(121, Features::Specific, (12, 9), (8, 8)),
];

/// The CUDA version whose assembler is the first to know this PTX version; `None` before PTX 6.0 and after 9.0.
#[must_use]
pub fn cuda_of_ptx(ptx: Version) -> Option<Version> {
    let cuda = match (ptx.major, ptx.minor) {
        (6, minor @ 0..=2) => (9, minor),
        (6, minor @ 3..=5) => (10, minor - 3),
        (7, minor @ 0..=8) => (11, minor),
        (8, minor @ 0..=5) => (12, minor),
        // CUDA 12.7 was PTX 8.6's first
        (8, minor @ 6..=8) => (12, minor + 1),
        (9, 0) => (13, 0),
        _ => return None,
    };
    Some(Version::new(cuda.0, cuda.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_printed_alike() {
        for arch in Arch::all() {
            assert_eq!(arch.to_string().parse::<Arch>().unwrap(), arch);
        }
        assert_eq!("90".parse::<Arch>().unwrap(), Arch::base(90));
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        for bad in ["sm_20", "sm_", "", "banana", "sm_90b", "sm_+90", "sm_4294967386", "compute_90", "sm_75a", "a", "sm_90af"] {
            let error = bad.parse::<Arch>().unwrap_err();
            assert_eq!(error.code(), "E0622", "{bad}");
            assert!(error.notes()[0].contains("sm_75") && error.notes()[0].contains("sm_121"), "{error}");
        }
    }

    #[test]
    fn binary_compatibility() {
        assert!(Arch::base(80).runs_on(Arch::base(86)));
        assert!(!Arch::base(86).runs_on(Arch::base(80)));
        assert!(!Arch::base(80).runs_on(Arch::base(90)));
        assert!(!Arch { sm: 100, features: Features::Specific }.runs_on(Arch::base(103)));
        assert!(Arch::base(120).runs_on(Arch::base(121)));
        assert!(!Arch::base(86).runs_on(Arch::base(87)));
    }

    #[test]
    fn cuda_counts() {
        assert_eq!(Version::from_cuda_number(12090), Version::new(12, 9));
        assert_eq!(cuda_of_ptx(Version::new(8, 7)), Some(Version::new(12, 8)));
        assert_eq!(cuda_of_ptx(Version::new(5, 0)), None);
    }
}
