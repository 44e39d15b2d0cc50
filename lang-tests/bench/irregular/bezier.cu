// Bezier curves: a child grid for the points of each; and without device-side launches a warp for 32 curves, its lanes shared out by points.
#include "harness.h"
const int MOST = 2048;

struct Curve { float2 a, b, c; int at, count; };

__device__ float2 point(Curve c, int k) {
    float u = (float)k / (c.count - 1), v = 1 - u;
    return {v * v * c.a.x + 2 * u * v * c.b.x + u * u * c.c.x, v * v * c.a.y + 2 * u * v * c.b.y + u * u * c.c.y};
}

__host__ __device__ int points_of(float2 a, float2 b, float2 c) {
    float x = b.x - 0.5f * (a.x + c.x), y = b.y - 0.5f * (a.y + c.y), dx = c.x - a.x, dy = c.y - a.y;
    float bend = sqrtf(x * x + y * y) / sqrtf(dx * dx + dy * dy) * 16;
    return bend < 4 ? 4 : bend < MOST ? (int)bend : MOST;
}

__global__ void points(const Curve* curves, float2* vertices, int i) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < curves[i].count) vertices[curves[i].at + k] = point(curves[i], k);
}

__global__ void tessellate(Curve* curves, int n, float2* vertices, int* used, int* failed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int count = points_of(curves[i].a, curves[i].b, curves[i].c);
    curves[i].count = count;
    curves[i].at = atomicAdd(used, count);
    points<<<(count + 31) / 32, 32, 0, cudaStreamFireAndForget>>>(curves, vertices, i);
    if (cudaGetLastError()) atomicAdd(failed, 1);
}

__global__ void flat(Curve* curves, int n, float2* vertices, int* used) {
    __shared__ Curve mine[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    Curve c{};
    if (i < n) { c = curves[i]; c.count = points_of(c.a, c.b, c.c); }
    int end = c.count;
    for (int d = 1; d < 32; d *= 2) { int other = __shfl_up_sync(~0u, end, d); if (lane >= d) end += other; }
    int at = lane == 31 ? atomicAdd(used, end) : 0, all = __shfl_sync(~0u, end, 31);
    at = __shfl_sync(~0u, at, 31);
    c.at = at + end - c.count;
    if (i < n) { curves[i].at = c.at; curves[i].count = c.count; }
    mine[threadIdx.x] = c;
    __syncwarp();
    for (int k = lane; k < (all + 31) / 32 * 32; k += 32) {
        int owner = 0;
        for (int d = 16; d; d /= 2) if (__shfl_sync(~0u, end, owner + d - 1) <= k) owner += d;
        Curve o = mine[threadIdx.x / 32 * 32 + owner];
        if (k < all) vertices[at + k] = point(o, at + k - o.at);
    }
}

int main(int, char** argv) {
    pending_launches(1 << 18);
    Cubin cubin(argv[1], "bezier");
    for (int n : {1 << 16, 1 << 18}) {
        std::mt19937 random(5);
        auto number = [&] { return (random() % 1000001) / 1e6f; };
        std::vector<Curve> input(n);
        size_t most = 0;
        for (auto& c : input) {
            // a few bend very much
            float bend = std::pow(number() + 1e-5f, -0.8f);
            c = {{0, 0}, {number(), bend}, {1, number()}, 0, 0};
            most += points_of(c.a, c.b, c.c) + 1;
        }
        Buffer<Curve> curves(n);
        Buffer<float2> vertices(most);
        Buffer<int> used(1), failed(1);
        Bench bench{"bezier, " + std::to_string(n) + " curves", [&] { curves.write(input); vertices.clear(); used.clear(); failed.clear(); }, [&] {
            if (int e = failed.read()[0]) return lost(e);
            auto all = curves.read();
            auto got = vertices.read();
            std::sort(all.begin(), all.end(), [](const Curve& a, const Curve& b) { return a.at < b.at; });
            int at = 0, wrong = 0;
            for (auto& c : all) {
                // compilers fuse products differently: a count may be one off
                bool right = c.at == at && std::abs(c.count - points_of(c.a, c.b, c.c)) <= 1;
                at += c.count;
                for (int k = 0; right && k < c.count; k++) {
                    double u = (double)k / (c.count - 1), v = 1 - u;
                    double x = 2 * u * v * c.b.x + u * u * c.c.x, y = 2 * u * v * c.b.y + u * u * c.c.y;
                    right = std::fabs(got[c.at + k].x - x) < 1e-5 && std::fabs(got[c.at + k].y - y) < 1e-5 * (1 + y);
                }
                wrong += !right;
            }
            wrong += at != used.read()[0];
            return wrong ? std::to_string(wrong) + " curves are wrong" : "";
        }};
        bench.run("flat", 9, [&] { flat<<<(n + 127) / 128, 128>>>(curves, n, vertices, used); });
        bench.run("cdpc", 9, [&] { cubin.launch("tessellate", (n + 127) / 128, 128, curves.at, n, vertices.at, used.at, failed.at); });
        bench.run("naive", 3, [&] { tessellate<<<(n + 127) / 128, 128>>>(curves, n, vertices, used, failed); });
    }
}
