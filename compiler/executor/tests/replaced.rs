//! What `pass::lower_launches` puts in the place of runtime calls, run here: the kernel that fills memory, and the search for a block size.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use cdp_core::ir::Module;
use cdp_core::pass::{FILL_KERNEL, LaunchOptions, lower_launches};
use cdp_core::verify;
use cdp_executor::{Program, Status};
use std::sync::Arc;
use support::{Compiled, compile};

fn lowered(module: &Module) -> Module {
    let mut module = module.clone();
    let (_, found) = lower_launches(&mut module, &LaunchOptions::default());
    assert!(!found.has_errors());
    module
}

fn with_module(compiled: Compiled, module: Module) -> Compiled {
    verify::verify(&module).unwrap();
    Compiled { program: Arc::new(Program::new(&module)), module, ..compiled }
}

/// The fill kernel in the place of `fill`, which has its parameters, and host code that launches it and looks at every byte.
fn filled(checks: &str) {
    let text = format!(
        "kernel needs_a_fill(x: *global u8, v: i32) {{ cudaMemsetAsync(x, v, 1, 0); }}
        kernel fill(start: *global u8, word: u32, width: u64, rows: u64, height: u64, pitch: u64, slice: u64) {{ }}
        host fn main() {{ {checks} }}"
    );
    let compiled = compile(&text);
    let with_kernel = lowered(&compiled.module);
    let kernel = with_kernel.functions.iter().find(|function| function.symbol == FILL_KERNEL).unwrap();
    let mut module = compiled.module.clone();
    module.types = with_kernel.types.clone();
    let place = module.functions.iter_mut().find(|function| function.name == "fill").unwrap();
    assert_eq!(place.param_types().collect::<Vec<_>>(), kernel.param_types().collect::<Vec<_>>());
    place.locals.clone_from(&kernel.locals);
    place.blocks.clone_from(&kernel.blocks);
    let ran = with_module(compiled, module).run("main", None);
    assert_eq!(ran.outcome.status, Status::Ok, "{}", ran.rendering);
}

#[test]
fn rows_of_any_start_and_width_are_filled_and_nothing_else() {
    for threads in [16, 32, 256] {
        filled(&format!(
            "for start in 0..18 {{
                for width in 0..50 {{
                    let x = device(u8, 80);
                    fill<<<1, {threads}>>>(x + start, 0x5a5a5a5a, width as u64, 1, 1, width as u64, width as u64);
                    for i in 0..80 {{
                        let inside = i >= start && i < start + width;
                        assert(x[i] == (if inside {{ 0x5a }} else {{ 0 }}), \"%d bytes from %d, byte %d: %d\", width, start, i, x[i]);
                    }}
                    cudaFree(x);
                }}
            }}"
        ));
    }
}

#[test]
fn grids_of_every_size_reach_every_byte_of_every_row() {
    filled(
        "for blocks in 1..4 {
            for lines in 1..4 {
                let x = device(u8, 6000);
                // 2 slices of 3 rows of 700 bytes, 901 bytes apart
                fill<<<dim3(blocks, lines, 1), 16>>>(x + 5, 0x07070707, 700, 6, 3, 901, 2900);
                for i in 0..6000 {
                    let at = i - 5;
                    let inside = at >= 0 && at / 2900 < 2 && at % 2900 / 901 < 3 && at % 2900 % 901 < 700;
                    assert(x[i] == (if inside { 7 } else { 0 }), \"byte %d: %d\", i, x[i]);
                }
                cudaFree(x);
            }
        }",
    );
}

#[test]
fn the_search_for_a_block_size_gives_what_the_call_does() {
    let text = "
        kernel plain(x: *global i32) { *x = 1; }
        @launch_bounds(100) kernel bounded(x: *global i32) { *x = 1; }
        kernel heavy(x: *global i32) { shared t: [i32; 5000]; t[0] = 1; *x = t[0]; }
        kernel k() {
            var grid = 0;
            var block = 0;
            for shared_bytes in 0..3 {
                for limit in 0..5 {
                    printf(\"%d \", cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, shared_bytes * 9000, limit * 90) as i32);
                    printf(\"%d %d, \", grid, block);
                    printf(\"%d \", cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded, shared_bytes * 9000, limit * 90) as i32);
                    printf(\"%d %d, \", grid, block);
                    printf(\"%d \", cudaOccupancyMaxPotentialBlockSize(&grid, &block, heavy, shared_bytes * 9000, limit * 90) as i32);
                    printf(\"%d %d\\n\", grid, block);
                }
            }
        }
        host fn main() { k<<<1, 1>>>(); cudaDeviceSynchronize(); }";
    let direct = compile(text);
    let searched = lowered(&direct.module);
    assert!(searched.functions.len() > direct.module.functions.len());
    let direct = direct.run("main", None);
    let searched = with_module(compile(text), searched).run("main", None);
    assert_eq!(direct.outcome.status, Status::Ok, "{}", direct.rendering);
    assert_eq!(searched.outcome.status, Status::Ok, "{}", searched.rendering);
    assert!(direct.output.lines().count() == 15 && !direct.output.contains("0 0 0"), "{}", direct.output);
    assert_eq!(searched.output, direct.output);
}
