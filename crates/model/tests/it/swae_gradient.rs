//! The private step at zero noise, on every engine, against its definition: Jacobians that exist in full, clipped
//! by their singular values, and losses by their norms.

use burn::tensor::{Device, Tensor};
use dp_core::per_sample::{JacobianClip, Reference};
use model::swae::{Swae, SwaeConfig};
use nalgebra::{DMatrix, DVector};
use private_training::{
    Batch, Clipping, Engine, Loss, Network, Objective, Penalty, Prior, StepObjective,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::transport::host::sliced_cotangents;
use swd::{Slices, TargetQuantiles, UniformBall};
use test_support::networks::fixed_batches;
use test_support::relative_error;

const LATENT: usize = 3;
const SLICES: usize = 7;
const ALPHA: f64 = 0.3;
// Tight enough that every record is clipped, loose enough that not every singular value is.
const ACTIVATION: f64 = 0.4;
const JACOBIAN: f64 = 2.0;
const LOSS: f64 = 1.0;

fn generator(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let products = a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y));
    products.sum()
}

struct Case {
    pixels: Vec<f32>,
    sizes: Vec<usize>,
    config: SwaeConfig,
}

impl Case {
    fn new(classes: usize, sizes: &[usize]) -> Self {
        let mut rng = generator(11);
        let n: usize = sizes.iter().sum();
        Self {
            pixels: (0..n * 784).map(|_| rng.random_range(0.0..1.0)).collect(),
            sizes: sizes.to_vec(),
            config: SwaeConfig {
                latent: LATENT,
                classes,
            },
        }
    }

    fn on(&self, device: &Device) -> (Swae, Batch<2>) {
        let model = self.config.init(&mut generator(5), device);
        let batch = model.batch(self.pixels.clone(), &self.sizes, device);
        (model, batch.unwrap())
    }

    fn step(&self, mode: JacobianClip) -> StepObjective {
        let loss = Loss::binary_cross_entropy_with_logits();
        let clipping = Clipping {
            activation: ACTIVATION,
            jacobian: JACOBIAN,
            mode,
        };
        let penalty = Penalty::to(Prior::UniformBallSample).independent_slices(SLICES);
        Objective::new([loss.weight(1.0 - ALPHA).max_grad_norm(LOSS)])
            .penalty(penalty.weight(ALPHA).clipping(clipping))
            .draw(&[LATENT], &fixed_batches(&self.sizes), &mut generator(13))
            .unwrap()
    }

    /// Cotangents of the transport, `[n, LATENT]`, to the cells that a step draws from the same generator.
    fn transport(&self, latents: &[f32]) -> Vec<f32> {
        let mut rng = generator(13);
        let slices = Slices::iid(LATENT, SLICES, &mut rng).unwrap();
        let n = latents.len() / LATENT;
        let (mut cotangents, mut rest) = (Vec::new(), latents);
        for &size in &self.sizes {
            let points = UniformBall::new(LATENT).unwrap().sample(size, &mut rng);
            let cells = TargetQuantiles::of_sample(&points, &slices, size).unwrap();
            let (own, others) = rest.split_at(size * LATENT);
            let c = sliced_cotangents(own, &slices, &cells).unwrap();
            cotangents.extend(c.into_iter().map(|c| c * (size as f32 / n as f32)));
            rest = others;
        }
        cotangents
    }

