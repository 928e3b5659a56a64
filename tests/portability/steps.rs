//! One whole step of each penalised problem: private before its noise, and plain.

use std::ops::Range;

use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::JacobianClip;
use model::swae::{Swae, SwaeConfig};
use private_training::penalty::{Between, Matching, Pair, Target};
use private_training::weights::to_host;
use private_training::{Batch, Clipping, Loss, Network, Objective, Penalty, Prior, StepObjective};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::{Slices, TargetQuantiles, UniformBall};
use test_support::networks::fixed_batches;

use super::reference::{self, Problem, Step, cells_of, towards};
use super::runs::Scorer;
use super::{Case, Expected, Found, TestDevice, Tolerance, wave, wide};

/// The weight of the transport.
const ALPHA: f64 = 0.3;

/// How a step is bounded.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bounds {
    /// That of Rodriguez-Vitores et al., which most records break.
    Paper(JacobianClip),
    /// Such that most records keep them.
    Wide(JacobianClip),
    /// None.
    Plain,
}

impl Bounds {
    const ALL: [Self; 5] = [
        Self::Paper(JacobianClip::Rows),
        Self::Paper(JacobianClip::Spectral),
        Self::Wide(JacobianClip::Rows),
        Self::Wide(JacobianClip::Spectral),
        Self::Plain,
    ];

    /// Those of the loss and of the transport; none for a plain step.
    fn constants(self) -> Option<(f64, Clipping)> {
        match self {
            Self::Paper(mode) => Some((1.0, Clipping::published(mode))),
            Self::Wide(mode) => {
                let published = Clipping::published(mode);
                let jacobian = 20.0;
                Some((
                    100.0,
                    Clipping {
                        jacobian,
                        ..published
                    },
                ))
            }
            Self::Plain => None,
        }
    }

    fn step(self, loss: Loss, target: impl Into<Target>, sizes: &[usize]) -> StepObjective {
        let unused = (1.0, Clipping::published(JacobianClip::Rows));
        let (bound, clipping) = self.constants().unwrap_or(unused);
        let penalty = Penalty::to(Prior::UniformBall)
            .weight(ALPHA)
            .clipping(clipping);
        Objective::new([loss.weight(1.0 - ALPHA).max_grad_norm(bound)])
            .with_penalties(vec![penalty.with_target(target)], &fixed_batches(sizes))
            .expect("an objective")
    }

    fn gradient(
        self,
        step: &StepObjective,
        network: &impl Network<2>,
        batch: &Batch<2>,
        test_device: &TestDevice,
    ) -> Vec<f64> {
        let (engine, device) = (test_device.engine, &test_device.device);
        wide(match self {
            Self::Plain => {
                let plain = step.gradient_without_privacy(network, batch, engine, device);
                plain.expect("a gradient").0.to_host()
            }
            _ => {
                let bounded = step.clipped_gradient(network, batch, engine, device);
                bounded.expect("a gradient").0.before_noise()
            }
        })
    }

    /// Records that break every bound: one that is not a number, one huge, one large. A plain step has
    /// none. (One whose square overflows would be clipped by the host and dropped by a device.)
    fn wild(self) -> &'static [f32] {
        match self {
            Self::Plain => &[],
            _ => &[f32::NAN, 1e6, 400.0],
        }
    }
}

/// A step of the autoencoder, which has records of two classes or none.
struct Autoencoder {
    bounds: Bounds,
    pixels: Vec<f32>,
    /// Records of each class, or of all.
    sizes: Vec<usize>,
    classes: usize,
    slices: Slices,
    cells: Vec<TargetQuantiles>,
}

impl Autoencoder {
    const LATENT: usize = 3;
    const PIXELS: usize = SwaeConfig::PIXELS;

    fn new(bounds: Bounds, classes: usize) -> Self {
        let mut pixels: Vec<f32> = wave(6 * Self::PIXELS);
        pixels.iter_mut().for_each(|x| *x = 0.5 + 0.5 * *x);
        for &pixel in bounds.wild() {
            pixels.extend([pixel; Self::PIXELS]);
        }
        let n = pixels.len() / Self::PIXELS;
        let sizes = if classes == 0 {
            vec![n]
        } else {
            vec![2, n - 2]
        };
        let mut rng = ChaCha20Rng::seed_from_u64(10);
        let ball = UniformBall::new(Self::LATENT).expect("a ball");
        let cells = sizes.iter().map(|&n| ball.cells(n).expect("cells"));
        Self {
            bounds,
            pixels,
            classes,
            slices: Slices::tight(Self::LATENT, 9, &mut rng).expect("slices"),
            cells: cells.collect(),
            sizes,
        }
    }

