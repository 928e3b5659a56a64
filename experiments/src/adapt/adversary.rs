//! A discriminator of domains, whose gradient turns back at the features (Ganin et al. 2016, JMLR 17(59)).
//!
//! Each target record's gradient of the discriminator's loss, in discriminator and extractor alike, is clipped, and
//! their noisy mean is released; which way the extractor goes along it is post-processing. Source records are public.

use burn::optim::GradientsParams;
use dp_core::ledger::Ledger;
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{next_step, norm};
use private_training::{Loss, Objective};

use super::network::Path;
use super::public::{Sampled, add, public_gradient};
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
        norm("max-grad-norm", self.max_grad_norm)
    }

    fn objective(&self, _: &Steps, _: usize) -> Result<Objective, Failure> {
        let loss = Loss::binary_cross_entropy_with_logits();
        Ok(Objective::of([loss.max_grad_norm(self.max_grad_norm)]))
    }

    fn released(run: &mut Adapt<Self>, ledger: &mut Ledger) -> Result<GradientsParams, Failure> {
        let (adversary, device) = (adversary(run)?, run.training.device());
        let step = next_step(&mut run.training)?;
        let indices = step.groups().concat();
        let rows = run.domains.target.gather(&indices);
        let batch = of_domain(rows, indices.len(), TARGET).batch(&device)?;
        Ok(step.gradient(&adversary, &batch, ledger).or_failed()?.0)
    }

    /// One update, by the released gradient and public ones of the source.
    fn follow(
        run: &mut Adapt<Self>,
        rate: f64,
        mut released: GradientsParams,
    ) -> Result<(), Failure> {
        let (model, device) = (run.training.network.clone(), run.training.device());
        let adversary = adversary(run)?;
        let (sampled, mut own) = run.of_source()?;
        let count = sampled.labels.len();
        let domain = of_domain(sampled.rows, count, SOURCE);
        let (domain, loss) = (
            domain.batch(&device)?,
            Loss::binary_cross_entropy_with_logits(),
        );
        let mut seen = public_gradient(&adversary, loss, &domain, &device)?;
        let mut total = GradientsParams::new();
        add(&mut total, &model, 1.0, &mut own);
        for side in [&mut released, &mut seen] {
            let weight = run.settings.steps.weight;
            add(&mut total, &model.extractor, -weight, side);
            if let Some(discriminator) = &model.discriminator {
                add(&mut total, discriminator, 1.0, side);
            }
        }
        run.training.apply(rate, total);
        Ok(())
    }
}

/// From records to domains.
fn adversary(run: &Adapt<Dann>) -> Result<Path, Failure> {
    let adversary = run.training.network.adversary();
    adversary.ok_or_else(|| Failure::failed("no discriminator"))
}

/// Records of one domain, for the discriminator.
fn of_domain(rows: Vec<f32>, count: usize, domain: usize) -> Sampled {
    Sampled {
        rows,
        labels: vec![domain; count],
    }
}
