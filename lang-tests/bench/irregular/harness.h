// What every benchmark here needs: a cubin of cdpc's, times, and one line of output for each variant.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <random>
#include <string>
#include <vector>

#define CHECK(call) do { auto e_ = (call); if (e_) { std::printf("%s:%d: error %d\n", __FILE__, __LINE__, (int)e_); std::exit(1); } } while (0)

// A kernel of a module that cdpc compiled; the folder is the first argument of the program.
struct Cubin {
    CUmodule module;
    Cubin(const std::string& folder, const char* name) { cudaFree(0); CHECK(cuModuleLoad(&module, (folder + "/" + name + ".cubin").c_str())); }
    template <class... A> void launch(const char* kernel, dim3 grid, dim3 block, A... args) {
        CUfunction f;
        CHECK(cuModuleGetFunction(&f, module, kernel));
        void* list[] = {&args...};
        CHECK(cuLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0, 0, list, nullptr));
    }
};

// Median milliseconds of `work`, `before` each time.
template <class B, class W> float median(int times, B before, W work) {
    cudaEvent_t a, b;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    std::vector<float> all;
    for (int i = 0; i < times; i++) {
        before();
        CHECK(cudaDeviceSynchronize());
        cudaEventRecord(a);
        work();
        cudaEventRecord(b);
        cudaError_t e = cudaEventSynchronize(b);
        if (e) { std::printf("  %s\n", cudaGetErrorName(e)); std::exit(1); }
        float ms;
        cudaEventElapsedTime(&ms, a, b);
        all.push_back(ms);
    }
    std::sort(all.begin(), all.end());
    return all[times / 2];
}

inline void line(const char* bench, const char* variant, float ms, bool right, const char* more = "") {
    std::printf("%-28s %-14s %10.3f ms  %s %s\n", bench, variant, ms, right ? "right" : "WRONG", more);
    std::fflush(stdout);
}
