//! `memcpy`, `memmove` and `memset` of a thread: bytes of any memory that it reaches.

use super::races::Kind;
use super::world::World;
use crate::address::{Region, is_local, region};
use crate::fault::{Access, FaultKind, Origin, Step};
use crate::interp::Environment;
use crate::interp::locals::Locals;
use cdp_core::builtins::RuntimeFn;
use cdp_core::source::Span;

impl<const TRACK: bool> World<'_, TRACK> {
    /// The arguments are the target, then the source or the value, then how many bytes.
    pub(super) fn move_bytes(
        &mut self,
        call: RuntimeFn,
        [to, from, size]: [u64; 3],
        locals: &mut Locals<'_>,
        span: Span,
    ) -> Step {
        if size == 0 {
            return Ok(());
        }
        // the target first, so that no buffer is made for a size that nothing has
        self.reach(Access { address: to, size, write: true }, locals)?;
        if call == RuntimeFn::MemorySet {
            return self.write(to, &vec![from as u8; size as usize], locals);
        }
        let distance = to.abs_diff(from);
        if call == RuntimeFn::MemoryCopy && distance < size {
            return Err(Box::new(FaultKind::Overlap { bytes: size - distance }));
        }
        let source = Access { address: from, size, write: false };
        let bytes = self.reach(source, locals)?.to_vec();
        if !is_local(from) {
            self.track(source, Kind::Read);
        }
        // what has no value has none in its new place
        if (region(to), region(from)) != (Region::Device, Region::Device) {
            let missing = if is_local(from) {
                locals.undefined_at(from, size as usize)
            } else {
                self.unwritten(source)?.map(|unwritten| unwritten.bytes)
            };
            self.write(to, &bytes, locals)?;
            return match missing {
                Some(marks) if is_local(to) => {
                    locals.mark_at(to, &marks, Origin::copied(span, self.site));
                    Ok(())
                }
                Some(marks) => self.undefine(to, &marks),
                None => Ok(()),
            };
        }
        let target = Access { address: to, size, write: true };
        self.machine.memory.copy(target, source)?;
        self.machine.changes += 1;
        self.track(target, Kind::Write);
        Ok(())
    }

    fn reach<'l>(&'l mut self, access: Access, locals: &'l mut Locals<'_>) -> Step<&'l mut [u8]> {
        if is_local(access.address) {
            return locals.at(access.address, access.size as usize, access.write);
        }
        self.memory(access)
    }
}
