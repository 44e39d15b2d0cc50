use super::{MergeMode, MergeOptions, MergeSite, merge_launches};
use crate::ir::{Function, Module, StatementKind, TerminatorKind};
use crate::lower::testing::{check, function, module, programs, statements};
use crate::pass::{LaunchOptions, const_fold, lower_launches, simplify};
use crate::types::layout::PointerWidth;

fn merge(module: &mut Module, options: &MergeOptions) -> Vec<MergeSite> {
    const_fold(module);
    simplify(module);
    let sites = merge_launches(module, options).sites;
    check(module);
    sites
}

fn results(text: &str) -> Vec<Result<MergeMode, String>> {
    let mut module = module(text);
    let sites = merge(&mut module, &MergeOptions { inline_below: 0, ..MergeOptions::default() });
    sites.into_iter().map(|site| site.result.map_err(|obstacle| text[obstacle.span.range()].to_owned())).collect()
}

#[test]
fn every_program_of_the_suite_goes_through() {
    for (name, module, _) in programs() {
        for width in [PointerWidth::W32, PointerWidth::W64] {
            for (memory, inline_below) in [(1 << 16, 0), (256 << 20, 1 << 16)] {
                let mut module = module.clone();
                merge(&mut module, &MergeOptions { width, memory, inline_below, ..MergeOptions::default() });
                let options = LaunchOptions { width, max_param_bytes: 32_764, ..LaunchOptions::default() };
                let (_, diagnostics) = lower_launches(&mut module, &options);
                assert!(diagnostics.finish().is_empty(), "{name}");
                check(&module);
            }
        }
    }
}

#[test]
fn a_merged_launch_is_made_only_where_it_cannot_be_pushed() {
    let mut module = module(
        "kernel c(x: *global i32, n: i32) { x[n] = blockIdx.x as i32; }
         kernel p(x: *global i32) { let e = c<<<4, 32, 0, cudaStreamFireAndForget>>>(x, 1); if e != cudaSuccess { x[0] = 1; } }",
    );
    let sites = merge(&mut module, &MergeOptions { inline_below: 0, ..MergeOptions::default() });
    assert_eq!(sites.iter().map(|site| site.result.clone()).collect::<Vec<_>>(), [Ok(MergeMode::Threads)]);
    let calls =
        |name: &str| statements(function(&module, name)).iter().filter(|s| matches!(s, StatementKind::Call { .. })).count();
    let launches =
        |name: &str| statements(function(&module, name)).iter().filter(|s| matches!(s, StatementKind::Launch(_))).count();
    assert_eq!((calls("p"), launches("p")), (1, 0));
    assert_eq!((calls("c"), launches("c")), (0, 0));
    assert_eq!(launches("cdpc$push_0"), 1);
}

#[test]
fn what_is_merged_and_what_stands_in_the_way() {
    let launch = |child: &str, launch: &str| {
        results(&format!("kernel c(x: *global i32) {{ {child} }} kernel p(x: *global i32, n: u32) {{ {launch} }}"))
    };
    let forget = "c<<<n, 128, 0, cudaStreamFireAndForget>>>(x);";
    assert_eq!(launch("x[0] = 1;", forget), [Ok(MergeMode::Blocks)]);
    assert_eq!(launch("x[0] = 1;", "c<<<n, 8, 0, cudaStreamFireAndForget>>>(x);"), [Ok(MergeMode::Threads)]);
    assert_eq!(launch("__syncthreads();", "c<<<n, 8, 0, cudaStreamFireAndForget>>>(x);"), [Ok(MergeMode::Blocks)]);
    assert_eq!(launch("x[0] = gridid() as i32;", forget), [Err("gridid()".to_owned())]);
    let helper = format!(
        "fn rank() -> u32 {{ return __clusterRelativeBlockRank(); }}
         kernel c(x: *global i32) {{ x[rank()] = 1; }} kernel p(x: *global i32, n: u32) {{ {forget} }}"
    );
    assert_eq!(results(&helper), [Err("__clusterRelativeBlockRank()".to_owned())]);
    let null = "c<<<n, 128>>>(x)";
    assert_eq!(launch("", &format!("{null};")), [Err(null.to_owned())]);
    let dynamic = "c<<<1, n, n, cudaStreamFireAndForget>>>(x)";
    assert_eq!(launch("", &format!("{dynamic};")), [Err(dynamic.to_owned())]);
    assert_eq!(launch("", "@merge(grid) c<<<n, 128>>>(x);"), [Ok(MergeMode::Blocks)]);
    assert_eq!(
        launch("", "@merge(off) c<<<n, 128, 0, cudaStreamFireAndForget>>>(x);"),
        [Err("c<<<n, 128, 0, cudaStreamFireAndForget>>>(x)".to_owned())]
    );
    let tail = "c<<<n, 128, 0, cudaStreamTailLaunch>>>(x)";
    assert_eq!(launch("", &format!("@merge(grid) {tail};")), [Err(tail.to_owned())]);
    assert_eq!(launch("shared all: [i32; 12288]; all[0] = 1;", forget), [Err("c".to_owned())]);
}

