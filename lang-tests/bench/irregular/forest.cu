// Boruvka's minimum spanning forest: in each round a child grid for each vertex; and without device-side launches a thread for each edge that is left.
#include "graph.h"
#include <numeric>
typedef unsigned long long Key;
const Key NONE = ~0ull;

struct Forest {
    Graph g;
    int n;
    const unsigned* id;
    const int *from, *to;
    const unsigned* weight;
    int *tree, *parent;
    volatile Key* best;
    Key total;
    int edges, before, failed;
};

__global__ void look(const Forest* f, int v) {
    int e = f->g.start[v] + blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= f->g.start[v + 1]) return;
    int mine = f->tree[v];
    if (f->tree[f->g.col[e]] == mine) return;
    Key key = (Key)f->weight[f->id[e]] << 32 | f->id[e];
    if (key < f->best[mine]) atomicMin((Key*)&f->best[mine], key);
}

__global__ void look_all(Forest* f) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= f->n || f->g.start[v + 1] == f->g.start[v]) return;
    look<<<(f->g.start[v + 1] - f->g.start[v] + 31) / 32, 32, 0, cudaStreamFireAndForget>>>(f, v);
    if (cudaGetLastError()) atomicAdd(&f->failed, 1);
}

__global__ void join_all(Forest* f) {
    int me = blockIdx.x * blockDim.x + threadIdx.x;
    Key total = 0;
    bool joined = false;
    if (me < f->n && f->best[me] != NONE) {
        unsigned edge = (unsigned)f->best[me];
        int a = f->tree[f->from[edge]], other = a == me ? f->tree[f->to[edge]] : a;
        joined = f->best[other] != f->best[me] || me > other;
        if (joined) {
            f->parent[me] = other;
            total = f->weight[edge];
        }
    }
    int edges = __popc(__ballot_sync(~0u, joined));
    for (int d = 16; d; d /= 2) total += __shfl_xor_sync(~0u, total, d);
    if (threadIdx.x % 32 == 0 && edges) { atomicAdd(&f->total, total); atomicAdd(&f->edges, edges); }
}

__device__ void name_tree(Forest* f, int v) {
    int root = f->tree[v];
    while (f->parent[root] != root) root = f->parent[root];
    f->tree[v] = root;
    f->best[v] = NONE;
}

__global__ void name_trees(Forest* f) { int v = blockIdx.x * blockDim.x + threadIdx.x; if (v < f->n) name_tree(f, v); }

__global__ void round(Forest* f) {
    if (f->edges == f->before) return;
    f->before = f->edges;
    int blocks = (f->n + 127) / 128;
    look_all<<<blocks, 128, 0, cudaStreamTailLaunch>>>(f);
    join_all<<<blocks, 128, 0, cudaStreamTailLaunch>>>(f);
    name_trees<<<blocks, 128, 0, cudaStreamTailLaunch>>>(f);
    round<<<1, 1, 0, cudaStreamTailLaunch>>>(f);
    if (cudaGetLastError()) atomicAdd(&f->failed, 1);
}

// Edges between different trees, by the trees that they join; those left after each round, in turns.
struct Left { int4* edge[2]; int* count; };

