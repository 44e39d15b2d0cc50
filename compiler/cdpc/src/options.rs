//! The arguments that say how to compile; the same for every command that does.

use std::ffi::OsString;
use std::path::PathBuf;

use cdp_executor::cpu::{CpuOptions, Schedule};
use cdp_runtime::{Arch, Search};
use clap::ValueEnum as _;

/// What is built for when nothing says otherwise.
const DEFAULT_ARCH: Arch = Arch::base(90);

/// How to generate code.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Code generation")]
pub struct Compile {
    /// The GPU to compile for; without it sm_90, or the GPU that the program runs on
    #[arg(long, value_name = "sm_NN")]
    pub arch: Option<String>,
    /// Optimisation level
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub level: u8,
    /// Keep line tables, for debuggers and profilers
    #[arg(long)]
    pub lineinfo: bool,
    /// What the source means beyond its text
    #[command(flatten)]
    pub meaning: Meaning,
    /// Flush denormal `f32` values to zero
    #[arg(long)]
    pub ftz: bool,
    /// Fast, less exact `f32` division, square root and functions; implies `--ftz`
    #[arg(long)]
    pub fast_math: bool,
    /// Which device runtime calls a launch becomes; `auto` takes the faster V1 where it is right
    #[arg(long, value_name = "ABI", default_value = "auto")]
    pub launch_abi: LaunchAbi,
    /// The most parameter bytes of a kernel that is launched from the device
    #[arg(long, value_name = "BYTES", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=32764))]
    pub max_param_bytes: u32,
    /// Where the CUDA toolkit is; `cdpc doctor` shows where it is searched
    #[command(flatten)]
    pub toolkit: ToolkitArgs,
}

/// What decides a program's meaning beside its text.
#[derive(Clone, Debug, clap::Args)]
pub struct Meaning {
    /// Fuse `a * b + c` inside one expression into one operation with one rounding
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub fmad: bool,
    /// Give `const NAME` of the program this value, or add it as a constant; without a value 1
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub define: Vec<String>,
}

/// Where the CUDA toolkit is.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ToolkitArgs {
    /// Folder of the CUDA toolkit; without it CDPC_CUDA, CUDA_HOME, CUDA_PATH, .cuda and the usual places are searched
    #[arg(long, value_name = "DIR")]
    pub cuda: Option<PathBuf>,
}

/// How the reference executor runs device code; a GPU takes no notice.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Reference executor")]
pub struct Reference {
    /// In which order children, blocks and threads run where the language leaves it open
    #[arg(long, value_name = "ORDER", default_value = "late")]
    pub schedule: Order,
    /// Where the draw of `--schedule random` starts; the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Report accesses that race; without it programs run some times faster
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub races: bool,
    /// The most steps that all threads may take together
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
}

/// An order that the language leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// A child runs when the threads of its parent have ended
    #[default]
    Late,
    /// A child runs within its launch
    Eager,
    /// Drawn from the seed
    Random,
}

/// Which device runtime calls a launch becomes (guide 4.18.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LaunchAbi {
    /// V1 where the stream is known to be the NULL stream or a named one, else V2
    #[default]
    Auto,
    /// `cudaGetParameterBuffer` and `cudaLaunchDevice`
    V1,
    /// `cudaGetParameterBufferV2` and `cudaLaunchDeviceV2`
    V2,
}

impl Compile {
    /// The target.
    ///
    /// # Errors
    /// When there is no such architecture; the error lists those there are.
    pub fn arch(&self) -> Result<Arch, cdp_runtime::Error> {
        self.arch.as_deref().map_or(Ok(DEFAULT_ARCH), str::parse)
    }

    /// The arguments that make another process compile alike.
    pub fn arguments(&self) -> Vec<OsString> {
        let launch_abi = self.launch_abi.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let mut list: Vec<OsString> = vec![
            format!("-O{}", self.level).into(),
            format!("--fmad={}", self.meaning.fmad).into(),
            format!("--launch-abi={launch_abi}").into(),
            format!("--max-param-bytes={}", self.max_param_bytes).into(),
        ];
        list.extend(self.meaning.define.iter().map(|define| format!("-D{define}").into()));
        list.extend(self.arch.iter().map(|arch| format!("--arch={arch}").into()));
        let switches = [(self.lineinfo, "--lineinfo"), (self.ftz, "--ftz"), (self.fast_math, "--fast-math")];
        list.extend(switches.into_iter().filter(|(on, _)| *on).map(|(_, name)| name.into()));
        if let Some(folder) = &self.toolkit.cuda {
            list.push("--cuda".into());
            list.push(folder.into());
        }
        list
    }
}

impl Reference {
    /// As the executor wants it.
    pub fn options(&self) -> CpuOptions {
        let schedule = match self.schedule {
            Order::Late => Schedule::Late,
            Order::Eager => Schedule::Eager,
            Order::Random => Schedule::Random { seed: self.seed },
        };
        CpuOptions { max_steps: self.max_steps, schedule, races: self.races, ..CpuOptions::default() }
    }

    /// The arguments that make another process run alike.
    pub fn arguments(&self) -> Vec<OsString> {
        let order = self.schedule.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let mut list: Vec<OsString> = vec![
            format!("--schedule={order}").into(),
            format!("--seed={}", self.seed).into(),
            format!("--races={}", self.races).into(),
        ];
        list.extend(self.max_steps.iter().map(|steps| format!("--max-steps={steps}").into()));
        list
    }
}

impl Meaning {
    /// Names and values of the constants from outside.
    pub fn defines(&self) -> Vec<(String, String)> {
        let pair = |define: &String| match define.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (define.clone(), "1".to_owned()),
        };
        self.define.iter().map(pair).collect()
    }
}

impl ToolkitArgs {
    /// Where to search.
    pub fn search(&self) -> Search {
        Search::from_environment().with_explicit(self.cuda.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Only {
        #[command(flatten)]
        compile: Compile,
    }

    #[test]
    fn another_process_compiles_alike() {
        let lines: [&[&str]; 3] = [
            &["x"],
            &["x", "-O1", "--fmad=false", "-DN=4", "-DFAST", "--ftz", "--launch-abi=v2", "--arch", "sm_100a", "--cuda", "/a b"],
            &["x", "--fast-math", "--lineinfo", "--max-param-bytes", "8192", "--fmad"],
        ];
        for line in lines {
            let first = Only::try_parse_from(line).unwrap().compile;
            let again = std::iter::once("x".into()).chain(first.arguments());
            assert_eq!(format!("{:?}", Only::try_parse_from(again).unwrap().compile), format!("{first:?}"));
        }
    }
}
