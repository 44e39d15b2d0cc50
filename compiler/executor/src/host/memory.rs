//! Device memory as host code sees it: a copy of each buffer, as fresh as it needs to be.
//!
//! The first read of a buffer fetches all of it; later reads use that copy until something might have changed the device's: a launch, a
//! copy, a call that waits. Writes go to the copy, and reach the device before anything there could look.

use crate::address::NULL_PAGE;
use crate::device::{CudaError, Device};
use crate::fault::{Access, Allocation, FaultKind, Step};
use crate::written::{Unwritten, Written};
use cdp_core::source::Span;

/// A buffer or variable in device memory.
#[derive(Debug)]
struct Buffer {
    allocation: Allocation,
    copy: Vec<u8>,
    /// The copy is what the device holds, but for what is dirty, when this is the memory's present epoch.
    epoch: u64,
    /// Bytes of the copy that the device has yet to get.
    dirty: Option<(usize, usize)>,
    /// Which bytes of the copy have a value, where some have none.
    written: Option<Written>,
}

/// Every buffer that host code made, and every variable that it named.
#[derive(Debug)]
pub(super) struct Memory {
    /// By address.
    buffers: Vec<Buffer>,
    /// The one used last.
    last: usize,
    freed: Vec<(Allocation, Span)>,
    /// The buffers that have bytes for the device, by address.
    dirty: Vec<u64>,
    epoch: u64,
}

impl Memory {
    pub(super) const fn new() -> Self {
        // epoch 0 is never current: a new buffer's copy is stale
        Self { buffers: Vec::new(), last: 0, freed: Vec::new(), dirty: Vec::new(), epoch: 1 }
    }

    /// Adds a buffer; `zeroed` when the device has cleared it.
    pub(super) fn add(&mut self, allocation: Allocation, zeroed: bool) {
        self.freed.retain(|(freed, _)| freed.address != allocation.address);
        let copy = if zeroed { vec![0; usize::try_from(allocation.size).unwrap_or(0)] } else { Vec::new() };
        let place = self.buffers.partition_point(|buffer| buffer.allocation.address < allocation.address);
        let epoch = if zeroed { self.epoch } else { 0 };
        self.buffers.insert(place, Buffer { allocation, copy, epoch, dirty: None, written: None });
        self.last = place;
    }

    /// Forgets a buffer that is given back; its unwritten bytes go with it.
    pub(super) fn remove(&mut self, address: u64, span: Span) {
        if let Some(place) = self.buffers.iter().position(|buffer| buffer.allocation.address == address) {
            let buffer = self.buffers.remove(place);
            self.freed.push((buffer.allocation, span));
            self.last = 0;
        }
    }

