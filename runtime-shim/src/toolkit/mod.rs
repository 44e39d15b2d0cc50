//! Finding the CUDA toolkit.
//!
//! Every component is searched for on its own, at these places, the first that has it wins:
//!
//! 1. the folder given as an argument ([`Search::explicit`]);
//! 2. the environment variables CDPC_CUDA, CUDA_HOME, CUDA_PATH, in this order; an empty one counts as unset;
//! 3. `.cuda/nvidia/cu13` in the current folder and its parents, then beside the program and in the parents of its folder
//!    (what `make setup` makes);
//! 4. `/usr/local/cuda`, `/usr/local/cuda-*` (highest version first), `/opt/cuda`, and where Debian's own package puts it;
//! 5. for nvJitLink alone: the dynamic loader, by soname.
//!
//! At each place both layouts are understood: an installed toolkit (`lib64`, `targets/x86_64-linux/lib`, `bin`, `nvvm`) and the wheels of the Python
//! registry (`lib`, `bin`, `nvvm` under `nvidia/cu13`, or one folder a component).
//!
//! A place that the user named and that lacks what is wanted is an error, not a reason to go on in silence: always for
//! the argument; for a variable when it holds no toolkit at all and the device runtime library is wanted (whoever names a toolkit wants its
//! device runtime). Searching itself never fails ([`Toolkit::find`]), so that `cdpc doctor` can show everything; asking for a
//! component does ([`Toolkit::require`]).
//!
//! - [`places`]: the list above, and the files looked for at each place.
//! - [`version`]: which version a component is.
//! - [`doctor`]: everything that was found, for showing.

pub mod doctor;
pub mod places;
pub mod version;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
pub use places::{Origin, Place, Search};

/// A part of the toolkit that is of use here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    /// The linking library.
    NvJitLink,
    /// The device runtime, a library of device code.
    CudaDevRt,
    /// The mathematical functions, as LLVM bitcode.
    Libdevice,
    /// The assembler as a program.
    Ptxas,
    /// The linker as a program.
    Nvlink,
    /// The disassembler.
    Nvdisasm,
    /// The dumper of cubins.
    Cuobjdump,
    /// NVIDIA's compiler.
    Nvcc,
}

impl Component {
    /// Every one, the needed ones first.
    pub const ALL: [Self; 8] = [
        Self::NvJitLink,
        Self::CudaDevRt,
        Self::Libdevice,
        Self::Ptxas,
        Self::Nvlink,
        Self::Nvdisasm,
        Self::Cuobjdump,
        Self::Nvcc,
    ];

    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NvJitLink => "nvJitLink",
            Self::CudaDevRt => "libcudadevrt.a",
            Self::Libdevice => "libdevice.10.bc",
            Self::Ptxas => "ptxas",
            Self::Nvlink => "nvlink",
            Self::Nvdisasm => "nvdisasm",
            Self::Cuobjdump => "cuobjdump",
            Self::Nvcc => "nvcc",
        }
    }

    /// What it is needed for, as the end of a sentence about it.
    #[must_use]
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::NvJitLink => "it turns PTX into a cubin",
            Self::CudaDevRt => "kernels that launch kernels are linked with it",
            Self::Libdevice => "mathematical functions come from it",
            Self::Ptxas => "`cdpc build -c` assembles with it",
            Self::Nvlink => "only comparisons use it",
            Self::Nvdisasm => "`--emit=sass` and `inspect` disassemble with it",
            Self::Cuobjdump => "the tests compare the cubin reader with it",
            Self::Nvcc => "only comparisons use it",
        }
    }

    /// Whether programs cannot be built without it.
    #[must_use]
    pub const fn is_required(self) -> bool {
        matches!(self, Self::NvJitLink | Self::CudaDevRt | Self::Libdevice)
    }
}

/// A component that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which one.
    pub component: Component,
    /// Its file; for a library that the loader finds by itself, its soname.
    pub path: PathBuf,
    /// The place it was found at.
    pub place: Place,
}

/// The outcome of a search.
#[derive(Clone, Debug)]
pub struct Toolkit {
    places: Vec<Place>,
    found: Vec<Found>,
}

impl Toolkit {
    /// Searches with this process's environment.
    #[must_use]
    pub fn find() -> Self {
        Self::find_with(&Search::from_environment())
    }

