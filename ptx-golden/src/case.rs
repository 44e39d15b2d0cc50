//! Cases: sources with an optional first line `// options: -O0 --launch-abi=v2`.

use cdp_backend::Target;
use cdp_core::builtins::Cdp;
use cdp_core::pass::LaunchAbi;
use cdp_core::types::layout::PointerWidth;
use std::fs;
use std::path::Path;

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file's name without `.cdp`.
    pub name: String,
    /// The whole source.
    pub text: String,
    /// How it is compiled.
    pub options: Options,
}

/// How a case is compiled, in the command line's words.
#[derive(Clone, Debug)]
pub struct Options {
    /// `-O0` to `-O3`
    pub opt_level: u8,
    /// `--arch=sm_80`: the oldest of the architectures that ptxas is asked for, so that all of them take the PTX.
    pub target: Target,
    /// `--launch-abi=auto|v1|v2`
    pub launch_abi: LaunchAbi,
    /// `--lineinfo`
    pub lineinfo: bool,
    /// `--ftz`
    pub ftz: bool,
    /// `--fast-math`
    pub fast_math: bool,
    /// `--fmad=true|false`
    pub fmad: bool,
    /// `--address-size=32|64`
    pub width: PointerWidth,
    /// `--cdp=1|2`
    pub cdp: Cdp,
    /// `--launch-merging=on`; the PTX is put through ptxas for every architecture that has dynamic parallelism.
    pub launch_merging: bool,
    /// `--function=NAME`: the golden PTX is of these only, for what is merged brings many functions of its own.
    pub functions: Vec<String>,
}

impl Options {
    /// Reads the words of an `// options:` line.
    ///
    /// # Errors
    /// For a word that is no option here.
    pub fn read(words: &str) -> Result<Self, String> {
        let mut options = Self {
            opt_level: 3,
            target: target("sm_80")?,
            launch_abi: LaunchAbi::Auto,
            lineinfo: false,
            ftz: false,
            fast_math: false,
            fmad: true,
            width: PointerWidth::W64,
            cdp: Cdp::Cdp2,
            launch_merging: false,
            functions: Vec::new(),
        };
        for word in words.split_whitespace() {
            match word {
                "-O0" => options.opt_level = 0,
                "-O1" => options.opt_level = 1,
                "-O2" => options.opt_level = 2,
                "-O3" => options.opt_level = 3,
                "--launch-abi=v1" => options.launch_abi = LaunchAbi::V1,
                "--launch-abi=v2" => options.launch_abi = LaunchAbi::V2,
                "--cdp=1" => options.cdp = Cdp::Cdp1,
                "--lineinfo" => options.lineinfo = true,
                "--ftz" => options.ftz = true,
                "--fast-math" => options.fast_math = true,
                "--fmad=false" => options.fmad = false,
                "--launch-merging=on" => options.launch_merging = true,
                "--address-size=32" => options.width = PointerWidth::W32,
                word => match word.split_once('=') {
                    Some(("--arch", arch)) => options.target = target(arch)?,
                    Some(("--function", name)) => options.functions.push(name.to_owned()),
                    _ => return Err(format!("`{word}` is no option of a case")),
                },
            }
        }
        Ok(options)
    }
}

fn target(name: &str) -> Result<Target, String> {
    Target::new(name).map_err(|error| error.to_string())
}

/// Every case, sorted by name.
///
/// # Errors
/// When a file cannot be read or its options not understood.
pub fn cases() -> Result<Vec<Case>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut result = Vec::new();
    for entry in fs::read_dir(&folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.extension().is_none_or(|extension| extension != "cdp") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let words = text.lines().next().and_then(|line| line.strip_prefix("// options:")).unwrap_or("");
        let options = Options::read(words).map_err(|error| format!("{}: {error}", path.display()))?;
        result.push(Case { name, text, options });
    }
    result.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(result)
}
