//! The smoothed sliced distance: noisy projections of target features leave, and source features are pulled to them.
//!
//! [`Adapt::release`] is all that reads a private record here: the features of a batch, as plain numbers and without a
//! graph, are put into a public ball, projected on public slices, and leave through the plan's releaser.
//! [`Adapt::towards`] is post-processing: it takes the release and source records, and no target record can reach it.
//!
//! The gradient flows through source features alone. Where both domains shared an extractor, the target's features would
//! run away from the source's as fast as these follow; so the source has an extractor of its own, which starts at the
//! same weights, and the target's stays as the source's classifier left it. The classifier learns on source features
//! where the target's are.

use burn::tensor::Device;
use dp_core::ledger::Ledger;
use dp_core::mechanism::SensitiveVector;
use lab::diagnostic::Failure;
use lab::session::{Basics, SampledBatch, Session, bounded, next_step, positive};
use private_queries::{Projections, Query};
use private_training::penalty::Released;
use private_training::{Loss, Penalty};
use rand_distr::{Distribution, StandardNormal};
use swd::smoothed::NoisyProjections;
use swd::{Region, Slices};

use super::evaluate::outputs;
use super::network::Extractor;
use super::public::{public_gradient, source_batch};
use super::settings::{Method, Private, at_least_1};
use super::train::Adapt;

lab::settings! {
    /// Settings of the smoothed sliced distance.
    struct Sliced, SlicedFlags;
    common { slices: usize }
    flags {
        /// Steps on source records after each release.
        steps_per_release: u64,
    }
    optional {
        /// Radius of the public ball that features are put into (default: half the root of their dimension).
        radius: f64,
        /// Without privacy: the deviation of noise on both sides of the distance, from the public seed.
        noise: f64,
    }
}

impl Method for Sliced {
    const NAME: &'static str = "sliced";
    const ABOUT: &'static str =
        "Pull features of the source to noisy projections of those of the target";
    const READS: &'static str = "noisy projections of target features";
    type Private = Private;

    fn check(&self, basics: &Basics) -> Result<(), Failure> {
        at_least_1("slices", self.slices)?;
        positive("radius", self.radius.unwrap_or(1.0))?;
        let (steps, noise) = (self.steps_per_release, self.noise.unwrap_or(0.0));
        bounded("steps-per-release", steps, steps > 0, "at least 1")?;
        let holds = noise.is_finite() && noise >= 0.0;
        bounded("noise", noise, holds, "at least 0 and finite")?;
        let holds = self.noise.is_none() || basics.epsilon.is_none();
        bounded("noise", noise, holds, "left out where --epsilon decides it")
    }

    fn step(run: &mut Adapt<Self>, rate: f64, session: &mut Session) -> Result<(), Failure> {
        let release = run.release(&mut session.ledger)?;
        run.towards(&release, rate)
    }
}

/// The projections of the features of target records before any noise, with their sensitivity.
pub(crate) fn projections(
    extractor: &Extractor,
    (rows, width): (&[f32], usize),
    query: &Projections,
    device: &Device,
) -> Result<SensitiveVector, Failure> {
    let features = outputs(extractor.chain(), rows, width, device)?;
    query.measure(&[features]).map_err(Failure::failed)
}

impl Adapt<Sliced> {
    /// The ball that features are put into.
    pub(super) fn region(&self) -> Result<Region, Failure> {
        let d = self.sizes.compared() as f64;
        let radius = self.settings.own.radius.unwrap_or(d.sqrt() / 2.0);
        Region::ball(radius).map_err(Failure::failed)
    }

    /// Public slices of one release: a tight frame, or as many orthonormal ones as are asked for below that.
    fn slices(&mut self) -> Result<Slices, Failure> {
        let (d, k) = (self.sizes.compared(), self.settings.own.slices);
        let public = self.training.gradients().public_rng();
        match k < d {
            true => Slices::orthonormal(d, k, public),
            false => Slices::tight(d, k, public),
        }
        .map_err(Failure::failed)
    }

    /// Noisy projections of the features of a fresh batch of target records, without the order of rows.
    pub(super) fn release(&mut self, ledger: &mut Ledger) -> Result<NoisyProjections, Failure> {
        let (slices, region, device) = (self.slices()?, self.region()?, self.training.device());
        let extractor = self.training.network.extractor.clone();
        let private = self.training.releaser().is_some();
        let batch = match private {
            true => SampledBatch::next(self.training.releaser(), || Ok(Vec::new()))?,
            false => {
                let records = next_step(&mut self.training)?.records();
                SampledBatch::next(None, || Ok(vec![records]))?
            }
        };
        let target = &self.domains.target;
        let rows = target.gather(&batch.groups.concat());
        let query = Projections::new(slices, region, batch.sizes());
        let measured = projections(&extractor, (&rows, target.width), &query, &device)?;
        let mut noisy = batch.release(self.training.releaser(), measured, ledger)?;
        if let (false, Some(deviation)) = (private, self.settings.own.noise) {
            // Nothing is promised: noise of a public seed.
            let public = self.training.gradients().public_rng();
            for value in &mut noisy.values {
                let noise: f64 = StandardNormal.sample(public);
                *value += deviation * noise;
            }
            noisy.deviation = deviation;
        }
        let mut released = query.read(&noisy).map_err(Failure::failed)?;
        released
            .pop()
            .ok_or_else(|| Failure::failed("a release of no group"))
    }

    /// Steps on source records towards a release. Everything in it is public.
    pub(super) fn towards(&mut self, release: &NoisyProjections, rate: f64) -> Result<(), Failure> {
        let (region, device) = (self.region()?, self.training.device());
        let (shared, steps) = (&self.settings.shared, self.settings.own.steps_per_release);
        for step in 0..steps {
            let rate = rate * (1.0 - step as f64 / steps as f64);
            let public = self.training.gradients().public_rng();
            let pull = Released::new(release.clone(), region, shared.source_batch, public);
            let sampled = source_batch(shared, &self.domains, public);
            let penalty = Penalty::to_release()
                .weight(self.settings.private.weight)
                .with_target(pull.map_err(Failure::failed)?);
            let (batch, loss) = (sampled.batch(&device)?, Loss::cross_entropy());
            let of_source = self.training.network.of_source();
            let gradient = public_gradient(&of_source, loss, vec![penalty], &batch, &device)?;
            self.training.apply(rate, gradient);
        }
        Ok(())
    }
}
