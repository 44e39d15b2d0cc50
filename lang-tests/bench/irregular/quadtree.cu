// A quadtree: a child grid for each node that is too full; and without device-side launches all large nodes of a depth together, small ones by a block.
#include "harness.h"
const int LEAF = 16, DEPTH = 15, TILE = 512;

struct Node { int at, n, depth, child, count[4], placed[4]; unsigned done; };
struct Tree { Node* nodes; unsigned *even, *odd; int used, failed; unsigned done; };

__host__ __device__ unsigned quadrant(unsigned p, int depth) { return (p >> (15 - depth) & 1) | (p >> (31 - depth) & 1) << 1; }

__device__ void give_children(Tree* t, int me) {
    Node& node = t->nodes[me];
    int child = atomicAdd(&t->used, 4), at = node.at;
    for (int q = 0; q < 4; q++) {
        t->nodes[child + q] = {at, node.count[q], node.depth + 1, 0, {}, {}, 0};
        at += node.count[q];
    }
    node.child = child;
}

__global__ void split(Tree* t, int me);

__device__ void divide(Tree* t, int me) {
    give_children(t, me);
    split<<<(t->nodes[me].n + TILE - 1) / TILE, 128, 0, cudaStreamFireAndForget>>>(t, me);
    if (cudaGetLastError()) atomicAdd(&t->failed, 1);
}

// Whether this block is the last of `blocks` that come here; for all of its threads.
__device__ bool last_block(unsigned* done, unsigned blocks) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(done, 1) == blocks - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

__global__ void split(Tree* t, int me) {
    __shared__ int count[4], next[16];
    int k = threadIdx.x;
    Node& node = t->nodes[me];
    Node* four = &t->nodes[node.child];
    int depth = node.depth;
    unsigned *from = depth % 2 ? t->odd : t->even, *to = depth % 2 ? t->even : t->odd;
    if (k < 4) count[k] = 0;
    if (k < 16) next[k] = 0;
    __syncthreads();
    int begin = node.at + blockIdx.x * TILE, end = min(begin + TILE, node.at + node.n);
    for (int i = begin + k; i < end; i += 128) atomicAdd(&count[quadrant(from[i], depth)], 1);
    __syncthreads();
    if (k < 4) count[k] = four[k].at + atomicAdd(&node.placed[k], count[k]);
    __syncthreads();
    for (int i = begin + k; i < end; i += 128) {
        unsigned p = from[i], q = quadrant(p, depth);
        to[atomicAdd(&count[q], 1)] = p;
        atomicAdd(&next[q * 4 + quadrant(p, depth + 1)], 1);
    }
    __syncthreads();
    if (k < 16 && next[k]) atomicAdd(&four[k / 4].count[k % 4], next[k]);
    if (last_block(&node.done, gridDim.x) && k < 4 && four[k].n > LEAF && depth + 1 < DEPTH) divide(t, node.child + k);
}

__device__ bool count_root(Tree* t) {
    __shared__ int count[4];
    Node& root = t->nodes[0];
    if (threadIdx.x < 4) count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < root.n; i += gridDim.x * blockDim.x) atomicAdd(&count[quadrant(t->even[i], 0)], 1);
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(&root.count[threadIdx.x], count[threadIdx.x]);
    return last_block(&t->done, gridDim.x);
}

__global__ void build(Tree* t) {
    if (count_root(t) && threadIdx.x == 0) divide(t, 0);
}

// ---- without device-side launches -------------------------------------------------------------------------------------------------

const int WIDE = 2048, SMALL = 512;                 // points of a tile, eight for each thread; of a node that a block does alone

// Nodes with all their tiles numbered through, as Queue of graph.h; and small ones.
struct Nodes { unsigned long long* pack; int *node[2], *end[2], *small_count, *small; };

__device__ void later(Tree* t, Nodes q, int turn, int me) {
    Node& node = t->nodes[me];
    if (node.n <= LEAF || node.depth >= DEPTH) return;
    if (node.n <= SMALL) { q.small[atomicAdd(q.small_count, 1)] = me; return; }
    give_children(t, me);
    int tiles = (node.n + WIDE - 1) / WIDE;
    unsigned long long before = atomicAdd(&q.pack[turn % 3], 1ull << 40 | tiles);
    q.node[turn % 2][before >> 40] = me;
    q.end[turn % 2][before >> 40] = int(before & ((1ull << 40) - 1)) + tiles;
}

