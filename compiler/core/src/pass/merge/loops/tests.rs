use super::LoopSite;
use crate::lower::testing::{check, module};
use crate::pass::{MergeOptions, const_fold, merge_launches, simplify};

/// What becomes of the launches in kernels that launch themselves: whether it is that, and the code that stands in the way.
fn sites(text: &str) -> Vec<(bool, Option<String>)> {
    let mut module = module(text);
    const_fold(&mut module);
    simplify(&mut module);
    let found = merge_launches(&mut module, &MergeOptions::default());
    check(&module);
    let text = |site: LoopSite| (site.again, site.result.err().map(|obstacle| text[obstacle.span.range()].to_owned()));
    found.loops.into_iter().map(text).collect()
}

const AGAIN: &str = "l<<<1, 1, 0, cudaStreamTailLaunch>>>(x, n - 1);";

/// Of a loop whose kernel does this before it launches itself, and launches `c`, which does that: what stands in the way.
fn obstacle(before: &str, child: &str) -> Option<String> {
    let text = format!(
        "global var bad: i32; fn launches(x: *global i32) {{ c<<<1, 32>>>(x); }}
         kernel c(x: *global i32) {{ {child} }} kernel other(x: *global i32) {{ x[1] = 2; }}
         kernel l(x: *global i32, n: i32) {{ if n == 0 {{ return; }} {before} {AGAIN} }}"
    );
    let found = sites(&text);
    let again = found.iter().filter(|(again, _)| *again).count();
    assert_eq!(again, 1, "{found:?}");
    found.into_iter().find_map(|(_, obstacle)| obstacle)
}

#[test]
fn kernels_that_are_loops() {
    for before in [
        "",
        "c<<<n as u32, 32>>>(x);",
        "let e = c<<<1, 32, 0, cudaStreamFireAndForget>>>(x); if e != cudaSuccess { x[2] = 1; }",
        "c<<<1, 32, 0, cudaStreamTailLaunch>>>(x); other<<<dim3(1, 2, 3), 32>>>(x);",
        "if cudaGetLastError() != cudaSuccess { x[3] = threadIdx.x as i32; }",
        "if n > 3 { c<<<1, 32>>>(x); } else { c<<<2, 32>>>(x); }",
    ] {
        assert_eq!(obstacle(before, "x[blockIdx.x] = 1; __syncthreads();"), None, "{before}");
    }
    let text = format!("kernel l(x: *global i32, n: i32) {{ x[0] = n; {AGAIN} }}");
    assert_eq!(sites(&text), [(true, None)]);
}

#[test]
fn what_stands_in_the_way() {
    let launch = "c<<<1, 32>>>(x);";
    let by_kernel = |before: &str| obstacle(before, "x[0] = 1;").unwrap_or_default();
    assert_eq!(by_kernel("for i in 0..n { c<<<1, 32>>>(x); }"), "c<<<1, 32>>>(x)");
    assert_eq!(by_kernel("c<<<1, 32>>>(x); other<<<1, 64>>>(x);"), "other<<<1, 64>>>(x)");
    assert_eq!(by_kernel("c<<<1, n as u32>>>(x);"), "c<<<1, n as u32>>>(x)");
    assert_eq!(by_kernel("c<<<1, 32, 64>>>(x);"), "c<<<1, 32, 64>>>(x)");
    assert_eq!(
        by_kernel("@merge(off) c<<<1, 32, 0, cudaStreamFireAndForget>>>(x);"),
        "c<<<1, 32, 0, cudaStreamFireAndForget>>>(x)"
    );
    assert_eq!(by_kernel("launches(x);"), "c<<<1, 32>>>(x)");
    assert_eq!(by_kernel("x[1] = gridid() as i32;"), "gridid()");
    assert_eq!(by_kernel("x[1] = laneid as i32;"), "laneid");
    assert_eq!(by_kernel("__syncthreads();"), "__syncthreads()");
    assert_eq!(by_kernel("cudaMemsetAsync(x, 0, 4, cudaStreamTailLaunch);"), "cudaMemsetAsync(x, 0, 4, cudaStreamTailLaunch)");
    let by_child = |child: &str| obstacle(launch, child).unwrap_or_default();
    assert_eq!(by_child("x[0] = gridid() as i32;"), "gridid()");
    assert_eq!(by_child("x[1] = __ldg(&x[2]);"), "__ldg(&x[2])");
    assert_eq!(by_child("other<<<1, 32, 0, cudaStreamTailLaunch>>>(x);"), "other<<<1, 32, 0, cudaStreamTailLaunch>>>(x)");
    assert_eq!(by_child("other<<<1, 32>>>(x);"), "other<<<1, 32>>>(x)");
    assert_eq!(
        by_child("@merge(off) other<<<1, 32, 0, cudaStreamFireAndForget>>>(x);"),
        "other<<<1, 32, 0, cudaStreamFireAndForget>>>(x)"
    );
}

#[test]
fn its_own_tails_come_before_those_that_follow() {
    let text = "kernel c(x: *global i32) { x[0] = 1; }
        kernel l(x: *global i32, n: i32) {
            if n == 0 { return; }
            l<<<1, 1, 0, cudaStreamTailLaunch>>>(x, n - 1);
            c<<<1, 32, 0, cudaStreamTailLaunch>>>(x);
        }";
    assert_eq!(sites(text), [(true, Some("c<<<1, 32, 0, cudaStreamTailLaunch>>>(x)".to_owned()))]);
}

#[test]
fn other_ways_to_launch_itself_are_none() {
    for again in ["<<<1, 2, 0, cudaStreamTailLaunch>>>", "<<<2, 1, 0, cudaStreamTailLaunch>>>", "<<<1, 1>>>"] {
        let text = format!("kernel l(x: *global i32, n: i32) {{ if n > 0 {{ l{again}(x, n - 1); }} }}");
        assert_eq!(sites(&text), []);
    }
}
