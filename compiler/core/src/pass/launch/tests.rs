use super::{LaunchAbi, LaunchOptions, LaunchSite, SiteAbi, lower_launches};
use crate::builtins::RuntimeFn;
use crate::diag::{Code, Diagnostic};
use crate::ir::{Module, Operand, Statement, StatementKind, TerminatorKind};
use crate::lower::testing::{check, function, module, programs, statements};
use crate::pass::{const_fold, simplify};
use crate::types::layout::PointerWidth;

fn options(abi: LaunchAbi) -> LaunchOptions {
    LaunchOptions { abi, ..LaunchOptions::default() }
}

fn pipeline(module: &mut Module, options: &LaunchOptions) -> (Vec<LaunchSite>, Vec<Diagnostic>) {
    const_fold(module);
    check(module);
    simplify(module);
    check(module);
    let (sites, diagnostics) = lower_launches(module, options);
    check(module);
    (sites, diagnostics.finish())
}

/// The interfaces of the launches of `kernel p(...) { body }`, in order of the source.
fn abis(body: &str, abi: LaunchAbi) -> Vec<SiteAbi> {
    let text = format!(
        "kernel c(v: i32) {{ }}
         fn pick(n: i32) -> cudaStream_t {{ return if n == 0 {{ cudaStreamTailLaunch }} else {{ cudaStreamDefault }}; }}
         fn p(given: cudaStream_t, n: i32) {{ {body} }}
         kernel k(n: i32) {{ p(cudaStreamDefault, n); }}"
    );
    let mut module = module(&text);
    let (sites, diagnostics) = pipeline(&mut module, &options(abi));
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    sites.iter().map(|site| site.abi).collect()
}

#[test]
fn r28_v1_only_where_the_stream_can_be_no_special_one() {
    use SiteAbi::{V1, V2};
    let auto = |body: &str| abis(body, LaunchAbi::Auto);
    let own = "var s: cudaStream_t; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);";
    assert_eq!(auto("c<<<1, 1>>>(1);"), [V1]);
    assert_eq!(auto("c<<<1, 1, 0, cudaStreamDefault>>>(1);"), [V1]);
    assert_eq!(auto("c<<<1, 1, 0, cudaStreamTailLaunch>>>(1); c<<<1, 1, 0, cudaStreamFireAndForget>>>(1);"), [V2, V2]);
    assert_eq!(auto(&format!("{own} c<<<1, 1, 0, s>>>(1); cudaStreamDestroy(s);")), [V1]);
    assert_eq!(auto(&format!("{own} let t = s; c<<<1, 1, 0, t>>>(1);")), [V1]);
    assert_eq!(auto(&format!("{own} if n == 0 {{ s = cudaStreamDefault; }} c<<<1, 1, 0, s>>>(1);")), [V1]);
    assert_eq!(auto(&format!("{own} if n == 0 {{ s = cudaStreamTailLaunch; }} c<<<1, 1, 0, s>>>(1);")), [V2]);
    assert_eq!(auto("c<<<1, 1, 0, given>>>(1);"), [V2]);
    assert_eq!(auto("c<<<1, 1, 0, pick(n)>>>(1);"), [V2]);
    assert_eq!(auto("let many = [given, given]; c<<<1, 1, 0, many[n]>>>(1);"), [V2]);
    assert_eq!(auto("c<<<1, 1, 0, if n == 0 { cudaStreamTailLaunch } else { cudaStreamDefault }>>>(1);"), [V2]);
    assert_eq!(abis("c<<<1, 1>>>(1);", LaunchAbi::V2), [V2]);
    assert_eq!(abis(&format!("{own} c<<<1, 1, 0, s>>>(1);"), LaunchAbi::V1), [V1]);
}

