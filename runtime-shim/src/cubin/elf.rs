//! The ELF side of a cubin.

use object::LittleEndian;
use object::elf::{FileHeader64, SHT_NOBITS, STT_FUNC, STT_OBJECT};
use object::read::elf::{FileHeader, SectionHeader, Sym};

use super::{Global, arch_of, damaged};
use crate::arch::Arch;
use crate::error::Result;

/// EM_CUDA
const MACHINE_CUDA: u16 = 190;
/// The bit of `st_other` that marks a kernel (STO_CUDA_ENTRY).
const OTHER_ENTRY: u8 = 0x10;

pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) size: u64,
    /// Empty where the file holds none (shared memory, zeroed variables).
    pub(super) data: &'a [u8],
}

pub(super) struct Symbol<'a> {
    pub(super) name: &'a str,
    pub(super) size: u64,
    /// `None` where it is undefined or absolute.
    section: Option<usize>,
    kind: u8,
    other: u8,
    is_undefined: bool,
    is_local: bool,
}

pub(super) struct Elf<'a> {
    pub(super) arch: Arch,
    pub(super) sections: Vec<Section<'a>>,
    symbols: Vec<Symbol<'a>>,
}

impl<'a> Elf<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self> {
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
                is_local: symbol.is_local(),
            });
        }
        Ok(Self { arch: arch_of(sm), sections, symbols })
    }

    /// The first section with this name; a program's own names are unique.
    pub(super) fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|s| s.name == name)
    }

    /// The kernel symbol `name` in section `section`.
    pub(super) fn entry_symbol(&self, section: usize, name: &str) -> Option<&Symbol<'a>> {
        self.symbols
            .iter()
            .find(|s| s.kind == STT_FUNC && s.other & OTHER_ENTRY != 0 && s.section == Some(section) && s.name == name)
    }

    pub(super) fn symbol_name(&self, index: u32) -> Option<&'a str> {
        usize::try_from(index).ok().and_then(|index| self.symbols.get(index)).map(|s| s.name)
    }

    /// Symbols of variables that are visible outside their file.
    pub(super) fn variables(&self) -> impl Iterator<Item = Global> + '_ {
        self.symbols.iter().filter(|s| s.kind == STT_OBJECT && !s.is_local).filter_map(|symbol| {
            let section = self.sections.get(symbol.section?)?;
            let constant = section.name.starts_with(".nv.constant");
            let global = section.name.starts_with(".nv.global");
            (constant || global).then(|| Global { name: symbol.name.to_owned(), size: symbol.size, constant })
        })
    }

    /// Names of functions and variables without a section; names with a dot in front are the linker's own.
    pub(super) fn undefined(&self) -> Vec<String> {
        let undefined = |s: &&Symbol<'_>| {
            s.is_undefined && matches!(s.kind, STT_FUNC | STT_OBJECT) && !s.name.is_empty() && !s.name.starts_with('.')
        };
        self.symbols.iter().filter(undefined).map(|s| s.name.to_owned()).collect()
    }
}
