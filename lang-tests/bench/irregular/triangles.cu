// Triangles: a child grid for each vertex; and without device-side launches a thread, or eight lanes, for each edge.
#include "graph.h"

__global__ void common(Graph g, int v, unsigned long long* total) {
    int e = g.start[v] + blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= g.start[v + 1]) return;
    int u = g.col[e], i = g.start[v], j = g.start[u];
    unsigned long long count = 0;
    while (i < g.start[v + 1] && j < g.start[u + 1]) {
        int a = g.col[i], b = g.col[j];
        count += a == b;
        i += a <= b;
        j += b <= a;
    }
    if (count) atomicAdd(total, count);
}

__global__ void triangles(Graph g, int n, unsigned long long* total, int* failed) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || g.start[v + 1] - g.start[v] < 2) return;
    common<<<(g.start[v + 1] - g.start[v] + 127) / 128, 128, 0, cudaStreamFireAndForget>>>(g, v, total);
    if (cudaGetLastError()) atomicAdd(failed, 1);
}

__device__ void add(int count, unsigned long long* total) {
    for (int d = 16; d; d /= 2) count += __shfl_xor_sync(~0u, count, d);
    if (threadIdx.x % 32 == 0 && count) atomicAdd(total, count);
}

// `from` is where an edge starts.
__global__ void flat_thread(Graph g, const int* from, int edges, unsigned long long* total) {
    int e = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
    if (e < edges) {
        int v = from[e], u = g.col[e], i = g.start[v], j = g.start[u], iend = g.start[v + 1], jend = g.start[u + 1];
        while (i < iend && j < jend) {
            int a = g.col[i], b = g.col[j];
            count += a == b;
            i += a <= b;
            j += b <= a;
        }
    }
    add(count, total);
}

// Each lane looks for some of the shorter row in the longer one.
__global__ void flat_lanes(Graph g, const int* from, int edges, unsigned long long* total) {
    int e = (blockIdx.x * blockDim.x + threadIdx.x) / 8, count = 0;
    if (e < edges) {
        int a = from[e], b = g.col[e];
        if (g.start[a + 1] - g.start[a] > g.start[b + 1] - g.start[b]) { int c = a; a = b; b = c; }
        const int* row = g.col + g.start[b];
        int length = g.start[b + 1] - g.start[b];
        for (int i = g.start[a] + threadIdx.x % 8; i < g.start[a + 1] && length; i += 8) {
            int key = g.col[i], low = 0, high = length - 1;
            while (low < high) { int middle = (low + high) / 2; if (row[middle] >= key) high = middle; else low = middle + 1; }
            count += row[low] == key;
        }
    }
    add(count, total);
}

int main(int, char** argv) {
    pending_launches(1 << 18);
    Cubin cubin(argv[1], "triangles");
    for (auto make : {+[] { return rmat(18, 1 << 21); }, +[] { return uniform(18, 1 << 21); }}) {
        HostGraph h = make();
        int n = h.n;
        // each edge once, from the end of fewer neighbours
        std::vector<int> starts(n + 1), cols, froms, seen(n, -1);
        for (int v = 0; v < n; v++) {
            for (int e = h.start[v]; e < h.start[v + 1]; e++) {
                int u = h.col[e];
                if (std::pair(h.degree(v), v) < std::pair(h.degree(u), u) && seen[u] != v) { seen[u] = v; cols.push_back(u); froms.push_back(v); }
            }
            starts[v + 1] = cols.size();
            std::sort(cols.begin() + starts[v], cols.end());
        }
        unsigned long long want = 0;
        std::fill(seen.begin(), seen.end(), -1);
        for (int v = 0; v < n; v++) {
            for (int e = starts[v]; e < starts[v + 1]; e++) seen[cols[e]] = v;
            for (int e = starts[v]; e < starts[v + 1]; e++) for (int f = starts[cols[e]]; f < starts[cols[e] + 1]; f++) want += seen[cols[f]] == v;
        }

        Buffer<int> start(starts), col(cols), from(froms), failed(1);
        Buffer<unsigned long long> total(1);
        Graph g{start, col};
        Bench bench{"triangles, " + h.name, [&] { total.clear(); failed.clear(); }, [&] {
            if (int e = failed.read()[0]) return lost(e);
            auto got = total.read()[0];
            return got == want ? "" : std::to_string(got) + ", not " + std::to_string(want);
        }};
        int blocks = (n + 127) / 128, edges = cols.size();
        bench.run("flat thread", 9, [&] { flat_thread<<<(edges + 127) / 128, 128>>>(g, from, edges, total); });
        bench.run("flat lanes", 9, [&] { flat_lanes<<<(edges + 15) / 16, 128>>>(g, from, edges, total); });
        bench.run("cdpc", 9, [&] { cubin.launch("triangles", blocks, 128, g, n, total.at, failed.at); });
        bench.run("naive", 3, [&] { triangles<<<blocks, 128>>>(g, n, total, failed); });
    }
}
