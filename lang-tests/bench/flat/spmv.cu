// y = A * x with A in compressed rows, one row a thread.
extern "C" __global__ void spmv(
    int rows,
    const int *__restrict__ start,
    const int *__restrict__ column,
    const float *__restrict__ value,
    const float *__restrict__ x,
    float *__restrict__ y
) {
    int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= rows) return;
    float sum = 0;
    int end = start[row + 1];
    for (int k = start[row]; k < end; k++) sum += value[k] * x[column[k]];
    y[row] = sum;
}