#[test]
fn r28_v1_into_a_special_stream_is_refused() {
    let text = "kernel c() { }
        kernel p() {
            c<<<1, 1, 0, cudaStreamTailLaunch>>>();
            c<<<1, 1>>>();
        }";
    let mut module = module(text);
    let (sites, diagnostics) = pipeline(&mut module, &options(LaunchAbi::V1));
    assert_eq!(sites.iter().map(|site| site.abi).collect::<Vec<_>>(), [SiteAbi::V2, SiteAbi::V1]);
    let codes: Vec<Code> = diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, [Code::E0413]);
    assert!(text[diagnostics[0].primary.span.range()].starts_with("c<<<1, 1, 0, cudaStreamTailLaunch>>>"));
}

/// The calls and stores of a lowered function, in the order of its blocks, written shortly.
fn shape(module: &Module, name: &str) -> Vec<String> {
    let words = statements(function(module, name)).into_iter().filter_map(|statement| match statement {
        StatementKind::Runtime { call, .. } => Some(call.name().to_owned()),
        StatementKind::Store { .. } => Some("store".to_owned()),
        StatementKind::Launch(_) => Some("launch".to_owned()),
        _ => None,
    });
    words.collect()
}

const PARENT: &str = "kernel child(a: i8, p: *global i32, b: i16) { }
    kernel parent(p: *global i32) { let e = child<<<2, dim3(3, 4, 5), 16, STREAM>>>(1, p, 2); if e != cudaSuccess { p[0] = 1; } }
    kernel quiet(p: *global i32) { child<<<1, 1, 0, STREAM>>>(1, p, 2); }";

#[test]
fn r26_r31_one_store_a_parameter_between_buffer_and_launch() {
    let mut lowered = module(&PARENT.replace("STREAM", "cudaStreamFireAndForget"));
    let (sites, _) = pipeline(&mut lowered, &LaunchOptions::default());
    let buffer = "cudaGetParameterBufferV2";
    let launch = "cudaLaunchDeviceV2";
    let parent = shape(&lowered, "parent");
    let calls: Vec<&String> = parent.iter().filter(|word| *word != "store").collect();
    assert_eq!(calls, [buffer, launch, "cudaPeekAtLastError"]);
    assert_eq!(parent.len() - calls.len(), 4, "three parameters, and the program's own store");
    assert_eq!(shape(&lowered, "quiet"), [buffer, "store", "store", "store", launch].map(String::from));
    let offsets: Vec<(u64, u64, u32)> = sites[0].params.params.iter().map(|p| (p.offset, p.size, p.align)).collect();
    assert_eq!(offsets, [(0, 1, 1), (8, 8, 8), (16, 2, 2)]);
    assert_eq!((sites[0].params.size, sites[0].params.align), (18, 8));

    let mut lowered = module(&PARENT.replace("STREAM", "cudaStreamDefault"));
    let narrow = LaunchOptions { width: PointerWidth::W32, ..LaunchOptions::default() };
    let (sites, _) = pipeline(&mut lowered, &narrow);
    assert_eq!(
        shape(&lowered, "quiet"),
        ["cudaGetParameterBuffer", "store", "store", "store", "cudaLaunchDevice"].map(String::from)
    );
    let offsets: Vec<u64> = sites[0].params.params.iter().map(|p| p.offset).collect();
    assert_eq!(offsets, [0, 4, 8]);
}

#[test]
fn r29_nothing_is_stored_or_launched_without_a_buffer() {
    let mut lowered = module(&PARENT.replace("STREAM", "cudaStreamDefault"));
    pipeline(&mut lowered, &LaunchOptions::default());
    let parent = function(&lowered, "parent");
    let is_call = |statement: &Statement, wanted: RuntimeFn| matches!(&statement.kind, StatementKind::Runtime { call, .. } if *call == wanted);
    let asks =
        parent.blocks.iter().find(|block| block.statements.iter().any(|s| is_call(s, RuntimeFn::GetParameterBuffer))).unwrap();
    assert!(is_call(&asks.statements[asks.statements.len() - 2], RuntimeFn::GetParameterBuffer));
    let TerminatorKind::Branch { then, otherwise, .. } = asks.terminator.kind else { panic!("{:?}", asks.terminator) };
    let refused = &parent.blocks[then.index()];
    assert!(
        refused
            .statements
            .iter()
            .all(|s| !matches!(s.kind, StatementKind::Store { .. }) && !is_call(s, RuntimeFn::LaunchDevice))
    );
    assert!(is_call(&refused.statements[0], RuntimeFn::PeekAtLastError));
    let filled = &parent.blocks[otherwise.index()];
    assert!(is_call(filled.statements.last().unwrap(), RuntimeFn::LaunchDevice));
    assert_eq!(refused.terminator.kind, filled.terminator.kind);
}

