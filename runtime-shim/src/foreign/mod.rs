//! Device code that others compiled: what a file holds, for which GPUs, and which symbols its code defines and needs.
//!
//! The kind of a file is told by its bytes, not by its name. Understood are PTX, relocatable cubins, fatbins, host objects of `nvcc -dc` with
//! a fatbin in them, archives of such objects, and LTO-IR inside of fatbins, of which only the presence is known. Hostile bytes give an
//! error, never a panic.
//!
//! - [`fatbin`]: the container of several codes, read and written.
//! - `container`: host objects and archives.
//! - `ptx`: the symbols of PTX.
//! - [`symbols`]: what a link of several inputs comes to: doubled definitions, mixed device runtimes, the need of libcudadevrt.

mod container;
pub mod fatbin;
mod ptx;
pub mod symbols;

use std::path::Path;

use crate::arch::Arch;
use crate::cubin::elf::Elf;
use crate::error::{Error, Result};
use fatbin::Form;
pub use symbols::{Definition, Symbols, What};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PTX text.
    Ptx,
    /// A relocatable cubin.
    Cubin,
    /// A container of codes.
    Fatbin,
    /// A host object with a fatbin in it.
    Object,
    /// An archive of host objects.
    Library,
}

/// A file with device code, read and understood.
#[derive(Clone, Debug)]
pub struct Foreign {
    name: String,
    kind: Kind,
    bytes: Vec<u8>,
    units: Vec<Unit>,
}

/// One compilation: the same code, perhaps for several GPUs.
#[derive(Clone, Debug, Default)]
struct Unit {
    /// The member of an archive; empty elsewhere.
    member: String,
    images: Vec<Image>,
}

/// Code for one GPU.
#[derive(Clone, Debug)]
struct Image {
    form: Form,
    /// What it was compiled for; the letter of an architecture is not in every container.
    sm: u32,
    /// `None` where they cannot be read (LTO-IR).
    symbols: Option<Symbols>,
}

/// The symbols of one compilation, as a link for one architecture takes it.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The member of an archive; empty elsewhere.
    pub member: &'a str,
    /// `None` where they cannot be read (LTO-IR).
    pub symbols: Option<&'a Symbols>,
}

