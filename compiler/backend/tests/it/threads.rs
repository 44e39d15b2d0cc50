//! Atomics, barriers, fences, warp operations, special registers.

use crate::support::{Setup, compile, holds, lacks, ptx};

#[test]
fn atomics_have_the_scope_that_is_written() {
    let text = ptx("kernel k(x: *global i32, f: *global f32, d: *global f64, u: *global u64, g: *i32) {
        shared s: [i32; 4];
        s[0] = atomicAdd(&x[0], 1);
        x[1] = atomicAdd_block(&x[2], 2);
        x[3] = atomicAdd_system(&x[4], 3);
        f[0] = atomicAdd_system(&f[1], 1.5);
        d[0] = atomicAdd_block(&d[1], 1.5);
        u[0] = atomicMax_system(&u[1], 9);
        x[5] = atomicExch_block(&x[6], 4);
        x[7] = atomicCAS_system(&x[8], 1, 2);
        x[9] = atomicSub_block(&x[10], 5);
        x[11] = atomicAdd_system(g, 5);
        s[1] = atomicAdd_system(&s[2], 6);
        x[12] = s[1]; }");
    holds(
        &text,
        &[
            "atom.global.add.u32",
            "atom.global.cta.add.u32",
            "atom.global.sys.add.u32",
            "atom.global.sys.add.f32",
            "atom.global.cta.add.f64",
            "atom.global.sys.max.u64",
            "atom.global.cta.exch.b32",
            "atom.relaxed.sys.global.cas.b32",
            "atom.sys.add.u32",
            "atom.shared.add.u32",
        ],
    );
}

#[test]
fn atomics_of_every_type_assemble() {
    let source = "kernel k(i: *global i32, u: *global u32, l: *global i64, m: *global u64, h: *global f16, b: *global bf16, f: *global f32) {
        atomicMin(&i[0], -1); atomicMax(&u[0], 7); atomicMin(&l[0], -1); atomicMax(&m[0], 7); atomicAnd(&i[1], 3); atomicOr(&m[1], 3);
        atomicXor(&u[1], 3); u[3] = atomicInc(&u[2], 9); u[4] = atomicDec(&u[2], 9); m[2] = atomicCAS(&m[3], 1, 2); l[1] = atomicExch(&l[2], 4);
        f[0] = atomicExch(&f[1], 2.0); atomicAdd(&f[2], 1.0); }";
    for arch in ["sm_75", "sm_90", "sm_120"] {
        for level in [0, 3] {
            let text = compile(source, &Setup::new(arch).level(level)).ptx;
            holds(&text, &["atom.global.inc.u32", "atom.global.dec.u32", "atom.global.min.s64", "atom.global.max.u64"]);
        }
    }
}

#[test]
fn barriers_and_fences() {
    let text = ptx("kernel k(o: *global i32, p: bool) {
        __syncthreads();
        o[0] = __syncthreads_count(p);
        if __syncthreads_and(p) { o[1] = 1; }
        if __syncthreads_or(p) { o[2] = 1; }
        __syncwarp();
        __threadfence_block(); __threadfence(); __threadfence_system(); o[3] = 4; }");
    holds(&text, &["membar.cta", "membar.gl", "membar.sys", "bar.warp.sync \t-1"]);
    holds(&text, &["red.popc", "red.and", "red.or", "sync"]);
}

#[test]
fn barriers_stay_in_loops_and_branches() {
    let source = "kernel k(o: *global i32, n: i32) {
        shared s: [i32; 32];
        let t = threadIdx.x as i32;
        for i in 0..n { s[t] = i; __syncthreads(); o[i] = s[31 - t]; __syncthreads(); } }";
    let text = ptx(source);
    assert!(text.matches("sync").count() >= 2);
}

