//! The same seed gives the same run on every backend.

use burn::module::Module;
use burn::optim::{AdamConfig, ModuleOptimizer};
use burn::tensor::Device;
#[cfg(feature = "wgpu")]
use burn::tensor::{Tensor, TensorData};
use data::{FixedSizeSampler, Glyphs};
use dp_core::accounting::{Event, Neighbours};
use dp_core::ledger::Ledger;
use dp_core::mechanism::{GaussianMechanism, NoiseSource};
use dp_core::per_sample::JacobianClip;
#[cfg(feature = "wgpu")]
use dp_core::per_sample::{Layer, Needs, Stack};
#[cfg(feature = "wgpu")]
use model::layers::{LeakyRelu, Linear};
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
        let (bounded, _) = bounded_gradient(
            &model.valid(),
            &records,
            &matching,
            &objective,
            engine,
            device,
        )
        .unwrap();
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
    #[allow(deprecated)]
    let ndarray = Device::ndarray();
    let on_flex = train(&flex, Engine::for_device(&flex), 20, 24);
    let on_ndarray = train(&ndarray, Engine::for_device(&ndarray), 20, 24);
    let error = relative_error(&on_flex, &on_ndarray);
    assert!(error < 1e-3, "{error:e}");
}

/// One small stack on a GPU: the tensor form of the engine does not depend on the backend.
#[test]
#[ignore = "burn's throughput probe runs out of memory on software GPUs; for a real GPU: --ignored"]
#[cfg(feature = "wgpu")]
fn wgpu_agrees_with_the_host_on_a_small_stack() {
    let Ok(chosen) = lab::backend::Backend::Wgpu.choose() else {
        println!("wgpu_agrees_with_the_host_on_a_small_stack skipped: no GPU");
        return;
    };
    println!("wgpu device: {}", chosen.description);
    let (n, g, inputs, outputs) = (3, 2, 5, 4);
    let stacks = [&chosen.device, &Device::flex()].map(|device| {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        (
            Linear::new(inputs, outputs, 2.0, &mut rng, device),
            LeakyRelu::new(outputs, 0.2),
        )
    });
    let wave = |count: usize| -> Vec<f32> { (0..count).map(|i| (i as f32 * 0.7).sin()).collect() };
    let (x, delta, weights) = (wave(n * inputs), wave(n * g * outputs), wave(n * g));
    let needs = Needs {
        gram: true,
        input: true,
    };
    let upload = |values: &[f32], shape: [usize; 2]| -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), shape), &chosen.device)
    };
    let stack = Stack::new(vec![&stacks[0].0 as &dyn Layer, &stacks[0].1]);
    let activations = stack.forward(upload(&x, [n, inputs]));
    let rows = upload(&delta, [n, g * outputs]).reshape([n, g, outputs]);
    let pulled = stack.pull_back(&activations, rows, needs);
    let gram: Vec<f32> = pulled.gram.clone().into_data().iter::<f32>().collect();
    let gradient: Vec<f32> = stack
        .gradient(&activations, &pulled, upload(&weights, [n, g]))
        .into_iter()
        .flat_map(|part| part.into_data().iter::<f32>().collect::<Vec<_>>())
        .collect();

    let host = Stack::new(vec![&stacks[1].0 as &dyn Layer, &stacks[1].1])
        .host()
        .unwrap();
    let activations = host.forward(n, &x);
    let pulled = host.pull_back(&activations, g, &delta, needs);
    let mut expected = vec![0.0; host.parameters()];
    host.add_gradient(&activations, &pulled, &weights, &mut expected);
    assert!(relative_error(&gram, &pulled.gram) < 1e-5);
    assert!(relative_error(&gradient, &expected) < 1e-5);
}