    fn model(&self, device: &Device) -> Swae {
        let config = SwaeConfig {
            latent: Self::LATENT,
            classes: self.classes,
        };
        config.init(&mut ChaCha20Rng::seed_from_u64(8), device)
    }

    fn found(&self, test_device: &TestDevice) -> Vec<f64> {
        let model = self.model(&test_device.device);
        let batch = model.batch(self.pixels.clone(), &self.sizes, &test_device.device);
        let matching = Matching::new(self.slices.clone(), self.cells.clone());
        let loss = Loss::binary_cross_entropy_with_logits();
        let step = self.bounds.step(loss, matching, &self.sizes);
        let batch = batch.expect("a batch");
        self.bounds.gradient(&step, &model, &batch, test_device)
    }

    /// Encoder and decoder of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, table 3.
    fn networks(&self) -> (reference::ReferenceNetwork, reference::ReferenceNetwork) {
        let weights = wide(to_host(&self.model(&Device::flex())));
        let rest = &mut &weights[..];
        let conv = |channels, side| Step::Conv {
            channels,
            side: [side; 2],
            kernel: 3,
        };
        let linear = |inputs, outputs| Step::Linear { inputs, outputs };
        let leaky = || Step::LeakyRelu { slope: 0.2 };
        let relu = || Step::LeakyRelu { slope: 0.0 };
        let pool = |channels, side| Step::AvgPool {
            channels,
            side: [side; 2],
        };
        let up = |channels, side| Step::Upsample {
            channels,
            side: [side; 2],
        };
        let encoder = [
            conv([1, 8], 28),
            leaky(),
            pool(8, 28),
            conv([8, 16], 14),
            leaky(),
            pool(16, 14),
            conv([16, 16], 7),
            leaky(),
            linear(784, 128),
            relu(),
            linear(128, 64),
            relu(),
            linear(64, Self::LATENT),
        ];
        let decoder = [
            linear(Self::LATENT + self.classes, 64),
            relu(),
            linear(64, 128),
            relu(),
            linear(128, 784),
            relu(),
            conv([16, 16], 7),
            leaky(),
            up(16, 7),
            conv([16, 8], 14),
            leaky(),
            up(8, 14),
            conv([8, 1], 28),
        ];
        let mut network = |steps: [Step; 13]| {
            let empty = reference::ReferenceNetwork::default();
            let add = |network: reference::ReferenceNetwork, step| network.then_step(step, rest);
            steps.into_iter().fold(empty, add)
        };
        (network(encoder), network(decoder))
    }

    fn expected(&self) -> Vec<f64> {
        let (encoder, decoder) = self.networks();
        let pixels = wide(self.pixels.iter().copied());
        let records: Vec<Vec<f64>> = pixels.chunks(Self::PIXELS).map(<[f64]>::to_vec).collect();
        let (n, groups) = (records.len(), ranges(&self.sizes));
        let label = |i: usize| -> Vec<f64> {
            let of = |class: usize| f64::from(u8::from(groups[class].contains(&i)));
            (0..self.classes).map(of).collect()
        };
        // Bernoulli with logits.
        let loss = |i: usize, z: &[f64]| -> Vec<f64> {
            let pairs = z.iter().zip(&records[i]);
            pairs.map(|(z, x)| 1.0 / (1.0 + (-z).exp()) - x).collect()
        };
        let transport = |points: &[Vec<f64>]| {
            let mut cotangents = vec![vec![0.0; Self::LATENT]; n];
            for (group, cells) in groups.iter().zip(&self.cells) {
                let share = group.len() as f64 / n as f64;
                let cells = |l| cells.row(l).to_vec();
                towards(points, group, &self.slices, share, &cells, &mut cotangents);
            }
            cotangents
        };
        let problem = Problem {
            records: records.clone(),
            encoder,
            head: Some((decoder, (0..n).map(label).collect())),
            loss: &loss,
            transport: &transport,
            alpha: ALPHA,
            bounds: self.bounds.constants(),
        };
        problem.gradient()
    }
}

/// The loss of a scorer.
#[derive(Debug, Clone, Copy)]
enum Task {
    Bernoulli,
    Squared,
}

