//! What inner clipping costs by the width of a network (paper 004, appendix E, table 5).
//!
//! The gradient of the sliced distance between `g(X)` and public points, `n = 4096`, `d = 2`, `k = 30`,
//! `g` a network with one hidden layer of `h` rectified units, with every record's Jacobian clipped and
//! without. The paper forms Jacobians, and its ratio grows with the width up to 124. Here the Gram pass
//! carries `d` cotangents where the plain pass carries one, and forms no Jacobian, so the ratio tends to
//! a constant.
//!
//! Floor, per record: forward `4 h` multiplications, plain backward `8 h`, clipped backward `8 h` for each
//! of `d = 2` rows and `4 h` for the Gram matrix; the transport sorts `n k` keys in both.

use std::hint::black_box;

use burn::tensor::Device;
use dp_core::per_sample::JacobianClip;
use lab::diagnostic::Failure;
use model::fairness::{
    Clipping, Engine, GroupedBatch, Objective, Parity, Stages, TaskLoss, bounded_gradient,
    plain_gradient,
};
use model::layers::{LeakyRelu, Linear};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::Slices;

use super::medians;

const RECORDS: usize = 4096;
const SLICES: usize = 30;
/// Units of the hidden layer, and the paper's ratio of clipped to plain (on one A6000).
const WIDTHS: [(usize, f64); 7] = [
    (8, 0.97),
    (16, 0.79),
    (32, 0.62),
    (128, 2.66),
    (512, 8.20),
    (2048, 36.96),
    (8192, 123.81),
];

/// Measures and prints, a line a width.
///
/// # Errors
///
/// [`Failure::Failed`] where a step is refused.
pub fn print(device: &Device, repeat: u64) -> Result<(), Failure> {
    println!("Inner clipping, n = {RECORDS}, d = 2, k = {SLICES}\n");
    println!(
        "| width | plain, ms | rows, ms | spectral, ms | rows / plain | spectral / plain | the paper's |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (width, paper) in WIDTHS {
        let [plain, rows, spectral] = times(width, repeat, device)?;
        println!(
            "| {width} | {plain:.2} | {rows:.2} | {spectral:.2} | {:.2} | {:.2} | {paper} |",
            rows / plain,
            spectral / plain
        );
    }
    Ok(())
}

/// Medians in milliseconds: plain, rows, spectral.
fn times(width: usize, repeat: u64, device: &Device) -> Result<[f64; 3], Failure> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let first = Linear::new(2, width, 2.0, &mut rng, device);
    let act = LeakyRelu::new(width, 0.0);
    let last = Linear::new(width, 2, 1.0, &mut rng, device);
    let half = RECORDS / 2;
    let rows: Vec<f32> = (0..2 * RECORDS)
        .map(|_| rng.random_range(-1.0..1.0))
        .collect();
    let batch = GroupedBatch::new(rows, 2, vec![0.0; 2 * RECORDS], 2, &[half, half]);
    let batch = batch.map_err(Failure::run)?;
    let slices = Slices::tight(2, SLICES, &mut rng).map_err(Failure::run)?;
    let parity = Parity::statistical([half, half], slices).map_err(Failure::run)?;
    let engine = match Engine::for_device(device) {
        Engine::Host { .. } => Engine::Host { chunk: 32 },
        Engine::Tensor { .. } => Engine::Tensor { chunk: RECORDS },
    };
    let forms = [None, Some(JacobianClip::Rows), Some(JacobianClip::Spectral)];
    medians(repeat, forms, |mode: Option<JacobianClip>| {
        // The transport alone, as in the paper.
        let clipping = Clipping::paper(mode.unwrap_or(JacobianClip::Rows));
        let objective = Objective::new(1.0, clipping).map_err(Failure::run)?;
        let terms = (TaskLoss::Squared, &parity);
        let stages = Stages::of(vec![&first, &act, &last]);
        let gradient = if mode.is_some() {
            let bounded = bounded_gradient(&stages, &batch, terms, &objective, engine, device);
            bounded.map_err(Failure::run)?.0.before_noise()
        } else {
            let plain = plain_gradient(&stages, &batch, terms, &objective, engine, device);
            plain.map_err(Failure::run)?.0.to_host()
        };
        black_box(gradient);
        Ok(())
    })
}
