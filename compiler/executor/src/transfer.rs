//! Copies and fills of the runtime: bytes, rows of bytes, slices of rows.

use crate::device::CudaError;
use crate::errors::{INVALID_PITCH, INVALID_VALUE};
use cdp_core::builtins::RuntimeFn;

/// Rows in linear memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Area {
    /// The first byte.
    pub start: u64,
    /// Bytes from one row to the next.
    pitch: u64,
    /// Bytes from one slice to the next.
    slice: u64,
}

impl Area {
    /// Rows from `start` on, so many bytes apart, in slices so many bytes apart.
    pub(crate) const fn new(start: u64, pitch: u64, slice: u64) -> Self {
        Self { start, pitch, slice }
    }
}

/// Where the bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Area(Area),
    /// This one, over and over.
    Value(u8),
}

/// A copy or a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub to: Area,
    pub from: Source,
    /// Bytes of a row.
    pub width: u64,
    height: u64,
    depth: u64,
}

/// One row: where to, where from if it is copied, and how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub to: u64,
    pub from: Option<u64>,
    pub bytes: u64,
}

impl Transfer {
    /// A copy of so many bytes.
    pub(crate) fn copy(to: u64, from: u64, bytes: u64) -> Self {
        let area = |start| Area { start, pitch: bytes, slice: bytes };
        Self { to: area(to), from: Source::Area(area(from)), width: bytes, height: 1, depth: 1 }
    }

    /// Whether it copies; it fills otherwise.
    pub(crate) const fn is_copy(&self) -> bool {
        matches!(self.from, Source::Area(_))
    }

    /// A copy of so many bytes a row, rows and slices.
    pub(crate) const fn rows_and_slices(to: Area, from: Area, [width, height, depth]: [u64; 3]) -> Self {
        Self { to, from: Source::Area(from), width, height, depth }
    }

    /// So many bytes with one value.
    pub(crate) fn fill(to: u64, value: u8, bytes: u64) -> Self {
        Self { from: Source::Value(value), ..Self::copy(to, 0, bytes) }
    }

    /// Whether there is nothing to do.
    pub(crate) const fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Row by row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> + use<> {
        let Self { to, from, width, height, depth } = *self;
        let rows = if self.is_empty() { 0 } else { depth };
        (0..rows).flat_map(move |slice| (0..height).map(move |row| (slice, row))).map(move |(slice, row)| {
            let at =
                |area: Area| area.start.wrapping_add(slice.wrapping_mul(area.slice)).wrapping_add(row.wrapping_mul(area.pitch));
            let from = match from {
                Source::Area(area) => Some(at(area)),
                Source::Value(_) => None,
            };
            Row { to: at(to), from, bytes: width }
        })
    }

    /// The first bytes that are both copied from and copied to: where, and how many.
    pub(crate) fn overlap(&self) -> Option<(u64, u64)> {
        let mut sides = (Vec::new(), Vec::new());
        for row in self.rows() {
            sides.0.push(row.from?);
            sides.1.push(row.to);
        }
        let (mut from, mut to) = sides;
        from.sort_unstable();
        to.sort_unstable();
        let mut to = to.into_iter().peekable();
        for from in from {
            // rows of one side do not reach into each other
            while to.peek().is_some_and(|to| to.saturating_add(self.width) <= from) {
                to.next();
            }
            let first = to.peek().map(|to| from.max(*to));
            let end = to.peek().map(|to| from.min(*to).saturating_add(self.width));
            if let (Some(first), Some(end)) = (first, end)
                && first < end
            {
                return Some((first, end - first));
            }
        }
        None
    }

    /// The byte that is filled with; 0 for a copy.
    pub(crate) const fn value(&self) -> u8 {
        match self.from {
            Source::Value(value) => value,
            Source::Area(_) => 0,
        }
    }
}

/// A call that copies or fills, with the direction of a copy and the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub transfer: Transfer,
    /// `cudaMemcpyKind`; none for a fill.
    pub kind: Option<i32>,
    pub stream: u64,
}

/// What a call's arguments are made of: each a list of 64-bit words, more than one for structures by value.
pub(crate) type Words = Vec<u64>;

/// The bytes of `cudaMemcpy3DParms`.
pub(crate) const PARMS_BYTES: usize = 160;

