// The same program as ../run/nested_hello.cdp, for `make bench-compile`.
#include <cstdio>

__global__ void nest(int size, int depth, int *seen) {
    unsigned tid = threadIdx.x;
    printf("depth : %d blockIdx: %u, threadIdx: %u\n", depth, blockIdx.x, tid);
    atomicAdd(&seen[depth], 1);
    if (size == 1) return;
    int threads = size >> 1;
    if (tid == 0 && threads > 0) {
        nest<<<1, (unsigned)threads>>>(threads, depth + 1, seen);
        cudaError_t err = cudaGetLastError();
        printf("-----------> nested execution depth: %d (%s)\n", depth, cudaGetErrorName(err));
    }
}
