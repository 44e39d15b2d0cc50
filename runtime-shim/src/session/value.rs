//! Values as they lie in the GPU's memory: C layout, little-endian, padding zero. Conversion goes field by field, so that no byte of padding
//! is ever read and any bytes from the GPU are a value.

use super::arg::Kind;
use crate::error::Result;
use crate::gpu::{DeviceBuffer, DevicePtr};

/// A type with a size in device memory. Generated bindings implement it for a program's structures.
pub trait Value: Sized {
    /// Bytes, padding at the end included.
    const SIZE: usize;
    /// What it is as an argument.
    const KIND: Kind;
    /// Writes it to the first `SIZE` bytes; padding is left alone.
    fn store(&self, to: &mut [u8]);
    /// Reads it from the first `SIZE` bytes; what is missing counts as zero.
    fn load(from: &[u8]) -> Self;
}

/// Writes a value `offset` bytes from the start; nothing where there is no room.
pub fn put<T: Value>(to: &mut [u8], offset: usize, value: &T) {
    if let Some(room) = to.get_mut(offset..).filter(|room| room.len() >= T::SIZE) {
        value.store(room);
    }
}

/// Reads the value `offset` bytes from the start.
#[must_use]
pub fn get<T: Value>(from: &[u8], offset: usize) -> T {
    T::load(from.get(offset..).unwrap_or_default())
}

/// The bytes of values one after the other, as an array in device memory.
#[must_use]
pub fn to_bytes<T: Value>(values: &[T]) -> Vec<u8> {
    let mut bytes = vec![0; T::SIZE.saturating_mul(values.len())];
    for (value, room) in values.iter().zip(bytes.chunks_exact_mut(T::SIZE.max(1))) {
        value.store(room);
    }
    bytes
}

/// The values of an array in device memory; bytes behind the last whole one are left out.
#[must_use]
pub fn from_bytes<T: Value>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(T::SIZE.max(1)).map(T::load).collect()
}

/// As many bytes as there are, and zeroes.
fn filled<const N: usize>(from: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    bytes
}

fn write(to: &mut [u8], bytes: &[u8]) {
    to.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
}

macro_rules! numbers {
    ($($ty:ident)*) => {$(
        impl Value for $ty {
            const SIZE: usize = size_of::<$ty>();
            const KIND: Kind = Kind::Named(stringify!($ty));
            fn store(&self, to: &mut [u8]) {
                write(to, &self.to_le_bytes());
            }
            fn load(from: &[u8]) -> Self {
                Self::from_le_bytes(filled(from))
            }
        }
    )*};
}

numbers!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl Value for bool {
    const SIZE: usize = 1;
    const KIND: Kind = Kind::Named("bool");
    fn store(&self, to: &mut [u8]) {
        write(to, &[u8::from(*self)]);
    }
    fn load(from: &[u8]) -> Self {
        from.first().is_some_and(|byte| *byte != 0)
    }
}

impl Value for DevicePtr {
    const SIZE: usize = 8;
    const KIND: Kind = Kind::Pointer;
    fn store(&self, to: &mut [u8]) {
        self.0.store(to);
    }
    fn load(from: &[u8]) -> Self {
        Self(u64::load(from))
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    const SIZE: usize = T::SIZE * N;
    const KIND: Kind = Kind::Bytes;
    fn store(&self, to: &mut [u8]) {
        self.iter().zip(to.chunks_exact_mut(T::SIZE.max(1))).for_each(|(element, room)| element.store(room));
    }
    fn load(from: &[u8]) -> Self {
        std::array::from_fn(|index| get(from, index * T::SIZE))
    }
}

impl DeviceBuffer {
    /// All of it as values; bytes behind the last whole one are left out.
    ///
    /// # Errors
    /// [`crate::Error::Cuda`], or the fault of an earlier kernel.
    pub fn to_values<T: Value>(&self) -> Result<Vec<T>> {
        Ok(from_bytes(&self.to_vec()?))
    }
}

impl From<&DeviceBuffer> for DevicePtr {
    fn from(buffer: &DeviceBuffer) -> Self {
        buffer.ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::vector::{f32x3, u8x4};

    #[test]
    fn values_there_and_back() {
        let values = [[1_i16, -2], [3, 4]];
        let bytes = to_bytes(&values);
        assert_eq!(bytes, [1, 0, 0xfe, 0xff, 3, 0, 4, 0]);
        assert_eq!(from_bytes::<[i16; 2]>(&bytes), values);
        let place = f32x3 { x: 1.0, y: 2.0, z: -0.5 };
        let mut bytes = [0xaa; 16];
        put(&mut bytes, 4, &place);
        assert_eq!((&bytes[..4], get::<f32x3>(&bytes, 4)), (&[0xaa; 4][..], place));
        assert_eq!(u8x4::load(&[1, 2]), u8x4 { x: 1, y: 2, z: 0, w: 0 });
        assert_eq!((bool::load(&[2]), DevicePtr::load(&[])), (true, DevicePtr(0)));
    }

    #[test]
    fn no_room_writes_nothing() {
        let mut bytes = [7; 4];
        put(&mut bytes, 1, &1_u32);
        put(&mut bytes, 9, &1_u8);
        assert_eq!(bytes, [7; 4]);
    }
}
