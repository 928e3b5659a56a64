//! The same seed gives the same run on every backend.

use burn::module::Module;
use burn::optim::{AdamConfig, ModuleOptimizer};
use burn::tensor::Device;
use data::{FixedSizeSampler, Glyphs};
use dp_core::accounting::{Event, Neighbours};
use dp_core::ledger::Ledger;
use dp_core::mechanism::{GaussianMechanism, NoiseSource};
use dp_core::per_sample::JacobianClip;
use model::swae::{
    Batch, Clipping, Engine, ExactCells, Matching, Objective, Prior, SwaeConfig, bounded_gradient,
};
use model::weights;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::Slices;

/// Private training on glyphs with known noise; the weights at the end.
fn train(device: &Device, engine: Engine, steps: usize, batch: usize) -> Vec<f32> {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).unwrap();
    let glyphs = Glyphs::generate(200, 1).unwrap();
    let sampler = FixedSizeSampler::new(glyphs.len(), batch).unwrap();
    let mut public = ChaCha20Rng::seed_from_u64(2);
    let mut model = SwaeConfig {
        latent: 6,
        classes: 0,
    }
    .init(&mut public, &device.clone().autodiff());
    let objective = Objective::new(0.1, Clipping::paper(JacobianClip::Spectral)).unwrap();
    let mut optimizer: ModuleOptimizer = AdamConfig::new().init();
    let noise_multiplier = 0.5;
    let mut mechanism = GaussianMechanism::new(
        noise_multiplier,
        Event::Gaussian { noise_multiplier },
        Neighbours::ReplaceOne,
        NoiseSource::insecure(3),
    )
    .unwrap();
    let mut exact = ExactCells::default();
    for _ in 0..steps {
        let slices = Slices::tight(6, 24, &mut public).unwrap();
        let matching =
            Matching::draw(Prior::Exact, &[batch], slices, &mut exact, &mut public).unwrap();
        let indices = sampler.sample(mechanism.noise().rng());
        let pixels = glyphs.gather(&indices).unwrap();
        let records = Batch::single(pixels, glyphs.image_size()).unwrap();
        let (bounded, _) =
            bounded_gradient(&model.valid(), &records, &matching, &objective, engine, device).unwrap();
        let released = mechanism.release(bounded, &mut ledger).unwrap();
        model = optimizer.step(1e-3, model, released.into_params());
    }
    assert_eq!(ledger.entries(), steps as u64);
    weights::to_host(&model)
}

fn relative_error(a: &[f32], b: &[f32]) -> f64 {
    let square = |x: f64| x * x;
    let difference: f64 = a
        .iter()
        .zip(b)
        .map(|(&x, &y)| square(f64::from(x) - f64::from(y)))
        .sum();
    let size: f64 = b.iter().map(|&y| square(f64::from(y))).sum();
    (difference / size).sqrt()
}

#[test]
fn host_kernels_and_tensors_agree_after_twenty_steps() {
    let device = Device::flex();
    let host = train(&device, Engine::Host { chunk: 7 }, 20, 24);
    let tensor = train(&device, Engine::Tensor { chunk: 24 }, 20, 24);
    let error = relative_error(&host, &tensor);
    assert!(error < 1e-3, "{error:e}");
}

#[test]
#[cfg(feature = "ndarray")]
fn flex_and_ndarray_agree_after_twenty_steps() {
    let flex = Device::flex();
    let ndarray = Device::ndarray();
    let on_flex = train(&flex, Engine::for_device(&flex), 20, 24);
    let on_ndarray = train(&ndarray, Engine::for_device(&ndarray), 20, 24);
    let error = relative_error(&on_flex, &on_ndarray);
    assert!(error < 1e-3, "{error:e}");
}

/// On a GPU, or on SwiftShader, which compiles each kernel in seconds: two steps say enough.
#[test]
#[cfg(feature = "wgpu")]
fn wgpu_agrees_with_flex_after_two_steps() {
    let Ok(chosen) = lab::backend::Backend::Wgpu.choose() else {
        println!("wgpu_agrees_with_flex_after_two_steps skipped: no GPU and no SwiftShader");
        return;
    };
    println!("wgpu device: {}", chosen.description);
    let flex = Device::flex();
    let on_flex = train(&flex, Engine::Host { chunk: 4 }, 2, 4);
    let on_wgpu = train(&chosen.device, Engine::Tensor { chunk: 4 }, 2, 4);
    let error = relative_error(&on_wgpu, &on_flex);
    assert!(error < 1e-3, "{error:e}");
}
