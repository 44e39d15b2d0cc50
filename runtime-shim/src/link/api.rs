//! The C interface of nvJitLink, declared by hand after `nvJitLink.h` of CUDA 13.0, and opened at run time.
#![allow(unsafe_code)] // calling a C library

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};

use crate::arch::Version;
use crate::error::{Error, Result};
use crate::toolkit::Component;

/// `nvJitLinkHandle`.
type Handle = *mut c_void;

type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
type AddData = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
type AddFile = unsafe extern "C" fn(Handle, c_int, *const c_char) -> c_int;
type Complete = unsafe extern "C" fn(Handle) -> c_int;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Bytes = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
type VersionOf = unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> c_int;

/// `nvJitLinkInputType`; the numbers are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Cubin = 1,
    Ptx = 2,
    Fatbin = 4,
    Object = 5,
    Library = 6,
}

/// A result other than success, with the call that gave it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    pub(super) call: &'static str,
    pub(super) code: c_int,
}

pub(super) const ERROR_INVALID_INPUT: c_int = 3;
pub(super) const ERROR_PTX_COMPILE: c_int = 4;
pub(super) const ERROR_INCORRECT_INPUT_TYPE: c_int = 12;
pub(super) const ERROR_UNRECOGNIZED_ARCH: c_int = 16;
pub(super) const ERROR_UNSUPPORTED_ARCH: c_int = 17;

impl Failure {
    /// The name in the header.
    pub(super) const fn name(self) -> &'static str {
        match self.code {
            1 => "NVJITLINK_ERROR_UNRECOGNIZED_OPTION",
            2 => "NVJITLINK_ERROR_MISSING_ARCH",
            ERROR_INVALID_INPUT => "NVJITLINK_ERROR_INVALID_INPUT",
            ERROR_PTX_COMPILE => "NVJITLINK_ERROR_PTX_COMPILE",
            5 => "NVJITLINK_ERROR_NVVM_COMPILE",
            6 => "NVJITLINK_ERROR_INTERNAL",
            7 => "NVJITLINK_ERROR_THREADPOOL",
            8 => "NVJITLINK_ERROR_UNRECOGNIZED_INPUT",
            9 => "NVJITLINK_ERROR_FINALIZE",
            10 => "NVJITLINK_ERROR_NULL_INPUT",
            11 => "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS",
            ERROR_INCORRECT_INPUT_TYPE => "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE",
            13 => "NVJITLINK_ERROR_ARCH_MISMATCH",
            14 => "NVJITLINK_ERROR_OUTDATED_LIBRARY",
            15 => "NVJITLINK_ERROR_MISSING_FATBIN",
            ERROR_UNRECOGNIZED_ARCH => "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
            ERROR_UNSUPPORTED_ARCH => "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
            18 => "NVJITLINK_ERROR_LTO_NOT_ENABLED",
            _ => "an unknown result",
        }
    }
}

const fn check(call: &'static str, code: c_int) -> std::result::Result<(), Failure> {
    if code == 0 { Ok(()) } else { Err(Failure { call, code }) }
}

/// The functions of one opened library. The library is never closed: closing costs time and gains nothing.
pub(super) struct Api {
    create: Create,
    destroy: Destroy,
    add_data: AddData,
    add_file: AddFile,
    complete: Complete,
    cubin_size: Size,
    cubin: Bytes,
    error_log_size: Size,
    error_log: Bytes,
    info_log_size: Size,
    info_log: Bytes,
    version: Version,
}

impl Api {
    /// Opens the library at `path` (or, for a bare soname, where the loader finds it).
    pub(super) fn open(path: &Path) -> Result<Self> {
        let unusable =
            |reason: String| Error::ComponentUnusable { component: Component::NvJitLink, path: path.to_path_buf(), reason };
        // SAFETY: the initialisers of NVIDIA's library have no preconditions. Lazy binding spares some milliseconds.
        let library = unsafe { Library::open(Some(path), RTLD_LAZY | RTLD_LOCAL) }.map_err(|e| unusable(e.to_string()))?;
        let version =
            version_of(&library).ok_or_else(|| unusable("it has no `nvJitLinkVersion`, so it is no nvJitLink".to_owned()))?;

        // SAFETY (all of them): the types are those of nvJitLink.h, unchanged from 12.0 to 13.0.
        let api = unsafe {
            Self {
                create: symbol(&library, "nvJitLinkCreate", version).map_err(unusable)?,
                destroy: symbol(&library, "nvJitLinkDestroy", version).map_err(unusable)?,
                add_data: symbol(&library, "nvJitLinkAddData", version).map_err(unusable)?,
                add_file: symbol(&library, "nvJitLinkAddFile", version).map_err(unusable)?,
                complete: symbol(&library, "nvJitLinkComplete", version).map_err(unusable)?,
                cubin_size: symbol(&library, "nvJitLinkGetLinkedCubinSize", version).map_err(unusable)?,
                cubin: symbol(&library, "nvJitLinkGetLinkedCubin", version).map_err(unusable)?,
                error_log_size: symbol(&library, "nvJitLinkGetErrorLogSize", version).map_err(unusable)?,
                error_log: symbol(&library, "nvJitLinkGetErrorLog", version).map_err(unusable)?,
                info_log_size: symbol(&library, "nvJitLinkGetInfoLogSize", version).map_err(unusable)?,
                info_log: symbol(&library, "nvJitLinkGetInfoLog", version).map_err(unusable)?,
                version,
            }
        };
        std::mem::forget(library);
        Ok(api)
    }