#[test]
fn r31_a_kernel_without_parameters_takes_no_buffer_in_v1() {
    let text = "kernel child() { } kernel parent() { child<<<1, 1>>>(); }";
    let mut lowered = module(text);
    pipeline(&mut lowered, &options(LaunchAbi::V1));
    assert_eq!(shape(&lowered, "parent"), ["cudaLaunchDevice"]);
    let mut lowered = module(text);
    pipeline(&mut lowered, &options(LaunchAbi::V2));
    assert_eq!(shape(&lowered, "parent"), ["cudaGetParameterBufferV2", "cudaLaunchDeviceV2"]);
}

#[test]
fn r32_what_asks_for_more_alignment_than_the_buffer_has_is_stored_by_parts() {
    let text = "@align(32) struct Wide { a: f64, b: [i32; 2], c: i8 }
        kernel child(x: i8, w: Wide, y: i8) { }
        kernel parent(w: *global const Wide) { child<<<1, 1>>>(1, w[0], 2); }";
    let mut lowered = module(text);
    let (sites, _) = pipeline(&mut lowered, &LaunchOptions::default());
    let offsets: Vec<(u64, u32)> = sites[0].params.params.iter().map(|p| (p.offset, p.align)).collect();
    assert_eq!(offsets, [(0, 1), (16, 16), (48, 1)]);
    // x, then a, b and c, then y; no store is of the structure itself
    let parent = function(&lowered, "parent");
    let stored: Vec<String> = statements(parent)
        .into_iter()
        .filter_map(|statement| match statement {
            StatementKind::Store { place, .. } => Some(lowered.types.display(lowered.place_type(parent, place).unwrap())),
            _ => None,
        })
        .collect();
    assert_eq!(stored, ["i8", "f64", "[i32; 2]", "i8", "i8"]);
}

#[test]
fn r34_parameters_must_fit() {
    let text = |bytes: u64, device: bool| {
        let launch = if device { "kernel parent(b: *global const Big) { child<<<1, 1>>>(*b); }" } else { "" };
        format!("struct Big {{ v: [u8; {bytes}] }} kernel child(b: Big) {{ }} {launch}")
    };
    let found = |bytes, device, max_param_bytes| {
        let mut lowered = module(&text(bytes, device));
        let options = LaunchOptions { max_param_bytes, ..LaunchOptions::default() };
        pipeline(&mut lowered, &options).1.into_iter().map(|d| d.code).collect::<Vec<_>>()
    };
    assert_eq!(found(4096, true, 4096), []);
    assert_eq!(found(4097, true, 4096), [Code::E0302]);
    assert_eq!(found(4097, true, 8192), []);
    assert_eq!(found(32_764, true, u64::MAX), []);
    assert_eq!(found(32_765, true, u64::MAX), [Code::E0302]);
    assert_eq!(found(32_764, false, 4096), []);
    assert_eq!(found(32_765, false, 4096), [Code::E0302]);
}

