//! The places where a toolkit may be, and what its files are called there.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::Component;

/// The variables that may name a toolkit, in order.
pub const VARIABLES: [&str; 3] = ["CDPC_CUDA", "CUDA_HOME", "CUDA_PATH"];

/// What the dynamic loader is asked for, in order.
pub const SONAMES: [&str; 2] = ["libnvJitLink.so.13", "libnvJitLink.so.12"];

/// Why a place is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The user named it on the command line.
    Argument,
    /// An environment variable names it.
    Variable(&'static str),
    /// `.cuda` in the current folder or a parent of it.
    Project,
    /// `.cuda` beside the program or in a parent folder.
    Program,
    /// Where toolkits are usually installed.
    Standard,
    /// The dynamic loader knows it.
    Loader,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Argument => "--cuda",
            Self::Variable(name) => name,
            Self::Project => "the project's .cuda",
            Self::Program => "the .cuda beside the program",
            Self::Standard => "a standard place",
            Self::Loader => "the dynamic loader",
        })
    }
}

/// A folder that may be the root of a toolkit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Why it is searched.
    pub origin: Origin,
    /// The folder.
    pub root: PathBuf,
}

impl Place {
    /// Every path where the component may be, in order; folders that would have to hold it but do not exist are left out.
    #[must_use]
    pub fn candidates(&self, component: Component) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for prefix in prefixes(component) {
            let root = if prefix.is_empty() { self.root.clone() } else { self.root.join(prefix) };
            if root.is_dir() {
                paths.extend(files(component).iter().map(|file| root.join(file)));
            }
        }
        paths
    }

    /// The first candidate that is a file.
    #[must_use]
    pub fn find(&self, component: Component) -> Option<PathBuf> {
        if !self.root.is_dir() {
            return None;
        }
        self.candidates(component).into_iter().find(|path| path.is_file())
    }
}

/// Folders under a root that may hold a toolkit of their own: none for an installed one, some for wheels.
const fn prefixes(component: Component) -> &'static [&'static str] {
    match component {
        Component::NvJitLink => &["", "nvidia/cu13", "nvidia/nvjitlink"],
        Component::CudaDevRt => &["", "nvidia/cu13", "nvidia/cuda_runtime"],
        Component::Libdevice | Component::Ptxas | Component::Nvcc | Component::Nvlink => {
            &["", "nvidia/cu13", "nvidia/cuda_nvcc"]
        }
        Component::Nvdisasm | Component::Cuobjdump => &["", "nvidia/cu13"],
    }
}

const fn files(component: Component) -> &'static [&'static str] {
    match component {
        Component::NvJitLink => &[
            "lib/libnvJitLink.so.13",
            "lib64/libnvJitLink.so.13",
            "targets/x86_64-linux/lib/libnvJitLink.so.13",
            "lib/libnvJitLink.so.12",
            "lib64/libnvJitLink.so.12",
            "targets/x86_64-linux/lib/libnvJitLink.so.12",
            "lib/x86_64-linux-gnu/libnvJitLink.so.12",
        ],
        Component::CudaDevRt => &[
            "lib/libcudadevrt.a",
            "lib64/libcudadevrt.a",
            "targets/x86_64-linux/lib/libcudadevrt.a",
            "lib/x86_64-linux-gnu/libcudadevrt.a",
        ],
        Component::Libdevice => &["nvvm/libdevice/libdevice.10.bc", "libdevice/libdevice.10.bc"],
        Component::Ptxas => &["bin/ptxas"],
        Component::Nvlink => &["bin/nvlink"],
        Component::Nvdisasm => &["bin/nvdisasm"],
        Component::Cuobjdump => &["bin/cuobjdump"],
        Component::Nvcc => &["bin/nvcc"],
    }
}

/// Where to search; made from the process's environment, or by hand.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The folder given as an argument.
    pub explicit: Option<PathBuf>,
    /// The environment variables that are set, with their values.
    pub variables: Vec<(&'static str, PathBuf)>,
    /// The folder whose `.cuda`, and whose parents' `.cuda`, are searched.
    pub current_dir: Option<PathBuf>,
    /// The program beside which `.cuda` is searched.
    pub executable: Option<PathBuf>,
    /// Roots of installed toolkits.
    pub standard: Vec<PathBuf>,
}

impl Search {
    /// As this process sees it.
    #[must_use]
    pub fn from_environment() -> Self {
        let value = |name: &str| std::env::var_os(name).filter(|v: &OsString| !v.is_empty());
        Self {
            explicit: None,
            variables: VARIABLES.into_iter().filter_map(|name| Some((name, value(name)?.into()))).collect(),
            current_dir: std::env::current_dir().ok(),
            executable: std::env::current_exe().ok(),
            standard: standard_places(),
        }
    }

    /// The same with a folder given by the user.
    #[must_use]
    pub fn with_explicit(mut self, folder: Option<PathBuf>) -> Self {
        self.explicit = folder;
        self
    }

    /// The places in order.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        let mut add = |origin, root: PathBuf| {
            if !places.iter().any(|place| place.root == root) {
                places.push(Place { origin, root });
            }
        };
        if let Some(root) = &self.explicit {
            add(Origin::Argument, root.clone());
        }
        for (name, root) in &self.variables {
            add(Origin::Variable(name), root.clone());
        }
        for root in self.current_dir.iter().flat_map(|dir| project_roots(dir)) {
            add(Origin::Project, root);
        }
        for root in self.executable.iter().filter_map(|exe| exe.parent()).flat_map(project_roots) {
            add(Origin::Program, root);
        }
        for root in &self.standard {
            add(Origin::Standard, root.clone());
        }
        places
    }
}

/// `.cuda/nvidia/cu13` of the folder and its ancestors; only where `.cuda` exists, but always the first, so that a report can name it.
fn project_roots(dir: &Path) -> Vec<PathBuf> {
    let mut roots = vec![dir.join(".cuda/nvidia/cu13")];
    roots.extend(dir.ancestors().skip(1).filter(|a| a.join(".cuda").is_dir()).map(|a| a.join(".cuda/nvidia/cu13")));
    roots
}

fn standard_places() -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from("/usr/local/cuda")];
    let mut versioned: Vec<(Vec<u32>, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir("/usr/local").into_iter().flatten().flatten() {
        if let Some(version) = entry.file_name().to_str().and_then(|name| name.strip_prefix("cuda-")) {
            let numbers = version.split('.').map(|n| n.parse().unwrap_or(0)).collect();
            versioned.push((numbers, entry.path()));
        }
    }
    versioned.sort_by(|a, b| b.cmp(a));
    places.extend(versioned.into_iter().map(|(_, path)| path));
    // Debian's nvidia-cuda-toolkit spreads itself over these two
    places.extend(["/opt/cuda", "/usr/lib/nvidia-cuda-toolkit", "/usr"].map(PathBuf::from));
    places
}

/// The first soname that the dynamic loader can open.
#[allow(unsafe_code)]
pub(super) fn loadable_soname() -> Option<&'static str> {
    // SAFETY: the library's initialisers are NVIDIA's own and have no preconditions; nothing is called in it.
    SONAMES.into_iter().find(|soname| unsafe { libloading::Library::new(*soname) }.is_ok())
}
