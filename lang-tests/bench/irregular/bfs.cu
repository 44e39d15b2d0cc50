// Breadth-first search: a child grid for each vertex, by levels with tail launches and as a recursion; and by levels without device-side launches.
#include "graph.h"
const int UNSEEN = 0x7fffffff;

struct Levels { int *current, *next; int count, next_count, level, failed; };

__device__ int degree(Graph g, int v) { return g.start[v + 1] - g.start[v]; }

__global__ void visit(Graph g, volatile int* dist, Levels* q, int v) {
    int e = g.start[v] + blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= g.start[v + 1]) return;
    int u = g.col[e];
    if (dist[u] == UNSEEN && atomicCAS((int*)&dist[u], UNSEEN, q->level + 1) == UNSEEN) q->next[atomicAdd(&q->next_count, 1)] = u;
}

__global__ void expand(Graph g, volatile int* dist, Levels* q) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= q->count) return;
    int v = q->current[i];
    visit<<<(degree(g, v) + 31) / 32, 32, 0, cudaStreamFireAndForget>>>(g, dist, q, v);
    if (cudaGetLastError()) atomicAdd(&q->failed, 1);
}

__global__ void advance(Graph g, volatile int* dist, Levels* q) {
    int* done = q->current;
    q->current = q->next;
    q->next = done;
    q->count = q->next_count;
    q->next_count = 0;
    q->level++;
    if (!q->count) return;
    expand<<<(q->count + 127) / 128, 128>>>(g, dist, q);
    advance<<<1, 1, 0, cudaStreamTailLaunch>>>(g, dist, q);
    if (cudaGetLastError()) atomicAdd(&q->failed, 1);
}

__global__ void spread(Graph g, volatile int* dist, int v, int d, int* failed) {
    int e = g.start[v] + blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= g.start[v + 1] || dist[v] < d) return;
    int u = g.col[e];
    if (dist[u] > d + 1 && atomicMin((int*)&dist[u], d + 1) > d + 1) {
        spread<<<(degree(g, u) + 31) / 32, 32, 0, cudaStreamFireAndForget>>>(g, dist, u, d + 1, failed);
        if (cudaGetLastError()) atomicAdd(failed, 1);
    }
}

template <bool EDGES> __global__ void flat(Graph g, int* dist, Queue q) {
    for (int level = 0;; level++) {
        unsigned long long pack = *(volatile unsigned long long*)&q.pack[level % 3];
        if (!pack) return;
        if (blockIdx.x == 0 && threadIdx.x == 0) q.pack[(level + 2) % 3] = 0;
        auto reach = [&](int, int e, bool there) {
            int u = there ? g.col[e] : 0;
            bool fresh = there && dist[u] == UNSEEN && atomicCAS(&dist[u], UNSEEN, level + 1) == UNSEEN;
            append(q, level + 1, fresh, u, fresh ? degree(g, u) : 0);
        };
        if (EDGES) each_edge(g, q, level, pack, reach); else each_vertex(g, q, level, pack, reach);
        sync_grid();
    }
}

int main(int, char** argv) {
    pending_launches(1 << 20);
    Cubin cubin(argv[1], "bfs");
    for (auto [make, few] : GRAPHS) {
        HostGraph h = make();
        int source = h.source(), n = h.n;
        std::vector<int> want(n, UNSEEN), order{source};
        want[source] = 0;
        for (size_t i = 0; i < order.size(); i++)
            for (int e = h.start[order[i]]; e < h.start[order[i] + 1]; e++)
                if (want[h.col[e]] == UNSEEN) { want[h.col[e]] = want[order[i]] + 1; order.push_back(h.col[e]); }

        Buffer<int> start(h.start), col(h.col), dist(n), one(n), two(n), failed(1);
        Buffer<Levels> levels(1);
        QueueMemory memory(n);
        Graph g{start, col};
        std::vector<int> unseen(n, UNSEEN);
        unseen[source] = 0;
        Bench bench{"bfs, " + h.name, [&] {
            dist.write(unseen);
            two.write({source});
            levels.write({{one, two, 0, 1, -1, 0}});
            failed.clear();
            memory.begin_with(source, h.degree(source));
        }, [&] {
            if (int e = levels.read()[0].failed + failed.read()[0]) return lost(e);
            return wrong_distances(dist.read(), want);
        }};
        int blocks = (h.degree(source) + 31) / 32;
        std::string name = bench.name;
        for (auto [each, suffix] : {std::pair{0, ""}, {1, ", a block an SM"}}) {
            bench.run((std::string("flat edges") + suffix).c_str(), 9, [&] { cooperate(flat<true>, 512, each, g, dist, memory.queue); });
            bench.run((std::string("flat warps") + suffix).c_str(), 9, [&] { cooperate(flat<false>, 512, each, g, dist, memory.queue); });
        }
        bench.name = name + ", levels";
        bench.run("cdpc", 9, [&] { cubin.launch("advance", 1, 1, g, dist.at, levels.at); });
        bench.run("naive", 3, [&] { advance<<<1, 1>>>(g, dist, levels); });
        bench.name = name + ", recursive";
        bench.run("cdpc", 9, [&] { cubin.launch("spread", blocks, 32, g, dist.at, source, 0, failed.at); });
        if (few) bench.run("naive", 3, [&] { spread<<<blocks, 32>>>(g, dist, source, 0, failed); });
    }
}
