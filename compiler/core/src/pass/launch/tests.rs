use super::{LaunchAbi, LaunchOptions, LaunchSite, SiteAbi, lower_launches};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Module, StatementKind};
use crate::lower::testing::{check, function, lowered, module, programs, statements};
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
