// How often each of 256 values occurs: counted in shared memory, then added; blocks of 256.
extern "C" __global__ void histogram(int n, const unsigned *__restrict__ x, unsigned *bins) {
    __shared__ unsigned counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    int stride = (int)(gridDim.x * blockDim.x);
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += stride) atomicAdd(&counts[x[i] & 255], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
}
