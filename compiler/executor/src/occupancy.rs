//! What a kernel needs of a multiprocessor, and how many of its blocks fit there.

use crate::device::CudaError;

/// What is known of a kernel: the fields of `cudaFuncAttributes` that mean something everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelAttributes {
    /// Static shared memory in bytes.
    pub shared_bytes: u64,
    /// Constant memory in bytes, of the kernel's own.
    pub constant_bytes: u64,
    /// Local memory of a thread in bytes.
    pub local_bytes: u64,
    /// The most threads of a block.
    pub max_threads: i32,
    /// Registers of a thread; 0 where there are none.
    pub registers: i32,
    /// The PTX version that it was compiled for, 10 times the major one plus the minor one.
    pub ptx_version: i32,
    /// The architecture that it was assembled for, in the same form.
    pub binary_version: i32,
    /// The most dynamic shared memory in bytes.
    pub max_dynamic_shared: i32,
    /// Blocks of a cluster, along x, y and z; 0 for a kernel without clusters.
    pub cluster: [u32; 3],
}

/// Bytes of `cudaFuncAttributes`.
pub(crate) const ATTRIBUTES_SIZE: usize = 144;

impl KernelAttributes {
    /// As the structure of the CUDA headers.
    pub(crate) fn bytes(&self) -> [u8; ATTRIBUTES_SIZE] {
        let mut bytes = [0; ATTRIBUTES_SIZE];
        let words = [self.shared_bytes, self.constant_bytes, self.local_bytes].into_iter().flat_map(u64::to_le_bytes);
        // cacheModeCA stands before the dynamic shared memory; the default carveout is -1
        let ints = [self.max_threads, self.registers, self.ptx_version, self.binary_version, 0, self.max_dynamic_shared, -1];
        // clusterDimMustBeSet, then the sizes
        let sizes = [u32::from(self.cluster != [0; 3])].into_iter().chain(self.cluster).map(u32::cast_signed);
        let ints = ints.into_iter().chain(sizes).flat_map(i32::to_le_bytes);
        for (byte, value) in bytes.iter_mut().zip(words.chain(ints)) {
            *byte = value;
        }
        bytes
    }
}

/// The smallest grid that fills the device and the block size for it, as CUDA's header computes them: the largest multiple of a warp
/// with the most threads at once. `active_blocks` gives how many blocks of a size run at once on a multiprocessor.
///
/// # Errors
/// Those of `active_blocks`.
pub(crate) fn potential_block_size(
    multiprocessors: i32,
    most: i32,
    mut active_blocks: impl FnMut(i32) -> Result<i32, CudaError>,
) -> Result<(i32, i32), CudaError> {
    const WARP: i32 = 32;
    let mut best = (0, 0);
    let mut best_threads = 0;
    let mut size = (most + WARP - 1) / WARP * WARP;
    while size > 0 {
        let block = size.min(most);
        let blocks = active_blocks(block)?;
        if blocks * block > best_threads {
            best_threads = blocks * block;
            best = (blocks * multiprocessors, block);
        }
        size -= WARP;
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_the_best_block_sizes_is_taken() {
        let by_threads = |block: i32| Ok(2048 / block);
        assert_eq!(potential_block_size(132, 1024, by_threads), Ok((264, 1024)));
        assert_eq!(potential_block_size(10, 768, by_threads), Ok((40, 512)));
        assert_eq!(potential_block_size(10, 100, |_| Err(1)), Err(1));
    }

    #[test]
    fn attributes_lie_where_the_headers_put_them() {
        let attributes =
            KernelAttributes { shared_bytes: 5, max_threads: 1024, max_dynamic_shared: 7, ..KernelAttributes::default() };
        let bytes = attributes.bytes();
        assert_eq!(bytes[0], 5);
        assert_eq!(bytes[24..28], 1024i32.to_le_bytes());
        assert_eq!(bytes[44..48], 7i32.to_le_bytes());
    }
}