impl Foreign {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Foreign`] when it is nothing that can be linked.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| Error::Io { action: "read", path: path.to_path_buf(), source })?;
        Self::new(path.display().to_string(), bytes)
    }

    /// Takes bytes; `name` is what logs call them.
    ///
    /// # Errors
    /// [`Error::Foreign`] when they are nothing that can be linked.
    pub fn new(name: String, bytes: Vec<u8>) -> Result<Self> {
        let (kind, units) = examine(&bytes).map_err(|error| match error {
            Error::Cubin { reason } => Error::Foreign { name: name.clone(), reason },
            other => other,
        })?;
        Ok(Self { name, kind, bytes, units })
    }

    /// What logs call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What each of its compilations defines and needs when it is linked for `arch`.
    ///
    /// # Errors
    /// [`Error::ForeignArch`] when nothing in it is for this GPU.
    pub fn parts(&self, arch: Arch) -> Result<Vec<Part<'_>>> {
        let chosen = self.units.iter().filter_map(|unit| unit.image(arch).map(|image| (unit, image)));
        let parts: Vec<Part<'_>> =
            chosen.map(|(unit, image)| Part { member: &unit.member, symbols: image.symbols.as_ref() }).collect();
        if parts.is_empty() {
            let mut has: Vec<String> = self.units.iter().flat_map(|unit| &unit.images).map(Image::describe).collect();
            has.sort();
            has.dedup();
            return Err(Error::ForeignArch { name: self.name.clone(), arch, has });
        }
        Ok(parts)
    }

    /// Whether a link for `arch` takes LTO-IR from it, which must be asked for.
    pub(crate) fn needs_lto(&self, arch: Arch) -> bool {
        self.units.iter().filter_map(|unit| unit.image(arch)).any(|image| image.form == Form::LtoIr)
    }
}

impl Unit {
    /// What the linker takes: machine code where some fits, or else what can be compiled to it; the newest.
    fn image(&self, arch: Arch) -> Option<&Image> {
        let best =
            |form: Form| self.images.iter().filter(|image| image.form == form && image.fits(arch)).max_by_key(|image| image.sm);
        best(Form::Cubin).or_else(|| best(Form::LtoIr)).or_else(|| best(Form::Ptx))
    }
}

impl Image {
    fn fits(&self, arch: Arch) -> bool {
        match self.form {
            Form::Cubin => Arch::base(self.sm).runs_on(Arch::base(arch.sm)),
            Form::Ptx | Form::LtoIr => self.sm <= arch.sm,
        }
    }

    fn describe(&self) -> String {
        match self.form {
            Form::Cubin => format!("machine code for sm_{}", self.sm),
            Form::Ptx => format!("PTX for sm_{}", self.sm),
            Form::LtoIr => format!("LTO-IR for sm_{}", self.sm),
        }
    }
}

/// What the bytes are, and the code in them. Errors are [`Error::Cubin`], which has no name yet.
fn examine(bytes: &[u8]) -> Result<(Kind, Vec<Unit>)> {
    if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") {
        let mut units = Vec::new();
        for (member, fatbin) in container::members(bytes)? {
            let found = units_of_fatbin(fatbin).map_err(|error| match error {
                Error::Cubin { reason } => damaged(format!("member `{member}`: {reason}")),
                other => other,
            })?;
            units.extend(found.into_iter().map(|unit| Unit { member: member.clone(), ..unit }));
        }
        return Ok((Kind::Library, units));
    }
    if fatbin::is_fatbin(bytes) {
        return Ok((Kind::Fatbin, units_of_fatbin(bytes)?));
    }
    if bytes.starts_with(b"\x7fELF") {
        return match container::device_code(bytes)? {
            Some(fatbin) => Ok((Kind::Object, units_of_fatbin(fatbin)?)),
            None => Ok((Kind::Cubin, vec![Unit { images: vec![Image::of(Form::Cubin, None, bytes)?], ..Unit::default() }])),
        };
    }
    match ptx::text(bytes) {
        Some(text) => {
            let image = Image { form: Form::Ptx, sm: ptx::target(text), symbols: Some(ptx::symbols(text)) };
            Ok((Kind::Ptx, vec![Unit { images: vec![image], ..Unit::default() }]))
        }
        None => Err(damaged("it is no PTX, cubin, fatbin, object or library")),
    }
}

fn units_of_fatbin(bytes: &[u8]) -> Result<Vec<Unit>> {
    let mut units = Vec::new();
    for entries in fatbin::read(bytes)? {
        let images: Result<_> = entries.iter().map(|entry| Image::of(entry.form, Some(entry.sm), &entry.bytes)).collect();
        units.push(Unit { images: images?, ..Unit::default() });
    }
    Ok(units)
}

impl Image {
    fn of(form: Form, sm: Option<u32>, bytes: &[u8]) -> Result<Self> {
        match form {
            Form::Cubin => {
                let elf = Elf::parse(bytes)?;
                if !elf.relocatable {
                    return Err(damaged(
                        "it is linked already, and only relocatable code can be linked (`nvcc -dc`, `ptxas -c`)",
                    ));
                }
                Ok(Self { form, sm: elf.arch.sm, symbols: Some(elf.link_symbols()) })
            }
            Form::Ptx => {
                let text = ptx::text(bytes).ok_or_else(|| damaged("its PTX is no text"))?;
                Ok(Self { form, sm: sm.unwrap_or_else(|| ptx::target(text)), symbols: Some(ptx::symbols(text)) })
            }
            Form::LtoIr => Ok(Self { form, sm: sm.unwrap_or_default(), symbols: None }),
        }
    }
}

/// The symbols of PTX.
pub(crate) fn symbols_of_ptx(text: &str) -> Symbols {
    ptx::symbols(text)
}

/// The symbols of a relocatable cubin; none of bytes that are no cubin, about which the linker will complain.
pub(crate) fn symbols_of_cubin(bytes: &[u8]) -> Symbols {
    Elf::parse(bytes).map(|elf| elf.link_symbols()).unwrap_or_default()
}

fn damaged(reason: impl Into<String>) -> Error {
    Error::Cubin { reason: reason.into() }
}
