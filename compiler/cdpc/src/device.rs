//! What programs run on: a GPU or the reference executor.

use std::fmt;
use std::str::FromStr;

use cdp_runtime::gpu::Driver;

use crate::failure::{Failure, Result};
use crate::options::Compile;

/// What to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A GPU where one is, else the reference executor.
    Auto,
    /// The GPU with this number.
    Gpu(i32),
    /// The reference executor.
    Cpu,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "gpu" => Ok(Self::Gpu(0)),
            _ => {
                let number = text.strip_prefix("gpu:").and_then(|digits| digits.parse().ok()).filter(|number| *number >= 0);
                number.map(Self::Gpu).ok_or_else(|| "known are `auto`, `gpu`, `gpu:N` and `cpu`".to_owned())
            }
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Gpu(number) => write!(f, "gpu:{number}"),
            Self::Cpu => f.write_str("cpu"),
        }
    }
}

impl Choice {
    /// `auto` decided; `asked` is an argument that was given and that only the reference executor understands.
    ///
    /// # Errors
    /// When that and a GPU were asked for.
    pub fn resolve(self, asked: Option<&str>) -> Result<Self> {
        Ok(match (self, asked) {
            (Self::Gpu(_), Some(name)) => {
                let text = format!("`{name}` is for the reference executor, and a GPU was asked for");
                return Err(Failure::usage(text).help("leave `--device` out, or say `--device cpu`"));
            }
            (Self::Auto, Some(_)) => Self::Cpu,
            (Self::Auto, None) => match Driver::open().and_then(Driver::devices) {
                Ok(devices) if !devices.is_empty() => Self::Gpu(0),
                _ => Self::Cpu,
            },
            (decided, _) => decided,
        })
    }

    /// Whether a cubin is needed.
    pub const fn is_gpu(self) -> bool {
        matches!(self, Self::Gpu(_))
    }

    /// For people.
    ///
    /// # Errors
    /// When there is no such GPU.
    pub fn describe(self) -> Result<String> {
        Ok(match self {
            Self::Gpu(number) => {
                let device = Driver::open()?.device(number)?;
                format!("GPU {number}, {}, {}", device.name, device.arch())
            }
            Self::Auto | Self::Cpu => "the reference executor".to_owned(),
        })
    }

    /// How to compile for it: for the GPU at hand, unless the user named an architecture.
    ///
    /// # Errors
    /// When there is no such GPU.
    pub fn compile(self, asked: &Compile) -> Result<Compile> {
        let mut compile = asked.clone();
        if let (Self::Gpu(number), None) = (self, &compile.arch) {
            compile.arch = Some(Driver::open()?.device(number)?.arch().to_string());
        }
        Ok(compile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_and_printed_alike() {
        for text in ["auto", "cpu", "gpu:0", "gpu:3"] {
            assert_eq!(text.parse::<Choice>().unwrap().to_string(), text);
        }
        assert_eq!("gpu".parse(), Ok(Choice::Gpu(0)));
        for text in ["", "gpu:", "gpu:-1", "tpu", "gpu:99999999999"] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }
}