#[test]
fn warp_operations() {
    let source = "kernel k(o: *global u32, w: *global i64, f: *global f32, d: *global f64, v: u32) {
        let mask = __activemask();
        o[0] = __ballot_sync(mask, v > 3);
        if __all_sync(mask, v > 1) { o[1] = 1; }
        if __any_sync(mask, v > 1) { o[2] = 1; }
        o[3] = __shfl_sync(mask, v, 3);
        o[4] = __shfl_up_sync(mask, v, 1, 16);
        f[0] = __shfl_down_sync(mask, f[1], 2);
        d[0] = __shfl_xor_sync(mask, d[1], 1);
        w[0] = __shfl_sync(mask, w[1], 0);
        o[5] = __match_any_sync(mask, v); }";
    let text = ptx(source);
    holds(&text, &["activemask.b32", "vote.sync.ballot.b32", "vote.sync.all.pred", "vote.sync.any.pred"]);
    holds(&text, &["shfl.sync.idx.b32", "shfl.sync.up.b32", "shfl.sync.down.b32", "shfl.sync.bfly.b32", "match.any.sync.b32"]);
    compile(source, &Setup::new("sm_75").level(0));
    let reduce = "kernel k(o: *global u32, i: *global i32) { o[0] = __reduce_add_sync(0xffffffff, o[1]); i[0] = __reduce_min_sync(0xffffffff, i[1]);
        o[2] = __reduce_xor_sync(0xffffffff, o[3]); }";
    holds(&ptx(reduce), &["redux.sync.add", "redux.sync.min.s32", "redux.sync.xor.b32"]);
    let setup = Setup::new("sm_75");
    let (module, sources) = crate::support::front(reduce, &setup);
    let error = cdp_backend::compile(&module, &sources, &setup.options).unwrap_err();
    assert_eq!(error.to_string(), "`__reduce_add_sync` needs `sm_80` or newer");
}

#[test]
fn special_registers() {
    let text = ptx("kernel k(o: *global u32, w: *global u64) {
        o[0] = threadIdx.x + threadIdx.y + threadIdx.z; o[1] = blockIdx.x + blockIdx.y + blockIdx.z; o[2] = blockDim.x + blockDim.y + blockDim.z;
        o[3] = gridDim.x + gridDim.y + gridDim.z; o[4] = warpSize as u32 + laneid; o[5] = clock() as u32; w[0] = clock64() as u64; w[1] = globaltimer() as u64; }");
    holds(
        &text,
        &["%tid.x", "%tid.y", "%tid.z", "%ctaid.z", "%ntid.y", "%nctaid.x", "%laneid", "%clock", "%clock64", "%globaltimer"],
    );
}

#[test]
fn clusters_are_refused_where_there_are_none() {
    let refused = [
        ("@cluster(2) kernel k(o: *global u32) { o[0] = 1; }", "`@cluster`"),
        ("kernel k(o: *global u32) { o[0] = __clusterIdx().y; }", "`__clusterIdx`"),
        ("kernel k(o: *global u32) { if __clusterDimIsSpecified() { o[0] = 1; } }", "`__clusterDimIsSpecified`"),
        ("kernel k() { __cluster_barrier_arrive(); }", "`__cluster_barrier_arrive`"),
        ("kernel k() { __threadfence_cluster(); }", "`__threadfence_cluster`"),
        (
            "kernel k(o: *global u32) { shared s: u32; o[0] = __cluster_query_shared_rank(&s); }",
            "`__cluster_query_shared_rank`",
        ),
        (
            "kernel k(o: *global u32) { shared s: u32; o[0] = *__cluster_map_shared_rank(&s, 0); }",
            "`__cluster_map_shared_rank`",
        ),
    ];
    for (source, what) in refused {
        for arch in ["sm_75", "sm_80", "sm_89"] {
            let setup = Setup::new(arch);
            let (module, sources) = crate::support::front(source, &setup);
            let error = cdp_backend::compile(&module, &sources, &setup.options).unwrap_err();
            assert_eq!(error.to_string(), format!("{what} needs `sm_90` or newer"), "{arch}");
            let diagnostic = error.diagnostic().unwrap();
            assert_eq!(diagnostic.code.id(), "E0602");
            assert!(diagnostic.helps.iter().any(|help| help.text.contains("--arch=sm_90")), "{diagnostic:?}");
        }
        compile(source, &Setup::new("sm_90"));
    }
}

#[test]
fn clusters_are_what_nvcc_makes_of_them() {
    let kernel = ptx("@cluster(2, 1, 4) @launch_bounds(64) kernel k(o: *global u32) { o[0] = 1; }");
    holds(&kernel, &[".explicitcluster", ".reqnctapercluster 2, 1, 4"]);
    lacks(&ptx("kernel k(o: *global u32) { o[0] = 1; }"), &["cluster"]);
    let reached =
        "@cluster(2) kernel k(o: *global u32) { shared s: u32; s = 1; __cluster_barrier_arrive(); __cluster_barrier_wait();
        let p = __cluster_map_shared_rank(&s, __clusterRelativeBlockRank() ^ 1); o[0] = *p + __cluster_query_shared_rank(p); }";
    holds(
        &ptx(reached),
        &[
            "barrier.cluster.arrive;",
            "barrier.cluster.wait;",
            "%cluster_ctarank",
            "cvta.shared.u64",
            "mapa.u64",
            "getctarank.u64",
        ],
    );
}
