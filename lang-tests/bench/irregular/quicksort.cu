// Quicksort by blocks: a child grid for each side of a piece; and without device-side launches all pieces of a depth together, by tiles.
#include "harness.h"
const int TILE = 2048, SMALL = 512;

struct Piece { int less, greater; unsigned done; };
struct Sort { unsigned* out; Piece* pieces; int used, failed; };

__device__ unsigned middle(unsigned a, unsigned b, unsigned c) { return max(min(a, b), min(max(a, b), c)); }

__device__ void sort_block(const unsigned* from, unsigned* out, int n) {
    __shared__ unsigned key[SMALL];
    int t = threadIdx.x;
    for (int i = t; i < SMALL; i += 256) key[i] = i < n ? from[i] : 0xffffffff;
    __syncthreads();
    for (int size = 2; size <= SMALL; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            int low = t / step * 2 * step + t % step;
            unsigned a = key[low], b = key[low + step];
            if (((low & size) == 0) == (a > b)) { key[low] = b; key[low + step] = a; }
            __syncthreads();
        }
    }
    for (int i = t; i < n; i += 256) out[i] = key[i];
}

__global__ void sort_small(const unsigned* from, unsigned* out, int n) { sort_block(from, out, n); }

__device__ void sort(unsigned* from, unsigned* to, int at, int n, Sort* s);