__device__ void split_tile(Tree* t, int me, int tile, Nodes queue, int turn) {
    __shared__ int count[4], next[16];
    int k = threadIdx.x, lane = k % 32;
    Node& node = t->nodes[me];
    int depth = node.depth, child = node.child, begin = node.at + tile * WIDE + k, end = node.at + node.n;
    Node* four = &t->nodes[child];
    unsigned *from = depth % 2 ? t->odd : t->even, *to = depth % 2 ? t->even : t->odd, p[8];
    if (k < 4) count[k] = 0;
    if (k < 16) next[k] = 0;
    __syncthreads();
    int mine[4] = {};
    for (int i = 0; i < 8; i++) {
        bool in = begin + 256 * i < end;
        p[i] = in ? from[begin + 256 * i] : 0;
        unsigned low = __ballot_sync(~0u, quadrant(p[i], depth) & 1), high = __ballot_sync(~0u, quadrant(p[i], depth) & 2), all = __ballot_sync(~0u, in);
        mine[0] += __popc(~low & ~high & all);
        mine[1] += __popc(low & ~high & all);
        mine[2] += __popc(~low & high & all);
        mine[3] += __popc(low & high & all);
        if (in) atomicAdd(&next[quadrant(p[i], depth) * 4 + quadrant(p[i], depth + 1)], 1);
    }
    int add = lane == 0 ? mine[0] : lane == 1 ? mine[1] : lane == 2 ? mine[2] : mine[3], at = lane < 4 ? atomicAdd(&count[lane], add) : 0;
    __syncthreads();
    if (k < 4) count[k] = four[k].at + atomicAdd(&node.placed[k], count[k]);
    if (k >= 32 && k < 48 && next[k - 32]) atomicAdd(&four[(k - 32) / 4].count[k % 4], next[k - 32]);
    __syncthreads();
    if (lane < 4) at += count[lane];
    for (int i = 0; i < 8; i++) {
        bool in = begin + 256 * i < end;
        unsigned q = quadrant(p[i], depth), low = __ballot_sync(~0u, q & 1), high = __ballot_sync(~0u, q & 2), all = __ballot_sync(~0u, in);
        unsigned same = (q & 1 ? low : ~low) & (q & 2 ? high : ~high) & all;
        int base = __shfl_sync(~0u, at, q);
        if (in) to[base + __popc(same & ((1u << lane) - 1))] = p[i];
        if (lane < 4) at += __popc((lane & 1 ? low : ~low) & (lane & 2 ? high : ~high) & all);
    }
    if (last_block(&node.done, (node.n + WIDE - 1) / WIDE) && lane == 0 && k < 128) later(t, queue, turn + 1, child + k / 32);
}

__device__ unsigned spread(unsigned v) {
    v = (v | v << 8) & 0xff00ff;
    v = (v | v << 4) & 0xf0f0f0f;
    v = (v | v << 2) & 0x33333333;
    return (v | v << 1) & 0x55555555;
}

__device__ unsigned gather(unsigned v) {
    v &= 0x55555555;
    v = (v | v >> 1) & 0x33333333;
    v = (v | v >> 2) & 0xf0f0f0f;
    v = (v | v >> 4) & 0xff00ff;
    return (v | v >> 8) & 0xffff;
}

// Sorts a node's points along the quadrants of all depths; then every node below is a part of them.
__device__ void subtree(Tree* t, int root) {
    __shared__ unsigned code[SMALL];
    __shared__ int todo[2][64], length[2];
    int k = threadIdx.x, at = t->nodes[root].at, n = t->nodes[root].n;
    const unsigned* from = t->nodes[root].depth % 2 ? t->odd : t->even;
    int size = 32;
    while (size < n) size *= 2;
    for (int i = k; i < size; i += 256) code[i] = i < n ? spread(from[at + i] & 0xffff) | spread(from[at + i] >> 16) << 1 : ~0u;
    if (k == 0) { todo[0][0] = root; length[0] = 1; }
    __syncthreads();
    for (int pair = 2; pair <= size; pair *= 2) {
        for (int step = pair / 2; step > 0; step /= 2) {
            int low = k / step * 2 * step + k % step;
            if (low < size) {
                unsigned a = code[low], b = code[low + step];
                if (((low & pair) == 0) == (a > b)) { code[low] = b; code[low + step] = a; }
            }
            __syncthreads();
        }
    }
    for (int i = k; i < n; i += 256) t->even[at + i] = t->odd[at + i] = gather(code[i]) | gather(code[i] >> 1) << 16;
    for (int turn = 0; length[turn]; turn ^= 1) {
        if (k == 0) length[turn ^ 1] = 0;
        __syncthreads();
        if (k < length[turn]) {
            Node& node = t->nodes[todo[turn][k]];
            int child = atomicAdd(&t->used, 4), depth = node.depth, begin = node.at - at, end = begin + node.n;
            node.child = child;
            for (int q = 0; q < 4; q++) {
                int low = begin, high = end;
                while (low < high) { int middle = (low + high) / 2; if ((code[middle] >> (30 - 2 * depth) & 3) > q) high = middle; else low = middle + 1; }
                t->nodes[child + q] = {at + begin, low - begin, depth + 1, 0, {}, {}, 0};
                if (low - begin > LEAF && depth + 1 < DEPTH) todo[turn ^ 1][atomicAdd(&length[turn ^ 1], 1)] = child + q;
                begin = low;
            }
        }
        __syncthreads();
    }
    __syncthreads();
}