__global__ void flat(Forest* forest, Left left, int edges) {
    Forest own = *forest, *f = &own;
    int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x, lane = threadIdx.x % 32;
    for (int turn = 0, count = edges; count; turn++) {
        auto edge = left.edge[turn % 2], next = left.edge[(turn + 1) % 2];
        for (int i = first; i < count; i += step) {
            int4 e = turn ? edge[i] : make_int4(f->from[i], f->to[i], f->weight[i], i);
            Key key = (Key)e.z << 32 | (unsigned)e.w;
            if (key < f->best[e.x]) atomicMin((Key*)&f->best[e.x], key);
            if (key < f->best[e.y]) atomicMin((Key*)&f->best[e.y], key);
        }
        if (first == 0) left.count[(turn + 1) % 3] = 0;
        sync_grid();
        Key total = 0;
        int joined = 0;
        for (int me = first; me < f->n; me += step) {
            Key key = f->best[me];
            if (key == NONE) continue;
            int a = f->tree[f->from[(unsigned)key]], other = a == me ? f->tree[f->to[(unsigned)key]] : a;
            if (f->best[other] == key && me < other) continue;
            f->parent[me] = other;
            total += key >> 32;
            joined++;
        }
        for (int d = 16; d; d /= 2) { total += __shfl_xor_sync(~0u, total, d); joined += __shfl_xor_sync(~0u, joined, d); }
        if (lane == 0 && joined) { atomicAdd(&forest->total, total); atomicAdd(&forest->edges, joined); }
        sync_grid();
        for (int v = first; v < f->n; v += step) name_tree(f, v);
        sync_grid();
        for (int i = first - lane; i < count; i += step) {
            bool in = i + lane < count;
            int4 e = !in ? int4{} : turn ? edge[i + lane] : make_int4(f->from[i + lane], f->to[i + lane], f->weight[i + lane], i + lane);
            if (in) { e.x = f->tree[e.x]; e.y = f->tree[e.y]; }
            unsigned kept = __ballot_sync(~0u, e.x != e.y);
            int at = lane == 0 && kept ? atomicAdd(&left.count[(turn + 1) % 3], __popc(kept)) : 0;
            at = __shfl_sync(~0u, at, 0) + __popc(kept & ((1u << lane) - 1));
            if (e.x != e.y) next[at] = e;
        }
        sync_grid();
        count = *(volatile int*)&left.count[(turn + 1) % 3];
    }
}

int main(int, char** argv) {
    pending_launches(1 << 19);
    Cubin cubin(argv[1], "forest");
    for (auto make : {+[] { return rmat(18, 1 << 20); }, +[] { return road(512); }, +[] { return uniform(18, 1 << 20); }}) {
        HostGraph h = make();
        int n = h.n, edges = h.edges.size(), want_edges = 0;
        std::vector<int> order(edges), tree(n), from, to;
        for (auto [a, b] : h.edges) { from.push_back(a); to.push_back(b); }
        std::iota(order.begin(), order.end(), 0);
        std::iota(tree.begin(), tree.end(), 0);
        std::vector<int> own = tree;
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return h.weight[a] < h.weight[b]; });
        Key want = 0;
        auto root = [&](int v) { while (tree[v] != v) v = tree[v] = tree[tree[v]]; return v; };
        for (int e : order) {
            int a = root(from[e]), b = root(to[e]);
            if (a != b) { tree[a] = b; want += h.weight[e]; want_edges++; }
        }

        Buffer<int> start(h.start), col(h.col), id(h.id), weight(h.weight), ends(from), others(to), trees(n), parents(n), count(3);
        Buffer<Key> best(n);
        Buffer<Forest> forest(1);
        Buffer<int4> a(edges), b(edges);
        Bench bench{"spanning forest, " + h.name, [&] {
            trees.write(own);
            parents.write(own);
            CHECK(cudaMemset(best, 255, n * sizeof(Key)));
            count.clear();
            forest.write({{{start, col}, n, (unsigned*)id.at, ends, others, (unsigned*)weight.at, trees, parents, best, 0, 0, -1, 0}});
        }, [&] {
            Forest f = forest.read()[0];
            if (f.failed) return lost(f.failed);
            return f.total == want && f.edges == want_edges ? "" : std::to_string(f.total) + ", not " + std::to_string(want);
        }};
        bench.run("flat", 9, [&] { cooperate(flat, 512, 0, forest, Left{{a, b}, count}, edges); });
        bench.run("cdpc", 9, [&] { cubin.launch("round", 1, 1, forest.at); });
        bench.run("naive", 3, [&] { round<<<1, 1>>>(forest); });
    }
}
