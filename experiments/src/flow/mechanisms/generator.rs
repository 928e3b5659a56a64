//! DPSWgen: a generator trained on the smoothed distance to a release at each step, as [`super::resampled`]
//! makes it: without the order of the batch.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use lab::diagnostic::Failure;
use model::adam::ModuleAdam;
use model::generator::Generator;
use model::weights::{from_host, to_host};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use swd::smoothed::{NoisyProjections, smoothed_distance_and_gradient, smoothing_noise};

use super::resampled::{Course, PrivateBatches};
use super::{Flow, Generated, Snapshot};

/// Points that the generator makes of a group at each step.
const POINTS: usize = 250;

impl Flow<'_> {
    pub(super) fn generator(&mut self) -> Result<Generated, Failure> {
        let device = self.chosen.device.clone();
        let d = self.groups.dim;
        let classes = self.groups.latents.len();
        let inputs = d + if self.groups.classes.is_some() {
            classes
        } else {
            0
        };
        let autodiff = device.clone().autodiff();
        let mut model = Generator::new(inputs, d, &mut self.public, &autodiff);
        let mut optimizer = ModuleAdam::default();
        let mut batches = PrivateBatches::new(self);
        let mut course = Course::new(self);
        if let Some(checkpoint) = course.restore(self, &mut batches)? {
            let (words, _) = checkpoint.file("weights.bin")?.as_chunks::<4>();
            let weights: Vec<f32> = words.iter().map(|&w| f32::from_le_bytes(w)).collect();
            model = from_host(model.valid(), &weights)
                .map_err(Failure::run)?
                .train();
            optimizer = ModuleAdam::from_bytes(checkpoint.file("optimizer.bin")?, &device)
                .map_err(Failure::run)?;
        }
        let each = POINTS.div_ceil(classes).max(2);
        let progress = self.progress(course.step, course.steps);
        loop {
            if course.wants_picture() {
                let rows = self.sample(&model.valid(), &vec![10; classes]);
                let rows = self.first(&rows);
                let step = course.step;
                course.strip.push(Snapshot { step, rows });
            }
            if course.step == course.steps {
                break;
            }
            let targets = batches.release(self)?;
            let noise = self.noise(&vec![each; classes]);
            let noise = TensorData::new(noise, [each * classes, inputs]);
            let points = model.forward(Tensor::<2>::from_data(noise, &autodiff));
            let norms = points.clone().square().sum_dim(1).sqrt().clamp_min(1e-6);
            let points = points / norms;
            let (cotangent, distance) = self.cotangent(&points, &targets, each)?;
            let cotangent = TensorData::new(cotangent, [each * classes, d]);
            let surrogate = (points * Tensor::from_data(cotangent, &autodiff)).sum();
            let gradients = GradientsParams::from_grads(surrogate.backward(), &model);
            let rate = self.settings.learning_rate;
            model = optimizer.step(rate, model.valid(), gradients).train();
            course.step += 1;
            if course.step.is_multiple_of((course.steps / 200).max(1)) {
                course.distances.push((course.step, distance));
                progress.message(format!("distance {distance:.5}"));
            }
            progress.step();
            let stop = self.interrupt.asked();
            let last = course.step == course.steps;
            if stop || last || course.step.is_multiple_of(self.checkpoint_every) {
                let weights = to_host(&model.valid());
                let weights = weights.iter().flat_map(|w| w.to_le_bytes()).collect();
                let files = [
                    ("weights.bin".into(), weights),
                    ("optimizer.bin".into(), optimizer.to_bytes()),
                ];
                course.save(self, &batches, files.into())?;
            }
            if stop && !last {
                progress.finish();
                return Err(self.stopped(course.step, course.steps));
            }
        }
        progress.finish();
        let particles = self.particles.clone();
        let rows = self.sample(&model.valid(), &particles);
        Ok(Generated {
            rows: rows.concat(),
            labels: self.labels(),
            strip: course.strip,
            distances: course.distances,
        })
    }

    /// The smoothed distance's gradient at the points of each group, and the mean distance.
    fn cotangent(
        &mut self,
        points: &Tensor<2>,
        targets: &[NoisyProjections],
        each: usize,
    ) -> Result<(Vec<f32>, f64), Failure> {
        let values: Vec<f32> = points.clone().inner().into_data().iter::<f32>().collect();
        let mut cotangent = Vec::with_capacity(values.len());
        let mut mean = 0.0;
        for (points, target) in values.chunks(each * self.groups.dim).zip(targets) {
            let smoothing = smoothing_noise(target, each, &mut self.public);
            let (distance, gradient) =
                smoothed_distance_and_gradient(points, &smoothing, target).map_err(Failure::run)?;
            cotangent.extend(gradient);
            mean += distance / targets.len() as f64;
        }
        Ok((cotangent, mean))
    }

    /// Noise with one-hot groups, where there are any, for some points of each group.
    fn noise(&mut self, counts: &[usize]) -> Vec<f32> {
        let d = self.groups.dim;
        let labelled = self.groups.classes.is_some();
        let mut noise = Vec::new();
        for (group, &count) in counts.iter().enumerate() {
            for _ in 0..count {
                for _ in 0..d {
                    let x: f64 = StandardNormal.sample(&mut self.public);
                    noise.push(x as f32);
                }
                if labelled {
                    noise.extend((0..counts.len()).map(|g| f32::from(u8::from(g == group))));
                }
            }
        }
        noise
    }

    /// Points on the sphere, some of each group; from a generator of its own, so that pictures do not
    /// change the course of a run.
    fn sample(&mut self, model: &Generator, counts: &[usize]) -> Vec<Vec<f32>> {
        let d = self.groups.dim;
        let mut own = ChaCha20Rng::seed_from_u64(self.settings.seed);
        own.set_stream(5);
        std::mem::swap(&mut own, &mut self.public);
        let noise = self.noise(counts);
        std::mem::swap(&mut own, &mut self.public);
        let width = model.inputs();
        let inputs = TensorData::new(noise, [counts.iter().sum::<usize>(), width]);
        let points = model.forward(Tensor::from_data(inputs, &self.chosen.device));
        let mut rows: Vec<f32> = points.into_data().iter::<f32>().collect();
        for row in rows.chunks_exact_mut(d) {
            let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
            row.iter_mut().for_each(|x| *x /= norm);
        }
        let mut rest = &rows[..];
        counts
            .iter()
            .map(|&count| {
                let (here, after) = rest.split_at(count * d);
                rest = after;
                here.to_vec()
            })
            .collect()
    }
}