/// What of them a copy looks at, first byte and how many: all but the `xsize` of the two pointers, and padding at the end.
pub(crate) const PARMS_READ: [(usize, usize); 3] = [(0, 48), (56, 56), (120, 36)];

/// Reads a call; `parms` are the 20 words that a copy of slices is given the address of. None for other calls. Those that wait have the
/// arguments of those that do not, but for the stream.
pub(crate) fn request(call: RuntimeFn, args: &[Words], parms: &[u64]) -> Option<Result<Request, CudaError>> {
    let word = |arg: usize, place: usize| args.get(arg).and_then(|words| words.get(place)).copied().unwrap_or(0);
    let arg = |index: usize| word(index, 0);
    let kind = |index: usize| Some((arg(index) as u32).cast_signed());
    let rows = |start: u64, pitch: u64| Area { start, pitch, slice: 0 };
    Some(match call {
        RuntimeFn::Memcpy | RuntimeFn::MemcpyAsync => {
            Ok(Request { transfer: Transfer::copy(arg(0), arg(1), arg(2)), kind: kind(3), stream: arg(4) })
        }
        RuntimeFn::Memset | RuntimeFn::MemsetAsync => {
            let transfer = Transfer::fill(arg(0), arg(1) as u8, arg(2));
            Ok(Request { transfer, kind: None, stream: arg(3) })
        }
        RuntimeFn::Memcpy2D | RuntimeFn::Memcpy2DAsync => {
            let (to, from, width, height) = (rows(arg(0), arg(1)), rows(arg(2), arg(3)), arg(4), arg(5));
            let transfer = Transfer { to, from: Source::Area(from), width, height, depth: 1 };
            checked(Request { transfer, kind: kind(6), stream: arg(7) })
        }
        RuntimeFn::Memset2D | RuntimeFn::Memset2DAsync => {
            let to = rows(arg(0), arg(1));
            let transfer = Transfer { to, from: Source::Value(arg(2) as u8), width: arg(3), height: arg(4), depth: 1 };
            checked(Request { transfer, kind: None, stream: arg(5) })
        }
        RuntimeFn::Memset3D | RuntimeFn::Memset3DAsync => {
            let to = Area { start: word(0, 0), pitch: word(0, 1), slice: word(0, 1).wrapping_mul(word(0, 3)) };
            let (width, height, depth) = (word(2, 0), word(2, 1), word(2, 2));
            let transfer = Transfer { to, from: Source::Value(arg(1) as u8), width, height, depth };
            checked(Request { transfer, kind: None, stream: arg(3) })
        }
        RuntimeFn::Memcpy3D | RuntimeFn::Memcpy3DAsync => memcpy_3d(parms, arg(1)),
        _ => return None,
    })
}

/// `cudaMemcpy3DParms`: array, position and pitched pointer of the source, the same of the destination, extent, kind.
fn memcpy_3d(parms: &[u64], stream: u64) -> Result<Request, CudaError> {
    let word = |place: usize| parms.get(place).copied().unwrap_or(0);
    let side = |first: usize| {
        let [array, x, y, z, pointer, pitch, _, height] = [0, 1, 2, 3, 4, 5, 6, 7].map(|place| word(first + place));
        let slice = pitch.wrapping_mul(height);
        let start = pointer.wrapping_add(z.wrapping_mul(slice)).wrapping_add(y.wrapping_mul(pitch)).wrapping_add(x);
        (array, Area { start, pitch, slice })
    };
    let ((from_array, from), (to_array, to)) = (side(0), side(8));
    // arrays are for textures, which device code cannot make; host code copies them elsewhere
    if from_array != 0 || to_array != 0 {
        return Err(INVALID_VALUE);
    }
    let (width, height, depth) = (word(16), word(17), word(18));
    let transfer = Transfer { to, from: Source::Area(from), width, height, depth };
    checked(Request { transfer, kind: Some((word(19) as u32).cast_signed()), stream })
}

