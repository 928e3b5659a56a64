//! One whole step of each penalised problem: private before its noise, and plain.

use burn::tensor::Device;
use dp_core::mechanism::BoundedGradient;
use dp_core::per_sample::JacobianClip;
use model::fairness::{self, GroupedBatch, Parity, Stages, TaskLoss};
use model::penalised::{Clipping, Engine, Objective};
use model::swae::{self, Batch, ExactCells, Matching, Prior, SwaeConfig};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::Slices;

use super::runs::Scorer;
use super::{Case, Place, Tolerance, wave, wide};

/// A step somewhere, as numbers.
type Step = Box<dyn Fn(&Device, Engine) -> Vec<f64>>;

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

    fn objective(self) -> Objective {
        let clipping = match self {
            Self::Paper(mode) => Clipping::paper(mode),
            Self::Wide(mode) => Clipping {
                loss: 100.0,
                jacobian: 20.0,
                ..Clipping::paper(mode)
            },
            Self::Plain => Clipping::paper(JacobianClip::Rows),
        };
        Objective::new(0.3, clipping).expect("an objective")
    }

    /// Records that break every bound: one that is not a number, one huge, one large. A plain step has
    /// none. (One whose square overflows would be clipped by the host and dropped by a device.)
    fn wild(self) -> &'static [f32] {
        match self {
            Self::Plain => &[],
            _ => &[f32::NAN, 1e12, 400.0],
        }
    }
}

fn numbers(bounded: &BoundedGradient) -> Vec<f64> {
    wide(bounded.before_noise().to_host())
}

fn autoencoder(bounds: Bounds, classes: usize, device: &Device, engine: Engine) -> Vec<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let config = SwaeConfig { latent: 3, classes };
    let model = config.init(&mut rng, device);
    let mut pixels: Vec<f32> = wave(6 * 784).into_iter().map(|x| 0.5 + 0.5 * x).collect();
    for &pixel in bounds.wild() {
        pixels.extend([pixel; 784]);
    }
    let n = pixels.len() / 784;
    let sizes = if classes == 0 {
        vec![n]
    } else {
        vec![2, n - 2]
    };
    let batch = if classes == 0 {
        Batch::single(pixels, 784)
    } else {
        Batch::by_class(pixels, 784, &sizes)
    };
    let slices = Slices::tight(3, 9, &mut rng).expect("slices");
    let mut exact = ExactCells::default();
    let matching = Matching::draw(Prior::Exact, &sizes, slices, &mut exact, &mut rng);
    let (batch, matching) = (batch.expect("a batch"), matching.expect("a matching"));
    let objective = bounds.objective();
    if bounds == Bounds::Plain {
        let (plain, _) =
            swae::plain_gradient(&model, &batch, &matching, &objective, engine, device)
                .expect("a gradient");
        return wide(plain.to_host());
    }
    swae::bounded_gradient(&model, &batch, &matching, &objective, engine, device)
        .map(|(bounded, _)| numbers(&bounded))
        .expect("a gradient")
}

fn fair(bounds: Bounds, loss: TaskLoss, device: &Device, engine: Engine) -> Vec<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let scorer = Scorer::new(&mut rng, device);
    let mut inputs = wave(11 * Scorer::FEATURES);
    for &value in bounds.wild() {
        inputs.extend([value; Scorer::FEATURES]);
    }
    let n = inputs.len() / Scorer::FEATURES;
    let sizes = [4, n - 4];
    let targets = (0..n).map(|i| (i % 2) as f32).collect();
    let batch = GroupedBatch::new(inputs, Scorer::FEATURES, targets, 1, &sizes).expect("a batch");
    let slices = Slices::tight(1, 1, &mut rng).expect("slices");
    let parity = Parity::statistical(sizes, slices).expect("a parity");
    let stages = Stages::of(scorer.layers());
    let (terms, objective) = ((loss, &parity), bounds.objective());
    if bounds == Bounds::Plain {
        let (plain, _) =
            fairness::plain_gradient(&stages, &batch, terms, &objective, engine, device)
                .expect("a gradient");
        return wide(plain.to_host());
    }
    fairness::bounded_gradient(&stages, &batch, terms, &objective, engine, device)
        .map(|(bounded, _)| numbers(&bounded))
        .expect("a gradient")
}

pub(super) fn cases() -> Vec<Case> {
    let host = || (Device::flex(), Engine::Host { chunk: 4 });
    let mut cases = Vec::new();
    let mut add = |bounds: Bounds, name: String, run: Step| {
        let run = std::rc::Rc::new(run);
        let there = run.clone();
        let case = |group, tolerance| {
            Case::new(
                group,
                name,
                tolerance,
                move |place: &Place| there(&place.device, place.engine),
                move || {
                    let (device, engine) = host();
                    run(&device, engine)
                },
            )
        };
        cases.push(match bounds {
            // Products of products: a step is many operations.
            Bounds::Plain => case("plain step", Tolerance::Run),
            _ => case("private step", Tolerance::Clip).private(),
        });
    };
    for bounds in Bounds::ALL {
        let words = format!("{bounds:?}").to_lowercase();
        for classes in [0, 2] {
            add(
                bounds,
                format!("autoencoder, {words}, {classes} classes"),
                Box::new(move |device, engine| autoencoder(bounds, classes, device, engine)),
            );
        }
        for loss in [TaskLoss::Bernoulli, TaskLoss::Squared] {
            add(
                bounds,
                format!("fairness, {words}, {loss:?}"),
                Box::new(move |device, engine| fair(bounds, loss, device, engine)),
            );
        }
    }
    cases
}