    /// The addresses of all buffers.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.buffers.iter().map(|buffer| buffer.allocation.address)
    }

    /// The device's memory may change from now on.
    pub(super) const fn stale(&mut self) {
        self.epoch += 1;
    }

    /// Sends what was written to the device.
    pub(super) fn flush(&mut self, device: &mut dyn Device) -> CudaError {
        let mut error = 0;
        for address in self.dirty.drain(..) {
            let Ok(place) = self.buffers.binary_search_by_key(&address, |buffer| buffer.allocation.address) else { continue };
            if let Some(buffer) = self.buffers.get_mut(place)
                && let Some((from, to)) = buffer.dirty.take()
                && let Some(bytes) = buffer.copy.get(from..to)
            {
                let result = device.write(address + from as u64, bytes);
                error = if error == 0 { result } else { error };
                let gaps = buffer.written.as_ref().map(|written| written.gaps(from as u64, (to - from) as u64));
                for (start, bytes) in gaps.into_iter().flatten() {
                    device.undefine(address + start, bytes);
                }
            }
        }
        error
    }

    /// The buffer that holds an access.
    fn find(&mut self, access: Access) -> Step<usize> {
        let holds = |buffer: &Buffer| buffer.allocation.holds(access.address, access.size);
        if self.buffers.get(self.last).is_some_and(holds) {
            return Ok(self.last);
        }
        let after = self.buffers.partition_point(|buffer| buffer.allocation.address <= access.address);
        let place = after.wrapping_sub(1);
        if self.buffers.get(place).is_some_and(holds) {
            self.last = place;
            return Ok(place);
        }
        Err(Box::new(self.miss(access, after)))
    }

    /// Why no buffer holds an access.
    #[cold]
    fn miss(&self, access: Access, after: usize) -> FaultKind {
        if access.address < NULL_PAGE {
            return FaultKind::Null(access);
        }
        if let Some((was, freed)) = self.freed.iter().find(|(was, _)| was.holds(access.address, access.size)) {
            return FaultKind::Freed { access, was: was.clone(), freed: *freed };
        }
        // the nearest one is meant, when it is near
        let before = after.checked_sub(1).and_then(|place| self.buffers.get(place)).map(|buffer| &buffer.allocation);
        let behind = self.buffers.get(after).map(|buffer| &buffer.allocation);
        let distance_before = before.map(|b| access.address - b.address.saturating_add(b.size).min(access.address));
        let distance_behind = behind.map(|b| b.address - access.address);
        let near = match (distance_before, distance_behind) {
            (Some(a), Some(b)) if b < a => behind,
            (Some(_), _) => before,
            _ => behind,
        };
        FaultKind::OutOfBounds { access, near: near.cloned() }
    }

    /// Whether bytes lie in one buffer, without touching them.
    pub(super) fn check(&mut self, access: Access) -> Step {
        self.find(access).map(|_| ())
    }

    /// Whether an access needs the device first.
    pub(super) fn is_fresh(&mut self, access: Access) -> Step<bool> {
        let place = self.find(access)?;
        Ok(self.buffers.get(place).is_some_and(|buffer| buffer.epoch == self.epoch))
    }

    /// Fetches the buffer that an access is in. What is dirty is sent first.
    pub(super) fn refresh(&mut self, access: Access, device: &mut dyn Device) -> Step {
        let error = self.flush(device);
        let place = self.find(access)?;
        let Some(buffer) = self.buffers.get_mut(place) else { return Ok(()) };
        buffer.copy.resize(usize::try_from(buffer.allocation.size).unwrap_or(0), 0);
        let error = if error == 0 { device.read(buffer.allocation.address, &mut buffer.copy) } else { error };
        if error != 0 {
            let what = format!("reading {}", buffer.allocation.what);
            return Err(Box::new(FaultKind::Cuda { what, error, because: "so there is no value to go on with" }));
        }
        buffer.epoch = self.epoch;
        let Allocation { address, size, .. } = buffer.allocation;
        let gaps = device.unwritten(address, size);
        buffer.written = (!gaps.is_empty()).then(|| {
            let mut written = Written::whole(size);
            gaps.into_iter().for_each(|(start, bytes)| written.unset_all(start - address, bytes));
            written
        });
        Ok(())
    }

    /// Those of a read's bytes that have no value, if there are any, of a fresh copy.
    pub(super) fn unwritten(&mut self, access: Access) -> Step<Option<Box<Unwritten>>> {
        let place = self.find(access)?;
        let Some(Buffer { allocation, written: Some(written), .. }) = self.buffers.get(place) else { return Ok(None) };
        let missing = written.missing(access.address - allocation.address, access.size);
        Ok(missing.map(|bytes| Box::new(Unwritten { address: access.address, bytes, of: allocation.clone() })))
    }

    /// Takes their value from the marked bytes of a fresh copy, which were written just now.
    pub(super) fn undefine(&mut self, address: u64, marks: &[bool]) -> Step {
        let place = self.find(Access { address, size: marks.len() as u64, write: true })?;
        if let Some(Buffer { allocation, written, .. }) = self.buffers.get_mut(place) {
            written.get_or_insert_with(|| Written::whole(allocation.size)).unset(address - allocation.address, marks);
        }
        Ok(())
    }

    /// Bytes of a fresh copy.
    pub(super) fn bytes(&mut self, access: Access) -> Step<&mut [u8]> {
        let place = self.find(access)?;
        let Some(buffer) = self.buffers.get_mut(place) else { return Ok(&mut []) };
        let start = (access.address - buffer.allocation.address) as usize;
        let end = start + access.size as usize;
        if access.write {
            if buffer.dirty.is_none() {
                self.dirty.push(buffer.allocation.address);
            }
            let (from, to) = buffer.dirty.unwrap_or((start, end));
            buffer.dirty = Some((from.min(start), to.max(end)));
            if let Some(written) = &mut buffer.written {
                written.set(start as u64, access.size);
            }
        }
        match buffer.copy.get_mut(start..end) {
            Some(bytes) => Ok(bytes),
            None => Err(Box::new(FaultKind::OutOfBounds { access, near: Some(buffer.allocation.clone()) })),
        }
    }
}
