//! The fatbin: a container of the same code in several forms and for several GPUs.
//!
//! It is undocumented; what is known here was found by comparing with what `fatbinary` of CUDA 12.9 and 13.0 writes, and the tests compare again.
//! A header of 16 bytes (magic, version, its own size, the size of what follows), then the entries, each with a header of its own:
//!
//! | bytes | |
//! |---|---|
//! | 0..2 | kind: 1 PTX, 2 cubin, 8 LTO-IR |
//! | 4..8 | the size of this header |
//! | 8..16 | the size of what follows it, padded to 8 |
//! | 16..20 | the size of the compressed bytes; 0 where they are not compressed |
//! | 20..24 | of PTX, where the assembler's options stand in this header: their place, their length, and the text |
//! | 24..28 | minor and major version: of the PTX, or of the kind of cubin |
//! | 28..32 | the architecture's number |
//! | 40..48 | flags: 0x1 64 bits, 0x10 for Linux, 0x2000 and 0x8000 for LZ4 and Zstandard |
//! | 56..64 | the size without compression; 0 where they are not compressed |

use std::io::Read as _;

use super::damaged;
use crate::error::Result;

const MAGIC: u32 = 0xba55_ed50;
const HEADER: usize = 16;
const ENTRY: usize = 64;
/// What is added for the assembler's options, of which there are none.
const OPTIONS: usize = 16;
/// 64 bits, Linux.
const FLAGS: u64 = 0x11;
/// What no code is larger than: a container that says so is damaged.
const MOST: u64 = 1 << 30;

/// How a code is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// PTX text.
    Ptx,
    /// A cubin.
    Cubin,
    /// Bitcode for optimisation at link time.
    LtoIr,
}

/// One code of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How it is given.
    pub form: Form,
    /// The number of the architecture: 90.
    pub sm: u32,
    /// Without compression; LTO-IR stays as it is.
    pub bytes: Vec<u8>,
}

/// Whether the bytes begin like a container.
pub(super) fn is_fatbin(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_le_bytes())
}

/// The containers, one behind the other as a host linker puts them, each with its entries. Entries of other kinds are left out.
///
/// # Errors
/// [`crate::Error::Cubin`] when they are damaged.
pub fn read(mut bytes: &[u8]) -> Result<Vec<Vec<Entry>>> {
    let mut containers = Vec::new();
    while !bytes.is_empty() {
        if u32_at(bytes, 0) == Some(0) {
            // padding between the containers of several objects
            bytes = bytes.get(8..).unwrap_or_default();
            continue;
        }
        if !is_fatbin(bytes) {
            return Err(damaged("a fatbin does not begin as one"));
        }
        let header = bytes.get(6..8).and_then(|b| b.first_chunk()).map(|b| usize::from(u16::from_le_bytes(*b)));
        let size = u64_at(bytes, 8).and_then(|size| usize::try_from(size).ok());
        let (Some(header @ HEADER..), Some(size)) = (header, size) else { return Err(short()) };
        let Some((contents, rest)) = bytes.get(header..).and_then(|rest| rest.split_at_checked(size)) else {
            return Err(short());
        };
        containers.push(entries(contents)?);
        bytes = rest;
    }
    Ok(containers)
}

fn entries(mut bytes: &[u8]) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let field = |at| u32_at(bytes, at).ok_or_else(short);
        let header = usize::try_from(field(4)?).unwrap_or(usize::MAX);
        let size = u64_at(bytes, 8).and_then(|size| usize::try_from(size).ok()).ok_or_else(short)?;
        let (compressed, sm) = (field(16)?, field(28)?);
        let (Some(flags), Some(original)) = (u64_at(bytes, 40), u64_at(bytes, 56)) else { return Err(short()) };
        if header < ENTRY {
            return Err(damaged("an entry of a fatbin has no header"));
        }
        let rest = bytes.get(header..).ok_or_else(short)?;
        let (payload, rest) = rest.split_at_checked(size).ok_or_else(short)?;
        let form = match field(0)? & 0xffff {
            1 => Some(Form::Ptx),
            2 => Some(Form::Cubin),
            8 => Some(Form::LtoIr),
            _ => None,
        };
        match form {
            Some(Form::LtoIr) => entries.push(Entry { form: Form::LtoIr, sm, bytes: payload.to_vec() }),
            Some(form) => {
                let bytes = if original == 0 {
                    payload.to_vec()
                } else {
                    let compressed = usize::try_from(compressed).ok().and_then(|size| payload.get(..size)).ok_or_else(short)?;
                    decompress(compressed, original, flags)?
                };
                entries.push(Entry { form, sm, bytes });
            }
            None => {}
        }
        bytes = rest;
    }
    Ok(entries)
}