/// A row must fit its pitch where there is more than one, and the rows of a slice must fit it.
fn checked(request: Request) -> Result<Request, CudaError> {
    let Transfer { to, from, width, height, depth } = request.transfer;
    let several = height > 1 || depth > 1;
    let flat = |area: Area| depth > 1 && area.slice < area.pitch.saturating_mul(height);
    let narrow = |area: Area| (several && width > area.pitch) || flat(area);
    let from_narrow = matches!(from, Source::Area(area) if narrow(area));
    if narrow(to) || from_narrow { Err(INVALID_PITCH) } else { Ok(request) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(args: &[u64]) -> Vec<Words> {
        args.iter().map(|arg| vec![*arg]).collect()
    }

    #[test]
    fn rows_lie_a_pitch_apart() {
        let args = words(&[1000, 16, 2000, 32, 8, 3, 3, 7]);
        let request = request(RuntimeFn::Memcpy2DAsync, &args, &[]).unwrap().unwrap();
        let rows: Vec<(u64, Option<u64>, u64)> = request.transfer.rows().map(|row| (row.to, row.from, row.bytes)).collect();
        assert_eq!(rows, [(1000, Some(2000), 8), (1016, Some(2032), 8), (1032, Some(2064), 8)]);
        assert_eq!((request.kind, request.stream), (Some(3), 7));
    }

    #[test]
    fn slices_lie_a_height_of_pitches_apart() {
        let args = vec![vec![1000, 16, 16, 4], vec![0x15a], vec![8, 2, 2], vec![9]];
        let request = request(RuntimeFn::Memset3DAsync, &args, &[]).unwrap().unwrap();
        assert_eq!(request.transfer.rows().map(|row| row.to).collect::<Vec<_>>(), [1000, 1016, 1064, 1080]);
        assert_eq!(request.transfer.value(), 0x5a);
        assert_eq!(request.stream, 9);
    }

    #[test]
    fn areas_that_overlap_are_found() {
        let copy = |to, from, bytes| Transfer::copy(to, from, bytes).overlap();
        assert_eq!(copy(1000, 2000, 1000), None);
        assert_eq!(copy(1000, 1999, 1000), Some((1999, 1)));
        assert_eq!(copy(1999, 1000, 1000), Some((1999, 1)));
        assert_eq!(copy(1000, 1000, 8), Some((1000, 8)));
        assert_eq!(Transfer::fill(1000, 0, 8).overlap(), None);
        // columns of one matrix
        let columns = |to| {
            let request = request(RuntimeFn::Memcpy2DAsync, &words(&[to, 16, 1000, 16, 8, 3, 3, 0]), &[]);
            request.unwrap().unwrap().transfer.overlap()
        };
        assert_eq!(columns(1008), None);
        assert_eq!(columns(1004), Some((1004, 4)));
        assert_eq!(columns(1036), Some((1036, 4)));
        assert_eq!(columns(1040), None);
    }

    #[test]
    fn positions_are_added() {
        let mut parms = [0u64; 20];
        parms[1..8].copy_from_slice(&[1, 2, 3, 1000, 10, 10, 5]);
        parms[12..16].copy_from_slice(&[5000, 20, 20, 5]);
        parms[16..].copy_from_slice(&[4, 1, 2, 3]);
        let request = request(RuntimeFn::Memcpy3DAsync, &words(&[0, 6]), &parms).unwrap().unwrap();
        let rows: Vec<(u64, Option<u64>)> = request.transfer.rows().map(|row| (row.to, row.from)).collect();
        assert_eq!(rows, [(5000, Some(1171)), (5100, Some(1221))]);
        parms[0] = 1;
        assert_eq!(super::request(RuntimeFn::Memcpy3DAsync, &words(&[0, 6]), &parms), Some(Err(INVALID_VALUE)));
    }

    #[test]
    fn a_row_must_fit_its_pitch() {
        assert_eq!(request(RuntimeFn::Memset2DAsync, &words(&[1000, 4, 0, 8, 2, 0]), &[]), Some(Err(INVALID_PITCH)));
        assert!(request(RuntimeFn::Memset2DAsync, &words(&[1000, 4, 0, 8, 1, 0]), &[]).unwrap().is_ok());
        let endless = vec![vec![1000, 8, 8, 0], vec![0], vec![8, 1, 1 << 60], vec![0]];
        assert_eq!(request(RuntimeFn::Memset3DAsync, &endless, &[]), Some(Err(INVALID_PITCH)));
        assert_eq!(request(RuntimeFn::GetDevice, &[], &[]), None);
    }
}