__global__ void part(unsigned* from, unsigned* to, int at, int n, Piece* piece, Sort* s) {
    __shared__ int count[2], base[2];
    __shared__ bool last;
    int t = threadIdx.x, lane = t % 32, less = 0, greater = 0, begin = at + blockIdx.x * TILE + t;
    unsigned pivot = middle(from[at], from[at + n / 2], from[at + n - 1]), key[8];
    if (t < 2) count[t] = 0;
    for (int k = 0; k < 8; k++) {
        key[k] = begin + 256 * k < at + n ? from[begin + 256 * k] : pivot;
        less += __popc(__ballot_sync(~0u, key[k] < pivot));
        greater += __popc(__ballot_sync(~0u, key[k] > pivot));
    }
    __syncthreads();
    if (lane == 0) { less = atomicAdd(&count[0], less); greater = atomicAdd(&count[1], greater); }
    __syncthreads();
    if (t == 0) base[0] = at + atomicAdd(&piece->less, count[0]);
    if (t == 32) base[1] = at + n - atomicAdd(&piece->greater, count[1]) - count[1];
    __syncthreads();
    int left = base[0] + __shfl_sync(~0u, less, 0), right = base[1] + __shfl_sync(~0u, greater, 0);
    for (int k = 0; k < 8; k++) {
        unsigned below = __ballot_sync(~0u, key[k] < pivot), above = __ballot_sync(~0u, key[k] > pivot), before = (1u << lane) - 1;
        if (key[k] < pivot) to[left + __popc(below & before)] = key[k];
        if (key[k] > pivot) to[right + __popc(above & before)] = key[k];
        left += __popc(below);
        right += __popc(above);
    }
    __syncthreads();
    if (t == 0) {
        __threadfence();
        last = atomicAdd(&piece->done, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    int below = atomicAdd(&piece->less, 0), above = atomicAdd(&piece->greater, 0);
    for (int i = at + below + t; i < at + n - above; i += 256) s->out[i] = pivot;
    if (t == 0) sort(to, from, at, below, s);
    if (t == 1) sort(to, from, at + n - above, above, s);
}

__device__ void sort(unsigned* from, unsigned* to, int at, int n, Sort* s) {
    if (n == 0) return;
    if (n <= SMALL) {
        sort_small<<<1, 256, 0, cudaStreamFireAndForget>>>(from + at, s->out + at, n);
    } else {
        Piece* piece = &s->pieces[atomicAdd(&s->used, 1)];
        part<<<(n + TILE - 1) / TILE, 256, 0, cudaStreamFireAndForget>>>(from, to, at, n, piece, s);
    }
    if (cudaGetLastError()) atomicAdd(&s->failed, 1);
}

__global__ void start(unsigned* keys, unsigned* other, int n, Sort* s) { sort(keys, other, 0, n, s); }

// ---- without device-side launches -------------------------------------------------------------------------------------------------

const int WIDE = 2048;                              // keys of a tile: eight for each thread

struct Part { int at, n, less, greater; unsigned done, pivot; };
// Parts with all their tiles numbered through, as Queue of graph.h; and small ones, of which `odd` says in which array they are.
struct Parts { unsigned long long* pack; Part* part[2]; int* end[2]; int* small_count; int3* small; };

__device__ void later(Parts q, int turn, const unsigned* keys, int at, int n) {
    if (n == 0) return;
    if (n <= SMALL) { q.small[atomicAdd(q.small_count, 1)] = {at, n, turn % 2}; return; }
    int tiles = (n + WIDE - 1) / WIDE;
    unsigned long long before = atomicAdd(&q.pack[turn % 3], 1ull << 40 | tiles);
    q.part[turn % 2][before >> 40] = {at, n, 0, 0, 0, middle(keys[at], keys[at + n / 2], keys[at + n - 1])};
    q.end[turn % 2][before >> 40] = int(before & ((1ull << 40) - 1)) + tiles;
}

__device__ void part_tile(const unsigned* from, unsigned* to, unsigned* out, Part* p, int tile, Parts q, int turn) {
    __shared__ int count[2], base[2];
    __shared__ bool last;
    int t = threadIdx.x, lane = t % 32, less = 0, greater = 0, begin = p->at + tile * WIDE + t, end = p->at + p->n;
    unsigned pivot = p->pivot, key[8];
    if (t < 2) count[t] = 0;
    for (int k = 0; k < 8; k++) {
        bool in = begin + 256 * k < end;
        key[k] = in ? from[begin + 256 * k] : pivot;
        less += __popc(__ballot_sync(~0u, key[k] < pivot));
        greater += __popc(__ballot_sync(~0u, key[k] > pivot));
    }
    __syncthreads();
    if (lane == 0) { less = atomicAdd(&count[0], less); greater = atomicAdd(&count[1], greater); }
    __syncthreads();
    if (t == 0) base[0] = p->at + atomicAdd(&p->less, count[0]);
    if (t == 32) base[1] = end - atomicAdd(&p->greater, count[1]) - count[1];
    __syncthreads();
    int left = base[0] + __shfl_sync(~0u, less, 0), right = base[1] + __shfl_sync(~0u, greater, 0);
    for (int k = 0; k < 8; k++) {
        unsigned below = __ballot_sync(~0u, key[k] < pivot), above = __ballot_sync(~0u, key[k] > pivot), before = (1u << lane) - 1;
        if (key[k] < pivot) to[left + __popc(below & before)] = key[k];
        if (key[k] > pivot) to[right + __popc(above & before)] = key[k];
        left += __popc(below);
        right += __popc(above);
    }
    __syncthreads();
    if (t == 0) {
        __threadfence();
        last = atomicAdd(&p->done, 1) == (p->n + WIDE - 1) / WIDE - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    int below = *(volatile int*)&p->less, above = *(volatile int*)&p->greater;
    for (int i = p->at + below + t; i < end - above; i += 256) out[i] = pivot;
    if (t == 0) later(q, turn + 1, to, p->at, below);
    if (t == 32) later(q, turn + 1, to, end - above, above);
}

__global__ void __launch_bounds__(256) flat(unsigned* keys, unsigned* other, unsigned* out, int n, Parts q) {
    __shared__ int number;
    if (blockIdx.x == 0 && threadIdx.x == 0) later(q, 0, keys, 0, n);
    sync_grid();
    for (int turn = 0;; turn++) {
        unsigned long long pack = *(volatile unsigned long long*)&q.pack[turn % 3];
        int count = int(pack >> 40), tiles = int(pack & ((1ull << 40) - 1));
        if (!count) break;
        if (blockIdx.x == 0 && threadIdx.x == 0) q.pack[(turn + 2) % 3] = 0;
        unsigned *from = turn % 2 ? other : keys, *to = turn % 2 ? keys : other;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int* end = q.end[turn % 2];
            if (threadIdx.x == 0) number = owner(end, count, tile);
            __syncthreads();
            part_tile(from, to, out, &q.part[turn % 2][number], tile - (number ? end[number - 1] : 0), q, turn);
            __syncthreads();
        }
        sync_grid();
    }
    for (int i = blockIdx.x; i < *(volatile int*)q.small_count; i += gridDim.x) {
        int3 p = q.small[i];
        sort_block((p.z ? other : keys) + p.x, out + p.x, p.y);
        __syncthreads();
    }
}

int main(int, char** argv) {
    pending_launches(1 << 18);
    Cubin cubin(argv[1], "quicksort");
    for (int n : {1 << 20, 1 << 24}) {
        std::mt19937 random(11);
        std::vector<unsigned> input(n);
        for (auto& key : input) key = random();
        std::vector<unsigned> want = input;
        std::sort(want.begin(), want.end());
        int most = n / 64;
        Buffer<unsigned> first(input), keys(n), other(n), out(n);
        Buffer<Piece> pieces(most);
        Buffer<Sort> sorted(1);
        Buffer<unsigned long long> pack(3);
        Buffer<Part> a(most), b(most);
        Buffer<int> c(most), d(most), small_count(1);
        Buffer<int3> small(most);
        Parts parts{pack, {a, b}, {c, d}, small_count, small};
        Bench bench{"quicksort, " + std::to_string(n) + " keys", [&] {
            CHECK(cudaMemcpy(keys, first, 4l * n, cudaMemcpyDeviceToDevice));
            out.clear(); pieces.clear(); pack.clear(); small_count.clear();
            sorted.write({{out, pieces, 0, 0}});
        }, [&] {
            if (int e = sorted.read()[0].failed) return lost(e);
            return out.read() == want ? "" : std::string("not sorted");
        }};
        bench.run("flat", 9, [&] { cooperate(flat, 256, 0, keys, other, out, n, parts); });
        bench.run("cdpc", 9, [&] { cubin.launch("start", 1, 1, keys.at, other.at, n, sorted.at); });
        bench.run("naive", 3, [&] { start<<<1, 1>>>(keys, other, n, sorted); });
    }
}