    pub(super) const fn version(&self) -> Version {
        self.version
    }

    /// Starts a link.
    pub(super) fn begin(&self, options: &[CString]) -> std::result::Result<Job<'_>, Failure> {
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let count = u32::try_from(pointers.len()).unwrap_or(u32::MAX);
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: `count` pointers to NUL-terminated strings that outlive the call; the library copies them.
        let code = unsafe { (self.create)(&raw mut handle, count, pointers.as_ptr()) };
        check("nvJitLinkCreate", code)?;
        Ok(Job { api: self, handle, names: RefCell::default() })
    }
}

fn version_of(library: &Library) -> Option<Version> {
    // SAFETY: the type is that of nvJitLink.h; both pointers are valid for the call.
    unsafe {
        let call = library.get::<VersionOf>(b"nvJitLinkVersion\0").ok()?;
        let (mut major, mut minor) = (0, 0);
        (call(&raw mut major, &raw mut minor) == 0).then(|| Version::new(major, minor))
    }
}

/// The function called `name`. Its plain name is exported, but the header binds to the versioned one, so that is the second choice.
///
/// # Safety
/// `T` must be the function's type.
unsafe fn symbol<T: Copy>(library: &Library, name: &str, version: Version) -> std::result::Result<T, String> {
    let versioned = format!("__{name}_{}_{}", version.major, version.minor);
    for name in [name, &versioned] {
        // SAFETY: the caller vouches for the type.
        if let Ok(found) = unsafe { library.get::<T>(name.as_bytes()) } {
            return Ok(*found);
        }
    }
    Err(format!("it has neither `{name}` nor `{versioned}`"))
}

/// One link under way.
pub(super) struct Job<'a> {
    api: &'a Api,
    handle: Handle,
    /// The library keeps pointers to the names of its inputs and reads them when it writes its logs.
    names: RefCell<Vec<CString>>,
}

impl Job<'_> {
    /// Adds an input that is in memory. PTX must end with a NUL byte that `data` includes; the library is told the length without it.
    pub(super) fn add_data(&self, kind: Kind, data: &[u8], name: CString) -> std::result::Result<(), Failure> {
        let size = if kind == Kind::Ptx { data.len().saturating_sub(1) } else { data.len() };
        // SAFETY: `size` readable bytes, which the library copies, and a NUL-terminated name, which lives as long as the job: moving
        // a `CString` leaves its bytes where they are.
        let code = unsafe { (self.api.add_data)(self.handle, kind as c_int, data.as_ptr().cast(), size, name.as_ptr()) };
        self.names.borrow_mut().push(name);
        check("nvJitLinkAddData", code)
    }

    /// Adds a file, which the library reads itself.
    pub(super) fn add_file(&self, kind: Kind, path: CString) -> std::result::Result<(), Failure> {
        // SAFETY: a NUL-terminated path, which lives as long as the job.
        let code = unsafe { (self.api.add_file)(self.handle, kind as c_int, path.as_ptr()) };
        self.names.borrow_mut().push(path);
        check("nvJitLinkAddFile", code)
    }

    /// Links.
    pub(super) fn complete(&self) -> std::result::Result<(), Failure> {
        // SAFETY: the handle is live.
        check("nvJitLinkComplete", unsafe { (self.api.complete)(self.handle) })
    }

    /// The result.
    pub(super) fn cubin(&self) -> std::result::Result<Vec<u8>, Failure> {
        self.bytes("nvJitLinkGetLinkedCubin", self.api.cubin_size, self.api.cubin)
    }

    /// What was complained about, so far.
    pub(super) fn error_log(&self) -> String {
        text(&self.bytes("nvJitLinkGetErrorLog", self.api.error_log_size, self.api.error_log))
    }

    /// What else was said.
    pub(super) fn info_log(&self) -> String {
        text(&self.bytes("nvJitLinkGetInfoLog", self.api.info_log_size, self.api.info_log))
    }

    fn bytes(&self, call: &'static str, size: Size, get: Bytes) -> std::result::Result<Vec<u8>, Failure> {
        let mut len = 0;
        // SAFETY: the handle is live and `len` is a valid place for the answer.
        check(call, unsafe { size(self.handle, &raw mut len) })?;
        if len == 0 {
            return Ok(Vec::new());
        }
        // one byte more: the header does not say whether a log's size counts its NUL
        let mut bytes = vec![0_u8; len + 1];
        // SAFETY: the buffer holds the `len` bytes that the library asked for, and one more.
        check(call, unsafe { get(self.handle, bytes.as_mut_ptr().cast()) })?;
        bytes.truncate(len);
        Ok(bytes)
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is live and not used again. A failure could not be mended here.
        unsafe { (self.api.destroy)(&raw mut self.handle) };
    }
}

fn text(bytes: &std::result::Result<Vec<u8>, Failure>) -> String {
    let Ok(bytes) = bytes else { return String::new() };
    let bytes = bytes.split(|b| *b == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
