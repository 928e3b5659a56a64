//! One line of the ledger.

use serde::{Deserialize, Serialize};

use crate::accounting::{Event, Neighbours};

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The released event, as the accountants read it.
    pub event: Event,
    /// The number of times that it was released.
    #[serde(default = "once")]
    pub count: u64,
    /// The neighbour relation under which the sensitivity holds.
    pub neighbours: Neighbours,
    /// The sensitivity with slack included: L2 for Gaussian noise, L1 for Laplace noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<f64>,
    /// The standard deviation of the noise on each coordinate; if noise is correlated over steps, that of each of its independent
    /// parts in the first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// `false` if the noise came from a known seed, so that nothing was private.
    #[serde(default = "yes")]
    pub secret_noise: bool,
    /// Identifies the mechanism or epoch if a line stands for several steps of one event: a public random number, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<String>,
}

/// A field of lines of earlier programs, whose sensitivity could fail.
#[derive(Deserialize)]
struct MayFail {
    #[serde(default)]
    failure_probability: f64,
}

/// Returns whether a line says that its sensitivity may fail; no event gives the cost of such a line.
pub(super) fn may_fail(line: &str) -> bool {
    !serde_json::from_str(line).is_ok_and(|line: MayFail| line.failure_probability == 0.0)
}

fn once() -> u64 {
    1
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use crate::ledger::Entries;

    /// Of earlier programs: 0 is a proved bound, and whatever else stands there is none.
    #[test]
    fn a_sensitivity_that_may_fail_is_refused_whatever_its_form() {
        let line = |field: &str| {
            let event = r#""event":{"type":"gaussian","noise_multiplier":1.0}"#;
            format!(r#"{{{event},"neighbours":"replace_one"{field}}}"#)
        };
        for field in ["", r#","failure_probability":0.0"#] {
            assert!(Entries::parse(&line(field)).is_ok(), "{field}");
        }
        for value in [
            "1e-9",
            "1",
            "null",
            "true",
            r#""0""#,
            r#"0,"failure_probability":0"#,
        ] {
            let field = format!(r#","failure_probability":{value}"#);
            assert!(Entries::parse(&line(&field)).is_err(), "{value}");
        }
    }
}
