//! The sliced distance between the features of both domains (the objective of Rakotomamonjy and Ralaivola 2021, algorithm 2),
//! by the clipped gradients of Rodriguez-Vitores et al. 2025.
//!
//! Both domains pass one extractor, all of whose weights are trained: so a target record moves the gradient by up to
//! `8 M L / n` ([`Penalty::between_strata`]), with features in a ball of radius `M`, Jacobians of at most `L` and `n` records
//! of the smaller batch. The published gradient has noise on the projections, and none on the Jacobians of the target's
//! features, through which it runs too: it is not private.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::CheckedPlan;
use private_training::{HostTargets, prelude::*};
use rand_chacha::ChaCha20Rng;

use super::Failed;
use super::domains::{Domains, gather};
use super::fit::Warps;
use super::network::Classifier;
use super::run::{LEARNING_RATE, Settings};
use super::source::batch;

/// Features that are compared, and slices.
pub(super) const COMPARED: usize = 16;
const SLICES: usize = 50;
/// M, the radius of the ball that features are clipped into, and L, the bound on the spectral norm of each Jacobian of them.
pub(super) const CLIPPING: [f64; 2] = [2.0, 1.0];
/// The decay of the average of the weights that is judged.
const AVERAGE: f64 = 0.9;

pub(super) fn objective() -> Objective {
    let clipping = Clipping::new(CLIPPING[0], CLIPPING[1]);
    Objective::new([]).penalty(Penalty::between_strata().slices(SLICES).clipping(clipping))
}

/// Of both sides: a step's sensitivity, and its sampling rate, are the larger of both. Source records are public, so this
/// promises more than is needed.
pub(super) fn sampler(settings: &Settings, domains: &Domains) -> Result<Sampler, Failed> {
    let (target, source) = (domains.records(), domains.source.labels.len());
    let sides = vec![(0..target).collect(), (target..target + source).collect()];
    let sizes = [settings.batch, settings.batch.min(source)];
    Ok(Sampler::stratified(sides, &sizes)?)
}

/// Before its first step; without a plan nothing is promised.
pub(super) fn training(
    settings: &Settings,
    network: Classifier,
    domains: &Domains,
    plan: Option<CheckedPlan>,
    mut noise: NoiseSource,
    public: ChaCha20Rng,
) -> Result<Training<Classifier>, Failed> {
    let config = TrainingConfig::new(objective())
        .average(AVERAGE)
        .public(public);
    Ok(match plan {
        Some(plan) => config.start_with_noise(network, plan.releaser(noise))?,
        None => {
            let batches = noise.rng().clone();
            config.start_without_privacy(network, sampler(settings, domains)?, batches)?
        }
    })
}

/// All that is read of the target in a step: its gradient, with noise.
pub(super) fn released(
    training: &mut Training<Classifier>,
    domains: &Domains,
    ledger: &mut Ledger,
) -> Result<GradientsParams, Failed> {
    let (extractor, device) = (training.network.extractor.clone(), training.device());
    let step = training.next_step()?.ok_or("steps beyond the plan")?;
    let [target, source] = step.strata() else {
        return Err("a batch that is not of two sides".into());
    };
    let (records, width) = (domains.records(), domains.width());
    let public: Vec<usize> = source.iter().map(|i| i - records).collect();
    let rows = [
        gather(&domains.target, width, target),
        gather(&domains.source.rows, width, &public),
    ];
    let sizes = [target.len(), source.len()];
    let none = vec![0.0; sizes.iter().sum()];
    let both = batch(rows.concat(), HostTargets::Values(&none), &sizes, &device)?;
    Ok(step.gradient(&extractor, &both, ledger)?.0)
}

/// One update, by the released gradient of the distance and a public one of the classification: post-processing.
pub(super) fn follow(
    training: &mut Training<Classifier>,
    settings: &Settings,
    domains: &Domains,
    released: GradientsParams,
) -> Result<(), Failed> {
    let (network, device) = (training.network.clone(), training.device());
    let done = (training.step() - 1) as f64 / settings.steps as f64;
    let public = training.gradients().public_rng();
    let none = Warps::default();
    let of_source = settings.gradient_of_source(&network, domains, &none, public, &device)?;
    let mut sum = Sum(of_source, released);
    network.extractor.visit(&mut sum);
    training.apply(LEARNING_RATE * (1.0 - done), sum.0);
    Ok(())
}

/// Adds the gradients of a module's parameters on the right to those on the left.
struct Sum(GradientsParams, GradientsParams);

impl ModuleVisitor for Sum {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(mut sum) = self.1.remove::<D>(param.id) else {
            return;
        };
        if let Some(other) = self.0.remove::<D>(param.id) {
            sum = sum + other;
        }
        self.0.register::<D>(param.id, sum);
    }
}
