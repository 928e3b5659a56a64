//! The privacy accountant as a tool: noise in, epsilon out, and back.

mod arguments;
mod calibrate;
mod compare;
mod curve;
mod epsilon;
mod ledger;
mod mechanism;
mod output;
mod refusal;

pub use arguments::Arguments;
use arguments::Command;
use reporting::diagnostic::Failure;

/// Runs one command of the tool.
///
/// # Errors
/// Bad input, named by its flag; or a file that cannot be read or written.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Epsilon(asked) => epsilon::epsilon(asked),
        Command::Delta(asked) => epsilon::delta(asked),
        Command::Noise(asked) => calibrate::noise(asked),
        Command::Steps(asked) => calibrate::steps(asked),
        Command::Batch(asked) => calibrate::batch(asked),
        Command::Compare(asked) => compare::compare(asked),
        Command::Curve(asked) => curve::curve(asked),
        Command::Ledger(asked) => ledger::ledger(asked),
    }
}
