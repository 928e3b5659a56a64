//! A discriminator of domains, whose gradient turns back at the features (Ganin et al. 2016, JMLR 17(59)).
//!
//! Each target record's gradient of the discriminator's loss, in discriminator and extractor alike, is clipped, and
//! their noisy mean leaves; which way the extractor goes along it is post-processing. Source records are public.

use burn::optim::GradientsParams;
use lab::diagnostic::Failure;
use lab::session::{Session, next_step, positive};
use private_training::{Loss, Objective};

use super::fit::Warps;
use super::public::{Sampled, add, public_gradient, source_batch};
use super::settings::{Method, Private, Shared, Steps};
use super::train::Adapt;

/// What the discriminator says of a domain.
const TARGET: usize = 0;
const SOURCE: usize = 1;

lab::settings! {
    /// Settings of a discriminator.
    struct Dann, DannFlags;
    common {}
    flags {
        /// C: the bound on each target record's gradient.
        max_grad_norm: f64,
    }
}

impl Method for Dann {
    const NAME: &'static str = "dann";
    const ABOUT: &'static str =
        "Deceive a discriminator of domains, by clipped and noisy gradients";
    const READS: &'static str = "the discriminator's gradients at target records";
    type Private = Private;
    type Steps = Steps;

    fn check(&self, _: &Shared) -> Result<(), Failure> {
        positive("max-grad-norm", self.max_grad_norm)
    }

    fn objective(&self, _: &Steps) -> Objective {
        let loss = Loss::binary_cross_entropy_with_logits();
        Objective::of([loss.max_grad_norm(self.max_grad_norm)])
    }

    /// One release, and one update.
    fn step(run: &mut Adapt<Self>, rate: f64, session: &mut Session) -> Result<(), Failure> {
        let (model, device) = (run.training.network.clone(), run.training.device());
        let (Some(adversary), Some(discriminator)) = (model.adversary(), &model.discriminator)
        else {
            return Err(Failure::failed("no discriminator"));
        };
        let of = |rows: Vec<f32>, count, domain| {
            let labels = vec![domain; count];
            Sampled { rows, labels }.batch(&device)
        };
        let step = next_step(&mut run.training)?;
        let indices = step.groups().concat();
        let rows = run.domains.target.gather(&indices);
        let batch = of(rows, indices.len(), TARGET)?;
        let released = step.gradient(&adversary, &batch, &mut session.ledger);
        let (mut released, _) = released.map_err(Failure::failed)?;
        let public = run.training.gradients().public_rng();
        let sampled = source_batch(
            &run.settings.shared,
            &run.domains,
            &Warps::default(),
            public,
        );
        let domain = of(sampled.rows.clone(), sampled.labels.len(), SOURCE)?;
        let loss = Loss::binary_cross_entropy_with_logits();
        let mut seen = public_gradient(&adversary, loss, &domain, &device)?;
        let (classes, loss) = (sampled.batch(&device)?, Loss::cross_entropy());
        let mut own = public_gradient(&model.classifier(), loss, &classes, &device)?;
        let mut total = GradientsParams::new();
        add(&mut total, &model, 1.0, &mut own);
        for side in [&mut released, &mut seen] {
            let weight = run.settings.steps.weight;
            add(&mut total, &model.extractor, -weight, side);
            add(&mut total, discriminator, 1.0, side);
        }
        run.training.apply(rate, total);
        Ok(())
    }
}
