// idle: what a launch costs where it is never made. The same kernels without the launch and with it, by nvcc and by cdpc.
#include "harness.h"
__global__ void child(int* count) { atomicAdd(count, 1); }
__global__ void row(int* count, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) atomicAdd(count, 1); }
__global__ void tree(int* count, int depth, int* failed) { atomicAdd(count, 1); if (depth == 0 || threadIdx.x > 0) return; tree<<<1, 32, 0, cudaStreamFireAndForget>>>(count, depth - 1, failed); if (int e = cudaGetLastError()) atomicMax(failed, e); }
__global__ void plain(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * 0.5f + 1.f; }
__global__ void could(float* x, int n, int when, int* count, int* failed) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; x[i] = x[i] * 0.5f + 1.f; if (i == when) { child<<<1, 32, 0, cudaStreamFireAndForget>>>(count); if (int e = cudaGetLastError()) atomicMax(failed, e); } }
__device__ float mix(float a, float b) { float v = a; for (int k = 0; k < 16; k++) v = v * 0.75f + b * 0.25f; return v; }
__global__ void plain_work(float* x, const float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; float a = mix(x[i], y[i]), b = mix(y[i], a); x[i] = a + b * 0.5f; }
__global__ void could_work(float* x, const float* y, int n, float above, int* count, int* failed) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; float a = mix(x[i], y[i]); if (a > above) { row<<<(n + 127) / 128, 128, 0, cudaStreamFireAndForget>>>(count, n - i); if (int e = cudaGetLastError()) atomicMax(failed, e); } float b = mix(y[i], a); if (b > above) { tree<<<1, 32, 0, cudaStreamFireAndForget>>>(count, 3, failed); if (int e = cudaGetLastError()) atomicMax(failed, e); } x[i] = a + b * 0.5f; }

int main(int, char** argv) {
    if (only_naive()) return 0;
    Cubin cubin(argv[1], "idle");
    const int most = 1 << 26;
    const float above = 1e30f;
    float *x, *y;
    int *count, *failed;
    CHECK(cudaMalloc(&x, 4l * most)); CHECK(cudaMalloc(&y, 4l * most)); CHECK(cudaMalloc(&count, 4)); CHECK(cudaMalloc(&failed, 4));
    for (int n : {1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 26}) {
        int g = (n + 255) / 256, never = -1;
        char name[64];
        // a launch, of ten in a row; `could` says how much longer it takes than `plain`
        float plain_ms = 0;
        auto run = [&](const char* variant, bool could, float wanted, auto work) {
            float ms = median(31, [&] { cudaMemset(x, 0, 4l * most); cudaMemset(y, 0, 4l * most); }, [&] { for (int k = 0; k < 10; k++) work(); }) / 10;
            float first, last;
            cudaMemcpy(&first, x, 4, cudaMemcpyDeviceToHost); cudaMemcpy(&last, x + n - 1, 4, cudaMemcpyDeviceToHost);
            if (!could) plain_ms = ms;
            line(name, variant, ms, std::fabs(first - wanted) < 1e-2 && first == last, could ? std::to_string(ms / plain_ms) + " times plain" : "");
        };
        std::snprintf(name, sizeof name, "idle, stream of %d", n);
        run("plain by nvcc", false, 2, [&] { plain<<<g, 256>>>(x, n); });
        run("could by nvcc", true, 2, [&] { could<<<g, 256>>>(x, n, never, count, failed); });
        run("plain by cdpc", false, 2, [&] { cubin.launch("plain", g, 256, x, n); });
        run("could by cdpc", true, 2, [&] { cubin.launch("could", g, 256, x, n, never, count, failed); });
        std::snprintf(name, sizeof name, "idle, work on %d", n);
        run("plain by nvcc", false, 0, [&] { plain_work<<<g, 256>>>(x, y, n); });
        run("could by nvcc", true, 0, [&] { could_work<<<g, 256>>>(x, y, n, above, count, failed); });
        run("plain by cdpc", false, 0, [&] { cubin.launch("plain_work", g, 256, x, y, n); });
        run("could by cdpc", true, 0, [&] { cubin.launch("could_work", g, 256, x, y, n, above, count, failed); });
    }
}
