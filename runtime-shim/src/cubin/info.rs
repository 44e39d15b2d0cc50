//! The attribute lists of `.nv.info` and `.nv.info.<kernel>`: one byte of format, one of attribute, then the value.

use super::{Param, damaged};
use crate::error::Result;

/// How a value is stored: EIFMT_NVAL (none), _BVAL (a byte), _HVAL (two bytes), all in two bytes; _SVAL: a length and that many bytes.
const FORMAT_SIZED: u8 = 4;

/// What is read of the attributes; the rest is skipped. The names behind the numbers are those `cuobjdump -elf` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    /// EIATTR_MAX_THREADS
    MaxThreads([u32; 3]),
    /// EIATTR_PARAM_CBANK
    ParamBank { base: u32, size: u32 },
    /// EIATTR_REQNTID
    RequiredThreads([u32; 3]),
    /// EIATTR_FRAME_SIZE, of the symbol with this index
    FrameSize { symbol: u32, size: u32 },
    /// EIATTR_MIN_STACK_SIZE
    MinStackSize { symbol: u32, size: u32 },
    /// EIATTR_KPARAM_INFO and EIATTR_KPARAM_INFO_V2
    Param(Param),
    /// EIATTR_CBANK_PARAM_SIZE
    ParamSize(u32),
    /// EIATTR_REGCOUNT
    Registers { symbol: u32, count: u32 },
    /// EIATTR_CUDA_API_VERSION, in tenths
    ApiVersion(u32),
}

impl Attribute {
    /// The symbol that an attribute of the common list is about.
    pub(super) const fn owner(&self) -> Option<u32> {
        match *self {
            Self::FrameSize { symbol, .. } | Self::MinStackSize { symbol, .. } | Self::Registers { symbol, .. } => Some(symbol),
            _ => None,
        }
    }
}

/// All attributes of a section that mean something here.
pub(super) fn attributes(mut data: &[u8]) -> Result<Vec<Attribute>> {
    let mut list = Vec::new();
    while !data.is_empty() {
        let Some((&[format, attribute, low, high], rest)) = data.split_first_chunk::<4>() else {
            // sections are padded to four bytes
            if data.iter().all(|b| *b == 0) {
                break;
            }
            return Err(damaged("an attribute list ends in the middle of an attribute"));
        };
        let short = u16::from_le_bytes([low, high]);
        if format == FORMAT_SIZED {
            let Some((value, rest)) = rest.split_at_checked(usize::from(short)) else {
                return Err(damaged(format!("attribute 0x{attribute:02x} of {short} bytes runs over the end of its list")));
            };
            data = rest;
            list.extend(sized(attribute, value)?);
        } else if matches!(format, 1..=3) {
            data = rest;
            // EIATTR_CBANK_PARAM_SIZE
            if attribute == 0x19 {
                list.push(Attribute::ParamSize(u32::from(short)));
            }
        } else {
            return Err(damaged(format!("attribute 0x{attribute:02x} has the unknown format {format}")));
        }
    }
    Ok(list)
}

fn sized(attribute: u8, value: &[u8]) -> Result<Option<Attribute>> {
    let short = || damaged(format!("attribute 0x{attribute:02x} is too short: {} bytes", value.len()));
    let word = |index: usize| {
        let bytes = value.get(index * 4..).and_then(|rest| rest.first_chunk::<4>()).ok_or_else(short)?;
        Ok(u32::from_le_bytes(*bytes))
    };
    Ok(Some(match attribute {
        0x05 => Attribute::MaxThreads([word(0)?, word(1)?, word(2)?]),
        // the section's symbol, then the base in the low and the size in the high half
        0x0a => Attribute::ParamBank { base: word(1)? & 0xffff, size: word(1)? >> 16 },
        0x10 => Attribute::RequiredThreads([word(0)?, word(1)?, word(2)?]),
        0x11 => Attribute::FrameSize { symbol: word(0)?, size: word(1)? },
        0x12 => Attribute::MinStackSize { symbol: word(0)?, size: word(1)? },
        // an index that is always 0; ordinal and offset; the size in the upper 14 bits beside the pointee's alignment, space and the bank
        0x17 => Attribute::Param(param(word(1)?, word(2)? >> 18)),
        0x2f => Attribute::Registers { symbol: word(0)?, count: word(1)? },
        0x37 => Attribute::ApiVersion(word(0)?),
        // the form for kernels with more than 4 KB of parameters: 16 bits of size
        0x45 => Attribute::Param(param(word(1)?, word(2)? & 0xffff)),
        _ => return Ok(None),
    }))
}

const fn param(place: u32, size: u32) -> Param {
    Param { ordinal: place as u16, offset: place >> 16, size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bytes() {
        // the third parameter of a kernel: a pointer to global memory aligned 4, at 0x40
        let bytes = [0x04, 0x17, 0x0c, 0x00, 0, 0, 0, 0, 0x02, 0x00, 0x40, 0x00, 0x02, 0xf4, 0x21, 0x00];
        assert_eq!(attributes(&bytes).unwrap(), [Attribute::Param(Param { ordinal: 2, offset: 0x40, size: 8 })]);
        // 20,000 bytes in the long form
        let bytes = [0x04, 0x45, 0x0c, 0x00, 0, 0, 0, 0, 0x01, 0x00, 0x08, 0x00, 0x20, 0x4e, 0x00, 0x00];
        assert_eq!(attributes(&bytes).unwrap(), [Attribute::Param(Param { ordinal: 1, offset: 8, size: 20_000 })]);
        assert_eq!(attributes(&[0x03, 0x19, 0x58, 0x00]).unwrap(), [Attribute::ParamSize(0x58)]);
        assert_eq!(
            attributes(&[0x04, 0x0a, 0x08, 0x00, 0x18, 0, 0, 0, 0x10, 0x02, 0x58, 0x00]).unwrap(),
            [Attribute::ParamBank { base: 0x210, size: 0x58 }]
        );
    }

    #[test]
    fn damage_is_noticed() {
        for bytes in [&[4, 0x17, 12, 0][..], &[4, 0x17, 4, 0, 0, 0, 0, 0], &[9, 0, 0, 0], &[4, 0x17], &[3]] {
            assert_eq!(attributes(bytes).unwrap_err().code(), "E0628", "{bytes:?}");
        }
        assert_eq!(attributes(&[]).unwrap(), []);
    }
}
