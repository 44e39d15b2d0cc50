use crate::builtins::WarpOp;
use crate::ir::{Module, StatementKind};
use crate::lower::testing::{check, function, module, statements};
use crate::pass::{Extent, InPlaceSite, MergeOptions, Runner, const_fold, merge_launches, simplify};

fn run(module: &mut Module, inline_below: u32) -> Vec<InPlaceSite> {
    const_fold(module);
    simplify(module);
    let found = merge_launches(module, &MergeOptions { inline_below, ..MergeOptions::default() });
    check(module);
    found.in_place
}

/// What becomes of each launch: the number of threads, or the code that stands in the way.
fn results(text: &str, inline_below: u32) -> Vec<Result<u32, String>> {
    let sites = run(&mut module(text), inline_below);
    sites.into_iter().map(|site| site.below.map_err(|obstacle| text[obstacle.span.range()].to_owned())).collect()
}

fn asked(child: &str, parent: &str) -> Vec<Result<u32, String>> {
    results(
        &format!(
            "global var lock: i32; fn meet() {{ __cluster_barrier_arrive(); __cluster_barrier_wait(); }}
             fn got() -> bool {{ return atomicCAS(&lock, 0, 1) == 0; }} fn again() {{ if !got() {{ again(); }} }}
             kernel c(x: *global i32) {{ {child} }}
             kernel p(x: *global i32, n: u32) {{ @inline_below(100) {parent} }}"
        ),
        0,
    )
}

const FORGET: &str = "c<<<n, 8, 0, cudaStreamFireAndForget>>>(x);";

#[test]
fn what_is_run_in_place_and_what_stands_in_the_way() {
    let in_the_way = |child: &str| match asked(child, FORGET).pop() {
        Some(Err(code)) => code,
        other => panic!("{other:?}"),
    };
    assert_eq!(asked("x[blockIdx.x] = threadIdx.x as i32;", FORGET), [Ok(100)]);
    assert_eq!(asked("", "@merge(grid) c<<<n, n>>>(x);"), [Ok(100)]);
    assert_eq!(asked("", "@merge(off) c<<<n, 8, 0, cudaStreamFireAndForget>>>(x);"), [Ok(100)]);
    assert_eq!(asked("", "c<<<n, 8>>>(x);"), [Err("c<<<n, 8>>>(x)".to_owned())]);
    let dynamic = "c<<<n, 8, n, cudaStreamFireAndForget>>>(x)";
    assert_eq!(asked("", &format!("{dynamic};")), [Err(dynamic.to_owned())]);
    assert_eq!(in_the_way("__syncthreads();"), "__syncthreads()");
    assert_eq!(in_the_way("shared t: i32; t = 1;"), "t = 1;");
    assert_eq!(in_the_way("x[laneid] = 1;"), "laneid");
    assert_eq!(in_the_way("x[0] = gridid() as i32;"), "gridid()");
    assert_eq!(in_the_way("meet();"), "__cluster_barrier_arrive()");
    assert_eq!(in_the_way("x[0] = cudaGetLastError() as i32;"), "cudaGetLastError()");
    assert_eq!(in_the_way("x[0] = __ldg(x + 1);"), "__ldg(x + 1)");
    assert_eq!(in_the_way("c<<<1, 1, 0, cudaStreamTailLaunch>>>(x);"), "c<<<1, 1, 0, cudaStreamTailLaunch>>>(x)");
    assert_eq!(in_the_way("c<<<1, 1>>>(x);"), "c<<<1, 1>>>(x)");
    // it may hold the lock that its parent's thread has
    let wait = "atomicCAS(&lock, 0, 1)";
    assert_eq!(in_the_way(&format!("while {wait} != 0 {{}}")), wait);
    assert_eq!(in_the_way("while !got() {}"), "got()");
    assert_eq!(in_the_way("again();"), "got()");
    assert_eq!(asked("if got() { x[0] = 1; }", FORGET), [Ok(100)]);
    assert_eq!(asked("for i in 0..9 { atomicAdd(&lock, 1); }", FORGET), [Ok(100)]);
    assert_eq!(asked("if atomicAdd(&lock, 1) == 0 { x[0] = 1; }", FORGET), [Ok(100)]);
}

