//! The arguments that say how to compile; the same for every command that does.

use std::ffi::OsString;
use std::path::PathBuf;

use cdp_core::pass::MergeOptions;
use cdp_core::rules::{Level, Levels, lints};
use cdp_executor::cpu::{CpuOptions, Schedule};
use cdp_runtime::{Arch, Search};
use clap::ValueEnum as _;

/// From this optimisation level on launches are merged.
const MERGING_LEVEL: u8 = 2;

/// What is built for when nothing says otherwise.
const DEFAULT_ARCH: Arch = Arch::base(90);
/// The same for `--cdp=1`: code for it runs on sm_86 and sm_89, too.
const DEFAULT_ARCH_CDP1: Arch = Arch::base(80);

/// How to generate code.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Code generation")]
pub struct Compile {
    /// The GPU to compile for; without it sm_90 (sm_80 with `--cdp=1`), or the GPU that the program runs on
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
    /// Run many fire-and-forget launches of one kernel as one grid, and small ones in place; without it `on` from -O2 up, but off on the
    /// reference executor
    #[arg(long, value_name = "SWITCH")]
    pub launch_merging: Option<Switch>,
    /// Device memory for launches that wait to be merged, in MiB; what has no room there is launched as it is
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub merge_memory: u32,
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
    /// Which CUDA Dynamic Parallelism device code is compiled for
    #[arg(long, value_name = "VERSION", default_value = "2")]
    pub cdp: Cdp,
    /// Give `const NAME` of the program this value, or add it as a constant; without a value 1
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub define: Vec<String>,
    /// Which lints are wanted
    #[command(flatten)]
    pub lints: LintArgs,
}

impl Default for Meaning {
    fn default() -> Self {
        Self { fmad: true, cdp: Cdp::Two, define: Vec::new(), lints: LintArgs::default() }
    }
}

/// Levels of lints for the whole program; attributes in the source come first.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct LintArgs {
    /// Say nothing of a lint, by its name or code, or of all `warnings`
    #[arg(long, value_name = "LINT", value_parser = lint_name)]
    pub allow: Vec<String>,
    /// Warn of a lint again, where all are allowed or denied
    #[arg(long, value_name = "LINT", value_parser = lint_name)]
    pub warn: Vec<String>,
    /// Make errors of what a lint finds
    #[arg(long, value_name = "LINT", value_parser = lint_name)]
    pub deny: Vec<String>,
}

fn lint_name(name: &str) -> Result<String, String> {
    if Levels::new().set(name, Level::Warn) {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = lints().iter().map(|lint| lint.name).collect();
    Err(format!("there is no such lint; `warnings` stands for all of {}", names.join(", ")))
}

impl LintArgs {
    const fn lists(&self) -> [(&'static str, Level, &Vec<String>); 3] {
        [("allow", Level::Allow, &self.allow), ("warn", Level::Warn, &self.warn), ("deny", Level::Deny, &self.deny)]
    }

    /// The levels in force: `warnings` first, so that a lint's own name counts more; of the same, `deny` most and `allow` least.
    pub fn levels(&self) -> Levels {
        let mut levels = Levels::new();
        for all in [true, false] {
            for (_, level, names) in self.lists() {
                for name in names.iter().filter(|name| (*name == "warnings") == all) {
                    levels.set(name, level);
                }
            }
        }
        levels
    }

    /// The arguments that say the same to another process.
    fn arguments(&self) -> Vec<OsString> {
        let of = |(option, _, names): (&str, Level, &Vec<String>)| {
            names.iter().map(|name| format!("--{option}={name}").into()).collect::<Vec<OsString>>()
        };
        self.lists().into_iter().flat_map(of).collect()
    }
}

/// Where the CUDA toolkit is.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ToolkitArgs {
    /// Folder of the CUDA toolkit; without it CDPC_CUDA, CUDA_HOME, CUDA_PATH, .cuda and the usual places are searched
    #[arg(long, value_name = "DIR")]
    pub cuda: Option<PathBuf>,
}

/// How the reference executor runs device code. Asking for any of it asks for the reference executor.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Reference executor")]
pub struct Reference {
    /// In which order children, blocks and threads run where the language leaves it open; without it `late`
    #[arg(long, value_name = "ORDER", conflicts_with = "schedules")]
    pub schedule: Option<Order>,
    /// Run this many times: late, eager, then random with seeds from `--seed` on; the first failure is reported with a command line that
    /// shows it again
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub schedules: Option<u32>,
    /// Where the draw of random orders starts; the same seed gives the same run. Alone it asks for `--schedule random`
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Report accesses that race; without it programs run some times faster
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub races: bool,
    /// The most steps that all threads may take together
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
}

/// A switch that takes `true` or `false`, and stands for `true` alone.
macro_rules! leaks {
    ($name:ident, $default:literal) => {
        /// Whether to say what was never given back.
        #[derive(Clone, Copy, Debug, clap::Args)]
        pub struct $name {
            /// Say what memory, streams and events the program never gave back
            #[arg(long, value_name = "BOOL", default_value_t = $default, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
            pub leaks: bool,
        }
    };
}
leaks!(LeaksShown, true);
leaks!(LeaksHidden, false);

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

/// A version of CUDA Dynamic Parallelism.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Cdp {
    /// CDP1: for GPUs below sm_90; device code can wait for its children
    #[value(name = "1")]
    One,
    /// CDP2: tail and fire-and-forget launches
    #[default]
    #[value(name = "2")]
    Two,
}

