//! Constants of an objective that are refused, by their flags.

use lab::diagnostic::Failure;
use model::ModelError;

/// The failure that names the flag, its value and its bound.
///
/// - `clip_loss`: the flag of the bound on a record's loss, whose name says which loss.
pub fn refused(error: ModelError, clip_loss: &str) -> Failure {
    let ModelError::OutOfRange { name, value, bound } = &error else {
        return Failure::run(error);
    };
    let flag = match *name {
        "activation bound M" => "clip-activation",
        "Jacobian bound L" => "clip-jacobian",
        "loss bound C" => clip_loss,
        other => other,
    };
    Failure::input(
        format!("--{flag} {value}: the {name} must be {bound}"),
        format!("give --{flag} another value"),
    )
}
