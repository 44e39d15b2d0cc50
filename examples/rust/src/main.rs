//! Launches the kernels of `../rows.cdp` from Rust:
//!
//! ```text
//! CDPC=target/release/cdpc cargo run --manifest-path examples/rust/Cargo.toml
//! ```
//!
//! It exits with 0 when every value is right, with 1 when one is not, and with 2 when there is no GPU.

use std::process::ExitCode;

use cdp_runtime::vector::f32x3;
use cdp_runtime::{LaunchConfig, LoadOptions, Result, Runtime};
use rows::{Kernels, Row, Scaling};

cdp_runtime::include_cdp!(rows);

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error{error}");
            ExitCode::from(if error.is_environment() { 2 } else { 1 })
        }
    }
}

/// Whether every value was right.
fn run() -> Result<bool> {
    let runtime = Runtime::new()?;
    let kernels = Kernels::load_cubin(&runtime, rows::CUBIN, &LoadOptions::default())?;

    // rows of 1, 8, 15 … values
    let mut table = Vec::new();
    let mut total = 0;
    for r in 0..200 {
        let row = Row { first: total, count: 1 + 7 * r };
        total += row.count;
        table.push(row);
    }
    let values: Vec<f64> = (0..total).map(|i| f64::from(i % 1000)).collect();
    let how = Scaling { factor: 0.5, offset: f32x3 { x: 1.0, y: 2.0, z: 4.0 }, long: 64 };

    let device_table = runtime.alloc_values(&table)?;
    let device_values = runtime.alloc_values(&values)?;
    let failed = runtime.alloc_values(&[0_u32])?;
    let config = LaunchConfig::new(200_u32.div_ceil(128), 128);
    kernels.scale_rows(&config, &device_table, 200, how, &device_values, &failed)?;
    runtime.synchronize()?;

    let scaled = device_values.to_values::<f64>()?;
    let offsets = [how.offset.x, how.offset.y, how.offset.z].map(f64::from);
    let places = table.iter().flat_map(|row| 0..row.count as usize);
    let expected = values.iter().zip(places).map(|(value, place)| value * how.factor + offsets[place % 3]);
    let wrong = scaled.iter().zip(expected).filter(|(is, should)| **is != *should).count();
    let launched = kernels.read_launched()?;
    let refused = failed.to_values::<u32>()?[0];
    println!("{} rows, {launched} child grids, {refused} refused, {wrong} of {total} values wrong", table.len());
    let expected = table.iter().filter(|row| row.count >= how.long).count();
    Ok(wrong == 0 && refused == 0 && launched as usize == expected)
}
