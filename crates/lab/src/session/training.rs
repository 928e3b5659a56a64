//! A training of [`private_training`] as the steps of a run.

use std::collections::BTreeMap;

use burn::module::Module;
use dp_core::decimal::upper;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, Releaser};
use dp_core::plan::TrainingPlan;
use files::atomic;
use files::foreign::{DAMAGED, quietly};
use private_training::{Batch, Checkpoint, GroupSizes, Network, StepLosses, Training};
use rand_chacha::ChaCha20Rng;

use super::{RunState, refused_plan};
use crate::checkpoint::RestoredCheckpoint;
use crate::diagnostic::Failure;
use crate::run_folder::RunFolder;

const TRAINING: &str = "training.bin";

/// What samples the batches of a run without a plan: runs of one seed share them, with a known noise seed or without
/// privacy.
pub(super) fn batches_of(seed: u64) -> ChaCha20Rng {
    NoiseSource::insecure(seed).rng().clone()
}

/// Sampling, gradient, release, update; `batch` gathers the sampled records, group after group. The losses are those of
/// a run without privacy.
///
/// # Errors
///
/// [`Failure::Failed`] if the ledger cannot be written; nothing was released then.
pub(super) fn take_step<M: Network<D>, const D: usize>(
    training: &mut Training<M>,
    ledger: &mut Ledger,
    batch: impl FnOnce(&M, &[Vec<usize>]) -> Result<Batch<D>, Failure>,
) -> Result<Option<StepLosses>, Failure> {
    let noted = training.notes().len();
    let step = training.next_step().map_err(Failure::failed)?;
    let step = step.ok_or_else(|| Failure::failed("all steps of the plan were made"))?;
    let batch = batch(step.network(), step.own())?;
    let losses = step.update(&batch, ledger).map_err(Failure::failed)?;
    say(&training.notes()[noted..]);
    Ok(losses)
}

/// Each note once: why steps are slower than they could be, or need fewer records at once.
fn say(notes: &[String]) {
    for note in notes {
        eprintln!("{}", note.chars().take(400).collect::<String>());
    }
}

/// The first lines of a run: its steps, and their sensitivity beside the published one; `dims` are those of
/// the penalised activations.
///
/// # Errors
///
/// [`Failure::Failed`] if the sensitivity is refused.
pub fn announcement<M: Network<D>, const D: usize>(
    training: &mut Training<M>,
    steps: u64,
    dims: &[usize],
) -> Result<Vec<String>, Failure> {
    let sizes = training.sampler().expected_sizes();
    let sizes: Vec<String> = sizes.iter().map(f64::to_string).collect();
    let sizes = sizes.join(", ");
    let mut lines = vec![format!("steps     {steps} on batches of {sizes} records")];
    if training.plan().is_some() {
        let (sizes, device) = (GroupSizes::of(training.sampler()), training.device());
        let network = training.network.clone();
        let gradients = training.gradients();
        // Sampled from a copy, so that the public stream of the run does not depend on a message.
        let mut public = gradients.public_rng().clone();
        let mut objective = gradients.objective().clone();
        let step = objective.draw(dims, sizes, &mut public);
        let step = step.map_err(Failure::failed)?;
        let engine = gradients.engine_for(&network, &device);
        let engine = engine.map_err(Failure::failed)?;
        say(gradients.notes());
        let own = step.sensitivity(engine).map_err(Failure::failed)?;
        let own = own.l2_upper();
        let paper = step.published_sensitivity_upper();
        lines.push(format!(
            "step      sensitivity {} (Rodriguez-Vitores et al. 2025: {}, ratio {})",
            upper(own),
            upper(paper),
            upper(own / paper)
        ));
    }
    Ok(lines)
}

/// Saves the weights that are scored as `model.bpk`, in burn's format, whole or not at all.
///
/// # Errors
///
/// [`Failure::Failed`] names the file and the cause.
pub fn save_weights<M: Module>(training: &Training<M>, folder: &RunFolder) -> Result<(), Failure> {
    let (half, whole) = (folder.file("model.part.bpk"), folder.file("model.bpk"));
    let scored = training.averaged().map_err(Failure::failed)?;
    scored
        .save_file(&half)
        .map_err(|e| Failure::failed(format!("{}: {e}", half.display())))?;
    std::fs::File::open(&half)
        .and_then(|file| file.sync_all())
        .and_then(|()| atomic::rename(&half, &whole))
        .map_err(|e| Failure::failed(format!("{}: {e}", whole.display())))
}

/// A network with the weights of `model.bpk`, which are those that are scored.
///
/// # Errors
///
/// [`Failure::BadInput`] names a file that cannot be read.
pub fn load_weights<M: Module>(network: M, folder: &RunFolder) -> Result<M, Failure> {
    let path = folder.file("model.bpk");
    let loaded = quietly(|| network.try_load_file(&path).map_err(|e| e.to_string()));
    loaded.unwrap_or_else(|| Err(DAMAGED.into())).map_err(|e| {
        Failure::input(
            format!("{}: {e}", path.display()),
            "put the weights of this run back and try again",
        )
    })
}

/// What releases for a plan, with secret noise unless its seed is known; none without a plan.
///
/// # Errors
///
/// [`Failure::BadInput`] for a plan that cannot be had; [`Failure::Failed`] if the operating system gives no
/// randomness.
pub fn releaser(
    plan: Option<TrainingPlan>,
    insecure_noise_seed: Option<u64>,
) -> Result<Option<Releaser>, Failure> {
    let plan = plan.map(TrainingPlan::check).transpose();
    let plan = plan.map_err(refused_plan)?;
    let noise = noise_source(insecure_noise_seed)?;
    Ok(plan.map(|plan| plan.releaser(noise)))
}

/// Secret noise and draws, or those of a known seed, which are not private.
///
/// # Errors
///
/// [`Failure::Failed`] if the operating system gives no randomness.
pub fn noise_source(insecure_noise_seed: Option<u64>) -> Result<NoiseSource, Failure> {
    match insecure_noise_seed {
        Some(seed) => Ok(NoiseSource::insecure(seed)),
        None => NoiseSource::secret().map_err(Failure::failed),
    }
}

/// Values as a checkpoint keeps them.
pub fn floats_to_bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// What [`floats_to_bytes`] wrote.
pub fn floats_of_bytes(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|&word| f32::from_le_bytes(word)).collect()
}

impl<M: Module> RunState for Training<M> {
    fn files(&mut self, ledger: &Ledger) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let bytes = self.checkpoint(ledger).to_bytes();
        let bytes = bytes.map_err(Failure::failed)?;
        Ok(BTreeMap::from([(TRAINING.to_string(), bytes)]))
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, ledger: &Ledger) -> Result<(), Failure> {
        Checkpoint::from_bytes(checkpoint.file(TRAINING)?)
            .and_then(|stored| Training::restore(self, &stored, ledger))
            .map_err(|e| checkpoint.damaged(&e))
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        Training::releaser(self)
    }
}
