//! The sliced distance between the features of both domains, by private gradients.
//!
//! Both domains pass one extractor, all of whose weights are trained: so a target record moves the gradient by up to
//! `8 M L / n` ([`private_training::Penalty::between_groups`]), with features in a ball of radius `M` and Jacobians of at
//! most `L`. The published algorithm 2 adds noise to the value of the distance alone; its gradient, which runs through the
//! target's features too, is not private.

use dp_core::sampling::{BatchSampler, GroupSampler};
use lab::diagnostic::Failure;
use lab::session::{Session, batch, next_step, positive};
use private_training::{Clipping, Loss, Objective, Penalty};

use super::fit::Warps;
use super::public::{add, public_gradient, source_batch};
use super::settings::{Method, Private, Shared, Steps, at_least_1};
use super::train::Adapt;

lab::settings! {
    /// Settings of the sliced distance.
    struct Sliced, SlicedFlags;
    common { slices: usize }
    flags {
        /// M: the radius of the ball that features are clipped into.
        clip_activation: f64,
        /// L: the bound on the spectral norm of each record's Jacobian of its features.
        clip_jacobian: f64,
    }
}

impl Method for Sliced {
    const NAME: &'static str = "sliced";
    const ABOUT: &'static str = "Pull the features of both domains together, by clipped and noisy gradients of their sliced distance";
    const READS: &'static str = "the distance's gradients at target records";
    type Private = Private;
    type Steps = Steps;

    fn check(&self, _: &Shared) -> Result<(), Failure> {
        at_least_1("slices", self.slices)?;
        positive("clip-activation", self.clip_activation)?;
        positive("clip-jacobian", self.clip_jacobian)
    }

    fn objective(&self, steps: &Steps) -> Objective {
        let clipping = Clipping::new(self.clip_activation, self.clip_jacobian);
        let distance = Penalty::between_groups().slices(self.slices);
        Objective::of([]).penalty(distance.weight(steps.weight).clipping(clipping))
    }

    /// Of both sides: a step's sensitivity is that of a record of either. Source records are public.
    fn sampler(sides: [usize; 2], size: usize) -> Result<BatchSampler, Failure> {
        let [target, source] = sides;
        let sides = vec![(0..target).collect(), (target..target + source).collect()];
        let sampler = GroupSampler::new(sides, &[size.min(target), size.min(source)]);
        sampler.map(Into::into).map_err(Failure::failed)
    }

    /// One release, and one update.
    fn step(run: &mut Adapt<Self>, rate: f64, session: &mut Session) -> Result<(), Failure> {
        let (model, device) = (run.training.network.clone(), run.training.device());
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
        let both = batch(rows, vec![0.0; sizes.iter().sum()], &sizes, &device)?;
        let released = step.gradient(&model.extractor, &both, &mut session.ledger);
        let (mut released, _) = released.map_err(Failure::failed)?;
        let public = run.training.gradients().public_rng();
        let sampled = source_batch(
            &run.settings.shared,
            &run.domains,
            &Warps::default(),
            public,
        );
        let (classes, loss) = (sampled.batch(&device)?, Loss::cross_entropy());
        let mut total = public_gradient(&model.classifier(), loss, &classes, &device)?;
        add(&mut total, &model.extractor, 1.0, &mut released);
        run.training.apply(rate, total);
        Ok(())
    }
}
