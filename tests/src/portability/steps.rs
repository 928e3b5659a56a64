//! One whole step of each penalised problem: private before its noise, and plain.

use std::ops::Range;

use burn::tensor::Device;
use dp_core::per_sample::JacobianClip;
use model::fairness::{self, GroupedBatch, Parity, Stages, TaskLoss};
use model::penalised::{Clipped, Clipping, Engine, Objective};
use model::swae::{self, Batch, Matching, Swae, SwaeConfig};
use model::weights::to_host;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::{Cells, Slices, UniformBall};

use super::reference::{Network, Problem, Step, cells_of, towards};
use super::runs::Scorer;
use super::{Case, Expected, Found, Tolerance, wave, wide};

/// How a step is bounded.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bounds {
    /// The paper's, which most records break.
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

    fn clipping(self) -> Option<Clipping> {
        match self {
            Self::Paper(mode) => Some(Clipping::paper(mode)),
            Self::Wide(mode) => Some(Clipping {
                loss: 100.0,
                jacobian: 20.0,
                ..Clipping::paper(mode)
            }),
            Self::Plain => None,
        }
    }

    fn objective(self) -> Objective {
        let unused = Clipping::paper(JacobianClip::Rows);
        Objective::new(0.3, self.clipping().unwrap_or(unused)).expect("an objective")
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

fn numbers(bounded: &Clipped) -> Vec<f64> {
    wide(bounded.before_noise())
}

/// A step of the autoencoder, which has records of two classes or none.
struct Autoencoder {
    bounds: Bounds,
    pixels: Vec<f32>,
    /// Records of each class, or of all.
    sizes: Vec<usize>,
    classes: usize,
    slices: Slices,
    cells: Vec<Cells>,
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

    fn found(&self, device: &Device, engine: Engine) -> Vec<f64> {
        let (model, pixels) = (self.model(device), self.pixels.clone());
        let batch = if self.classes == 0 {
            Batch::single(pixels, Self::PIXELS)
        } else {
            Batch::by_class(pixels, Self::PIXELS, &self.sizes)
        };
        let batch = batch.expect("a batch");
        let matching = Matching::new(self.slices.clone(), self.cells.clone());
        let objective = self.bounds.objective();
        if self.bounds == Bounds::Plain {
            let (plain, _) =
                swae::plain_gradient(&model, &batch, &matching, &objective, engine, device)
                    .expect("a gradient");
            return wide(plain.to_host());
        }
        swae::bounded_gradient(&model, &batch, &matching, &objective, engine, device)
            .map(|(bounded, _)| numbers(&bounded))
            .expect("a gradient")
    }

    /// Encoder and decoder of paper 004, table 3.
    fn networks(&self) -> (Network, Network) {
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
            let empty = Network::default();
            let add = |network: Network, step| network.then_step(step, rest);
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
        let objective = self.bounds.objective();
        let problem = Problem {
            records: records.clone(),
            encoder,
            head: Some((decoder, (0..n).map(label).collect())),
            loss: &loss,
            transport: &transport,
            alpha: objective.alpha(),
            clipping: self.bounds.clipping(),
        };
        problem.gradient()
    }
}

/// A step of a scorer of two groups.
struct Fair {
    bounds: Bounds,
    loss: TaskLoss,
    inputs: Vec<f32>,
    targets: Vec<f32>,
    sizes: [usize; 2],
    slices: Slices,
}

impl Fair {
    fn new(bounds: Bounds, loss: TaskLoss) -> Self {
        let mut inputs = wave(11 * Scorer::FEATURES);
        for &value in bounds.wild() {
            inputs.extend([value; Scorer::FEATURES]);
        }
        let n = inputs.len() / Scorer::FEATURES;
        Self {
            bounds,
            loss,
            inputs,
            targets: (0..n).map(|i| (i % 2) as f32).collect(),
            sizes: [4, n - 4],
            slices: Slices::from_directions(1, &[1.0]).expect("a direction"),
        }
    }

    fn scorer(device: &Device) -> Scorer {
        Scorer::new(&mut ChaCha20Rng::seed_from_u64(9), device)
    }

    fn found(&self, device: &Device, engine: Engine) -> Vec<f64> {
        let scorer = Self::scorer(device);
        let (inputs, targets) = (self.inputs.clone(), self.targets.clone());
        let batch = GroupedBatch::new(inputs, Scorer::FEATURES, targets, 1, &self.sizes);
        let batch = batch.expect("a batch");
        let parity = Parity::statistical(self.sizes, self.slices.clone()).expect("a parity");
        let stages = Stages::of(scorer.layers());
        let (terms, objective) = ((self.loss, &parity), self.bounds.objective());
        if self.bounds == Bounds::Plain {
            let (plain, _) =
                fairness::plain_gradient(&stages, &batch, terms, &objective, engine, device)
                    .expect("a gradient");
            return wide(plain.to_host());
        }
        fairness::bounded_gradient(&stages, &batch, terms, &objective, engine, device)
            .map(|(bounded, _)| numbers(&bounded))
            .expect("a gradient")
    }

    fn expected(&self) -> Vec<f64> {
        let inputs = wide(self.inputs.iter().copied());
        let records = inputs.chunks(Scorer::FEATURES).map(<[f64]>::to_vec);
        let loss = |i: usize, outputs: &[f64]| -> Vec<f64> {
            let (o, y) = (outputs[0], f64::from(self.targets[i]));
            vec![match self.loss {
                TaskLoss::Squared => 2.0 * (o - y),
                TaskLoss::Bernoulli => {
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
            alpha: self.bounds.objective().alpha(),
            clipping: self.bounds.clipping(),
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
                Box::new(move |place| {
                    Autoencoder::new(bounds, classes).found(&place.device, place.engine)
                }),
                Box::new(move || Autoencoder::new(bounds, classes).expected()),
            ));
        }
        for loss in [TaskLoss::Bernoulli, TaskLoss::Squared] {
            cases.push(case(
                format!("fairness, {loss:?}"),
                Box::new(move |place| Fair::new(bounds, loss).found(&place.device, place.engine)),
                Box::new(move || Fair::new(bounds, loss).expected()),
            ));
        }
    }
    cases
}