/// A step of a scorer of two groups.
struct Fair {
    bounds: Bounds,
    task: Task,
    inputs: Vec<f32>,
    targets: Vec<f32>,
    sizes: [usize; 2],
    slices: Slices,
}

impl Fair {
    fn new(bounds: Bounds, task: Task) -> Self {
        let mut inputs = wave(11 * Scorer::FEATURES);
        for &value in bounds.wild() {
            inputs.extend([value; Scorer::FEATURES]);
        }
        let n = inputs.len() / Scorer::FEATURES;
        Self {
            bounds,
            task,
            inputs,
            targets: (0..n).map(|i| (i % 2) as f32).collect(),
            sizes: [4, n - 4],
            slices: Slices::from_directions(1, &[1.0]).expect("a direction"),
        }
    }

    fn scorer(device: &Device) -> Scorer {
        Scorer::new(&mut ChaCha20Rng::seed_from_u64(9), device)
    }

    fn found(&self, test_device: &TestDevice) -> Vec<f64> {
        let n = self.targets.len();
        let upload = |values: &[f32]| -> Tensor<2> {
            let shape = [n, values.len() / n];
            Tensor::from_data(TensorData::new(values.to_vec(), shape), &test_device.device)
        };
        let batch = Batch::new(upload(&self.inputs), upload(&self.targets), &self.sizes);
        let pair = Pair {
            strata: [0, 1],
            weight: 1.0,
        };
        let between = Between::new(self.sizes.to_vec(), vec![pair], self.slices.clone());
        let loss = match self.task {
            Task::Bernoulli => Loss::binary_cross_entropy(),
            Task::Squared => Loss::squared_error(),
        };
        let step = self
            .bounds
            .step(loss, between.expect("groups"), &self.sizes);
        let batch = batch.expect("a batch");
        let scorer = Self::scorer(&test_device.device);
        self.bounds.gradient(&step, &scorer, &batch, test_device)
    }

    fn expected(&self) -> Vec<f64> {
        let inputs = wide(self.inputs.iter().copied());
        let records = inputs.chunks(Scorer::FEATURES).map(<[f64]>::to_vec);
        let loss = |i: usize, outputs: &[f64]| -> Vec<f64> {
            let (o, y) = (outputs[0], f64::from(self.targets[i]));
            vec![match self.task {
                Task::Squared => 2.0 * (o - y),
                Task::Bernoulli => {
                    let p = o.clamp(1e-6, 1.0 - 1e-6);
                    (p - y) / (p * (1.0 - p))
                }
            }]
        };
        let groups = ranges(&self.sizes);
        let transport = |points: &[Vec<f64>]| {
            let mut cotangents = vec![vec![0.0]; points.len()];
            for (own, other) in [(&groups[0], &groups[1]), (&groups[1], &groups[0])] {
                let cells = |l| cells_of(points, other, &self.slices, l, own.len());
                towards(points, own, &self.slices, 1.0, &cells, &mut cotangents);
            }
            cotangents
        };
        let problem = Problem {
            records: records.collect(),
            encoder: Self::scorer(&Device::flex()).reference(),
            head: None,
            loss: &loss,
            transport: &transport,
            alpha: ALPHA,
            bounds: self.bounds.constants(),
        };
        problem.gradient()
    }
}

fn ranges(sizes: &[usize]) -> Vec<Range<usize>> {
    let ends = sizes.iter().scan(0, |end, &size| {
        *end += size;
        Some(*end - size..*end)
    });
    ends.collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for bounds in Bounds::ALL {
        let case = |name: String, found: Found, expected: Expected| {
            let words = format!("{name}, {bounds:?}").to_lowercase();
            match bounds {
                // Products of products: a step is many operations.
                Bounds::Plain => Case::new("plain step", words, Tolerance::Run, found, expected),
                _ => Case::new("private step", words, Tolerance::Clip, found, expected).private(),
            }
        };
        for classes in [0, 2] {
            cases.push(case(
                format!("autoencoder of {classes} classes"),
                Box::new(move |test_device| Autoencoder::new(bounds, classes).found(test_device)),
                Box::new(move || Autoencoder::new(bounds, classes).expected()),
            ));
        }
        for task in [Task::Bernoulli, Task::Squared] {
            cases.push(case(
                format!("fairness, {task:?}"),
                Box::new(move |test_device| Fair::new(bounds, task).found(test_device)),
                Box::new(move || Fair::new(bounds, task).expected()),
            ));
        }
    }
    cases
}
