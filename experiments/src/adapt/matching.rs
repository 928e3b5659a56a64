//! The sliced distance between the features of both domains (the objective of Rakotomamonjy and Ralaivola 2021, algorithm 2),
//! by the clipped gradients of Rodriguez-Vitores et al. 2025.
//!
//! Both domains pass one extractor, all of whose weights are trained: so a target record moves the gradient by up to
//! `8 M L / n` ([`private_training::Penalty::between_groups`]), with features in a ball of radius `M`, Jacobians of at
//! most `L` and `n` records of the smaller batch. The published gradient has noise on the projections, and none on the
//! Jacobians of the target's features, through which it runs too: it is not private.

use burn::optim::GradientsParams;
use dp_core::ledger::Ledger;
use dp_core::sampling::{BatchSampler, GroupSampler};
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{batch_without_targets, bounded, next_step};
use private_training::{Clipping, Objective, Penalty};

use super::public::add;
use super::settings::{Method, Private, Steps};
use super::train::Adapt;

lab::settings! {
    /// Settings of the sliced distance.
    struct Sliced, SlicedFlags;
    common { slices: usize }
    flags {
        /// M: the radius of the ball that features are clipped into.
        #[bound(norm)]
        clip_activation: f64,
        /// L: the bound on the spectral norm of each record's Jacobian of its features.
        #[bound(norm)]
        clip_jacobian: f64,
    }
}

impl Method for Sliced {
    const NAME: &'static str = "sliced";
    const ABOUT: &'static str = "Pull the features of both domains together, by clipped and noisy gradients of their sliced distance";
    const READS: &'static str = "the distance's gradients at target records";
    type Private = Private;
    type Steps = Steps;

    fn objective(&self, steps: &Steps, compared: usize) -> Result<Objective, Failure> {
        let bound = format!("at least {compared}, the features that are compared (--latent)");
        bounded("slices", self.slices, self.slices >= compared, &bound)?;
        let clipping = Clipping::new(self.clip_activation, self.clip_jacobian);
        let distance = Penalty::between_groups().slices(self.slices);
        Ok(Objective::of([]).penalty(distance.weight(steps.weight).clipping(clipping)))
    }

    /// Of both sides: a step's sensitivity, and its sampling rate, are the larger of both. Source records are public, so
    /// this promises more than is needed.
    fn sampler(sides: [usize; 2], size: usize) -> Result<BatchSampler, Failure> {
        let [target, source] = sides;
        let sides = vec![(0..target).collect(), (target..target + source).collect()];
        let sampler = GroupSampler::new(sides, &[size.min(target), size.min(source)]);
        sampler.map(Into::into).or_failed()
    }

    fn released(run: &mut Adapt<Self>, ledger: &mut Ledger) -> Result<GradientsParams, Failure> {
        let (extractor, device) = (
            run.training.network.extractor.clone(),
            run.training.device(),
        );
        let step = next_step(&mut run.training)?;
        let [target, source] = step.groups() else {
            return Err(Failure::failed("a batch that is not of two sides"));
        };
        let (first, domains) = (run.domains.target.len(), &run.domains);
        let source: Vec<usize> = source.iter().map(|&i| i - first).collect();
        let rows = [
            domains.target.gather(target),
            domains.source.gather(&source),
        ]
        .concat();
        let sizes = [target.len(), source.len()];
        let both = batch_without_targets(rows, &sizes, &device)?;
        Ok(step.gradient(&extractor, &both, ledger).or_failed()?.0)
    }

    /// One update, by the released gradient of the distance and a public one of the classification.
    fn follow(
        run: &mut Adapt<Self>,
        rate: f64,
        mut released: GradientsParams,
    ) -> Result<(), Failure> {
        let mut total = run.of_source()?;
        let extractor = run.training.network.extractor.clone();
        add(&mut total, &extractor, 1.0, &mut released);
        run.training.apply(rate, total);
        Ok(())
    }
}
