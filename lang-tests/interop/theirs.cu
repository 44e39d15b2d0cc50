// The half that nvcc compiles: see interop.cdp.
#include "range.h"

extern "C" {

__device__ unsigned theirs_calls = 0;
__constant__ int theirs_table[4] = {5, 6, 7, 8};

extern __device__ unsigned ours_calls;
extern __constant__ int ours_table[4];
__device__ int ours_square(int v);
__global__ void ours_fill(int *x, signed char tag, Range r);

__device__ int theirs_weight(int i) { return 2 * i; }

__global__ void theirs_fill(int *x, signed char tag, Range r) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) atomicAdd(&theirs_calls, 1);
    if (i < r.count) x[r.first + i] = ours_square(i) + (int)(i * r.scale) + tag;
}

// our kernel as a child
__global__ void theirs_parent(int *x, Range r) {
    if (threadIdx.x != 0) return;
    ours_fill<<<1, 32>>>(x, 1, r);
    if (cudaGetLastError() != cudaSuccess) x[r.first] = -1;
    x[40] = ours_square(9) + ours_table[3];
}

}
