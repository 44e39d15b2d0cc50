// The sum of what each block meets in steps of the grid, by shuffles.
extern "C" __global__ void reduction(int n, const float *__restrict__ x, float *__restrict__ sums) {
    __shared__ float warps[8];
    unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float sum = 0;
    int stride = (int)(gridDim.x * blockDim.x);
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += stride) sum += x[i];
    for (unsigned d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) warps[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < 8 ? warps[lane] : 0.0f;
        for (unsigned d = 4; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (lane == 0) sums[blockIdx.x] = sum;
    }
}