#[test]
fn c4_dead_launches_need_no_device_runtime() {
    for condition in ["false", "DEBUG", "debug", "1 > 2"] {
        let text = format!(
            "const DEBUG: bool = false; kernel c() {{ }}
             kernel p() {{ let debug = !true; if {condition} {{ c<<<1, 1>>>(); }} }}"
        );
        let mut lowered = module(&text);
        let (sites, _) = pipeline(&mut lowered, &LaunchOptions::default());
        assert!(sites.is_empty() && !crate::verify::verify(&lowered).unwrap().needs_device_runtime(), "{condition}");
    }
    let mut live = module("kernel p(e: *global cudaError_t) { e[0] = cudaGetLastError(); }");
    pipeline(&mut live, &LaunchOptions::default());
    assert!(crate::verify::verify(&live).unwrap().needs_device_runtime());
    let mut heap = module("kernel p(n: u64) { free(malloc(n)); }");
    pipeline(&mut heap, &LaunchOptions::default());
    assert!(!crate::verify::verify(&heap).unwrap().needs_device_runtime());
}

#[test]
fn launches_of_the_host_stay_statements() {
    let text = "kernel c(v: i32) { }
        fn both(v: i32) { c<<<1, 1>>>(v); }
        kernel p() { both(1); }
        host fn main() { c<<<1, 1>>>(2); }";
    let mut lowered = module(text);
    let (sites, _) = pipeline(&mut lowered, &LaunchOptions::default());
    assert_eq!(sites.len(), 1);
    assert_eq!(shape(&lowered, "main"), ["launch"]);
    assert_eq!(shape(&lowered, "both"), ["cudaGetParameterBuffer", "store", "cudaLaunchDevice"]);
}

#[test]
fn several_launches_in_one_block_keep_their_order() {
    let text = "kernel c(v: i32) { }
        kernel p(x: *global i32) { x[0] = 1; c<<<1, 1>>>(10); x[1] = 2; c<<<1, 1>>>(20); c<<<1, 1>>>(30); x[2] = 3; }";
    let mut lowered = module(text);
    let (sites, _) = pipeline(&mut lowered, &LaunchOptions::default());
    let starts: Vec<u32> = sites.iter().map(|site| site.span.start).collect();
    assert!(starts.is_sorted() && starts.len() == 3, "{starts:?}");
    // along the path on which every buffer is had
    let p = function(&lowered, "p");
    let mut block = 0;
    let mut stored = Vec::new();
    loop {
        for statement in &p.blocks[block].statements {
            if let StatementKind::Store { value: Operand::Const(constant), .. } = &statement.kind {
                stored.push(constant.as_bits().unwrap());
            }
        }
        block = match p.blocks[block].terminator.kind {
            TerminatorKind::Branch { otherwise, .. } => otherwise.index(),
            TerminatorKind::Goto(next) => next.index(),
            _ => break,
        };
    }
    assert_eq!(stored, [1, 10, 2, 20, 30, 3]);
}

#[test]
fn every_program_of_the_suite_goes_through_all_passes() {
    for (name, module, _) in programs() {
        for abi in [LaunchAbi::Auto, LaunchAbi::V2] {
            for width in [PointerWidth::W32, PointerWidth::W64] {
                let mut module = module.clone();
                let (sites, diagnostics) = pipeline(&mut module, &LaunchOptions { abi, width, max_param_bytes: 32_764 });
                assert!(diagnostics.is_empty(), "{name}: {diagnostics:#?}");
                let info = crate::verify::verify(&module).unwrap();
                assert!(info.launches_on_device.is_empty(), "{name}");
                assert_eq!(info.needs_device_runtime(), !sites.is_empty() || needs_other_calls(&module), "{name}");
            }
        }
    }
}

/// Whether device code calls the device runtime for anything but launches.
fn needs_other_calls(module: &Module) -> bool {
    let info = crate::verify::ModuleInfo::new(module);
    module.functions().filter(|(id, _)| info.is_on_device(*id)).any(|(_, function)| {
        statements(function).into_iter().any(|statement| match statement {
            StatementKind::Runtime { call, .. } => call.name().starts_with("cuda"),
            _ => false,
        })
    })
}