#[test]
fn parents_that_take_something_for_granted() {
    let text = "kernel c(x: *global i32) { x[threadIdx.x] = 1; }
        kernel p(@restrict x: *global i32, y: *global i32) { @inline_below(9) c<<<1, 8, 0, cudaStreamFireAndForget>>>(y); }";
    assert_eq!(results(text, 0), [Err("x".to_owned())]);
    let text = "kernel c(x: *global i32, n: i32) { if n > 0 { c<<<1, 8, 0, cudaStreamFireAndForget>>>(x, n - 1); } }
        kernel p(x: *global i32) {
            @inline_below(9) c<<<1, 8, 0, cudaStreamFireAndForget>>>(x, 1);
            x[0] = cudaGetLastError() as i32;
        }";
    assert_eq!(results(text, 0), [Err("cudaGetLastError()".to_owned())]);
    let text = "kernel c(x: *global i32) { x[0] = 1; }
        fn f(x: *global i32) { @inline_below(9) c<<<1, 8, 0, cudaStreamFireAndForget>>>(x); }
        fn g(@restrict y: *global i32, x: *global i32) { f(x); *y = 1; }
        kernel p(x: *global i32, y: *global i32) { g(y, x); }";
    assert_eq!(results(text, 0), [Err("y".to_owned())]);
}

#[test]
fn light_children_need_no_attribute() {
    let light = |child: &str, launch: &str| {
        results(&format!("kernel c(x: *global i32, n: i32) {{ {child} }} kernel p(x: *global i32, n: u32) {{ {launch} }}"), 64)
    };
    let forget = "c<<<n, 8, 0, cudaStreamFireAndForget>>>(x, 1);";
    assert_eq!(light("x[threadIdx.x] = n;", forget), [Ok(64)]);
    assert_eq!(light("x[threadIdx.x] = n;", &format!("@inline_below(8) {forget}")), [Ok(8)]);
    assert_eq!(light("x[threadIdx.x] = n;", &format!("@merge(off) {forget}")), []);
    // heavier ones by a warp only
    assert_eq!(light("for i in 0..n { x[i] = n; }", forget), [Ok(64)]);
    assert_eq!(light(&format!("let n: u32 = 1; {forget}"), forget), []);
    assert_eq!(light("x[threadIdx.x] = n;", "c<<<n, 8>>>(x, 1);"), []);
}

#[test]
fn who_runs_a_child() {
    let by = |child: &str, param: &str| {
        let text = format!(
            "struct Pair {{ a: u8, b: f64x2 }} struct Row {{ all: [i32; 2] }}
             kernel c(x: *global i32, p: {param}) {{ {child} }}
             kernel p(x: *global i32, p: *global {param}, n: u32) {{ c<<<n, 8, 0, cudaStreamFireAndForget>>>(x, *p); }}"
        );
        run(&mut module(&text), 1 << 16).into_iter().map(|site| (site.by, site.below)).collect::<Vec<_>>()
    };
    let warp = |light| vec![(Runner::Warp { light }, Ok(1 << 16))];
    assert_eq!(by("x[threadIdx.x] = 1;", "i32"), warp(Some(0)));
    assert_eq!(by("for i in 0..x[1] { atomicAdd(x, i); }", "f16"), warp(None));
    assert_eq!(by("for i in 0..9 { atomicAdd(x, i); }", "f16"), warp(Some(0)));
    assert_eq!(by("x[threadIdx.x] = p.a as i32;", "Pair"), warp(Some(0)));
    assert_eq!(by("x[x[x[0]] + x[1]] = x[2];", "i32"), warp(Some(2)));
    assert_eq!(by("x[atomicAdd(&x[x[0]], 1)] = 1;", "i32"), warp(Some(2)));
    // lanes do not tell each other arrays
    assert_eq!(by("x[threadIdx.x] = p.all[0];", "Row"), [(Runner::Thread, Ok(129))]);
    assert_eq!(by("for i in 0..x[1] { atomicAdd(x, p.all[0]); }", "Row"), []);
}

