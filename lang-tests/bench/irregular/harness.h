// What every benchmark here needs: memory, a cubin of cdpc's, times, and one line of output for each variant.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#define CHECK(call) do { auto e_ = (call); if (e_) { std::printf("failed\t%s:%d: error %d\n", __FILE__, __LINE__, (int)e_); std::exit(1); } } while (0)

// A function of the driver, without linking it: there is none where this is built.
template <class F> F driver(const char* name) {
    void* function;
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
    return (F)function;
}

// A kernel of a module that cdpc compiled; the folder is the first argument of the program.
struct Cubin {
    CUmodule module;
    Cubin(const std::string& folder, const char* name) {
        CHECK(cudaFree(0));
        CHECK(driver<decltype(&cuModuleLoad)>("cuModuleLoad")(&module, (folder + "/" + name + ".cubin").c_str()));
    }
    template <class... A> void launch(const char* kernel, dim3 grid, dim3 block, A... args) {
        static auto get = driver<decltype(&cuModuleGetFunction)>("cuModuleGetFunction");
        static auto start = driver<decltype(&cuLaunchKernel)>("cuLaunchKernel");
        CUfunction f;
        CHECK(get(&f, module, kernel));
        void* list[] = {&args..., nullptr};
        CHECK(start(f, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0, 0, list, nullptr));
    }
};

// Elements in device memory.
template <class T> struct Buffer {
    T* at;
    size_t n;
    explicit Buffer(size_t n) : n(n) { CHECK(cudaMalloc(&at, n * sizeof(T))); clear(); }
    explicit Buffer(const std::vector<T>& from) : Buffer(from.size()) { write(from); }
    Buffer(const Buffer&) = delete;
    ~Buffer() { cudaFree(at); }
    operator T*() const { return at; }
    void clear() { CHECK(cudaMemset(at, 0, n * sizeof(T))); }
    void write(const std::vector<T>& from) { CHECK(cudaMemcpy(at, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice)); }
    std::vector<T> read() const { return read(n); }
    std::vector<T> read(size_t count) const {
        std::vector<T> all(count);
        CHECK(cudaMemcpy(all.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost));
        return all;
    }
};

// All blocks of a grid that `cooperate` started.
static __device__ unsigned arrived;
__device__ inline void sync_grid() {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        // all together add 2^31
        unsigned before = atomicAdd(&arrived, blockIdx.x ? 1 : 0x80000000u - (gridDim.x - 1));
        while (((before ^ *(volatile unsigned*)&arrived) & 0x80000000u) == 0) {}
        __threadfence();
    }
    __syncthreads();
}

// Which of `count` pieces of work a tile belongs to, `end` being how many tiles there are up to the end of each.
__device__ inline int owner(const int* end, int count, int tile) {
    int low = 0, high = count - 1;
    while (low < high) { int middle = (low + high) / 2; if (end[middle] > tile) high = middle; else low = middle + 1; }
    return low;
}

// Starts a kernel that synchronizes its grid, with as many blocks as the device runs at once, or `each` on a multiprocessor.
template <class... P, class... A> void cooperate(void (*kernel)(P...), int threads, int each, const A&... args) {
    int most, units;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, kernel, threads, 0));
    CHECK(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0));
    std::tuple<P...> values(args...);
    std::apply([&](auto&... value) {
        void* list[] = {&value...};
        CHECK(cudaLaunchCooperativeKernel((void*)kernel, units * (each ? std::min(each, most) : most), threads, list, 0, 0));
    }, values);
}

// Median milliseconds of `work`, `before` each time; no more repetitions after two seconds.
template <class B, class W> float median(int times, B before, W work) {
    cudaEvent_t a, b;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    std::vector<float> all;
    float sum = 0;
    while ((int)all.size() < times && sum < 2000) {
        before();
        CHECK(cudaDeviceSynchronize());
        cudaEventRecord(a);
        work();
        cudaEventRecord(b);
        cudaError_t e = cudaEventSynchronize(b);
        if (e) { std::printf("failed\t%s\n", cudaGetErrorName(e)); std::exit(1); }
        float ms;
        cudaEventElapsedTime(&ms, a, b);
        all.push_back(ms);
        sum += ms;
    }
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

// What scripts/bench_irregular.py reads: `more` says what is wrong, or something that is good to know.
inline void line(const std::string& bench, const char* variant, float ms, bool right, const std::string& more = "") {
    std::printf("time\t%s\t%s\t%.4f\t%s\t%s\n", bench.c_str(), variant, ms, right ? "right" : "WRONG", more.c_str());
    std::fflush(stdout);
}

// A process runs either naive launches, which need a large launch pool, or the rest with the usual one: a tail launch takes 0.3 ms with a
// pool of 2^20 launches (measured). What has no launches runs in both, for results to compare with.
inline bool only_naive() { return std::getenv("NAIVE") != nullptr; }
inline bool wanted(const std::string& variant) { return variant.rfind("flat", 0) == 0 || (variant.rfind("naive", 0) == 0) == only_naive(); }

// A benchmark with one kind of input; `check` says what is wrong, or nothing.
struct Bench {
    std::string name;
    std::function<void()> before;
    std::function<std::string()> check;
    template <class W> void run(const char* variant, int times, W work) const {
        if (!wanted(variant)) return;
        float ms = median(times, before, work);
        std::string wrong = check();
        line(name, variant, ms, wrong.empty(), wrong);
    }
};

inline void pending_launches(size_t n) { if (only_naive()) CHECK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, n)); }

inline std::string lost(long long launches) { return launches ? std::to_string(launches) + " launches failed" : ""; }
