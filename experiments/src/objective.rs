//! What the objectives and presets of experiments have in common, by their flags.

use burn::tensor::Device;
use dp_core::DpError;
use lab::diagnostic::Failure;
use private_training::{Clipping, Engine, Loss, Objective, Penalty, TrainingError};

/// Where values that no flag gives come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// Those of this project.
    Tuned,
    /// Those of the paper, as far as they are sound.
    Paper,
}

/// A loss and a penalty that weigh `1 - alpha` and `alpha`; a constant that is refused is named by its flag.
pub(crate) fn objective(
    (loss, max_grad_norm): (Loss, f64),
    alpha: f64,
    (penalty, slices): (Penalty, usize),
    clipping: Clipping,
) -> Result<Objective, Failure> {
    let loss = loss.weight(1.0 - alpha).max_grad_norm(max_grad_norm);
    let penalty = penalty.weight(alpha).slices(slices).clipping(clipping);
    let objective = Objective::new([loss]).penalty(penalty);
    objective.check().map_err(refused)?;
    Ok(objective)
}

/// The engine of small layers: a chunk has to be large to be worth its overhead, `rows` of them on a device.
pub(crate) fn engine_of_small_layers(device: &Device, rows: usize) -> Engine {
    match Engine::for_device(device) {
        Engine::Host { .. } => Engine::Host { chunk: 64 },
        _ => Engine::Tensor { chunk: rows },
    }
}

/// The failure that names the flag of a constant that is refused, its value and its bound.
fn refused(error: TrainingError) -> Failure {
    let (TrainingError::OutOfRange { name, value, bound }
    | TrainingError::Privacy(DpError::OutOfRange { name, value, bound })) = &error
    else {
        return Failure::failed(error);
    };
    let flag = match *name {
        "the bound M of activations" => "clip-activation",
        "the bound L of Jacobians" => "clip-jacobian",
        "the clipping norm C of a loss" => "max-grad-norm",
        other => other,
    };
    Failure::input(
        format!("--{flag} {value}: {name} must be {bound}"),
        format!("give --{flag} another value"),
    )
}
