//! A discriminator of domains, whose gradient turns back at the features (Ganin et al. 2016, JMLR 17(59)).
//!
//! Each target record's gradient of the discriminator's loss, in discriminator and extractor alike, is clipped, and
//! their noisy mean leaves; which way the extractor goes along it is post-processing. Source records are public.

use burn::optim::GradientsParams;
use burn::tensor::Device;
use dp_core::ledger::Ledger;
use lab::diagnostic::Failure;
use lab::session::next_step;
use private_training::Loss;

use super::public::{Sampled, add, public_gradient, source_batch};
use super::train::Adapt;

/// What the discriminator says of a domain.
const TARGET: usize = 0;
const SOURCE: usize = 1;

/// The discriminator's loss.
pub(crate) fn loss() -> Loss {
    Loss::binary_cross_entropy_with_logits()
}

impl Adapt {
    /// One release, and one update.
    pub(super) fn against_the_discriminator(
        &mut self,
        rate: f64,
        ledger: &mut Ledger,
        device: &Device,
    ) -> Result<(), Failure> {
        let model = self.training.network.clone();
        let (Some(adversary), Some(discriminator)) = (model.adversary(), &model.discriminator)
        else {
            return Err(Failure::failed("no discriminator"));
        };
        let target = &self.domains.target;
        let private = |sampled: &[Vec<usize>]| {
            let indices = sampled.concat();
            let labels = vec![TARGET; indices.len()];
            let rows = target.gather(&indices);
            Sampled { rows, labels }.batch(device)
        };
        let step = next_step(&mut self.training)?;
        let batch = private(step.groups())?;
        let released = step.gradient(&adversary, &batch, ledger);
        let (mut released, _) = released.map_err(Failure::failed)?;
        let public = self.training.gradients().public_rng();
        let sampled = source_batch(
            &self.settings,
            &self.domains.source,
            self.domains.side,
            public,
        );
        let domain = Sampled {
            rows: sampled.rows.clone(),
            labels: vec![SOURCE; sampled.labels.len()],
        };
        let domain = domain.batch(device)?;
        let mut seen = public_gradient(&adversary, loss(), Vec::new(), &domain, device)?;
        let classes = sampled.batch(device)?;
        let classifier = model.classifier();
        let cross_entropy = Loss::cross_entropy();
        let mut own = public_gradient(&classifier, cross_entropy, Vec::new(), &classes, device)?;
        let mut total = GradientsParams::new();
        add(&mut total, &model, 1.0, &mut own);
        for side in [&mut released, &mut seen] {
            add(&mut total, &model.extractor, -self.settings.weight, side);
            add(&mut total, discriminator, 1.0, side);
        }
        self.training.apply(rate, total);
        Ok(())
    }
}
