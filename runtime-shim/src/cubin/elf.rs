//! The ELF side of a cubin.

use object::LittleEndian;
use object::elf::{ET_REL, FileHeader64, SHT_NOBITS, STB_WEAK, STT_FUNC, STT_OBJECT};
use object::read::elf::{FileHeader, SectionHeader, Sym};

use super::{Global, arch_of, damaged};
use crate::arch::Arch;
use crate::error::Result;
use crate::foreign::{Definition, Symbols, What};

/// EM_CUDA
pub(crate) const MACHINE_CUDA: u16 = 190;
/// What relocatable cubins of CUDA 13 have in place of `STT_OBJECT` (STT_CUDA_OBJECT).
const KIND_OBJECT: u8 = 13;
/// The bit of `st_other` that marks a kernel (STO_CUDA_ENTRY).
const OTHER_ENTRY: u8 = 0x10;

pub(crate) struct Section<'a> {
    pub(crate) name: &'a str,
    pub(crate) size: u64,
    /// Empty where the file holds none (shared memory, zeroed variables).
    pub(crate) data: &'a [u8],
}

pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a str,
    pub(crate) size: u64,
    /// `None` where it is undefined or absolute.
    section: Option<usize>,
    kind: u8,
    other: u8,
    is_weak: bool,
    is_undefined: bool,
    is_local: bool,
}

pub(crate) struct Elf<'a> {
    pub(crate) arch: Arch,
    /// Not linked yet.
    pub(crate) relocatable: bool,
    pub(crate) sections: Vec<Section<'a>>,
    symbols: Vec<Symbol<'a>>,
}

impl<'a> Elf<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self> {
        let endian = LittleEndian;
        let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(|e| damaged(e.to_string()))?;
        if header.e_machine.get(endian) != MACHINE_CUDA {
            return Err(damaged(format!("it is an ELF file for machine {}, not for a GPU", header.e_machine.get(endian))));
        }
        let flags = header.e_flags.get(endian);
        // version 8 (CUDA 13) has the architecture in the second and third byte, 7 and before in the lowest
        let sm = if header.e_ident.abi_version >= 8 { flags >> 8 & 0xffff } else { flags & 0xff };
        let table = header.sections(endian, bytes).map_err(|e| damaged(e.to_string()))?;
        let mut sections = Vec::new();
        for section in table.iter() {
            let name = table.section_name(endian, section).map_err(|e| damaged(e.to_string()))?;
            let name = std::str::from_utf8(name).map_err(|_| damaged("a section's name is not text"))?;
            let data = if section.sh_type(endian) == SHT_NOBITS {
                &[][..]
            } else {
                section.data(endian, bytes).map_err(|e| damaged(format!("section `{name}`: {e}")))?
            };
            sections.push(Section { name, size: section.sh_size(endian), data });
        }
        let table = table.symbols(endian, bytes, object::elf::SHT_SYMTAB).map_err(|e| damaged(e.to_string()))?;
        let mut symbols = Vec::new();
        for (index, symbol) in table.enumerate() {
            let section = table.symbol_section(endian, symbol, index).map_err(|e| damaged(e.to_string()))?;
            let name = symbol.name(endian, table.strings()).map_err(|e| damaged(e.to_string()))?;
            symbols.push(Symbol {
                name: std::str::from_utf8(name).map_err(|_| damaged("a symbol's name is not text"))?,
                size: symbol.st_size(endian),
                section: section.map(|s| s.0),
                is_undefined: symbol.is_undefined(endian),
                kind: symbol.st_type(),
                other: symbol.st_other(),
                is_weak: symbol.st_bind() == STB_WEAK,
                is_local: symbol.is_local(),
            });
        }
        Ok(Self { arch: arch_of(sm), relocatable: header.e_type.get(endian) == ET_REL, sections, symbols })
    }

    /// The first section with this name; a program's own names are unique.
    pub(crate) fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|s| s.name == name)
    }

    /// The kernel symbol `name` in section `section`.
    pub(crate) fn entry_symbol(&self, section: usize, name: &str) -> Option<&Symbol<'a>> {
        self.symbols
            .iter()
            .find(|s| s.kind == STT_FUNC && s.other & OTHER_ENTRY != 0 && s.section == Some(section) && s.name == name)
    }

    pub(crate) fn symbol_name(&self, index: u32) -> Option<&'a str> {
        usize::try_from(index).ok().and_then(|index| self.symbols.get(index)).map(|s| s.name)
    }

    /// Symbols of variables that are visible outside their file.
    pub(crate) fn variables(&self) -> impl Iterator<Item = Global> + '_ {
        self.symbols.iter().filter(|s| matches!(s.kind, STT_OBJECT | KIND_OBJECT) && !s.is_local).filter_map(|symbol| {
            let section = self.sections.get(symbol.section?)?;
            let constant = section.name.starts_with(".nv.constant");
            let global = section.name.starts_with(".nv.global");
            (constant || global).then(|| Global { name: symbol.name.to_owned(), size: symbol.size, constant })
        })
    }

    /// Names of functions and variables without a section; names with a dot in front are the linker's own.
    pub(crate) fn undefined(&self) -> Vec<String> {
        let undefined = |s: &&Symbol<'_>| {
            s.is_undefined
                && matches!(s.kind, STT_FUNC | STT_OBJECT | KIND_OBJECT)
                && !s.name.is_empty()
                && !s.name.starts_with('.')
        };
        self.symbols.iter().filter(undefined).map(|s| s.name.to_owned()).collect()
    }

    /// What it means to other inputs of a link.
    pub(crate) fn link_symbols(&self) -> Symbols {
        let mut symbols = Symbols { needed: self.undefined(), ..Symbols::default() };
        for symbol in self.symbols.iter().filter(|s| !s.is_local && !s.is_undefined && !s.name.is_empty()) {
            let what = match symbol.kind {
                STT_FUNC if symbol.other & OTHER_ENTRY != 0 => What::Kernel,
                STT_FUNC => What::Function,
                STT_OBJECT | KIND_OBJECT => What::Variable { size: Some(symbol.size) },
                _ => continue,
            };
            symbols.defined.push(Definition { name: symbol.name.to_owned(), weak: symbol.is_weak, what });
        }
        symbols
    }
}