impl From<Cdp> for cdp_core::builtins::Cdp {
    fn from(cdp: Cdp) -> Self {
        match cdp {
            Cdp::One => Self::Cdp1,
            Cdp::Two => Self::Cdp2,
        }
    }
}

/// Something that is done or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    /// Done
    On,
    /// Not done
    Off,
}

impl Compile {
    /// How launches are merged in code for a GPU; none for not at all. Merged launches are drained by tail launches, which CDP1 has not.
    pub fn merging(&self) -> Option<MergeOptions> {
        let default = self.level >= MERGING_LEVEL && self.meaning.cdp == Cdp::Two;
        self.merging_or(default)
    }

    /// The same for the reference executor, which runs the program as it is written unless it is told to merge.
    pub fn merging_on_executor(&self) -> Option<MergeOptions> {
        self.merging_or(false).map(MergeOptions::on_executor)
    }

    fn merging_or(&self, default: bool) -> Option<MergeOptions> {
        let memory = u64::from(self.merge_memory) << 20;
        let merges = self.launch_merging.map_or(default, |switch| switch == Switch::On);
        merges.then(|| MergeOptions { memory, ..MergeOptions::default() })
    }

    /// The target.
    ///
    /// # Errors
    /// When there is no such architecture; the error lists those there are.
    pub fn arch(&self) -> Result<Arch, cdp_runtime::Error> {
        let cdp1 = self.meaning.cdp == Cdp::One;
        let default = if cdp1 { DEFAULT_ARCH_CDP1 } else { DEFAULT_ARCH };
        let arch: Arch = self.arch.as_deref().map_or(Ok(default), str::parse)?;
        if cdp1 { arch.check_cdp1() } else { Ok(arch) }
    }

