//! Constants of an objective that are refused, by their flags.

use lab::diagnostic::Failure;
use private_training::TrainingError;

/// The failure that names the flag, its value and its bound.
///
/// - `clip_loss`: the flag of the bound on a record's loss, whose name says which loss.
pub fn refused(error: TrainingError, clip_loss: &str) -> Failure {
    let TrainingError::OutOfRange { name, value, bound } = &error else {
        return Failure::run(error);
    };
    let flag = match *name {
        "the bound M of activations" => "clip-activation",
        "the bound L of Jacobians" => "clip-jacobian",
        "the clipping norm C of a loss" => clip_loss,
        other => other,
    };
    Failure::input(
        format!("--{flag} {value}: {name} must be {bound}"),
        format!("give --{flag} another value"),
    )
}
