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
use lab::session::{SampledBatch, next_step};
use private_queries::{Projections, Query};
use private_training::penalty::Released;
use private_training::{Loss, Penalty};
use rand_distr::{Distribution, StandardNormal};
use swd::smoothed::NoisyProjections;
use swd::{Region, Slices};

use super::evaluate::outputs;
use super::network::Extractor;
use super::public::{public_gradient, source_batch};
use super::train::Adapt;

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

impl Adapt {
    /// The ball that features are put into.
    pub(super) fn region(&self) -> Result<Region, Failure> {
        let d = self.sizes.compared() as f64;
        let radius = self.settings.radius.unwrap_or(d.sqrt() / 2.0);
        Region::ball(radius).map_err(Failure::failed)
    }

    /// Public slices of one release: a tight frame, or as many orthonormal ones as are asked for below that.
    fn slices(&mut self) -> Result<Slices, Failure> {
        let (d, k) = (self.sizes.compared(), self.settings.slices);
        let public = self.training.gradients().public_rng();
        match k < d {
            true => Slices::orthonormal(d, k, public),
            false => Slices::tight(d, k, public),
        }
        .map_err(Failure::failed)
    }

    /// Noisy projections of the features of a fresh batch of target records, without the order of rows.
    pub(super) fn release(
        &mut self,
        ledger: &mut Ledger,
        device: &Device,
    ) -> Result<NoisyProjections, Failure> {
        let (slices, region) = (self.slices()?, self.region()?);
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
        let measured = projections(&extractor, (&rows, target.width), &query, device)?;
        let mut noisy = batch.release(self.training.releaser(), measured, ledger)?;
        if let (false, Some(deviation)) = (private, self.settings.noise) {
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
    pub(super) fn towards(
        &mut self,
        release: &NoisyProjections,
        rate: f64,
        device: &Device,
    ) -> Result<(), Failure> {
        let region = self.region()?;
        let steps = self.settings.steps_per_release;
        for step in 0..steps {
            let rate = rate * (1.0 - step as f64 / steps as f64);
            let n = self.settings.source_batch;
            let public = self.training.gradients().public_rng();
            let pull =
                Released::new(release.clone(), region, n, public).map_err(Failure::failed)?;
            let sampled = source_batch(
                &self.settings,
                &self.domains.source,
                self.domains.side,
                public,
            );
            let penalty = Penalty::to_release()
                .weight(self.settings.weight)
                .with_target(pull);
            let gradient = public_gradient(
                &self.training.network.of_source(),
                Loss::cross_entropy(),
                vec![penalty],
                &sampled.batch(device)?,
                device,
            )?;
            self.training.apply(rate, gradient);
        }
        Ok(())
    }
}
