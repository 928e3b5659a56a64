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
    /// False where the noise came from a known seed, so that nothing was private.
    #[serde(default = "yes")]
    pub secret_noise: bool,
}

/// A field of lines that earlier programs wrote, whose sensitivity may fail.
#[derive(Deserialize)]
struct MayFail {
    #[serde(default)]
    failure_probability: f64,
}

/// Whether a line says that its sensitivity may fail: no event tells what it costs.
pub(super) fn may_fail(line: &str) -> bool {
    !serde_json::from_str(line).is_ok_and(|line: MayFail| line.failure_probability == 0.0)
}

fn once() -> u64 {
    1
}

fn yes() -> bool {
    true
}
