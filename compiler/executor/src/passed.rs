//! The parameters of a launch, gathered from the launching thread's frame.

use crate::code::Launch;
use crate::fault::Origin;
use crate::interp::locals::Locals;
use cdp_core::source::Span;

/// Bytes of a launch's parameters that have no value: parts of structures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undefined {
    /// One for each byte of the parameter buffer: whether it has none.
    pub bytes: Vec<bool>,
    /// Why.
    pub origin: Origin,
}

/// Fills in the parameter buffer, of so many bytes; what of it has no value, if anything.
pub(crate) fn gather(
    launch: &Launch,
    size: u32,
    params: &mut Vec<u8>,
    locals: &Locals<'_>,
    span: Span,
) -> Option<Box<Undefined>> {
    params.clear();
    params.resize(size as usize, 0);
    let mut undefined: Option<Box<Undefined>> = None;
    for (slot, offset) in &launch.args {
        let range = *offset as usize..*offset as usize + slot.size as usize;
        if let (Some(into), Some(from)) = (params.get_mut(range.clone()), locals.bytes(slot.offset, slot.size)) {
            into.copy_from_slice(from);
        }
        let Some((bytes, origin)) = locals.undefined(slot.offset, slot.size) else { continue };
        let passed = || Origin { span, text: "passed here without a value".to_owned(), made: None, site: 0 };
        let all = undefined.get_or_insert_with(|| {
            Box::new(Undefined { bytes: vec![false; size as usize], origin: origin.unwrap_or_else(passed) })
        });
        if let Some(into) = all.bytes.get_mut(range) {
            into.copy_from_slice(&bytes);
        }
    }
    undefined
}
