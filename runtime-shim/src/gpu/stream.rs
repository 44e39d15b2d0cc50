//! Streams and events of the host.
#![allow(unsafe_code)] // calling the driver

use std::time::Duration;

use cudarc::driver::sys::{self, CUevent_flags, CUstream_flags};

use super::context::Context;
use super::driver::{check, failure};
use crate::error::{Error, Result};

/// A host stream, independent of the NULL stream (`cudaStreamNonBlocking`). Its handle means nothing on the device.
#[derive(Debug)]
pub struct Stream {
    context: Context,
    pub(super) raw: sys::CUstream,
}

// SAFETY: streams may be used from any thread that has the context current.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver locks for itself.
unsafe impl Sync for Stream {}

impl Context {
    /// A new stream.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn create_stream(&self) -> Result<Stream> {
        self.create_stream_with(CUstream_flags::CU_STREAM_NON_BLOCKING as u32)
    }

    /// A new stream with these flags of CUDA's: 0 makes it wait for the NULL stream and the NULL stream for it, 1 does not.
    ///
    /// # Errors
    /// [`Error::Cuda`] with 1 for other flags.
    pub fn create_stream_with(&self, flags: u32) -> Result<Stream> {
        self.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the context is current and the pointer valid.
        check("cuStreamCreate", unsafe { sys::cuStreamCreate(&raw mut raw, flags) })?;
        Ok(Stream { context: self.clone(), raw })
    }

    /// Whether all work in the NULL stream is done.
    ///
    /// # Errors
    /// [`Error::DeviceFault`] when a kernel died.
    pub fn is_done(&self) -> Result<bool> {
        self.bind()?;
        // SAFETY: the null handle is the NULL stream.
        done("cuStreamQuery", unsafe { sys::cuStreamQuery(raw(None)) })
    }

    /// A new event that can measure time.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn create_event(&self) -> Result<Event> {
        self.create_event_with(CUevent_flags::CU_EVENT_DEFAULT as u32)
    }

    /// A new event with these flags of CUDA's: 1 sleeps while it is waited for, 2 does without time.
    ///
    /// # Errors
    /// [`Error::Cuda`] with 1 for other flags.
    pub fn create_event_with(&self, flags: u32) -> Result<Event> {
        self.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the context is current and the pointer valid.
        check("cuEventCreate", unsafe { sys::cuEventCreate(&raw mut raw, flags) })?;
        Ok(Event { context: self.clone(), raw })
    }
}

/// The driver's handle; `None` is the NULL stream.
pub(super) fn raw(stream: Option<&Stream>) -> sys::CUstream {
    stream.map_or(std::ptr::null_mut(), |s| s.raw)
}

impl Stream {
    /// Waits for its work.
    ///
    /// # Errors
    /// [`Error::DeviceFault`] when a kernel died.
    pub fn synchronize(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: a live stream.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.raw) })
    }

    /// Whether its work is done.
    ///
    /// # Errors
    /// [`Error::DeviceFault`] when a kernel died.
    pub fn is_done(&self) -> Result<bool> {
        self.context.bind()?;
        // SAFETY: a live stream.
        done("cuStreamQuery", unsafe { sys::cuStreamQuery(self.raw) })
    }

    /// Lets later work of this stream wait for the event.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.context.bind()?;
        // SAFETY: live handles; the flags must be 0.
        check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.raw, event.raw, 0) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: a live stream, not used again; its work goes on to its end.
            unsafe { sys::cuStreamDestroy_v2(self.raw) };
        }
    }
}

type ElapsedTime = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;

/// A mark in a stream.
#[derive(Debug)]
pub struct Event {
    context: Context,
    raw: sys::CUevent,
}

// SAFETY: events may be used from any thread that has the context current.
unsafe impl Send for Event {}
// SAFETY: as above; the driver locks for itself.
unsafe impl Sync for Event {}

impl Event {
    /// Marks the present end of the stream; `None` is the NULL stream.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn record(&self, stream: Option<&Stream>) -> Result<()> {
        self.context.bind()?;
        // SAFETY: live handles.
        check("cuEventRecord", unsafe { sys::cuEventRecord(self.raw, raw(stream)) })
    }

    /// Waits until the mark is reached.
    ///
    /// # Errors
    /// [`Error::DeviceFault`] when a kernel died.
    pub fn synchronize(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: a live event.
        check("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.raw) })
    }

    /// Whether the mark is reached.
    ///
    /// # Errors
    /// [`Error::DeviceFault`] when a kernel died.
    pub fn is_done(&self) -> Result<bool> {
        self.context.bind()?;
        // SAFETY: a live event.
        done("cuEventQuery", unsafe { sys::cuEventQuery(self.raw) })
    }

    /// Time on the GPU from `earlier` to this mark; both must be reached. Resolution: half a microsecond.
    ///
    /// # Errors
    /// [`Error::Cuda`] with 600 when one is not reached yet, 400 when one was never recorded.
    pub fn since(&self, earlier: &Self) -> Result<Duration> {
        self.context.bind()?;
        let mut milliseconds = 0.0_f32;
        // cudarc knows only the second version of this call, and panics with drivers before 12.8, which lack it; the first is everywhere.
        // SAFETY: the type is that of cuda.h; live events and a valid pointer.
        let result = unsafe {
            let call = sys::culib().get::<ElapsedTime>(b"cuEventElapsedTime\0").map_err(|_| Error::NoDriver)?;
            call(&raw mut milliseconds, earlier.raw, self.raw)
        };
        check("cuEventElapsedTime", result)?;
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: a live event, not used again.
            unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}

fn done(call: &'static str, result: sys::CUresult) -> Result<bool> {
    match failure(result) {
        None => Ok(true),
        Some(error) if error.number == 600 => Ok(false),
        Some(error) if error.is_sticky() => Err(Error::DeviceFault { call, error }),
        Some(error) => Err(Error::Cuda { call, error }),
    }
}
