// A host program that launches kernels of both halves with <<<…>>> and reads variables of both by name. Prints PASS.
#include <cstdio>
#include <cstdlib>

#include "range.h"

extern "C" {
extern __device__ unsigned ours_calls;
extern __device__ unsigned theirs_calls;
extern __constant__ int ours_table[4];
__global__ void ours_fill(int *x, signed char tag, Range r);
__global__ void ours_parent(int *x, Range r);
__global__ void theirs_parent(int *x, Range r);
}

static void check(bool fine, const char *what) {
    if (!fine) {
        std::printf("FAIL: %s (%s)\n", what, cudaGetErrorString(cudaGetLastError()));
        std::exit(1);
    }
}

static int at(const int *x, int i) {
    int value = 0;
    check(cudaMemcpy(&value, x + i, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess, "a copy");
    return value;
}

int main() {
    int *x = nullptr;
    check(cudaMalloc(&x, 64 * sizeof *x) == cudaSuccess, "memory");

    ours_fill<<<1, 32>>>(x, -2, Range{8, 16, 0.5f});
    check(cudaDeviceSynchronize() == cudaSuccess, "ours_fill from the host");
    // 3 * 3 + 2 * 3 * 0.5 - 2
    check(at(x, 8 + 3) == 10, "what ours_fill wrote");

    ours_parent<<<1, 32>>>(x, Range{0, 32, 2.0f});
    check(cudaDeviceSynchronize() == cudaSuccess, "ours_parent, which launches theirs_fill");
    check(at(x, 3) == 18 && at(x, 19) == 12 && at(x, 32) == 7, "what theirs_fill wrote");

    theirs_parent<<<1, 32>>>(x, Range{0, 32, 1.0f});
    check(cudaDeviceSynchronize() == cudaSuccess, "theirs_parent, which launches ours_fill");
    check(at(x, 5) == 36 && at(x, 40) == 1081, "what ours_fill wrote as a child");

    unsigned ours = 0, theirs = 0;
    int table[4] = {};
    check(cudaMemcpyFromSymbol(&ours, ours_calls, sizeof ours) == cudaSuccess && ours == 2, "ours_calls by name");
    check(cudaMemcpyFromSymbol(&theirs, theirs_calls, sizeof theirs) == cudaSuccess && theirs == 102, "theirs_calls by name");
    check(cudaMemcpyFromSymbol(table, ours_table, sizeof table) == cudaSuccess && table[2] == 100, "ours_table by name");
    std::printf("PASS\n");
    return 0;
}