#[test]
fn blocks_whose_size_is_not_known_are_laid_side_by_side() {
    let launch = |child: &str, block: &str| {
        results(&format!(
            "kernel c(x: *global i32) {{ {child} }}
             kernel p(x: *global i32, n: u32) {{ let k: u32 = 33; c<<<1, {block}, 0, cudaStreamFireAndForget>>>(x); }}"
        ))
    };
    for block in ["n", "dim3(n, n, n)", "dim3(4, n, 64)", "dim3(n, 1024, 1)"] {
        assert_eq!(launch("x[threadIdx.y] = blockDim.z as i32;", block), [Ok(MergeMode::Threads)], "{block}");
    }
    for child in ["__syncthreads()", "__syncwarp()", "c<<<1, 1>>>(x)"] {
        let found = launch(&format!("x[0] = 1; {child};"), "n");
        assert_eq!(found[0], Err(child.to_owned()));
    }
    assert_eq!(launch("shared t: i32; t = 1;", "n"), [Err("t = 1;".to_owned())]);
    // whatever n is
    for block in ["dim3(n, k - 33, 1)", "dim3(1, n, k * 2)", "dim3(32, n, k)"] {
        let made = format!("c<<<1, {block}, 0, cudaStreamFireAndForget>>>(x)");
        assert_eq!(launch("x[0] = 1;", block), [Err(made)]);
    }
}

#[test]
fn a_limit_of_blocks_whose_size_is_not_known() {
    // which of these leaves threads out can be seen by who pushes nothing
    let has_limit = |child: &str, block: &str| {
        let mut module = module(&format!(
            "kernel c(x: *global i32, n: i32) {{ {child} }}
             kernel p(x: *global i32, n: u32) {{ c<<<n, {block}, 0, cudaStreamFireAndForget>>>(x, n as i32); }}"
        ));
        let sites = merge(&mut module, &MergeOptions { inline_below: 0, ..MergeOptions::default() });
        assert_eq!(sites.iter().map(|site| site.result.clone()).collect::<Vec<_>>(), [Ok(MergeMode::Threads)]);
        let below = module.functions().find(|(_, function)| function.name == "cdpc$below").map(|(id, _)| id).unwrap();
        let calls = statements(function(&module, "cdpc$push_0"));
        calls.iter().any(|statement| matches!(statement, StatementKind::Call { function, .. } if *function == below))
    };
    for i in [
        "(blockIdx.x * blockDim.x + threadIdx.x) as i32",
        "(threadIdx.x + blockDim.x * blockIdx.x) as i32",
        "blockIdx.x as i32 * blockDim.x as i32 + threadIdx.x as i32",
        "(blockIdx.x * blockDim.x + threadIdx.x) as i32 + n / 4",
    ] {
        let child = format!("let i = {i}; if i < n {{ x[i] = 1; }}");
        assert!(has_limit(&child, "n"), "{i}");
        assert!(has_limit(&child, "dim3(n, 1, 1)"), "{i}");
        assert!(!has_limit(&child, "dim3(n, n, 1)"), "{i}");
    }
    for i in [
        "(blockIdx.x * 32 + threadIdx.x) as i32",
        "(blockIdx.x * blockDim.x * blockDim.x + threadIdx.x) as i32",
        "(blockIdx.x * blockDim.x * 2 + threadIdx.x) as i32",
        "(2 * blockIdx.x * blockDim.x + threadIdx.x) as i32",
        "(blockIdx.x * blockDim.x + blockIdx.x + threadIdx.x) as i32",
        "(blockIdx.x * blockDim.x + blockIdx.x * blockDim.x + threadIdx.x) as i32",
        "((blockIdx.x + 1) * blockDim.x + threadIdx.x) as i32",
        "(blockIdx.x * (blockDim.x as u8) as u32 + threadIdx.x) as i32",
        "(threadIdx.x * blockDim.x + blockIdx.x) as i32",
        "(blockIdx.x * gridDim.x + threadIdx.x) as i32",
    ] {
        assert!(!has_limit(&format!("let i = {i}; if i < n {{ x[i] = 1; }}"), "n"), "{i}");
    }
}

