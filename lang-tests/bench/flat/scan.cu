// The inclusive prefix sums within each block's 256 elements (Hillis and Steele).
#define BLOCK 256u

extern "C" __global__ void scan(int n, const int *__restrict__ x, int *__restrict__ y) {
    __shared__ int tile[BLOCK];
    unsigned t = threadIdx.x;
    int i = (int)(blockIdx.x * BLOCK + t);
    tile[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned d = 1; d < BLOCK; d *= 2) {
        int v = t >= d ? tile[t - d] : 0;
        __syncthreads();
        tile[t] += v;
        __syncthreads();
    }
    if (i < n) y[i] = tile[t];
}
