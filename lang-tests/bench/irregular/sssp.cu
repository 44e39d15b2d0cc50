// Shortest paths: a child grid for each shorter way that is found; and Bellman and Ford's method by rounds without device-side launches.
#include "graph.h"
const int UNSEEN = 0x7fffffff;

__device__ int degree(Graph g, int v) { return g.start[v + 1] - g.start[v]; }

__global__ void relax(Graph g, const int* weight, volatile int* dist, int v, int d, int* failed) {
    int e = g.start[v] + blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= g.start[v + 1] || dist[v] < d) return;
    int u = g.col[e], far = d + weight[e];
    if (dist[u] > far && atomicMin((int*)&dist[u], far) > far) {
        relax<<<(degree(g, u) + 63) / 64, 64, 0, cudaStreamFireAndForget>>>(g, weight, dist, u, far, failed);
        if (cudaGetLastError()) atomicAdd(failed, 1);
    }
}

// Vertices whose distance has become shorter are in the next round, each once: `mark` says for which it was taken.
template <bool EDGES> __global__ void flat(Graph g, const int* weight, int* dist, int* mark, Queue q) {
    for (int round = 0;; round++) {
        unsigned long long pack = *(volatile unsigned long long*)&q.pack[round % 3];
        if (!pack) return;
        if (blockIdx.x == 0 && threadIdx.x == 0) q.pack[(round + 2) % 3] = 0;
        auto reach = [&](int v, int e, bool there) {
            int u = there ? g.col[e] : 0, far = there ? *(volatile int*)&dist[v] + weight[e] : UNSEEN;
            bool shorter = there && dist[u] > far && atomicMin(&dist[u], far) > far && atomicExch(&mark[u], round + 1) != round + 1;
            append(q, round + 1, shorter, u, shorter ? degree(g, u) : 0);
        };
        if (EDGES) each_edge(g, q, round, pack, reach); else each_vertex(g, q, round, pack, reach);
        sync_grid();
    }
}

// Dial's buckets.
std::vector<int> distances(const HostGraph& h, int source) {
    std::vector<int> dist(h.n, UNSEEN);
    std::vector<std::vector<int>> near(128);
    dist[source] = 0;
    near[0].push_back(source);
    for (int d = 0, empty = 0; empty < 128; d++) {
        auto& bucket = near[d % 128];
        empty = bucket.empty() ? empty + 1 : 0;
        for (size_t i = 0; i < bucket.size(); i++) {
            int v = bucket[i];
            if (dist[v] != d) continue;
            for (int e = h.start[v]; e < h.start[v + 1]; e++) {
                int far = d + h.weight[h.id[e]];
                if (far < dist[h.col[e]]) { dist[h.col[e]] = far; near[far % 128].push_back(h.col[e]); }
            }
        }
        bucket.clear();
    }
    return dist;
}

int main(int, char** argv) {
    pending_launches(1 << 20);
    Cubin cubin(argv[1], "sssp");
    for (auto [make, few] : GRAPHS) {
        HostGraph h = make();
        int source = h.source(), n = h.n;
        std::vector<int> want = distances(h, source), weights;
        for (int i : h.id) weights.push_back(h.weight[i]);

        Buffer<int> start(h.start), col(h.col), weight(weights), dist(n), mark(n), failed(1);
        QueueMemory memory(n);
        Graph g{start, col};
        std::vector<int> unseen(n, UNSEEN);
        unseen[source] = 0;
        Bench bench{"sssp, " + h.name, [&] {
            dist.write(unseen);
            mark.clear();
            failed.clear();
            memory.begin_with(source, h.degree(source));
        }, [&] {
            if (int e = failed.read()[0]) return lost(e);
            return wrong_distances(dist.read(), want);
        }};
        int blocks = (h.degree(source) + 63) / 64;
        for (auto [each, suffix] : {std::pair{0, ""}, {1, ", a block an SM"}}) {
            bench.run((std::string("flat edges") + suffix).c_str(), 9, [&] { cooperate(flat<true>, 512, each, g, weight, dist, mark, memory.queue); });
            bench.run((std::string("flat warps") + suffix).c_str(), 9, [&] { cooperate(flat<false>, 512, each, g, weight, dist, mark, memory.queue); });
        }
        bench.run("cdpc", 9, [&] { cubin.launch("relax", blocks, 64, g, weight.at, dist.at, source, 0, failed.at); });
        if (few) bench.run("naive", 3, [&] { relax<<<blocks, 64>>>(g, weight, dist, source, 0, failed); });
    }
}