#[test]
fn threads_beyond_a_limit_are_left_out() {
    // without a limit blocks of 128 threads are run block by block
    let mode = |child: &str, grid: &str| {
        let text = format!(
            "fn number() -> u32 {{ return blockIdx.x * blockDim.x + threadIdx.x; }}
             kernel c(x: *global i32, n: i32, k: i32) {{ {child} }}
             kernel p(x: *global i32, n: u32) {{ c<<<{grid}, 128, 0, cudaStreamFireAndForget>>>(x, n as i32, 3); }}"
        );
        results(&text).remove(0).unwrap()
    };
    let i = "let i = (blockIdx.x * blockDim.x + threadIdx.x) as i32;";
    for guard in [
        "if i < n { x[i] = 1; }",
        "if n > i { x[i] = 1; }",
        "if i >= n { return; } x[i] = 1;",
        "if !(i >= n * k - 1) { x[i] = 1; }",
        "if k < 0 { return; } if i < n { x[i] = 1; }",
        "if k < 0 || i >= n { return; } x[i] = 1;",
        "let j = k + i; if j < n { x[j] = 1; }",
        "for j in i..n step k { x[j] = 1; }",
        "var j = i; while j < n { x[j] = 1; j += (gridDim.x * blockDim.x) as i32; }",
        "let v = x[0]; if i < n { x[i] = v; }",
        "if i < x[k + 1] { x[i] = 1; }",
    ] {
        assert_eq!(mode(&format!("{i} {guard}"), "n"), MergeMode::Threads, "{guard}");
        assert_eq!(mode(&format!("{i} {guard}"), "dim3(n, 2, 1)"), MergeMode::Blocks, "{guard}");
    }
    assert_eq!(mode("if number() < n as u32 { x[0] = 1; }", "n"), MergeMode::Threads);
    assert_eq!(mode("if threadIdx.x < n as u32 { x[0] = 1; }", "1"), MergeMode::Threads);
    assert_eq!(mode("if threadIdx.x < n as u32 { x[0] = 1; }", "n"), MergeMode::Blocks);
    for guard in [
        "if i > n { x[i] = 1; }",
        "if i < n { x[i] = 1; } else { x[0] = 2; }",
        "if i < n { x[i] = 1; } x[0] = 2;",
        "x[0] = 2; if i < n { x[i] = 1; }",
        "if i < x[i] { x[i] = 1; }",
        "if k < 0 { return; } if i < x[k] { x[i] = 1; }",
        "if i < (x as *global volatile i32)[0] { x[i] = 1; }",
        "if i * 2 < n { x[i] = 1; }",
        "let j = i as i8; if j < n as i8 { x[0] = 1; }",
        "let j = (k + i) as i64; if j < n as i64 { x[0] = 1; }",
        "if k < 0 { return; } if i < n / k { x[i] = 1; }",
        "if i < n { __syncthreads(); }",
    ] {
        assert_eq!(mode(&format!("{i} {guard}"), "n"), MergeMode::Blocks, "{guard}");
    }
}

/// The functions that a function calls, by name.
fn calls(module: &Module, function: &Function) -> Vec<String> {
    let called = |kind: &StatementKind| match kind {
        StatementKind::Call { function, .. } => module.function(*function).map(|function| function.name.clone()),
        _ => None,
    };
    statements(function).iter().filter_map(|kind| called(kind)).collect()
}

#[test]
fn threads_of_a_kernel_with_buckets_leave_by_one_end() {
    let mut module = module(
        "kernel c(x: *global i32) { for i in 0..9 { atomicAdd(x, i); } }
         fn f(x: *global i32) { @merge(grid) c<<<1, 2>>>(x); }
         kernel p(x: *global i32, n: i32) {
             if n == 0 { return; }
             @merge(buckets(8)) c<<<1, 2>>>(x);
             for i in 0..n { if x[i] > 0 { return; } }
             f(x);
         }
         kernel q(x: *global i32) { f(x); @merge(grid) p<<<1, 2>>>(x, 1); }",
    );
    let sites = merge(&mut module, &MergeOptions { inline_below: 0, ..MergeOptions::default() });
    let buckets: Vec<_> = sites.iter().map(|site| site.buckets.as_slice()).collect();
    assert_eq!(buckets, [&[8][..], &[8], &[]]);
    let ends = |name: &str| {
        let blocks = &function(&module, name).blocks;
        blocks.iter().filter(|block| matches!(block.terminator.kind, TerminatorKind::Return(_))).count()
    };
    assert_eq!(ends("p"), 1);
    assert_eq!(calls(&module, function(&module, "p")), ["cdpc$bucket_0", "f", "cdpc$leave_part"]);
    // the same function, for each of the two and for merged grids
    assert_eq!(calls(&module, function(&module, "q")), ["f", "cdpc$push_1"]);
    let mut pushes: Vec<_> = module.functions.iter().filter(|f| f.name == "f").flat_map(|f| calls(&module, f)).collect();
    pushes.sort();
    assert_eq!(pushes, ["cdpc$again_0", "cdpc$bucket_0", "cdpc$push_0"]);
    // a merged grid has none
    let merged: Vec<_> = module.functions.iter().filter(|f| f.name == "p").map(|f| calls(&module, f)).collect();
    assert!(merged.contains(&vec!["cdpc$again_0".to_owned(), "f".to_owned()]), "{merged:?}");
}