#[test]
fn lanes_do_not_tell_each_other_what_all_of_them_know() {
    let shuffles = |launch: &str| {
        let text = format!(
            "struct S {{ p: *global i32, n: i32 }}
             kernel c(x: *global i32, n: i32) {{ x[threadIdx.x] = n; }}
             kernel p(x: *global i32, s: S, n: i32) {{
                 var m = n; if threadIdx.x == 1 {{ m += 1; }}
                 c<<<1, 8, 0, cudaStreamFireAndForget>>>({launch});
             }}"
        );
        let mut module = module(&text);
        run(&mut module, 1 << 16);
        let written = module.functions.iter().filter(|f| f.symbol.starts_with("cdpc$warp$") && f.symbol.ends_with("$c"));
        let count = |f| statements(f).iter().filter(|s| matches!(s, StatementKind::Warp { op: WarpOp::Shfl, .. })).count();
        // one is for where the threads of a lane start
        written.map(count).min().unwrap() - 1
    };
    assert_eq!(shuffles("x, n"), 0);
    assert_eq!(shuffles("x + 4, n * 2"), 0);
    assert_eq!(shuffles("s.p, s.n"), 0);
    assert_eq!(shuffles("x, m"), 1);
    assert_eq!(shuffles("x, x[n]"), 1);
    assert_eq!(shuffles("&x[threadIdx.x], n"), 1);
}

#[test]
fn which_grids_are_run_in_place() {
    let extent = |launch: &str| {
        let text = format!(
            "kernel c(x: *global i32, n: i32) {{ if threadIdx.x as i32 < n {{ x[threadIdx.x] = n; }} }}
             kernel heavy(x: *global i32, n: i32) {{ for i in 0..n {{ x[i] = n; }} }}
             fn f(x: *global i32, n: u32) {{ c<<<n, 8, 0, cudaStreamFireAndForget>>>(x, 1); }}
             kernel p(x: *global i32, n: u32) {{ {launch} }}"
        );
        let mut module = module(&text);
        let sites = run(&mut module, 1 << 16);
        let left = statements(function(&module, "p")).iter().any(|s| matches!(s, StatementKind::Barrier { .. }));
        let site = sites.into_iter().find(|site| Some(site.function) == module.kernel("p"));
        (site.map(|site| site.extent), left)
    };
    assert_eq!(extent("c<<<n, 8, 0, cudaStreamFireAndForget>>>(x, 1);"), (Some(Extent::Block), true));
    assert_eq!(extent("c<<<4, 32, 0, cudaStreamFireAndForget>>>(x, 1);"), (Some(Extent::All), false));
    assert_eq!(extent("c<<<4, 33, 0, cudaStreamFireAndForget>>>(x, 1);"), (Some(Extent::Block), true));
    assert_eq!(extent("@inline_below(9) c<<<4, 32, 0, cudaStreamFireAndForget>>>(x, 1);"), (Some(Extent::All), false));
    assert_eq!(extent("heavy<<<n, 8, 0, cudaStreamFireAndForget>>>(x, 1);"), (Some(Extent::Warp), false));
    // threads that end before others come together would be missing there
    assert_eq!(extent("__syncthreads(); c<<<n, 8, 0, cudaStreamFireAndForget>>>(x, 1);").0, Some(Extent::Warp));
    // a kernel that is merged has blocks of others beside it
    assert_eq!(
        extent("c<<<n, 8, 0, cudaStreamFireAndForget>>>(x, 1); p<<<1, 1, 0, cudaStreamFireAndForget>>>(x, n);").0,
        Some(Extent::Warp)
    );
    assert_eq!(extent("f(x, n);"), (None, false));
}

#[test]
fn a_child_is_one_function_whatever_launches_it() {
    let mut module = module(
        "fn at() -> u32 { return blockIdx.x * blockDim.x + threadIdx.x; }
         kernel c(x: *global i32) { x[at()] = 1; }
         kernel p(x: *global i32, n: u32) {
             @inline_below(64) c<<<n, 8, 0, cudaStreamFireAndForget>>>(x);
             @inline_below(32) c<<<2, n, 0, cudaStreamFireAndForget>>>(x);
         }",
    );
    assert_eq!(run(&mut module, 0).len(), 2);
    let named = |start: &str, end: &str| {
        let symbols = module.functions.iter().map(|function| &function.symbol);
        symbols.filter(|symbol| symbol.starts_with(start) && symbol.ends_with(end)).count()
    };
    assert_eq!(named("cdpc$in_place$", ""), 2);
    // for lanes whose arguments are their kernel's, and for others; one for each size of blocks and grids
    assert_eq!(named("cdpc$warp$", "$c"), 4);
    assert_eq!(named("cdpc$in_place_grid$", ""), 0);
    let launches = statements(function(&module, "p")).iter().filter(|s| matches!(s, StatementKind::Launch(_))).count();
    // what is not run in place is pushed, also where blocks are as large as the launch says
    assert_eq!(launches, 0);
}
