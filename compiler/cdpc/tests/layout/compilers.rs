//! The three compilers: signatures in, parameter tables and PTX out.

use super::common;
use super::print::{self, Language};
use super::signature::{Range, Signature};
use cdp_runtime::link::{LinkOptions, Linker};
use cdp_runtime::toolkit::{Component, Search, Toolkit};
use cdp_runtime::{Arch, CubinInfo, Manifest};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The architectures that nvcc's PTX is assembled for; their parameters begin at three different places in the constant bank.
const ARCHS: [u32; 5] = [75, 80, 90, 100, 120];

pub struct Compilers {
    linker: Linker,
    nvcc: Option<PathBuf>,
    clang: Option<PathBuf>,
}

/// What one compiler made of a list of signatures.
pub struct Module {
    pub name: String,
    /// Not cdpc's.
    pub is_foreign: bool,
    /// Larger parameters are copied in a loop, so that the offsets of the stores are in registers.
    pub largest_stored: u32,
    pub ptx: String,
    manifest: Option<Manifest>,
    cubins: Vec<CubinInfo>,
}

impl Module {
    /// Offsets and sizes of a kernel's parameters, from each source that this module has.
    pub fn tables(&self, kernel: &str) -> Result<Vec<(String, Vec<Range>)>, String> {
        let mut tables = Vec::new();
        if let Some(manifest) = &self.manifest {
            let kernel = manifest.kernel(kernel).ok_or_else(|| format!("{}: no `{kernel}` in the manifest", self.name))?;
            tables.push((format!("{}, manifest", self.name), kernel.params.iter().map(|p| (p.offset, p.size)).collect()));
        }
        for cubin in &self.cubins {
            let name = format!("{}, cubin for {}", self.name, cubin.arch);
            let kernel = cubin.kernel(kernel).ok_or_else(|| format!("{name}: no `{kernel}`"))?;
            tables.push((name, kernel.params.iter().map(|p| (p.offset, p.size)).collect()));
        }
        Ok(tables)
    }
}

impl Compilers {
    /// nvcc and clang take part where they are installed.
    pub fn find() -> Self {
        let mut search = Search::from_environment();
        search.explicit = common::toolkit().or(search.explicit);
        let toolkit = Toolkit::find_with(&search);
        let nvcc = toolkit.get(Component::Nvcc).map(|found| found.path.clone());
        let linker = Linker::new(toolkit).expect("a CUDA toolkit (`make setup`)");
        let clang = Some(PathBuf::from("/usr/lib/llvm-22/bin/clang-22")).filter(|path| path.exists());
        let compilers = Self { linker, nvcc, clang };
        // what fails here has nothing to do with signatures
        let simplest = [Signature::default()];
        let foreign = [compilers.nvcc(&simplest), compilers.clang(&simplest)];
        let results = foreign.into_iter().flatten().chain([compilers.cdpc(&simplest, "sm_90", "v1")]);
        results.for_each(|result| drop(result.unwrap_or_else(|why| panic!("{why}"))));
        compilers
    }

    pub fn names(&self) -> String {
        let present = |name: &str, path: &Option<PathBuf>| format!("{}{name}", if path.is_some() { "" } else { "no " });
        format!("cdpc, {}, {}, {} architectures", present("nvcc", &self.nvcc), present("clang", &self.clang), ARCHS.len())
    }

    /// PTX, manifest and cubin by `cdpc build`.
    pub fn cdpc(&self, signatures: &[Signature], arch: &str, abi: &str) -> Result<Module, String> {
        let place = common::Place::new();
        place.write("a.cdp", print::module(signatures, Language::Cdp));
        let line = format!("build --arch {arch} --launch-abi {abi} --emit=ptx,layout,cubin a.cdp");
        let ran = place.run_with_toolkit(&line);
        let name = format!("cdpc {arch} {abi}");
        if ran.code != Some(0) {
            return Err(format!("{name}: {}", ran.err));
        }
        let manifest = Manifest::from_json(&read(&place.path("a.json"))?).map_err(|e| e.to_string())?;
        let cubin = std::fs::read(place.path("a.cubin")).map_err(|e| e.to_string())?;
        let cubin = CubinInfo::parse(&cubin).map_err(|e| e.to_string())?;
        Ok(Module {
            name,
            is_foreign: false,
            largest_stored: u32::MAX,
            ptx: read(&place.path("a.ptx"))?,
            manifest: Some(manifest),
            cubins: vec![cubin],
        })
    }

    /// PTX by nvcc, assembled for each architecture.
    pub fn nvcc(&self, signatures: &[Signature]) -> Option<Result<Module, String>> {
        let nvcc = self.nvcc.as_ref()?;
        let place = common::Place::new();
        place.write("a.cu", print::module(signatures, Language::Cxx));
        let mut command = Command::new(nvcc);
        command.args(["-ccbin", "gcc", "-ptx", "-rdc=true", "-arch=sm_75", "a.cu", "-o", "a.ptx"]);
        Some(compiled("nvcc", command, &place).and_then(|ptx| {
            let link = |sm| {
                let options = LinkOptions { device_runtime: true, ..LinkOptions::new(Arch::base(sm)) };
                let cubin = self.linker.link_ptx(&ptx, &options).map_err(|e| format!("nvcc's PTX: {e}"))?;
                CubinInfo::parse(&cubin.bytes).map_err(|e| e.to_string())
            };
            let cubins = ARCHS.into_iter().map(link).collect::<Result<_, String>>()?;
            Ok(Module { name: "nvcc".to_owned(), is_foreign: true, largest_stored: 127, ptx, manifest: None, cubins })
        }))
    }

    /// PTX by clang, with the headers beside nvcc.
    pub fn clang(&self, signatures: &[Signature]) -> Option<Result<Module, String>> {
        let (clang, nvcc) = (self.clang.as_ref()?, self.nvcc.as_ref()?);
        // bin/nvcc and include are neighbours
        let include = nvcc.ancestors().nth(2)?.join("include");
        let place = common::Place::new();
        place.write("a.cu", print::module(signatures, Language::Cxx));
        let mut command = Command::new(clang);
        command.args([
            "-x",
            "cuda",
            "--cuda-device-only",
            "--cuda-gpu-arch=sm_80",
            "--cuda-feature=+ptx80",
            "-fgpu-rdc",
            "-S",
            "-O2",
        ]);
        command.args(["-nocudainc", "-nocudalib", "-Wno-unknown-cuda-version", "-I"]).arg(include);
        command.args(["a.cu", "-o", "a.ptx"]);
        let module = |ptx| Module {
            name: "clang".to_owned(),
            is_foreign: true,
            largest_stored: 64,
            ptx,
            manifest: None,
            cubins: Vec::new(),
        };
        Some(compiled("clang", command, &place).map(module))
    }
}

fn compiled(name: &str, mut command: Command, place: &common::Place) -> Result<String, String> {
    let output = command.current_dir(place.path("")).output().map_err(|e| format!("{name}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    read(&place.path("a.ptx"))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}
