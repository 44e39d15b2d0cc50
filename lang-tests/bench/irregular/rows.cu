// rows: one child for each row of a power-law sparse matrix. Naive, flat, launches of the grid merged by hand, and merged by cdpc.
#include "harness.h"
__global__ void child(const int* col, float* y, int row, int beg, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float v = col[beg + i] * 1e-3f; for (int k = 0; k < 8; k++) v = v * 1.0001f + 0.5f; atomicAdd(&y[row], v); } }
__device__ void body(const int* col, float* y, int row, int beg, int n) { float s = 0; for (int i = 0; i < n; i++) { float v = col[beg + i] * 1e-3f; for (int k = 0; k < 8; k++) v = v * 1.0001f + 0.5f; s += v; } atomicAdd(&y[row], s); }
__global__ void naive(const int* rp, const int* col, float* y, int R, int* err) { int r = blockIdx.x * blockDim.x + threadIdx.x; if (r < R) { int b = rp[r], n = rp[r + 1] - b; if (n > 0) { child<<<(n + 127) / 128, 128, 0, cudaStreamFireAndForget>>>(col, y, r, b, n); if (cudaGetLastError()) atomicAdd(err, 1); } } }
__global__ void flat_thread(const int* rp, const int* col, float* y, int R) { int r = blockIdx.x * blockDim.x + threadIdx.x; if (r < R) { int b = rp[r], n = rp[r + 1] - b; if (n > 0) body(col, y, r, b, n); } }
__global__ void flat_warp(const int* rp, const int* col, float* y, int R) { int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x % 32; if (r >= R) return; int b = rp[r], n = rp[r + 1] - b; float s = 0; for (int i = l; i < n; i += 32) { float v = col[b + i] * 1e-3f; for (int k = 0; k < 8; k++) v = v * 1.0001f + 0.5f; s += v; } for (int o = 16; o; o /= 2) s += __shfl_down_sync(~0u, s, o); if (l == 0 && n > 0) atomicAdd(&y[r], s); }
// by hand: rows of at least T items are collected, the last block of the grid starts one grid for all of them
struct A { int row, beg, n, pre; };
__device__ A g_rec[1 << 21]; __device__ unsigned long long g_pack; __device__ unsigned g_done;
__global__ void aggchild(const int* col, float* y, const A* rec, int m) { int bid = blockIdx.x; int lo = 0, hi = m - 1; while (lo < hi) { int mid = (lo + hi) >> 1; if (rec[mid].pre > bid) hi = mid; else lo = mid + 1; } A a = rec[lo]; int base = lo ? rec[lo - 1].pre : 0; int i = (bid - base) * blockDim.x + threadIdx.x; if (i < a.n) { float v = col[a.beg + i] * 1e-3f; for (int k = 0; k < 8; k++) v = v * 1.0001f + 0.5f; atomicAdd(&y[a.row], v); } }
template <int T> __global__ void gridagg(const int* rp, const int* col, float* y, int R, int* err) { int r = blockIdx.x * blockDim.x + threadIdx.x; int b = 0, n = 0; if (r < R) { b = rp[r]; n = rp[r + 1] - b; } bool big = n >= T; if (!big && n > 0) body(col, y, r, b, n); if (big) { unsigned nb = (n + 127) / 128; unsigned long long old = atomicAdd(&g_pack, (1ull << 32) | nb); unsigned idx = old >> 32, pre = (unsigned)old; g_rec[idx] = A{r, b, n, (int)(pre + nb)}; } __threadfence(); __syncthreads(); if (threadIdx.x == 0) { unsigned d = atomicAdd(&g_done, 1); if (d == gridDim.x - 1) { unsigned long long p = g_pack; g_pack = 0; g_done = 0; __threadfence(); if (p >> 32) { aggchild<<<(unsigned)p, 128, 0, cudaStreamFireAndForget>>>(col, y, g_rec, (int)(p >> 32)); if (cudaGetLastError()) atomicAdd(err, 1); } } } }
int main(int, char** argv) {
    pending_launches(1 << 20);
    Cubin merged(argv[1], "rows");
    for (int R : {65536, 262144, 524288}) {
        std::mt19937 g(7);
        std::vector<int> rp(R + 1);
        for (int i = 0; i < R; i++) { double u = (g() % 1000000 + 1) / 1e6; rp[i + 1] = rp[i] + (int)std::min(20000.0, (R == 524288 ? 2.0 : 4.0) / std::pow(u, 0.8)); }
        int nnz = rp[R];
        std::vector<int> col(nnz);
        for (auto& c : col) c = g() % 1000;
        std::vector<double> want(R);
        for (int r = 0; r < R; r++) for (int i = rp[r]; i < rp[r + 1]; i++) { float v = col[i] * 1e-3f; for (int k = 0; k < 8; k++) v = v * 1.0001f + 0.5f; want[r] += v; }
        int *drp, *dcol, *err; float* y;
        CHECK(cudaMalloc(&drp, 4 * (R + 1))); CHECK(cudaMalloc(&dcol, 4l * nnz)); CHECK(cudaMalloc(&y, 4 * R)); CHECK(cudaMalloc(&err, 4));
        cudaMemcpy(drp, rp.data(), 4 * (R + 1), cudaMemcpyHostToDevice); cudaMemcpy(dcol, col.data(), 4l * nnz, cudaMemcpyHostToDevice);
        auto clear = [&] { cudaMemset(y, 0, 4 * R); cudaMemset(err, 0, 4); };
        std::string name = "rows, " + std::to_string(R) + " with " + std::to_string(nnz) + " items";
        auto run = [&](const char* variant, int times, auto work) {
            if (!wanted(variant)) return;
            float ms = median(times, clear, work);
            std::vector<float> got(R); int e = 0;
            cudaMemcpy(got.data(), y, 4 * R, cudaMemcpyDeviceToHost); cudaMemcpy(&e, err, 4, cudaMemcpyDeviceToHost);
            int wrong = 0;
            for (int r = 0; r < R; r++) wrong += std::fabs(got[r] - want[r]) > 1e-3 * (1 + want[r]);
            line(name, variant, ms, wrong == 0 && e == 0, (wrong || e) ? (std::to_string(wrong) + " rows, " + std::to_string(e) + " launches").c_str() : "");
        };
        int n = (R + 255) / 256;
        run("flat thread", 15, [&] { flat_thread<<<n, 256>>>(drp, dcol, y, R); });
        run("flat warp", 15, [&] { flat_warp<<<(R + 7) / 8, 256>>>(drp, dcol, y, R); });
        run("by hand 1", 15, [&] { gridagg<1><<<n, 256>>>(drp, dcol, y, R, err); });
        run("by hand 128", 15, [&] { gridagg<128><<<n, 256>>>(drp, dcol, y, R, err); });
        run("cdpc", 15, [&] { merged.launch("rows", n, 256, drp, dcol, y, R, err); });
        run("naive", 3, [&] { naive<<<n, 256>>>(drp, dcol, y, R, err); });
        cudaFree(drp); cudaFree(dcol); cudaFree(y); cudaFree(err);
    }
}
