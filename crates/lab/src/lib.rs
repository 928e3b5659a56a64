//! How an experiment runs: on which backend, from which checkpoint, with what progress.
//!
//! What a run leaves behind and what is reported of it is in `reporting`, how good its samples are in `evaluating`;
//! an experiment finds both here.

#![forbid(unsafe_code)]
// It is not published: its names say what is plain.
#![allow(missing_docs)]

pub mod backend;
pub mod checkpoint;
pub mod private;
pub mod ranks;
pub mod resume;
pub mod session;

pub use evaluating as evaluate;
pub use reporting::{command, diagnostic, figures, interrupt, report, run_folder};

/// What nearly every experiment uses.
pub mod prelude {
    pub use std::ops::Bound::{Excluded, Included};

    pub use reporting::diagnostic::{Failure, OrFailed};
    pub use reporting::interrupt::Interrupt;
    pub use reporting::report::{Better, Metric, RunRecord};
    pub use reporting::run_folder::{RunFolder, write_file};

    pub use crate::backend::Chosen;
    pub use crate::checkpoint::{RestoredCheckpoint, hex};
    pub use crate::private;
    pub use crate::ranks::Crew;
    pub use crate::session::*;
    pub use reporting::progress::Progress;
}