fn decompress(bytes: &[u8], size: u64, flags: u64) -> Result<Vec<u8>> {
    let broken = |reason: String| damaged(format!("a compressed entry of a fatbin: {reason}"));
    if size > MOST {
        return Err(broken(format!("it claims to have {size} bytes")));
    }
    let mut out = Vec::new();
    if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let decoder = ruzstd::decoding::StreamingDecoder::new(bytes).map_err(|error| broken(error.to_string()))?;
        decoder.take(size + 1).read_to_end(&mut out).map_err(|error| broken(error.to_string()))?;
    } else if bytes.starts_with(&[0x04, 0x22, 0x4d, 0x18]) {
        let decoder = lz4_flex::frame::FrameDecoder::new(bytes);
        decoder.take(size + 1).read_to_end(&mut out).map_err(|error| broken(error.to_string()))?;
    } else if flags & 0x2000 != 0 {
        // a byte of LZ4 stands for 255 at the most, so that a lie about the size costs no memory
        let most = bytes.len().saturating_mul(255).saturating_add(64);
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(most);
        out = lz4_flex::block::decompress(bytes, size).map_err(|error| broken(error.to_string()))?;
    } else {
        return Err(broken(format!("unknown compression (flags {flags:#x})")));
    }
    if out.len() as u64 != size {
        return Err(broken(format!("{} bytes came out instead of {size}", out.len())));
    }
    Ok(out)
}

/// One container, without compression.
#[must_use]
pub fn write(entries: &[Entry]) -> Vec<u8> {
    let mut contents = Vec::new();
    for entry in entries {
        let kind: u16 = match entry.form {
            Form::Ptx => 1,
            Form::Cubin => 2,
            Form::LtoIr => 8,
        };
        let is_ptx = entry.form == Form::Ptx;
        // PTX ends with a NUL, and everything at a multiple of 8
        let padded = (entry.bytes.len() + usize::from(is_ptx)).next_multiple_of(8);
        let header = if is_ptx { ENTRY + OPTIONS } else { ENTRY };
        let start = contents.len();
        contents.extend(kind.to_le_bytes());
        contents.extend(0x0101_u16.to_le_bytes());
        contents.extend((header as u32).to_le_bytes());
        contents.extend((padded as u64).to_le_bytes());
        contents.extend([0; 4]);
        contents.extend((if is_ptx { ENTRY as u32 } else { 0 }).to_le_bytes());
        for part in version(entry) {
            contents.extend(part.to_le_bytes());
        }
        contents.extend(entry.sm.to_le_bytes());
        contents.extend([0; 8]);
        contents.extend(FLAGS.to_le_bytes());
        contents.resize(start + ENTRY, 0);
        if is_ptx {
            // no options
            contents.extend((ENTRY as u64 + 8).to_le_bytes());
        }
        contents.resize(start + header, 0);
        contents.extend(&entry.bytes);
        contents.resize(start + header + padded, 0);
    }
    let mut out = MAGIC.to_le_bytes().to_vec();
    out.extend(1_u16.to_le_bytes());
    out.extend((HEADER as u16).to_le_bytes());
    out.extend((contents.len() as u64).to_le_bytes());
    out.extend(contents);
    out
}

/// Minor and major.
fn version(entry: &Entry) -> [u16; 2] {
    if entry.form == Form::Cubin {
        return [8, 1];
    }
    let text = String::from_utf8_lossy(&entry.bytes);
    let number = text.split_once(".version").and_then(|(_, rest)| rest.split_whitespace().next());
    let parts = number.and_then(|number| number.split_once('.')).and_then(|(a, b)| Some([b.parse().ok()?, a.parse().ok()?]));
    parts.unwrap_or_default()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map(|chunk| u32::from_le_bytes(*chunk))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map(|chunk| u64::from_le_bytes(*chunk))
}

fn short() -> crate::error::Error {
    damaged("a fatbin ends in the middle of an entry")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Entry> {
        vec![
            Entry { form: Form::Cubin, sm: 90, bytes: (0..100).collect() },
            Entry { form: Form::Ptx, sm: 90, bytes: b".version 8.0\n\0\0\0".to_vec() },
        ]
    }

    #[test]
    fn there_and_back() {
        let bytes = write(&sample());
        let mut twice = bytes.clone();
        twice.extend([0; 8]);
        twice.extend(&bytes);
        let read = read(&twice).unwrap();
        assert_eq!(read.len(), 2);
        for entries in read {
            assert_eq!(entries.len(), 2);
            for (entry, expected) in entries.iter().zip(sample()) {
                assert_eq!((entry.form, entry.sm), (expected.form, expected.sm));
                assert!(entry.bytes.starts_with(&expected.bytes), "{entry:?}");
            }
        }
    }

    #[test]
    fn damage_is_noticed() {
        let bytes = write(&sample());
        for len in 1..bytes.len() {
            assert!(read(&bytes[..len]).is_err(), "{len}");
        }
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0xff;
            let _ = read(&bytes);
        }
        // compressed entries that lie
        for flags in [0x2011_u64, 0x8011, 0x11] {
            let mut bytes = bytes.clone();
            bytes[HEADER + 16..HEADER + 20].copy_from_slice(&64_u32.to_le_bytes());
            bytes[HEADER + 40..HEADER + 48].copy_from_slice(&flags.to_le_bytes());
            bytes[HEADER + 56..HEADER + 64].copy_from_slice(&(1_u64 << 29).to_le_bytes());
            assert!(read(&bytes).is_err());
        }
    }
}
