//! What a private step of the paper's autoencoder costs beside a plain one (paper 004, table 3): batches
//! of 600 images, `d = 6`, 100 slices.
//!
//! The floor, layer by layer, is printed before it ([`operations`]).

use std::hint::black_box;

use burn::tensor::Device;
use dp_core::per_sample::JacobianClip;
use lab::diagnostic::Failure;
use model::swae::{
    Batch, Clipping, Engine, ExactCells, Matching, Objective, Prior, SwaeConfig, bounded_gradient,
    plain_gradient,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::Slices;

use super::peak::Peak;
use super::{medians, operations};

const BATCH: usize = 600;
const LATENT: usize = 6;
/// Steps of the paper's training.
const STEPS: f64 = 5000.0;

/// Measures and prints, a line an engine; vectors beside it have at most `most` numbers.
///
/// # Errors
///
/// [`Failure::Failed`] where a step is refused.
pub fn print(device: &Device, repeat: u64, most: usize) -> Result<(), Failure> {
    operations::print(LATENT as u64);
    let (_, floor) = operations::layers(LATENT as u64);
    println!();
    let peak = Peak::measure(device, repeat, most)?;
    println!(
        "A step of the autoencoder, batch {BATCH}, d = {LATENT}, k = 100. {}\n",
        peak.words()
    );
    println!(
        "| engine | plain, ms | rows, ms | spectral, ms | spectral / plain | 5000 steps, min | \
         GFLOP/s | of the product's |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let config = SwaeConfig {
        latent: LATENT,
        classes: 0,
    };
    let model = config.init(&mut rng, device);
    let pixels = (0..BATCH * SwaeConfig::PIXELS)
        .map(|_| rng.random_range(0.0..1.0))
        .collect();
    let batch = Batch::single(pixels, SwaeConfig::PIXELS).map_err(Failure::run)?;
    let slices = Slices::tight(LATENT, 100, &mut rng).map_err(Failure::run)?;
    let mut exact = ExactCells::default();
    let matching = Matching::draw(Prior::Exact, &[BATCH], slices, &mut exact, &mut rng);
    let matching = matching.map_err(Failure::run)?;
    let engines = match Engine::for_device(device) {
        Engine::Host { chunk } => vec![
            (
                format!("host kernels, {chunk} at once"),
                Engine::Host { chunk },
            ),
            (
                "tensors, 100 at once".to_string(),
                Engine::Tensor { chunk: 100 },
            ),
        ],
        Engine::Tensor { .. } => [100, BATCH]
            .map(|chunk| {
                (
                    format!("tensors, {chunk} at once"),
                    Engine::Tensor { chunk },
                )
            })
            .to_vec(),
    };
    for (name, engine) in engines {
        let forms = [None, Some(JacobianClip::Rows), Some(JacobianClip::Spectral)];
        let [plain, rows, spectral] = medians(repeat, forms, |mode: Option<JacobianClip>| {
            let clipping = Clipping::paper(mode.unwrap_or(JacobianClip::Rows));
            let objective = Objective::new(0.1, clipping).map_err(Failure::run)?;
            let gradient = if mode.is_some() {
                bounded_gradient(&model, &batch, &matching, &objective, engine, device)
                    .map(|(bounded, _)| bounded.before_noise())
            } else {
                plain_gradient(&model, &batch, &matching, &objective, engine, device)
                    .map(|(gradient, _)| gradient.to_host())
            };
            black_box(gradient.map_err(Failure::run)?);
            Ok(())
        })?;
        let gigaflops = 2.0 * floor.private as f64 * BATCH as f64 / spectral / 1e6;
        println!(
            "| {name} | {plain:.1} | {rows:.1} | {spectral:.1} | {:.2} | {:.1} | {gigaflops:.0} | \
             {:.1} % |",
            spectral / plain,
            spectral * STEPS / 60e3,
            100.0 * gigaflops / peak.gigaflops
        );
    }
    Ok(())
}
