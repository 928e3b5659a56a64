//! Ten steps of each kind of flow with the same seed: particles between an encoder and a decoder, and the
//! weights of a generator. Then the public autoencoders, which burn's autodiff trains.

use burn::module::Module;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor, TensorData};
use model::generator::MlpGenerator;
use model::latent::{DcganAutoencoder, LatentSpace, SmallAutoencoder};
use private_training::adam::ModuleAdam;
use private_training::weights;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use swd::flow::StepSize;
use swd::smoothed::{NoisyProjections, smoothed_distance_and_gradient, smoothing_noise};
use swd::{NormBound, Particles, Slices};

use super::autoencoder::{IMAGES, SMALL};
use super::{Case, TestDevice, Tolerance, wave};

const STEPS: usize = 10;
const RECORDS: usize = 20;
const DEVIATION: f64 = 0.1;

/// Noisy projections of rows on the sphere, as a mechanism would release them.
fn release(rows: &[f32], dim: usize, rng: &mut ChaCha20Rng) -> NoisyProjections {
    let slices = Slices::tight(dim, 3 * dim, rng).expect("slices");
    let sphere = NormBound::sphere(1.0).expect("a sphere");
    let values = sphere.project(rows, &slices).expect("projections");
    let noisy = values.iter().map(|value| {
        let noise: f64 = StandardNormal.sample(rng);
        value + DEVIATION * noise
    });
    let noisy = noisy.collect();
    NoisyProjections::from_released(noisy, slices, DEVIATION).expect("a release")
}

/// Images are encoded and released, particles flow, and are decoded.
fn particles(device: &Device) -> Vec<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(21);
    let space = SmallAutoencoder::new(SMALL, 8, &mut rng, device);
    let images = TensorData::new(wave(IMAGES * 32 * 32), [IMAGES, 1, 32, 32]);
    let latents = space.encode(Tensor::from_data(images, device));
    let latents: Vec<f32> = latents.into_data().iter().collect();
    let target = release(&latents, 8, &mut rng);
    let mut particles = Particles::gaussian(IMAGES, 8, 1.0, &mut rng).expect("particles");
    let slices: Vec<usize> = (0..24).collect();
    for _ in 0..STEPS {
        let size = StepSize {
            step: 1.0,
            diffusion: 0.001,
        };
        particles
            .step(&target, &slices, size, &mut rng)
            .expect("a step");
    }
    let rows = TensorData::new(particles.rows(), [IMAGES, 8]);
    let images = space.decode(Tensor::from_data(rows, device));
    images.into_data().iter::<f64>().collect()
}

/// What training adds to the weights of a generator.
fn generator(device: &Device) -> Vec<f64> {
    let (mut rng, autodiff) = (ChaCha20Rng::seed_from_u64(22), device.clone().autodiff());
    let target = release(&wave(RECORDS * 4), 4, &mut rng);
    let mut model = MlpGenerator::new(4, 4, &mut rng, &autodiff);
    let before = weights::to_host(&model.valid());
    let mut optimizer = ModuleAdam::default();
    for _ in 0..STEPS {
        let noise: Vec<f32> = (0..RECORDS * 4)
            .map(|_| rng.random_range(-1.5..1.5))
            .collect();
        let noise = TensorData::new(noise, [RECORDS, 4]);
        let points = model.forward(Tensor::<2>::from_data(noise, &autodiff));
        let values: Vec<f32> = points.clone().inner().into_data().iter().collect();
        let smoothing = smoothing_noise(&target, RECORDS, &mut rng);
        let (_, cotangent) =
            smoothed_distance_and_gradient(&values, &smoothing, &target).expect("a gradient");
        let cotangent = TensorData::new(cotangent, [RECORDS, 4]);
        let surrogate = (points * Tensor::from_data(cotangent, &autodiff)).sum();
        let gradients = GradientsParams::from_grads(surrogate.backward(), &model);
        model = optimizer.step(1e-3, model.valid(), gradients).train();
    }
    let after = weights::to_host(&model.valid());
    let pairs = after.iter().zip(&before);
    pairs.map(|(&a, &b)| f64::from(a) - f64::from(b)).collect()
}

/// A few steps of plain descent of an autoencoder on public images: what it rebuilds afterwards, and the
/// latents.
fn trained<S: LatentSpace + Module>(mut space: S, device: &Device) -> Vec<f64> {
    let shape = space.shape();
    let dims = [IMAGES, shape.channels, shape.side, shape.side];
    let pixels = wave(dims.iter().product()).into_iter().map(f32::abs);
    let pixels = TensorData::new(pixels.collect::<Vec<f32>>(), dims);
    let images = || Tensor::<4>::from_data(pixels.clone(), &device.clone().autodiff());
    for _ in 0..3 {
        let rebuilt = space.decode(space.encode(images()));
        let loss = (rebuilt - images()).square().mean();
        let gradients = GradientsParams::from_grads(loss.backward(), &space);
        space = SgdConfig::new().init().step(1.0, space, gradients);
    }
    let space = space.valid();
    let latents = space.encode(Tensor::from_data(pixels.clone(), device));
    let rebuilt = space.decode(latents.clone());
    let latents = latents.into_data().iter::<f64>().collect::<Vec<f64>>();
    let rebuilt = rebuilt.into_data().iter::<f64>().collect();
    [latents, rebuilt].concat()
}

fn small(device: &Device) -> Vec<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(23);
    let autodiff = device.clone().autodiff();
    trained(SmallAutoencoder::new(SMALL, 8, &mut rng, &autodiff), device)
}

/// With batch norms and transposed convolutions, as narrow as it can be.
fn photographs(device: &Device) -> Vec<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(24);
    let autodiff = device.clone().autodiff();
    let space = DcganAutoencoder::new(3, 4, 2, &mut rng, &autodiff);
    trained(space, device)
}

pub(super) fn cases() -> Vec<Case> {
    let case = |group, name, run: fn(&Device) -> Vec<f64>| {
        Case::new(
            group,
            name,
            Tolerance::Run,
            move |test_device: &TestDevice| run(&test_device.device),
            move || run(&Device::flex()),
        )
    };
    vec![
        case("ten steps", "flow", particles),
        case("ten steps", "generator", generator),
        // Minutes on a software GPU, for gradients of burn's own convolutions: there they are not checked.
        case("public autoencoders", "images", small).only(TestDevice::hardware),
        case("public autoencoders", "photographs", photographs).only(TestDevice::hardware),
    ]
}
