#![doc = include_str!("../README.md")]
//!
//! # Where to find things
//!
//! ```text
//! sum_k w_k (1/n) sum_i l_k(output_i, target_i) + sum_p v_p SW_2^2(activations, public distribution or each other)
//! ```
//!
//! - [`Network`] and [`Layers`] describe the model; [`Objective`], [`Loss`], [`Penalty`] and [`Prior`] its objective.
//! - [`TrainingConfig`], [`Training`] and [`Step`] are the training loop with its plan, optimizer, average and checkpoint.
//! - [`Ranks`] runs one training over several processes.
//! - [`fit_public`] trains on public records, without privacy.
//! - [`Gradients`], [`Clipped`] and [`StepObjective`] give the clipped gradient by itself, for your own loop.
//! - [`Engine`] selects host kernels, tensors on any device, or one record at a time. All give the same answer.

#![forbid(unsafe_code)]

pub mod adam;
mod adaptive;
mod batch;
mod checkpoint;
mod clipped;
mod clipping;
pub mod ema;
mod engine;
mod error;
mod gradients;
mod loss;
mod network;
mod objective;
mod optimizer;
pub mod penalty;
mod public;
mod ranks;
mod training;
pub mod weights;

pub use batch::{Batch, HostTargets, Targets};
pub use checkpoint::{Checkpoint, RngState};
pub use clipped::Clipped;
pub use clipping::Clipping;
pub use engine::{Engine, StepLosses};
pub use error::TrainingError;
pub use gradients::Gradients;
pub use loss::Loss;
pub use network::{Forward, Layers, Network};
pub(crate) use network::{KnownLayers, rows_of};
pub(crate) use objective::BatchSizes;
pub use objective::{Objective, StepObjective};
pub use optimizer::{Optimizer, Schedule, cosine};
pub use penalty::{Penalty, Prior, SampledPenalty};
pub use public::{PublicTraining, TrainingState, TrainingStep, fit_public};
pub use ranks::{RankError, Ranks, records_of};
pub use training::{Step, Training, TrainingConfig};

/// Imports for private training in a burn program, including those from `dp_core`.
pub mod prelude {
    pub use dp_core::decimal::upper;
    pub use dp_core::ledger::Ledger;
    pub use dp_core::per_sample::nn::Chain;
    pub use dp_core::plan::TrainingPlan;
    pub use dp_core::sampling::Sampler;

    pub use crate::{
        Clipping, Forward, Layers, Loss, Network, Objective, Optimizer, Penalty, Prior, Schedule,
        Training, TrainingConfig,
    };
}
