//! Host objects of nvcc, and archives of them: the fatbin with relocatable code lies in the section `__nv_relfatbin`, one with code that is linked
//! already in `.nv_fatbin` (`fatbinary_section.h` of the toolkit).

use object::elf::ET_REL;
use object::read::archive::ArchiveFile;
use object::read::elf::{FileHeader, SectionHeader};
use object::{LittleEndian, elf::FileHeader64};

use super::damaged;
use crate::cubin::elf::MACHINE_CUDA;
use crate::error::Result;

const RELOCATABLE: &[u8] = b"__nv_relfatbin";
const LINKED: &[u8] = b".nv_fatbin";

/// The fatbin of a host object; `None` for a cubin.
pub(super) fn device_code(bytes: &[u8]) -> Result<Option<&[u8]>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(|error| damaged(error.to_string()))?;
    if header.e_machine.get(LittleEndian) == MACHINE_CUDA {
        return Ok(None);
    }
    if header.e_type.get(LittleEndian) != ET_REL {
        return Err(damaged("it is a program or a shared library, whose device code is linked already"));
    }
    match (section(bytes, RELOCATABLE)?, section(bytes, LINKED)?) {
        (Some(fatbin), _) => Ok(Some(fatbin)),
        (None, Some(_)) => Err(damaged("its device code is not relocatable: compile it with `nvcc -dc` (`-rdc=true -c`)")),
        (None, None) => Err(damaged("there is no device code in it")),
    }
}

fn section<'a>(bytes: &'a [u8], name: &[u8]) -> Result<Option<&'a [u8]>> {
    let broken = |error: object::Error| damaged(error.to_string());
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(broken)?;
    let table = header.sections(LittleEndian, bytes).map_err(broken)?;
    for section in table.iter() {
        if table.section_name(LittleEndian, section).map_err(broken)? == name {
            return section.data(LittleEndian, bytes).map(Some).map_err(broken);
        }
    }
    Ok(None)
}

/// The members of an archive that have relocatable device code, by name.
pub(super) fn members(bytes: &[u8]) -> Result<Vec<(String, &[u8])>> {
    let broken = |error: object::Error| damaged(error.to_string());
    let archive = ArchiveFile::parse(bytes).map_err(broken)?;
    if archive.is_thin() {
        return Err(damaged("it is a thin archive, which holds no code itself"));
    }
    let mut members = Vec::new();
    let mut linked = false;
    for member in archive.members() {
        let member = member.map_err(broken)?;
        let data = member.data(bytes).map_err(broken)?;
        // whatever else an archive may hold is the host linker's matter
        match device_code(data) {
            Ok(Some(fatbin)) => members.push((String::from_utf8_lossy(member.name()).into_owned(), fatbin)),
            Ok(None) => {}
            Err(_) => linked |= matches!(section(data, LINKED), Ok(Some(_))),
        }
    }
    match (members.is_empty(), linked) {
        (false, _) => Ok(members),
        (true, true) => Err(damaged("none of its device code is relocatable: compile it with `nvcc -dc` (`-rdc=true -c`)")),
        (true, false) => Err(damaged("there is no device code in it")),
    }
}
