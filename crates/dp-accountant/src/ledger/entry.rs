//! One line of the ledger.

use serde::{Deserialize, Serialize};

use crate::accounting::{Event, Neighbours};

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The probability, over public randomness, that the sensitivity is exceeded: a guarantee holds
    /// with a delta that is larger by as much for each release. 0 for a proved bound, 1 where nothing is proved.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failure_probability: f64,
    /// False where the noise came from a known seed, so that nothing was private.
    #[serde(default = "yes")]
    pub secret_noise: bool,
}

fn once() -> u64 {
    1
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

fn yes() -> bool {
    true
}
