//! Training on target records by their pseudo-labels, privately.
//!
//! The network of the moment, which is public, labels each record of a batch; the record's gradient of its own loss is
//! clipped, and the noisy mean leaves. What a record gives depends on that record and on what is public alone, so the
//! mean moves by at most `2C/n` where one is replaced. A step on source records goes with it.

use burn::optim::GradientsParams;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor};
use dp_core::ledger::Ledger;
use lab::diagnostic::Failure;
use lab::session::next_step;
use private_training::Loss;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::evaluate::judged;
use super::network::Path;
use super::public::{Drawn, add, public_gradient, source_batch};
use super::train::Adapt;

/// `-w ln softmax(outputs)_y` for targets `(y, w)`.
pub(crate) fn loss() -> Loss {
    Loss::new(|outputs, targets| {
        let n = outputs.dims()[0];
        let labels: Tensor<2, Int> = targets.clone().narrow(1, 0, 1).int();
        let ln = log_softmax(outputs, 1).gather(1, labels).neg();
        (ln * targets.narrow(1, 1, 1)).reshape([n])
    })
}

/// Records with the classes that a network gives them; one that it is less sure of than `least` counts nothing.
///
/// # Errors
///
/// [`Failure::Failed`] for rows that do not fit.
pub(crate) fn pseudo_labelled(
    teacher: &Path,
    rows: Vec<f32>,
    width: usize,
    least: f64,
    device: &Device,
) -> Result<Drawn, Failure> {
    let judged = judged(teacher, &rows, width, device)?;
    Ok(Drawn {
        rows,
        weights: Some(
            judged
                .iter()
                .map(|j| f32::from(u8::from(j.confidence() >= least)))
                .collect(),
        ),
        labels: judged.iter().map(|judged| judged.class).collect(),
    })
}

impl Adapt {
    /// One release, and one update.
    pub(super) fn by_pseudo_labels(
        &mut self,
        ledger: &mut Ledger,
        device: &Device,
    ) -> Result<(), Failure> {
        let teacher = self
            .training
            .averaged()
            .map_err(Failure::failed)?
            .classifier();
        let network = self.training.network.classifier();
        let public = self.training.gradients().public();
        let mut variation = ChaCha20Rng::seed_from_u64(public.random());
        let drawn = source_batch(
            &self.settings,
            &self.domains.source,
            self.domains.side,
            public,
        );
        let (target, side) = (&self.domains.target, self.domains.side);
        let strength = self.settings.augment;
        let least = self.settings.confidence;
        let mut private = |drawn: &[Vec<usize>]| {
            let rows = target.gather(&drawn.concat());
            pseudo_labelled(&teacher, rows, target.width, least, device)?
                .varied(side, strength, &mut variation)
                .batch(device)
        };
        let step = next_step(&mut self.training)?;
        let batch = private(step.groups())?;
        let released = step.gradient(&network, &batch, ledger);
        let (mut released, _) = released.map_err(Failure::failed)?;
        let loss = Loss::cross_entropy();
        let batch = drawn.batch(device)?;
        let source = self.training.network.of_source();
        let mut own = public_gradient(&source, loss, Vec::new(), &batch, device)?;
        let mut total = GradientsParams::new();
        let model = self.training.network.clone();
        add(&mut total, &model, 1.0, &mut own);
        add(&mut total, &model, 1.0, &mut released);
        self.training.apply(self.settings.self_rate, total);
        Ok(())
    }
}