    /// Searches as described.
    #[must_use]
    pub fn find_with(search: &Search) -> Self {
        let places = search.places();
        let found = Component::ALL.into_iter().filter_map(|component| find_component(component, &places)).collect();
        Self { places, found }
    }

    /// The component, where it was found.
    #[must_use]
    pub fn get(&self, component: Component) -> Option<&Found> {
        self.found.iter().find(|found| found.component == component)
    }

    /// The path of the component.
    ///
    /// # Errors
    /// [`Error::ToolkitPathWrong`] when the user named a place that cannot serve, [`Error::ComponentMissing`] when it is nowhere; both list the
    /// paths looked at.
    pub fn require(&self, component: Component) -> Result<&Path> {
        let found = self.get(component);
        if let Some(wrong) = self.wrong_place(component, found) {
            return Err(Error::ToolkitPathWrong {
                given_by: wrong.origin.to_string(),
                path: wrong.root.clone(),
                component,
                looked_at: self.looked_at(component),
                found: found.map(|found| found.path.clone()),
            });
        }
        match found {
            Some(found) => Ok(&found.path),
            None => Err(Error::ComponentMissing { component, looked_at: self.looked_at(component) }),
        }
    }

    /// The places searched, in order.
    #[must_use]
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Every path tried for a component, in order, up to the one that was found; of a place that does not exist only its root.
    #[must_use]
    pub fn looked_at(&self, component: Component) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for place in &self.places {
            if !place.root.is_dir() {
                paths.push(place.root.clone());
                continue;
            }
            for path in place.candidates(component) {
                let found = path.is_file();
                paths.push(path);
                if found {
                    return paths;
                }
            }
        }
        if component == Component::NvJitLink {
            paths.extend(places::SONAMES.iter().map(PathBuf::from));
        }
        paths
    }

    /// The place named by the user that must be complained about, if any.
    fn wrong_place(&self, component: Component, found: Option<&Found>) -> Option<&Place> {
        let holds_anything = |place: &Place| Component::ALL.into_iter().any(|c| place.find(c).is_some());
        self.places.iter().find(|place| match place.origin {
            Origin::Argument => found.is_none_or(|found| found.place.origin != Origin::Argument),
            Origin::Variable(_) => match found {
                Some(found) if found.place.origin == place.origin => false,
                Some(_) => component == Component::CudaDevRt && !holds_anything(place),
                None => !holds_anything(place),
            },
            _ => false,
        })
    }
}

