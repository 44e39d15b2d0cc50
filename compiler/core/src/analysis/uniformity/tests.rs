use super::*;
use crate::lower::testing::module;

/// For each call of `see` in device code, in order of the source: the levels of its argument and of the block that it stands in.
fn seen(text: &str) -> Vec<(Level, Level)> {
    let text = format!("@noinline fn see(v: i64) {{}} {text}");
    let module = module(&text);
    let program = Program::new(&module);
    let uniformity = Uniformity::new(&program);
    let see = module.functions().find(|(_, f)| f.name == "see").map(|(id, _)| id).unwrap();
    let mut list = Vec::new();
    for body in program.device_bodies() {
        for (point, statement) in body.statements() {
            if let StatementKind::Call { function, args, .. } = &statement.kind
                && *function == see
            {
                let level = uniformity.operand(body, point, args.first().unwrap());
                list.push((statement.span.start, level, uniformity.block(body.id, point.block)));
            }
        }
    }
    list.sort_by_key(|(start, ..)| *start);
    list.into_iter().map(|(_, value, block)| (value, block)).collect()
}

const GRID: Level = Level::Grid;
const BLOCK: Level = Level::Block;
const UNKNOWN: Level = Level::Unknown;
const THREAD: Level = Level::Thread;

#[test]
fn values_vary_with_what_they_are_computed_from() {
    let found = seen(
        "constant c: [i32; 4] = [1, 2, 3, 4];
         kernel k(x: *global i32, n: i32) {
             see(n * 2);
             see(blockIdx.x + n as u32);
             see(threadIdx.x);
             see(x[n]);
             see(x[threadIdx.x]);
             see(c[n]);
             see(atomicAdd(x, 1));
             see(__syncthreads_count(threadIdx.x == 0));
         }",
    );
    let values: Vec<Level> = found.iter().map(|(value, _)| *value).collect();
    assert_eq!(values, [GRID, BLOCK, THREAD, UNKNOWN, THREAD, GRID, THREAD, BLOCK]);
    assert!(found.iter().all(|(_, block)| *block == GRID));
}

#[test]
fn branches_on_the_thread_diverge_until_they_meet() {
    let found = seen(
        "kernel k(x: *global i32, n: i32) {
             var v = 0;
             if threadIdx.x < 5 { see(v); v = 1; } else { see(n); }
             see(v);
             var w = 0;
             if n > 3 { see(w); w = 1; }
             see(w);
         }",
    );
    assert_eq!(found, [(GRID, THREAD), (GRID, THREAD), (THREAD, GRID), (GRID, GRID), (GRID, GRID)]);
}

#[test]
fn who_returns_early_does_not_come_along() {
    let found = seen("kernel k(n: u32) { if threadIdx.x >= n { return; } see(1); }");
    assert_eq!(found, [(GRID, THREAD)]);
}

#[test]
fn threads_leave_a_loop_in_different_rounds() {
    let found = seen(
        "kernel k(n: i32) {
             var i = 0;
             while i < threadIdx.x as i32 { see(i); i += 1; }
             see(i);
             var j = 0;
             while j < n { see(j); j += 1; }
             see(j);
         }",
    );
    assert_eq!(found, [(THREAD, THREAD), (THREAD, GRID), (GRID, GRID), (GRID, GRID)]);
}

#[test]
fn a_uniform_choice_inside_a_divergent_region_stays_uniform() {
    let found = seen(
        "kernel k(n: i32) {
             if threadIdx.x < 5 {
                 var v = 0;
                 if n > 3 { v = 1; }
                 see(v);
             }
         }",
    );
    assert_eq!(found, [(GRID, THREAD)]);
}

#[test]
fn calls_pass_levels_down_and_up() {
    let found = seen(
        "fn twice(a: i32) -> i32 { see(a); return a * 2; }
         fn number() -> u32 { return threadIdx.x; }
         kernel k(n: i32) { see(twice(n)); see(number()); }
         kernel l(n: i32) { if threadIdx.x == 0 { see(twice(blockIdx.x as i32)); } }",
    );
    assert_eq!(found, [(BLOCK, THREAD), (GRID, GRID), (THREAD, GRID), (BLOCK, THREAD)]);
}

#[test]
fn nothing_varies_in_a_block_of_one_thread() {
    let found = seen(
        "kernel k(n: i32) { if threadIdx.x < 5 { see(threadIdx.x); } }
         test \"t\" { k<<<4, 1>>>(2); }",
    );
    assert_eq!(found, [(BLOCK, BLOCK)]);
}

#[test]
fn memory_of_a_thread_is_followed_until_it_is_given_away() {
    let found = seen(
        "fn change(p: *i32) { *p = 3; }
         kernel k(n: i32) {
             var a: [i32; 4] = [n, n, n, n];
             let p = &a[0];
             see(a[n]);
             var b = threadIdx.x as i32;
             let q = &b;
             see(b);
             var c = n;
             change(&c);
             see(c);
         }",
    );
    let values: Vec<Level> = found.iter().map(|(value, _)| *value).collect();
    assert_eq!(values, [GRID, THREAD, UNKNOWN]);
}

#[test]
fn recursion_ends() {
    let found = seen(
        "fn down(a: i32, n: i32) -> i32 { if n == 0 { return a; } see(n); return down(a + 1, n - 1); }
         kernel k(n: i32) { see(down(n, n)); see(down(threadIdx.x as i32, n)); }",
    );
    assert_eq!(found, [(GRID, GRID), (GRID, GRID), (THREAD, GRID)]);
}
