// Graphs: generators, rows of neighbours, and the queue of vertices that code without device-side launches works through by edges.
#pragma once
#include "harness.h"

struct Random {
    uint64_t state;
    uint32_t operator()() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state >> 32; }
};

struct Edge { int a, b; };

struct Graph { const int *start, *col; };

// Undirected: each edge stands in the rows of both ends. `id` says which edge it is, `weight` belongs to the edge.
struct HostGraph {
    std::string name;
    int n;
    std::vector<Edge> edges;
    std::vector<int> weight, start, col, id;

    HostGraph(std::string name, int n, std::vector<Edge> list, int least, int range) : name(name), n(n), edges(std::move(list)), start(n + 1) {
        Random random{88172645463325252ull};
        for (auto& e : edges) { weight.push_back(least + random() % range); start[e.a + 1]++; start[e.b + 1]++; }
        for (int v = 0; v < n; v++) start[v + 1] += start[v];
        std::vector<int> next(start.begin(), start.end() - 1);
        col.resize(2 * edges.size());
        id.resize(col.size());
        for (size_t i = 0; i < edges.size(); i++) {
            auto [a, b] = edges[i];
            col[next[a]] = b; id[next[a]++] = i;
            col[next[b]] = a; id[next[b]++] = i;
        }
    }
    int degree(int v) const { return start[v + 1] - start[v]; }
    // Where a search starts: the vertex with the most neighbours, of several the one in the middle.
    int source() const {
        int best = n / 2;
        for (int k = 0; k < n; k++) { int v = (n / 2 + k) % n; if (degree(v) > degree(best)) best = v; }
        return best;
    }
};

// Power-law degrees: Graph500's R-MAT with its probabilities, vertices renumbered.
inline HostGraph rmat(int scale, int count) {
    Random random{0x9e3779b97f4a7c15ull};
    std::vector<Edge> edges;
    uint32_t mask = (1u << scale) - 1;
    auto number = [&](uint32_t v) { v = v * 0x9e3779b1u & mask; return int((v ^ v >> scale / 2) * 0x85ebca6bu & mask); };
    while ((int)edges.size() < count) {
        uint32_t a = 0, b = 0;
        for (int k = 0; k < scale; k++) {
            uint32_t r = random() >> 12;             // of 2^20
            a = a * 2 + (r >= 796918);               // 0.57 + 0.19
            b = b * 2 + ((r >= 597688 && r < 796918) || r >= 996147);
        }
        if (a != b) edges.push_back({number(a), number(b)});
    }
    return {"rmat 2^" + std::to_string(scale), 1 << scale, std::move(edges), 8, 16};
}

inline HostGraph uniform(int scale, int count) {
    Random random{0x2545f4914f6cdd1dull};
    std::vector<Edge> edges;
    while ((int)edges.size() < count) {
        int a = random() >> (32 - scale), b = random() >> (32 - scale);
        if (a != b) edges.push_back({a, b});
    }
    return {"uniform 2^" + std::to_string(scale), 1 << scale, std::move(edges), 8, 16};
}

// A square grid in which every tenth road is missing: low degrees, long ways, lengths that differ by half.
inline HostGraph road(int width) {
    Random random{0xda942042e4dd58b5ull};
    std::vector<Edge> edges;
    for (int v = 0; v < width * width; v++) {
        if (v % width + 1 < width && random() % 10) edges.push_back({v, v + 1});
        if (v / width + 1 < width && random() % 10) edges.push_back({v, v + width});
    }
    return {"road " + std::to_string(width) + "^2", width * width, std::move(edges), 16, 16};
}

// A grid waits for all that come from it, so each vertex of a recursion may take a place among the pending launches, of which there are
// about 600,000 at most, whatever the limit says (measured): on the large graphs nvcc's recursive programs lose launches.
struct Input { HostGraph (*make)(); bool few; };
const Input GRAPHS[] = {
    {[] { return rmat(20, 1 << 23); }, false}, {[] { return road(1024); }, false}, {[] { return uniform(20, 5 << 19); }, false},
    {[] { return rmat(18, 1 << 21); }, true}, {[] { return road(256); }, true}, {[] { return uniform(17, 5 << 16); }, true},
};

