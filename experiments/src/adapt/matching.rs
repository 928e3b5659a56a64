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
use dp_core::mechanism::{BoundedVector, Releaser, Sensitivity};
use lab::diagnostic::Failure;
use lab::session::next_step;
use private_training::penalty::Released;
use private_training::{Loss, Penalty};
use rand_distr::{Distribution, StandardNormal};
use swd::smoothed::{NoisyProjections, project};
use swd::{Region, SensitiveVector, Slices};

use super::evaluate::outputs;
use super::network::Extractor;
use super::public::{public_gradient, source_batch};
use super::train::Adapt;

/// The projections of target records before any noise, with their sensitivity.
pub(crate) fn projections(
    extractor: &Extractor,
    (rows, width): (&[f32], usize),
    slices: &Slices,
    region: Region,
    device: &Device,
) -> Result<SensitiveVector, Failure> {
    let features = outputs(extractor.chain(), rows, width, device)?;
    project(&features, slices, region).map_err(Failure::failed)
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
        let slices = self.slices()?;
        let extractor = self.training.network.extractor.clone();
        let draw = self.training.releaser().map(Releaser::draw);
        let Some(draw) = draw.transpose().map_err(Failure::failed)? else {
            let indices = next_step(&mut self.training)?.records();
            let rows = self.domains.target.gather(&indices);
            return self.without_privacy(&extractor, &rows, slices, device);
        };
        let rows = self.domains.target.gather(&draw.groups().concat());
        let width = self.domains.target.width;
        let region = self.region()?;
        let projected = projections(&extractor, (&rows, width), &slices, region, device)?;
        let sensitivity = projected.l2_sensitivity_upper();
        let sensitivity = Sensitivity::l2(sensitivity).map_err(Failure::failed)?;
        let sizes = [rows.len() / width];
        let values = projected.before_noise().to_vec();
        let bounded = BoundedVector::new(values, sensitivity, &sizes, draw);
        let releaser = self.training.releaser();
        let releaser = releaser.ok_or_else(|| Failure::failed("a draw without a plan"))?;
        let released = bounded.and_then(|b| releaser.release_step_vector(b, ledger));
        let released = released.map_err(Failure::failed)?;
        let deviation = releaser.deviation(sensitivity);
        NoisyProjections::from_released(released, slices, deviation).map_err(Failure::failed)
    }

    /// The same where nothing is promised: with noise of a public seed, if any.
    fn without_privacy(
        &mut self,
        extractor: &Extractor,
        rows: &[f32],
        slices: Slices,
        device: &Device,
    ) -> Result<NoisyProjections, Failure> {
        let width = self.domains.target.width;
        let projected = projections(extractor, (rows, width), &slices, self.region()?, device)?;
        let deviation = self.settings.noise.unwrap_or(0.0);
        let public = self.training.gradients().public_rng();
        let noisy = projected.before_noise().iter().map(|value| {
            let noise: f64 = StandardNormal.sample(public);
            value + deviation * noise
        });
        NoisyProjections::from_released(noisy.collect(), slices, deviation).map_err(Failure::failed)
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
