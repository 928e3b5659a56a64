//! The private gradient flow, its generator baseline, and what beats them (Sebag et al. 2023, arXiv 2312.08227).

mod arguments;
mod evaluate;
mod groups;
mod mechanisms;
mod plan;
mod release;
mod report;
mod run;
mod settings;
mod sides;
mod space;
mod toy;

pub use arguments::Arguments;
pub use settings::{Mechanism, Settings};

use lab::diagnostic::Failure;

/// Runs one flow from its command line, or goes on with one.
///
/// # Errors
///
/// [`Failure::BadInput`] before anything is created; [`Failure::Failed`] afterwards;
/// [`Failure::Interrupted`] after SIGINT or SIGTERM.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    if arguments.dataset.as_deref() == Some(toy::NAME) {
        toy::run(&arguments)
    } else {
        run::run(&arguments)
    }
}
