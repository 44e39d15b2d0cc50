// c = a * b, square matrices of n by n, through tiles of 32 by 32; a thread an element.
#define TILE 32

extern "C" __global__ void matmul(int n, const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    int column = (int)blockIdx.x * TILE + tx, row = (int)blockIdx.y * TILE + ty;
    float sum = 0;
    for (int m = 0; m < n / TILE; m++) {
        left[ty][tx] = a[row * n + m * TILE + tx];
        right[ty][tx] = b[(m * TILE + ty) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += left[ty][k] * right[k][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
