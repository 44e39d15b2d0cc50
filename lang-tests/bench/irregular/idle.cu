// idle: what a launch costs where it is never made. The same kernels without the launch and with it, by nvcc and by cdpc.
#include "harness.h"
__global__ void child(float* x, int i) { x[i] = threadIdx.x; }
__global__ void row(float* x, int begin, int n, float value) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[begin + i] = value; }
__global__ void tree(float* x, int i, int depth, int* failed) { if (depth > 0) { tree<<<1, 2, 0, cudaStreamFireAndForget>>>(x, i, depth - 1, failed); if (int e = cudaGetLastError()) atomicMax(failed, e); } x[i] = depth; }
__global__ void plain(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * 0.5f + 1.f; }
__global__ void could(float* x, int n, int never) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { x[i] = x[i] * 0.5f + 1.f; if (i == never) child<<<1, 32, 0, cudaStreamFireAndForget>>>(x, i); } }
__device__ float mix(float a, float b) { float v = a; for (int k = 0; k < 16; k++) v = v * 0.75f + b * 0.25f; return v; }
__global__ void plain_work(float* x, const float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float a = mix(x[i], y[i]), b = mix(y[i], a); x[i] = a + b * 0.5f; } }
__global__ void could_work(float* x, const float* y, int n, float above, int* failed) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float a = mix(x[i], y[i]); if (a > above) { row<<<(n + 127) / 128, 128, 0, cudaStreamFireAndForget>>>(x, i, n - i, a); if (int e = cudaGetLastError()) atomicMax(failed, e); } float b = mix(y[i], a); if (b > above) tree<<<1, 2, 0, cudaStreamFireAndForget>>>(x, i, 3, failed); x[i] = a + b * 0.5f; } }

int main(int, char** argv) {
    Cubin cubin(argv[1], "idle");
    const int most = 1 << 26;
    const float above = 1e30f;
    float *x, *y;
    int* failed;
    CHECK(cudaMalloc(&x, 4l * most)); CHECK(cudaMalloc(&y, 4l * most)); CHECK(cudaMalloc(&failed, 4));
    for (int n : {1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 26}) {
        int g = (n + 255) / 256, never = -1;
        char name[64];
        // microseconds a launch, of ten in a row
        auto run = [&](const char* variant, float wanted, auto work) {
            float ms = median(31, [&] { cudaMemset(x, 0, 4l * most); cudaMemset(y, 0, 4l * most); }, [&] { for (int k = 0; k < 10; k++) work(); }) / 10;
            float first, last;
            cudaMemcpy(&first, x, 4, cudaMemcpyDeviceToHost); cudaMemcpy(&last, x + n - 1, 4, cudaMemcpyDeviceToHost);
            line(name, variant, ms, std::fabs(first - wanted) < 1e-2 && first == last);
            return ms;
        };
        auto pair = [&](const char* what, float plain, float could) { std::printf("%-28s %-14s %10.3f\n", name, what, could / plain); };
        std::snprintf(name, sizeof name, "idle stream %d", n);
        float a = run("nvcc plain", 2, [&] { plain<<<g, 256>>>(x, n); }), b = run("nvcc could", 2, [&] { could<<<g, 256>>>(x, n, never); });
        float c = run("cdpc plain", 2, [&] { cubin.launch("plain", g, 256, x, n); }), d = run("cdpc could", 2, [&] { cubin.launch("could", g, 256, x, n, never); });
        pair("nvcc ratio", a, b); pair("cdpc ratio", c, d);
        std::snprintf(name, sizeof name, "idle work %d", n);
        a = run("nvcc plain", 0, [&] { plain_work<<<g, 256>>>(x, y, n); }), b = run("nvcc could", 0, [&] { could_work<<<g, 256>>>(x, y, n, above, failed); });
        c = run("cdpc plain", 0, [&] { cubin.launch("plain_work", g, 256, x, y, n); }), d = run("cdpc could", 0, [&] { cubin.launch("could_work", g, 256, x, y, n, above, failed); });
        pair("nvcc ratio", a, b); pair("cdpc ratio", c, d);
    }
}
