// A square matrix of n by n turned over its diagonal, through tiles of 32 by 32; blocks of 32 by 8.
extern "C" __global__ void transpose(int n, const float *__restrict__ x, float *__restrict__ y) {
    __shared__ float tile[32][33];
    int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    int bx = (int)blockIdx.x * 32, by = (int)blockIdx.y * 32;
    for (int j = 0; j < 32; j += 8) tile[ty + j][tx] = x[(by + ty + j) * n + bx + tx];
    __syncthreads();
    for (int j = 0; j < 32; j += 8) y[(bx + ty + j) * n + by + tx] = tile[tx][ty + j];
}
