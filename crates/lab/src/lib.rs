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
pub mod progress;
pub mod ranks;
pub mod resume;
pub mod session;

pub use evaluating as evaluate;
pub use reporting::{command, diagnostic, figures, interrupt, report, run_folder};