    /// The arguments that make another process compile alike.
    pub fn arguments(&self) -> Vec<OsString> {
        let launch_abi = self.launch_abi.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let mut list: Vec<OsString> = vec![
            format!("-O{}", self.level).into(),
            format!("--launch-abi={launch_abi}").into(),
            format!("--merge-memory={}", self.merge_memory).into(),
            format!("--max-param-bytes={}", self.max_param_bytes).into(),
        ];
        list.extend(
            self.launch_merging
                .and_then(|switch| switch.to_possible_value())
                .map(|value| format!("--launch-merging={}", value.get_name()).into()),
        );
        list.extend(self.meaning.arguments());
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
    /// Which of these arguments were given that only the reference executor understands; the first one's name.
    pub fn asked(&self) -> Option<&'static str> {
        let given = [
            (self.schedule.is_some(), "--schedule"),
            (self.schedules.is_some(), "--schedules"),
            (self.seed.is_some(), "--seed"),
            (self.max_steps.is_some(), "--max-steps"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }

    /// The orders to run in, one after the other.
    pub fn schedules(&self) -> Vec<Schedule> {
        let seed = self.seed.unwrap_or(0);
        let Some(count) = self.schedules else {
            return vec![match self.schedule {
                Some(Order::Random) => Schedule::Random { seed },
                None if self.seed.is_some() => Schedule::Random { seed },
                Some(Order::Eager) => Schedule::Eager,
                Some(Order::Late) | None => Schedule::Late,
            }];
        };
        let drawn = (0..).map(|more| Schedule::Random { seed: seed.wrapping_add(more) });
        [Schedule::Late, Schedule::Eager].into_iter().chain(drawn).take(count as usize).collect()
    }

    /// As the executor wants it.
    pub fn options(&self, schedule: Schedule) -> CpuOptions {
        CpuOptions { max_steps: self.max_steps, schedule, races: self.races, ..CpuOptions::default() }
    }

    /// The arguments that make another process run alike.
    pub fn arguments(&self) -> Vec<OsString> {
        let order = self.schedule.and_then(|order| order.to_possible_value());
        let mut list: Vec<OsString> = self.limits();
        list.extend(order.map(|order| format!("--schedule={}", order.get_name()).into()));
        list.extend(self.schedules.map(|count| format!("--schedules={count}").into()));
        list.extend(self.seed.map(|seed| format!("--seed={seed}").into()));
        list
    }

    /// The arguments that make another process run alike, but in one order.
    pub fn arguments_for(&self, schedule: Schedule) -> Vec<OsString> {
        let mut list: Vec<OsString> = match schedule {
            Schedule::Late => vec!["--schedule=late".into()],
            Schedule::Eager => vec!["--schedule=eager".into()],
            Schedule::Random { seed } => vec!["--schedule=random".into(), format!("--seed={seed}").into()],
        };
        list.extend(self.limits());
        list
    }

    fn limits(&self) -> Vec<OsString> {
        let races = (!self.races).then(|| "--races=false".into());
        races.into_iter().chain(self.max_steps.map(|steps| format!("--max-steps={steps}").into())).collect()
    }
}

/// A schedule in words.
pub fn describe(schedule: Schedule) -> String {
    match schedule {
        Schedule::Late => "children as late as they may be".to_owned(),
        Schedule::Eager => "children at once".to_owned(),
        Schedule::Random { seed } => format!("an order drawn from seed {seed}"),
    }
}

impl Meaning {
    /// The arguments that give another process the same program, where they are not what holds anyway.
    pub fn arguments(&self) -> Vec<OsString> {
        let fmad = (!self.fmad).then(|| "--fmad=false".into());
        let cdp = (self.cdp == Cdp::One).then(|| "--cdp=1".into());
        let define = self.define.iter().map(|define| format!("-D{define}").into());
        fmad.into_iter().chain(cdp).chain(define).chain(self.lints.arguments()).collect()
    }

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
        #[command(flatten)]
        reference: Reference,
    }

    #[test]
    fn another_process_compiles_alike() {
        let lines: [&[&str]; 3] = [
            &["x"],
            &[
                "x",
                "-O1",
                "--fmad=false",
                "-DN=4",
                "-DFAST",
                "--ftz",
                "--launch-abi=v2",
                "--cdp=1",
                "--arch",
                "sm_100a",
                "--cuda",
                "/a b",
            ],
            &[
                "x",
                "--fast-math",
                "--lineinfo",
                "--max-param-bytes",
                "8192",
                "--fmad",
                "--launch-merging=on",
                "--merge-memory=8",
            ],
        ];
        for line in lines {
            let first = Only::try_parse_from(line).unwrap().compile;
            let again = std::iter::once("x".into()).chain(first.arguments());
            assert_eq!(format!("{:?}", Only::try_parse_from(again).unwrap().compile), format!("{first:?}"));
        }
    }

    #[test]
    fn another_process_runs_alike() {
        for line in
            [&["x"][..], &["x", "--schedules=5", "--seed=7"], &["x", "--schedule", "eager", "--races=false", "--max-steps=9"]]
        {
            let first = Only::try_parse_from(line).unwrap().reference;
            let again = std::iter::once("x".into()).chain(first.arguments());
            assert_eq!(format!("{:?}", Only::try_parse_from(again).unwrap().reference), format!("{first:?}"));
            for schedule in first.schedules() {
                let one = std::iter::once("x".into()).chain(first.arguments_for(schedule));
                let one = Only::try_parse_from(one).unwrap().reference;
                assert_eq!((one.schedules(), one.races, one.max_steps), (vec![schedule], first.races, first.max_steps));
            }
        }
    }

    #[test]
    fn schedules_are_late_eager_and_drawn() {
        let schedules = |line: &[&str]| Only::try_parse_from(line).unwrap().reference.schedules();
        let drawn = |seed| Schedule::Random { seed };
        assert_eq!(schedules(&["x"]), [Schedule::Late]);
        assert_eq!(schedules(&["x", "--seed=4"]), [drawn(4)]);
        assert_eq!(schedules(&["x", "--schedules=4", "--seed=8"]), [Schedule::Late, Schedule::Eager, drawn(8), drawn(9)]);
        assert!(Only::try_parse_from(["x", "--schedules=4", "--schedule=late"]).is_err());
    }
}
