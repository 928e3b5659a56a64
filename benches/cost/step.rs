//! What a private step of the autoencoder costs beside a plain one (Rodriguez-Vitores et al. 2025,
//! arXiv 2502.01701, table 3): batches of 600 images, `d = 6`, 100 slices.
//!
//! The floor, layer by layer, is printed before it ([`operations`]).

use burn::tensor::Device;
use dp_core::per_sample::JacobianClip;
use dp_core::sampling::Sampler;
use lab::diagnostic::{Failure, OrFailed};
use model::swae::SwaeConfig;
use private_training::{
    Clipping, Engine, Loss, Objective, Penalty, Prior, StepObjective, TrainingError,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::peak::Peak;
use super::{gradients, operations};

const BATCH: usize = 600;
const LATENT: usize = 6;
/// Steps of the training of Rodriguez-Vitores et al.
const STEPS: f64 = 5000.0;

/// Measures and prints, a line an engine; vectors beside it have at most `most` numbers.
pub(crate) fn print(device: &Device, repeat: u64, most: usize) -> Result<(), Failure> {
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
    let batch = model.batch(pixels, &[BATCH], device).or_failed()?;
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
        _ => [100, BATCH]
            .map(|chunk| {
                (
                    format!("tensors, {chunk} at once"),
                    Engine::Tensor { chunk },
                )
            })
            .to_vec(),
    };
    for (name, engine) in engines {
        let [plain, rows, spectral] = gradients(repeat, &model, &batch, engine, device, objective)?;
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

/// The objective of Rodriguez-Vitores et al., with the same slices for every mode.
fn objective(mode: JacobianClip) -> Result<StepObjective, TrainingError> {
    let loss = Loss::binary_cross_entropy_with_logits();
    let penalty = Penalty::to(Prior::UniformBall).slices(100);
    Objective::new([loss.weight(0.9)])
        .penalty(penalty.weight(0.1).clipping(Clipping::published(mode)))
        .draw(
            &[LATENT],
            &Sampler::all(BATCH)?,
            &mut ChaCha20Rng::seed_from_u64(2),
        )
}
