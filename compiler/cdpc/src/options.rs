//! The arguments that say how to compile; the same for every command that does.

use std::path::PathBuf;

use cdp_runtime::{Arch, Search};

/// How to generate code.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Code generation")]
pub struct Compile {
    /// The GPU to compile for; `sm_90` runs on every GPU of compute capability 9.x
    #[arg(long, value_name = "sm_NN", default_value = "sm_90")]
    pub arch: String,
    /// Optimisation level
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub level: u8,
    /// Keep line tables, for debuggers and profilers
    #[arg(long)]
    pub lineinfo: bool,
    /// Fuse `a * b + c` inside one expression into one operation with one rounding
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub fmad: bool,
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

/// Where the CUDA toolkit is.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ToolkitArgs {
    /// Folder of the CUDA toolkit; without it CDPC_CUDA, CUDA_HOME, CUDA_PATH, .cuda and the usual places are searched
    #[arg(long, value_name = "DIR")]
    pub cuda: Option<PathBuf>,
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
        self.arch.parse()
    }
}

impl ToolkitArgs {
    /// Where to search.
    pub fn search(&self) -> Search {
        Search::from_environment().with_explicit(self.cuda.clone())
    }
}