fn find_component(component: Component, places: &[Place]) -> Option<Found> {
    for place in places {
        if let Some(path) = place.find(component) {
            return Some(Found { component, path, place: place.clone() });
        }
    }
    if component == Component::NvJitLink {
        return places::loadable_soname().map(|soname| Found {
            component,
            path: soname.into(),
            place: Place { origin: Origin::Loader, root: PathBuf::new() },
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn touch(root: &Path, file: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"x").unwrap();
    }

    fn search(root: &Path) -> Search {
        Search { explicit: None, variables: Vec::new(), current_dir: None, executable: None, standard: vec![root.join("none")] }
    }

    #[test]
    fn wheels_and_installed_layouts() {
        let dir = tempfile::tempdir().unwrap();
        for (layout, files) in [
            ("wheel", ["lib/libcudadevrt.a", "lib/libnvJitLink.so.13", "nvvm/libdevice/libdevice.10.bc", "bin/ptxas"]),
            (
                "installed",
                [
                    "lib64/libcudadevrt.a",
                    "targets/x86_64-linux/lib/libnvJitLink.so.12",
                    "nvvm/libdevice/libdevice.10.bc",
                    "bin/ptxas",
                ],
            ),
            (
                "site",
                [
                    "nvidia/cu13/lib/libcudadevrt.a",
                    "nvidia/cu13/lib/libnvJitLink.so.13",
                    "nvidia/cu13/nvvm/libdevice/libdevice.10.bc",
                    "nvidia/cu13/bin/ptxas",
                ],
            ),
            (
                "site12",
                [
                    "nvidia/cuda_runtime/lib/libcudadevrt.a",
                    "nvidia/nvjitlink/lib/libnvJitLink.so.12",
                    "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
                    "nvidia/cuda_nvcc/bin/ptxas",
                ],
            ),
        ] {
            let root = dir.path().join(layout);
            for file in files {
                touch(&root, file);
            }
            let toolkit = Toolkit::find_with(&Search { explicit: Some(root.clone()), ..search(dir.path()) });
            for (component, file) in
                [Component::CudaDevRt, Component::NvJitLink, Component::Libdevice, Component::Ptxas].into_iter().zip(files)
            {
                assert_eq!(toolkit.require(component).unwrap(), root.join(file), "{layout}");
            }
        }
    }

    #[test]
    fn the_order_is_argument_variables_project_program_standard() {
        let dir = tempfile::tempdir().unwrap();
        let lib = "lib/libcudadevrt.a";
        for root in ["arg", "var1", "var2", "work/.cuda/nvidia/cu13", "prog/.cuda/nvidia/cu13", "std"] {
            touch(dir.path(), &format!("{root}/{lib}"));
        }
        fs::create_dir_all(dir.path().join("work/a/b")).unwrap();
        let mut search = Search {
            explicit: Some(dir.path().join("arg")),
            variables: vec![("CDPC_CUDA", dir.path().join("var1")), ("CUDA_HOME", dir.path().join("var2"))],
            current_dir: Some(dir.path().join("work/a/b")),
            executable: Some(dir.path().join("prog/target/debug/cdpc")),
            standard: vec![dir.path().join("std")],
        };
        let at = |search: &Search| Toolkit::find_with(search).require(Component::CudaDevRt).unwrap().to_path_buf();
        assert_eq!(at(&search), dir.path().join("arg").join(lib));
        search.explicit = None;
        assert_eq!(at(&search), dir.path().join("var1").join(lib));
        search.variables.remove(0);
        assert_eq!(at(&search), dir.path().join("var2").join(lib));
        search.variables.clear();
        assert_eq!(at(&search), dir.path().join("work/.cuda/nvidia/cu13").join(lib));
        search.current_dir = None;
        assert_eq!(at(&search), dir.path().join("prog/.cuda/nvidia/cu13").join(lib));
        search.executable = None;
        assert_eq!(at(&search), dir.path().join("std").join(lib));
    }

    #[test]
    fn a_wrong_variable_is_one_error_that_lists_the_places() {
        let dir = tempfile::tempdir().unwrap();
        touch(dir.path(), "std/lib/libcudadevrt.a");
        let mut search = Search {
            variables: vec![("CUDA_PATH", PathBuf::from("/nonexistent"))],
            standard: vec![dir.path().join("std")],
            ..search(dir.path())
        };
        let error = Toolkit::find_with(&search).require(Component::CudaDevRt).unwrap_err();
        assert_eq!(error.code(), "E0621");
        assert!(error.is_environment());
        let text = error.to_string();
        assert!(text.contains("one is at `") && text.ends_with("shows where a toolkit is found"), "{text}");
        for part in ["CUDA_PATH is `/nonexistent`", "libcudadevrt.a", "    /nonexistent\n", "std/lib/libcudadevrt.a"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        // the tools are no reason to stop
        touch(dir.path(), "std/bin/ptxas");
        assert!(Toolkit::find_with(&search).require(Component::Ptxas).is_ok());
        // a variable that holds a toolkit without this component is no lie
        touch(dir.path(), "half/bin/ptxas");
        search.variables = vec![("CUDA_PATH", dir.path().join("half"))];
        assert!(Toolkit::find_with(&search).require(Component::CudaDevRt).is_ok());
    }

    #[test]
    fn a_wrong_argument_is_always_an_error() {
        let dir = tempfile::tempdir().unwrap();
        touch(dir.path(), "std/bin/ptxas");
        let search =
            Search { explicit: Some(dir.path().join("gone")), standard: vec![dir.path().join("std")], ..search(dir.path()) };
        let error = Toolkit::find_with(&search).require(Component::Ptxas).unwrap_err();
        assert_eq!(error.code(), "E0621");
        assert!(error.message().starts_with("--cuda is"), "{error}");
    }

    #[test]
    fn missing_everywhere() {
        let dir = tempfile::tempdir().unwrap();
        let error = Toolkit::find_with(&search(dir.path())).require(Component::CudaDevRt).unwrap_err();
        assert_eq!(error.code(), "E0620");
        assert!(error.to_string().contains("none"));
    }
}
