//! `rows.rs` and `rows.cubin` of `../rows.cdp`.

fn main() {
    cdp_build::Kernels::new("../rows.cdp").build();
}
