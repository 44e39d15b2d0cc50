use crate::builtins::RuntimeFn;
use crate::ir::{FunctionKind, Module, Operand, StatementKind};
use crate::lower::testing::{check, function, module, statements};
use crate::pass::{LaunchOptions, SiteAbi, const_fold, lower_launches, simplify};

/// The module after all passes, and the interfaces of its launches.
fn lowered(text: &str) -> (Module, Vec<SiteAbi>) {
    let mut module = module(text);
    const_fold(&mut module);
    simplify(&mut module);
    let (sites, diagnostics) = lower_launches(&mut module, &LaunchOptions::default());
    check(&module);
    assert!(diagnostics.finish().is_empty());
    (module, sites.iter().map(|site| site.abi).collect())
}

fn calls(module: &Module, name: &str) -> Vec<RuntimeFn> {
    let calls = statements(function(module, name)).into_iter().filter_map(|statement| match statement {
        StatementKind::Runtime { call, .. } => Some(*call),
        _ => None,
    });
    calls.collect()
}

fn fill_kernels(module: &Module) -> usize {
    module.functions.iter().filter(|function| function.symbol == super::fill::SYMBOL).count()
}

#[test]
fn c14_a_value_that_is_zero_goes_to_the_runtime_and_every_other_to_a_kernel() {
    let (zero, sites) = lowered("kernel k(p: *global u8, n: u64) { cudaMemsetAsync(p, 256, n, cudaStreamDefault); }");
    assert_eq!(calls(&zero, "k"), [RuntimeFn::MemsetAsync]);
    assert_eq!((fill_kernels(&zero), sites.len()), (0, 0));
    for value in ["0x5a", "v"] {
        let text = format!(
            "kernel k(p: *global u8, v: i32, n: u64) {{ let e = cudaMemsetAsync(p, {value}, n, cudaStreamDefault); assert(e == cudaSuccess); }}"
        );
        let (module, sites) = lowered(&text);
        assert!(!calls(&module, "k").contains(&RuntimeFn::MemsetAsync), "{value}");
        assert_eq!(fill_kernels(&module), 1);
        assert_eq!(sites, [SiteAbi::V1]);
    }
}

#[test]
fn c14_fills_go_into_the_stream_that_was_asked_for_and_share_one_kernel() {
    let text = "kernel k(p: *global f32, v: i32) {
        cudaMemsetAsync(p, v, 16, cudaStreamTailLaunch);
        if v > 3 { cudaMemset2DAsync(p, 64, v, 16, 4, cudaStreamFireAndForget); }
        cudaMemset3DAsync(make_cudaPitchedPtr(p, 64, 16, 4), v, make_cudaExtent(16, 4, 2), 0);
    }";
    let (module, sites) = lowered(text);
    assert_eq!(sites, [SiteAbi::V2, SiteAbi::V2, SiteAbi::V1]);
    assert_eq!(fill_kernels(&module), 1);
    assert!(calls(&module, "k").iter().all(|call| call.name().contains("Launch") || call.name().contains("Parameter")));
}

#[test]
fn fills_of_host_code_stay() {
    let text = "host fn main() { let p = device(u8, 16); cudaMemsetAsync(p, 7, 16, 0); cudaDeviceSynchronize(); }";
    let (module, _) = lowered(text);
    assert!(calls(&module, "main").contains(&RuntimeFn::MemsetAsync));
    assert_eq!(fill_kernels(&module), 0);
}

#[test]
fn events_are_recorded_by_the_call_that_the_library_has() {
    let text = |flags: &str| {
        format!(
            "kernel k(f: u32, o: *global i32) {{
            var e: cudaEvent_t;
            cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
            o[0] = cudaEventRecordWithFlags(e, 0, {flags}) as i32;
        }}"
        )
    };
    for flags in ["cudaEventRecordDefault", "f"] {
        let (module, _) = lowered(&text(flags));
        assert_eq!(calls(&module, "k"), [RuntimeFn::EventCreateWithFlags, RuntimeFn::EventRecord]);
    }
}

#[test]
fn a_block_size_is_found_by_a_function_for_each_kernel() {
    let text = "kernel a() { } kernel b() { }
        kernel k(o: *global i32) {
            var blocks = 0;
            var threads = 0;
            cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, a);
            cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, b, 1024, 256);
            let e = cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, a, 0);
            o[0] = blocks; o[1] = threads; o[2] = e as i32;
        }";
    let (module, _) = lowered(text);
    assert!(calls(&module, "k").is_empty());
    let helpers: Vec<_> =
        module.functions.iter().filter(|f| f.name.starts_with("cdpc$potential") && f.kind == FunctionKind::Plain).collect();
    assert_eq!(helpers.len(), 2);
    for helper in helpers {
        let asks = statements(helper).into_iter().any(|statement| match statement {
            StatementKind::Runtime { call: RuntimeFn::FuncGetAttributes, args, .. } => {
                matches!(args.as_slice(), [_, Operand::Function(_)])
            }
            _ => false,
        });
        assert!(asks);
    }
}
