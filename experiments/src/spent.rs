//! What a run has spent, by its ledger, and what was released for it.

use std::path::Path;

use dp_core::accounting::{Release, read_ledger, replay};
use dp_core::ledger::Ledger;
use dp_core::plan::CheckedPlan;
use lab::diagnostic::Failure;
use serde::de::DeserializeOwned;

/// An upper bound on the epsilon of a finished run, by its ledger: more than planned where a killed run
/// made steps again, and never less; none without privacy.
///
/// # Errors
///
/// [`Failure::Failed`] where the ledger cannot be read, or its releases do not compose.
pub fn spent(plan: Option<&CheckedPlan>, ledger: &Ledger) -> Result<Option<f64>, Failure> {
    let Some(plan) = plan else {
        return Ok(None);
    };
    plan.epsilon_spent(&releases(ledger)?)
        .map(Some)
        .map_err(Failure::run)
}

/// An upper bound on the epsilon of what the ledger of a run in training holds so far, steps made
/// again included.
///
/// # Errors
///
/// As [`spent`].
pub fn spent_so_far(plan: &CheckedPlan, ledger: &Ledger) -> Result<f64, Failure> {
    let event = replay(&releases(ledger)?).map_err(Failure::run)?;
    plan.epsilon_of(&event).map_err(Failure::run)
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

fn releases(ledger: &Ledger) -> Result<Vec<Release>, Failure> {
    let text = std::fs::read_to_string(ledger.path()).map_err(Failure::run)?;
    Ok(read_ledger(&text).map_err(Failure::run)?.releases)
}
