//! The programs of `lang-tests/bench/irregular`, which only a GPU can time: cdpc takes them with launches merged and as they are, and nvcc the
//! same programs in CUDA C++.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::common::Place;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lang-tests/bench/irregular").canonicalize().unwrap()
}

fn compiles(name: &str) {
    let place = Place::new();
    let source = folder().join(name);
    let source = source.display();
    for merging in ["on", "off"] {
        place.run_with_toolkit(&format!("build {source}.cdp --launch-merging={merging} -o {merging}.cubin")).succeeds();
    }
    assert_ne!(std::fs::read(place.path("on.cubin")).unwrap(), std::fs::read(place.path("off.cubin")).unwrap());
    place.nvcc(&format!("-std=c++20 -arch=sm_90 -rdc=true -ptx {source}.cu -o theirs.ptx"));
}

macro_rules! programs {
    ($($name:ident)*) => {
        const PROGRAMS: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { compiles(stringify!($name)); })*
    };
}

programs! { bezier bfs forest idle mandelbrot quadrature quadtree quicksort rows sssp triangles }

/// Here and in the runner.
#[test]
fn none_is_left_out() {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let there: BTreeSet<String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert!(there.iter().eq(PROGRAMS), "{there:?}");
    let runner = std::fs::read_to_string(folder().join("../../../scripts/bench_irregular.py")).unwrap();
    let names = runner.split_once("NAMES = [").unwrap().1.split_once(']').unwrap().0;
    let run: BTreeSet<String> = names.split(", ").map(|name| name.trim_matches('"').to_owned()).collect();
    assert_eq!(run, there);
}