// ---- without device-side launches -------------------------------------------------------------------------------------------------

// Vertices with all their edges numbered through: `end` is the number behind a vertex's last one. `pack` is vertices << 40 | edges.
// Three counts take turns, so that one can be cleared while one is read and one written.
struct Queue {
    unsigned long long* pack;
    int *vertex[2], *end[2];
};

struct QueueMemory {
    Buffer<unsigned long long> pack{3};
    Buffer<int> a, b, c, d;
    Queue queue;
    explicit QueueMemory(size_t n) : a(n), b(n), c(n), d(n), queue{pack, {a, b}, {c, d}} {}
    void begin_with(int v, int degree) {
        pack.write({1ull << 40 | degree, 0, 0});
        CHECK(cudaMemcpy(a, &v, 4, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(c, &degree, 4, cudaMemcpyHostToDevice));
    }
};

// Appends for whole warps.
__device__ inline void append(Queue q, int turn, bool want, int v, int degree) {
    unsigned lanes = __ballot_sync(~0u, want), lane = threadIdx.x % 32;
    if (!lanes) return;
    int sum = want ? degree : 0;
    for (int d = 1; d < 32; d *= 2) { int other = __shfl_up_sync(~0u, sum, d); if (lane >= d) sum += other; }
    unsigned long long before = 0;
    if (lane == 31) before = atomicAdd(&q.pack[turn % 3], (unsigned long long)__popc(lanes) << 40 | sum);
    before = __shfl_sync(~0u, before, 31);
    if (want) {
        int slot = int(before >> 40) + __popc(lanes & ((1u << lane) - 1));
        q.vertex[turn % 2][slot] = v;
        q.end[turn % 2][slot] = int(before & ((1ull << 40) - 1)) + sum;
    }
}

// Calls visit(vertex, edge, whether there is one) for all edges of a queue, in whole warps, the same number of edges for each warp of the grid.
template <class V> __device__ void each_edge(Graph g, Queue q, int turn, unsigned long long pack, V visit) {
    const int *vertex = q.vertex[turn % 2], *end = q.end[turn % 2];
    int count = int(pack >> 40), edges = int(pack & ((1ull << 40) - 1));
    int lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = gridDim.x * blockDim.x / 32;
    int chunk = min(256, ((edges + warps - 1) / warps + 31) / 32 * 32);
    for (int from = warp * chunk; from < edges; from += warps * chunk) {
        int to = min(from + chunk, edges), low = 0, high = count - 1;
        while (low < high) { int middle = (low + high) / 2; if (end[middle] > from) high = middle; else low = middle + 1; }
        for (int e = from; e < to; low += 32) {
            // the next 32 vertices; an edge's is found among them by the number of ends that are not above it
            int mine = low + lane < count ? end[low + lane] : 0x7fffffff;
            int v = low + lane < count ? vertex[low + lane] : 0;
            int offset = low + lane < count ? g.start[v + 1] - mine : 0;
            int until = min(to, __shfl_sync(~0u, mine, 31));
            for (; e < until; e += 32) {
                int x = e + lane, owner = 0;
                for (int d = 16; d; d /= 2) if (__shfl_sync(~0u, mine, owner + d - 1) <= x) owner += d;
                visit(__shfl_sync(~0u, v, owner), __shfl_sync(~0u, offset, owner) + x, x < until);
            }
            e = until;
        }
    }
}

// The same with one warp for each vertex.
template <class V> __device__ void each_vertex(Graph g, Queue q, int turn, unsigned long long pack, V visit) {
    int lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = gridDim.x * blockDim.x / 32;
    for (int i = warp; i < int(pack >> 40); i += warps) {
        int v = q.vertex[turn % 2][i], end = g.start[v + 1];
        for (int e = g.start[v]; e < end; e += 32) visit(v, e + lane, e + lane < end);
    }
}

// What a benchmark's check says of the distances that came out.
inline std::string wrong_distances(const std::vector<int>& got, const std::vector<int>& want) {
    int wrong = 0;
    for (size_t v = 0; v < want.size(); v++) wrong += got[v] != want[v];
    return wrong ? std::to_string(wrong) + " distances are wrong" : "";
}