__global__ void __launch_bounds__(256) flat(Tree* t, Nodes q) {
    __shared__ int number;
    if (count_root(t) && threadIdx.x == 0) later(t, q, 0, 0);
    sync_grid();
    for (int turn = 0;; turn++) {
        unsigned long long pack = *(volatile unsigned long long*)&q.pack[turn % 3];
        int count = int(pack >> 40), tiles = int(pack & ((1ull << 40) - 1));
        if (!count) break;
        if (blockIdx.x == 0 && threadIdx.x == 0) q.pack[(turn + 2) % 3] = 0;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int* end = q.end[turn % 2];
            if (threadIdx.x == 0) number = owner(end, count, tile);
            __syncthreads();
            split_tile(t, q.node[turn % 2][number], tile - (number ? end[number - 1] : 0), q, turn);
            __syncthreads();
        }
        sync_grid();
    }
    for (int i = blockIdx.x; i < *(volatile int*)q.small_count; i += gridDim.x) subtree(t, q.small[i]);
}

// ---- what must come out -----------------------------------------------------------------------------------------------------------

int nodes_below(std::vector<unsigned>& points, int at, int n, int depth) {
    if (n <= LEAF || depth >= DEPTH) return 1;
    int nodes = 1;
    for (unsigned q = 0; q < 4; q++) {
        auto end = std::partition(points.begin() + at, points.begin() + at + n, [&](unsigned p) { return quadrant(p, depth) == q; });
        int here = end - points.begin() - at;
        nodes += nodes_below(points, at, here, depth + 1);
        at += here;
        n -= here;
    }
    return nodes;
}

struct Found { int nodes = 0, points = 0, wrong = 0; uint64_t sum = 0; };

void look(const std::vector<Node>& nodes, const std::vector<unsigned> (&points)[2], int me, unsigned square, Found& f) {
    const Node& node = nodes[me];
    int depth = node.depth;
    f.nodes++;
    f.wrong += (node.child == 0) != (node.n <= LEAF || depth >= DEPTH);
    if (node.child) {
        for (unsigned q = 0; q < 4; q++) {
            f.wrong += nodes[node.child + q].depth != depth + 1;
            look(nodes, points, node.child + q, square | (q & 1) << (15 - depth) | (q >> 1) << (31 - depth), f);
        }
        return;
    }
    unsigned low = ((1u << (16 - depth)) - 1) * 0x10001;
    f.points += node.n;
    for (int i = node.at; i < node.at + node.n; i++) { f.wrong += (points[depth % 2][i] & ~low) != square; f.sum += points[depth % 2][i] * 0x9e3779b97f4a7c15ull; }
}

int main(int, char** argv) {
    pending_launches(1 << 18);
    Cubin cubin(argv[1], "quadtree");
    for (int n : {1 << 18, 1 << 21}) {
        std::mt19937 random(3);
        std::normal_distribution<double> normal;
        std::vector<unsigned> input(n);
        uint64_t sum = 0;
        for (int i = 0; i < n; i++) {
            // half of them in 64 clusters of different width
            unsigned cluster = random() % 64;
            auto axis = [&](unsigned centre) { return (unsigned)std::min(65535.0, std::max(0.0, centre % 65536 + normal(random) * (8 << cluster % 8))); };
            input[i] = i % 2 ? axis(cluster * 40503u) << 16 | axis(cluster * 7919u) : random();
            sum += input[i] * 0x9e3779b97f4a7c15ull;
        }
        std::vector<unsigned> sorted = input;
        int want = nodes_below(sorted, 0, n, 0), most = want + 4;
        Buffer<unsigned> even(n), odd(n);
        Buffer<Node> nodes(most);
        Buffer<Tree> tree(1);
        Buffer<unsigned long long> pack(3);
        Buffer<int> a(most), b(most), c(most), d(most), small_count(1), small(most);
        Nodes queue{pack, {a, b}, {c, d}, small_count, small};
        Bench bench{"quadtree, " + std::to_string(n) + " points", [&] {
            even.write(input);
            nodes.clear(); pack.clear(); small_count.clear();
            nodes.write({{0, n, 0, 0, {}, {}, 0}});
            tree.write({{nodes, even, odd, 1, 0, 0}});
        }, [&] {
            if (int e = tree.read()[0].failed) return lost(e);
            Found f;
            std::vector<unsigned> points[2] = {even.read(), odd.read()};
            look(nodes.read(), points, 0, 0, f);
            bool right = f.wrong == 0 && f.nodes == want && f.points == n && f.sum == sum;
            return right ? "" : std::to_string(f.nodes) + " nodes, not " + std::to_string(want) + ", " + std::to_string(f.wrong) + " faults";
        }};
        bench.run("flat", 9, [&] { cooperate(flat, 256, 0, tree, queue); });
        bench.run("cdpc", 9, [&] { cubin.launch("build", (n + 255) / 256, 256, tree.at); });
        bench.run("naive", 3, [&] { build<<<(n + 255) / 256, 256>>>(tree); });
    }
}
