//! One line of the ledger.

use serde::{Deserialize, Serialize};

use crate::accounting::{Event, Neighbours};

/// One line of the ledger. A field that is not known is refused: it may say that less is promised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerEntry {
    /// What was released, as the accountants read it.
    pub event: Event,
    /// How many times.
    #[serde(default = "once")]
    pub count: u64,
    /// Under which neighbour relation the sensitivity holds.
    pub neighbours: Neighbours,
    /// The sensitivity, slack included: L2 for Gaussian noise, L1 for Laplace noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<f64>,
    /// The standard deviation of the noise on each coordinate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// False where the noise came from a known seed, so that nothing was private.
    #[serde(default = "yes")]
    pub secret_noise: bool,
}

fn once() -> u64 {
    1
}

fn yes() -> bool {
    true
}
