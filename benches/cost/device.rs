//! What the sort and the sliced distance cost on a device.
//!
//! Floor of the sort: a key and its index are 8 bytes, read and written once, 16 bytes an entry; the
//! table shows how many bytes a second that would be. A row of `2^b` keys with tiles of `2^t` takes
//! `(b - t)(b - t + 3) / 2 + 1` passes over memory. `benches/python/sort.py` is the same by `torch.sort`.

use std::hint::black_box;

use burn::tensor::{Device, Tensor, TensorData};
use lab::diagnostic::{Failure, OrFailed};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::Slices;
use swd::device::stable_ranks;
use swd::transport::tensor::sliced_w2_squared;

use super::median;
use super::peak::Peak;

/// Rows and keys in a row.
const ROWS: [(usize, usize); 4] = [(100, 600), (50, 10_000), (50, 100_000), (50, 1_000_000)];
/// Points on each side, and slices.
const SIZES: [(usize, usize); 3] = [(600, 100), (10_000, 50), (100_000, 50)];
const DIM: usize = 6;

/// Measures and prints, a line a size up to `most` keys.
pub(crate) fn print(device: &Device, repeat: u64, most: usize) -> Result<(), Failure> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut random = |n: usize, width: usize, device: &Device| -> Tensor<2> {
        let values: Vec<f32> = (0..n * width)
            .map(|_| rng.random_range(-1.0..1.0))
            .collect();
        Tensor::from_data(TensorData::new(values, [n, width]), device)
    };
    let peak = Peak::measure(device, repeat, most)?;
    println!("Stable sort-and-rank on tensors. {}\n", peak.words());
    println!(
        "| rows | keys in a row | ms | million keys a second | GB/s of 16 bytes a key | of the vector's |"
    );
    println!("|---|---|---|---|---|---|");
    for (k, n) in ROWS.into_iter().filter(|(k, n)| k * n <= most) {
        let keys = random(k, n, device);
        let ms = median(repeat, || {
            black_box(stable_ranks(keys.clone()).or_failed()?);
            device.sync().or_failed()
        })?;
        let rate = (k * n) as f64 / ms * 1e3;
        let gigabytes = rate * 16.0 / 1e9;
        println!(
            "| {k} | {n} | {ms:.2} | {:.1} | {gigabytes:.2} | {:.1} % |",
            rate / 1e6,
            100.0 * gigabytes / peak.gigabytes
        );
    }
    println!("\nSliced distance of two samples with its gradient, d = {DIM}, by autodiff\n");
    println!("| points | slices | ms |");
    println!("|---|---|---|");
    let tracked = device.clone().autodiff();
    let mut frame = ChaCha20Rng::seed_from_u64(2);
    for (n, k) in SIZES.into_iter().filter(|(n, k)| k * n <= most) {
        let (x, y) = (random(n, DIM, &tracked), random(n, DIM, &tracked));
        let slices = Slices::tight(DIM, k, &mut frame).or_failed()?;
        let theta = slices.tensor(&tracked);
        let ms = median(repeat, || {
            let x = x.clone().require_grad();
            let value = sliced_w2_squared(x.clone(), y.clone(), theta.clone());
            let gradients = value.or_failed()?.backward();
            black_box(x.grad(&gradients));
            device.sync().or_failed()
        })?;
        println!("| {n} | {k} | {ms:.2} |");
    }
    Ok(())
}