    /// Clipped, unless `mode` is none, and summed by definition.
    fn reference(&self, mode: Option<JacobianClip>) -> Vec<f32> {
        let (model, batch) = self.on(&Device::flex().autodiff());
        let engine = Reference::new(&model).expect("a model that mixes no records");
        assert_eq!(engine.parameters(), model.parameters());
        let mut latents = host(model.encode(batch.targets().values()).unwrap());
        if mode.is_some() {
            for row in latents.chunks_exact_mut(LATENT) {
                let scale = (ACTIVATION / dot(row, row).sqrt()).min(1.0);
                row.iter_mut().for_each(|x| *x *= scale as f32);
            }
        }
        let cotangents = self.transport(&latents);
        let (n, parameters) = (batch.records(), engine.scalars());
        let mut total = vec![0.0f64; parameters];
        for i in 0..n {
            let rows = engine.rows(|model| {
                let forward = model
                    .forward(batch.inputs().clone().narrow(0, i, 1))
                    .unwrap();
                let (z, x) = (forward.output, batch.targets().values().narrow(0, i, 1));
                let soft = z.clone().abs().neg().exp().log1p();
                let loss = (z.clone().clamp_min(0.0) - z * x + soft).sum();
                let latent = forward.activations[0].clone().reshape([LATENT]);
                let latent = (0..LATENT).map(|r| latent.clone().narrow(0, r, 1));
                std::iter::once(loss).chain(latent).collect()
            });
            let (loss, jacobian) = rows.values().split_first().expect("rows");
            let j = DMatrix::from_fn(LATENT, parameters, |r, c| f64::from(jacobian[r][c]));
            let c = DVector::from_fn(LATENT, |r, _| f64::from(cotangents[i * LATENT + r]));
            let transport = clipped(j, mode).transpose() * c;
            let weight = match mode {
                Some(_) => (LOSS / dot(loss, loss).sqrt()).min(1.0),
                None => 1.0,
            };
            let share = (1.0 - ALPHA) * weight / n as f64;
            for ((t, g), s) in total.iter_mut().zip(loss).zip(transport.iter()) {
                *t += share * f64::from(*g) + ALPHA * s;
            }
        }
        total.into_iter().map(|x| x as f32).collect()
    }
}

fn clipped(mut j: DMatrix<f64>, mode: Option<JacobianClip>) -> DMatrix<f64> {
    match mode {
        None => j,
        Some(JacobianClip::Rows) => {
            let limit = JACOBIAN / (LATENT as f64).sqrt();
            for mut row in j.row_iter_mut() {
                let scale = (limit / row.norm()).min(1.0);
                row *= scale;
            }
            j
        }
        Some(JacobianClip::Spectral) => {
            // The projection onto the spectral ball, from the singular values.
            let svd = j.transpose().svd(true, true);
            let values = svd.singular_values.map(|s| s.min(JACOBIAN));
            (svd.u.unwrap() * DMatrix::from_diagonal(&values) * svd.v_t.unwrap()).transpose()
        }
    }
}

const ENGINES: [Engine; 5] = [
    Engine::Autodiff,
    Engine::Host { chunk: 100 },
    Engine::Host { chunk: 2 },
    Engine::Tensor { chunk: 100 },
    Engine::Tensor { chunk: 2 },
];

/// `tolerance` is relative: rounding of the Gram matrices is amplified where singular values lie
/// at the clipping bound, and the allowance for it shrinks those by up to `GRAM_ROUNDING` times the
/// condition.
fn check(case: &Case, mode: JacobianClip, tolerance: f64) {
    let expected = case.reference(Some(mode));
    let device = Device::flex();
    let (model, batch) = case.on(&device);
    let step = case.step(mode);
    for engine in ENGINES {
        let gradient = step.clipped_gradient(&model, &batch, engine, &device);
        let (gradient, _) = gradient.unwrap();
        let error = relative_error(&gradient.before_noise(), &expected);
        assert!(error < tolerance, "{engine:?} {mode:?}: {error:e}");
    }
}

#[test]
fn rows_clipping_matches_the_reference() {
    check(&Case::new(0, &[5]), JacobianClip::Rows, 1e-4);
}

#[test]
fn spectral_clipping_matches_the_reference() {
    check(&Case::new(0, &[5]), JacobianClip::Spectral, 5e-4);
}

#[test]
fn the_conditional_form_matches_the_reference() {
    let case = Case::new(3, &[2, 3, 1]);
    check(&case, JacobianClip::Rows, 1e-4);
    check(&case, JacobianClip::Spectral, 5e-4);
}

#[test]
fn the_plain_gradient_is_the_objective_s() {
    let case = Case::new(3, &[2, 3, 1]);
    let expected = case.reference(None);
    let device = Device::flex();
    let (model, batch) = case.on(&device);
    let step = case.step(JacobianClip::Spectral);
    for engine in ENGINES {
        let gradient = step.gradient_without_privacy(&model, &batch, engine, &device);
        let (gradient, losses) = gradient.unwrap();
        let error = relative_error(&gradient.to_host(), &expected);
        assert!(error < 1e-5, "{engine:?}: {error:e}");
        assert!(losses.losses[0] > 0.0 && losses.penalties[0] > 0.0);
    }
}
