//! The private step against the slow reference at zero noise: one record at a time by autodiff.

mod oracle;

use burn::tensor::Device;
use dp_core::per_sample::{JacobianClip, Reference};
use model::swae::{
    Batch, Clipping, Engine, ExactCells, Matching, Objective, Prior, Swae, SwaeConfig,
    bounded_gradient, plain_gradient,
};
use nalgebra::{DMatrix, DVector};
use oracle::{dot, generator, host, relative_error, tensor};
use rand::RngExt;
use swd::Slices;
use swd::transport::host::sliced_cotangents;

const LATENT: usize = 3;

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

    fn model(&self, device: &Device) -> Swae {
        self.config.init(&mut generator(5), device)
    }

    fn batch(&self) -> Batch {
        if self.config.classes == 0 {
            Batch::single(self.pixels.clone(), 784).unwrap()
        } else {
            Batch::by_class(self.pixels.clone(), 784, &self.sizes).unwrap()
        }
    }

    fn matching(&self) -> Matching {
        let mut rng = generator(13);
        let slices = Slices::iid(LATENT, 7, &mut rng).unwrap();
        Matching::draw(
            Prior::Sample,
            &self.sizes,
            slices,
            &mut ExactCells::default(),
            &mut rng,
        )
        .unwrap()
    }

    /// Clipped and summed by definition, from Jacobians that exist in full.
    fn reference(&self, objective: &Objective, clip: bool) -> Vec<f32> {
        let device = Device::flex().autodiff();
        let model = self.model(&device);
        let engine = Reference::new(&model).expect("a model that mixes no records");
        assert_eq!(engine.parameters(), model.parameters());
        let batch = self.batch();
        let n = batch.records();
        let clipping = objective.clipping();
        let mut latents: Vec<f32> = Vec::new();
        for i in 0..n {
            let x = tensor(batch.pixels(i..i + 1), [1, 784], &device);
            latents.extend(host(model.encode(x)));
        }
        let mut projected = latents.clone();
        if clip {
            for row in projected.chunks_exact_mut(LATENT) {
                let norm = dot(row, row).sqrt();
                if norm > clipping.activation {
                    row.iter_mut()
                        .for_each(|x| *x *= (clipping.activation / norm) as f32);
                }
            }
        }
        // The prior's cells again, from the same generator.
        let mut rng = generator(13);
        let slices = Slices::iid(LATENT, 7, &mut rng).unwrap();
        let mut cotangents = Vec::new();
        let mut start = 0;
        for &size in &self.sizes {
            let points = swd::UniformBall::new(LATENT)
                .unwrap()
                .sample(size, &mut rng);
            let cells = swd::Cells::of_sample(&points, &slices, size).unwrap();
            let u = &projected[start * LATENT..(start + size) * LATENT];
            let c = sliced_cotangents(u, &slices, &cells).unwrap();
            let weight = size as f32 / n as f32;
            cotangents.extend(c.into_iter().map(|c| c * weight));
            start += size;
        }
        let mut total = vec![0.0f64; engine.scalars()];
        for i in 0..n {
            let x = tensor(batch.pixels(i..i + 1), [1, 784], &device);
            let rows = engine.jacobian(x.clone(), |model, x| model.encode(x));
            let rows = rows.values();
            let j = DMatrix::from_fn(LATENT, total.len(), |r, c| f64::from(rows[r][c]));
            let j = match (clip, clipping.mode) {
                (false, _) => j,
                (true, JacobianClip::Rows) => {
                    let limit = clipping.jacobian / (LATENT as f64).sqrt();
                    let mut j = j;
                    for mut row in j.row_iter_mut() {
                        let norm = row.norm();
                        if norm > limit {
                            row *= limit / norm;
                        }
                    }
                    j
                }
                (true, JacobianClip::Spectral) => {
                    // The projection onto the spectral ball, from the singular values.
                    let svd = j.clone().transpose().svd(true, true);
                    let values = svd.singular_values.map(|s| s.min(clipping.jacobian));
                    (svd.u.unwrap() * DMatrix::from_diagonal(&values) * svd.v_t.unwrap())
                        .transpose()
                }
            };
            let c = DVector::from_fn(LATENT, |r, _| f64::from(cotangents[i * LATENT + r]));
            let transport = j.transpose() * c;
            let width = LATENT + self.config.classes;
            let inputs = batch.decoder_inputs(i..i + 1, &[0.0; LATENT], self.config.classes);
            let labels = tensor(&inputs[LATENT..], [1, width - LATENT], &device);
            let rows = engine.rows(|model| {
                let u = model.encode(x.clone());
                let inputs = if width > LATENT {
                    burn::tensor::Tensor::cat(vec![u, labels.clone()], 1)
                } else {
                    u
                };
                let z = model.decoder.stack().output(inputs);
                let soft = z.clone().abs().neg().exp().log1p();
                vec![(z.clone().clamp_min(0.0) - z * x.clone() + soft).sum()]
            });
            let reconstruction = &rows.values()[0];
            let norm = dot(reconstruction, reconstruction).sqrt();
            let weight = if clip && norm > clipping.loss {
                clipping.loss / norm
            } else {
                1.0
            };
            let share = (1.0 - objective.alpha()) * weight / n as f64;
            for ((t, g), s) in total.iter_mut().zip(reconstruction).zip(transport.iter()) {
                *t += share * f64::from(*g) + objective.alpha() * s;
            }
        }
        total.into_iter().map(|x| x as f32).collect()
    }
}

fn objective(mode: JacobianClip) -> Objective {
    // Tight enough that every record is clipped, loose enough that not every singular value is.
    let clipping = Clipping {
        activation: 0.4,
        jacobian: 2.0,
        loss: 1.0,
        mode,
    };
    Objective::new(0.3, clipping).unwrap()
}

fn engines() -> [Engine; 4] {
    [
        Engine::Host { chunk: 100 },
        Engine::Host { chunk: 2 },
        Engine::Tensor { chunk: 100 },
        Engine::Tensor { chunk: 2 },
    ]
}

/// `tolerance` is relative: rounding of the Gram matrices is amplified where singular values lie
/// at the clipping bound, and the allowance for it shrinks those by up to `GRAM_ROUNDING` times the
/// condition.
fn check(case: &Case, mode: JacobianClip, tolerance: f64) {
    let objective = objective(mode);
    let expected = case.reference(&objective, true);
    let device = Device::flex();
    let model = case.model(&device);
    for engine in engines() {
        let (bounded, _) = bounded_gradient(
            &model,
            &case.batch(),
            &case.matching(),
            &objective,
            engine,
            &device,
        )
        .unwrap();
        let error = relative_error(&bounded.before_noise(), &expected);
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
    let objective = objective(JacobianClip::Spectral);
    let expected = case.reference(&objective, false);
    let device = Device::flex();
    let model = case.model(&device);
    for engine in engines() {
        let (gradient, losses) = plain_gradient(
            &model,
            &case.batch(),
            &case.matching(),
            &objective,
            engine,
            &device,
        )
        .unwrap();
        let error = relative_error(&gradient.to_host(), &expected);
        assert!(error < 1e-5, "{engine:?}: {error:e}");
        assert!(losses.loss > 0.0 && losses.transport > 0.0);
    }
}
