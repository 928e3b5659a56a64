//! What a run has spent, by its ledger, and what was released for it.

use std::path::Path;

use dp_core::ledger::Ledger;
use dp_core::plan::CheckedPlan;
use lab::diagnostic::Failure;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// An upper bound on the epsilon of a finished run, by its ledger: more than planned where a killed run
/// made steps again, and never less; none without privacy.
///
/// # Errors
///
/// [`Failure::Failed`] where the ledger cannot be read, or its releases do not compose.
pub fn spent(plan: Option<&CheckedPlan>, ledger: &Ledger) -> Result<Option<f64>, Failure> {
    let spent = |plan: &CheckedPlan| plan.epsilon_spent(&ledger.entries()?);
    plan.map(spent).transpose().map_err(Failure::run)
}

/// An upper bound on the epsilon of what the ledger of a run in training holds so far, steps made
/// again included.
///
/// # Errors
///
/// As [`spent`].
pub fn spent_so_far(plan: &CheckedPlan, ledger: &Ledger) -> Result<f64, Failure> {
    let entries = ledger.entries().map_err(Failure::run)?;
    plan.epsilon_so_far(&entries).map_err(Failure::run)
}

/// The events of a plan apart from its steps, for `run.json`.
pub fn besides(plan: &CheckedPlan) -> Value {
    plan.releases().map(|(_, event)| json!(event)).collect()
}

/// What a file holds of a release; none where it is not there.
///
/// # Errors
///
/// As [`damaged`].
pub fn stored<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = std::fs::read(path).map_err(|e| damaged(path, &e))?;
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|e| damaged(path, &e))
}

/// A stored release that cannot be read: it cannot be had again for nothing.
pub fn damaged(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::input(
        format!("{}: {why}", path.display()),
        "start the run anew: what was released is in the ledger and is spent",
    )
}
