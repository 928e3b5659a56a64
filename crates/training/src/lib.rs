//! Private training of any burn module.
//!
//! A [`Network`] says what it computes of a record; an [`Objective`] is made of losses and of penalties on
//! activations; a plan of [`dp_core`] says how batches are drawn and what they may cost. [`PrivateTraining`]
//! joins them: each step draws a batch, bounds what each record does to the gradient, and releases it with
//! noise, in the ledger before it leaves.
//!
//! ```text
//! sum_k w_k (1/n) sum_i l_k(output_i, target_i) + sum_p v_p SW_2^2(activations, public law or each other)
//! ```
//!
//! - losses ([`Loss`]): cross-entropy, binary cross-entropy, squared error, or a closure; several at once;
//! - penalties ([`Penalty`]): the squared sliced Wasserstein distance to a public law ([`Prior`]), or between
//!   groups of private records;
//! - engines ([`Engine`]): layers of burn by host kernels or on any device, and one record at a time through
//!   autodiff for any module. They give the same answer.

#![forbid(unsafe_code)]

mod batch;
mod checkpoint;
mod clipped;
mod clipping;
mod engine;
mod error;
mod gradients;
mod loss;
mod network;
mod objective;
pub mod penalty;
mod training;
mod trial;

pub use batch::Batch;
pub use checkpoint::{Checkpoint, Generator};
pub use clipped::Clipped;
pub use clipping::Clipping;
pub use engine::{Engine, StepLosses};
pub use error::TrainingError;
pub use gradients::Gradients;
pub use loss::Loss;
pub use network::{Forward, Layers, Network};
pub use objective::{GroupSizes, Objective, StepObjective};
pub use penalty::{DrawnPenalty, Penalty, Prior};
pub use training::{PrivateTraining, Step, Training};
