//! Writes a random launch tree, for any device to run: `cargo run -p cdp-executor --example launch_tree -- SEED [expected | EDGE]`.
//!
//! With a seed alone it prints the program; with `expected`, what the program prints; with a number, the program without that edge,
//! which races.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a program for people")]

#[path = "../tests/support/trees.rs"]
mod trees;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seed = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(0);
    match arguments.next().as_deref() {
        Some("expected") => println!("{}", trees::tree(seed, None).expected),
        Some(edge) => {
            let edges = trees::tree(seed, None).edges.max(1);
            let omit = edge.parse::<usize>().unwrap_or(0) % edges;
            println!("// seed {seed}, without edge {omit} of {edges}\n{}", trees::tree(seed, Some(omit)).text);
        }
        None => {
            let tree = trees::tree(seed, None);
            println!("// seed {seed}: {} grids, {} edges\n{}", tree.grids, tree.edges, tree.text);
        }
    }
}
