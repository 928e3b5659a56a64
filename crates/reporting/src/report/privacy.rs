//! The privacy promise of a run, for the box at the head of its page.

use dp_accountant::accounting::{Event, Neighbours};
use dp_accountant::decimal::upper;
use serde::{Deserialize, Serialize};

use super::event::first_sampler;
use super::number::shown;
use super::record::RunRecord;
use crate::released;

/// Whether a run is private.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Differentially private.
    Private,
    /// The noise came from a known seed: whoever knows the seed can subtract it.
    KnownNoise,
    /// Trained without privacy.
    NotPrivate,
    /// The run was cut off before it could say.
    Unfinished,
}

impl Standing {
    /// Returns the heading of the box.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Private => "Differentially private",
            Self::KnownNoise => "Not private: the noise is known",
            Self::NotPrivate => "Not private",
            Self::Unfinished => "Unfinished: nothing is promised",
        }
    }
}

/// The privacy of a run in words and numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// Whether the run is private.
    pub standing: Standing,
    /// The heading of the box.
    pub heading: &'static str,
    /// The promise, and what it does not cover.
    pub sentence: String,
    /// Epsilon, delta, neighbours and other facts, in words.
    pub facts: Vec<(&'static str, String)>,
}

impl Statement {
    /// Returns the promise of the run of `record`. If `run.json` and the ledger contradict each other, the worse of the two
    /// counts. The budget spent counts, not the planned one.
    pub fn of(record: &RunRecord) -> Self {
        let standing = standing(record);
        let sentence = match &record.run {
            None => unfinished(record),
            Some(run) if run.private && standing != Standing::Private => format!(
                "run.json says that this run is private, but its ledger shows noise from a known seed, or none. What \
                 run.json says: {}",
                run.privacy
            ),
            Some(run) => run.privacy.clone(),
        };
        Self {
            standing,
            heading: standing.heading(),
            sentence,
            facts: facts(record),
        }
    }

    /// Returns epsilon and delta in a few characters, for tables.
    pub fn brief(&self) -> String {
        let fact = |name: &str| {
            let mut facts = self.facts.iter();
            facts.find(|(key, _)| *key == name).map(|(_, v)| v.as_str())
        };
        match (self.standing, fact(EPSILON), fact(DELTA)) {
            (Standing::Private, Some(epsilon), Some(delta)) => format!("({epsilon}, {delta})"),
            (Standing::Private, Some(epsilon), None) => epsilon.to_string(),
            (standing, ..) => standing.heading().to_string(),
        }
    }
}

const EPSILON: &str = "epsilon, at most";
const DELTA: &str = "delta";

fn standing(record: &RunRecord) -> Standing {
    let Some(run) = &record.run else {
        return Standing::Unfinished;
    };
    let ledger = &record.ledger;
    match &run.plan {
        _ if run.private && ledger.is_private() => Standing::Private,
        None if !run.private => Standing::NotPrivate,
        _ => Standing::KnownNoise,
    }
}

/// Returns a sentence about releases that the ledger lacks; `None` if it is complete, as far as the rest of the folder
/// shows.
pub(super) fn lost(record: &RunRecord) -> Option<String> {
    let held = record.ledger.releases;
    let recorded = released::recorded(&record.folder).into_iter();
    match recorded.max_by_key(|&(_, releases)| releases) {
        Some((by, least)) if held < least => Some(format!(
            "The ledger holds {held} releases, but {by} tells of {least}: some of it was lost, and \
             more is spent than it shows."
        )),
        _ if record.run.is_none() && !record.folder.join("ledger.jsonl").exists() => {
            Some("There is no ledger: nothing says what was released.".into())
        }
        _ => None,
    }
}

fn unfinished(record: &RunRecord) -> String {
    let ledger = &record.ledger;
    if let Some(lost) = lost(record) {
        return format!(
            "There is no run.json in the folder: the run was cut off or is still going. {lost}"
        );
    }
    if ledger.releases == 0 {
        return "There is no run.json in the folder: the run was cut off or is still going. \
                Nothing was released so far."
            .into();
    }
    let known = if ledger.is_private() {
        ""
    } else {
        " Some of them had no noise, or noise from a known seed, and hide nothing."
    };
    format!(
        "There is no run.json in the folder: the run was cut off or is still going. {} releases \
         are in its ledger and are spent, whether or not anything came of them. How much that is, \
         says: just account ledger {} --delta DELTA.{known}",
        ledger.releases,
        record.folder.join("ledger.jsonl").display()
    )
}

fn facts(record: &RunRecord) -> Vec<(&'static str, String)> {
    let Some(plan) = record.run.as_ref().and_then(|run| run.plan.as_ref()) else {
        return Vec::new();
    };
    let step = plan.more.get("step");
    let step = step.and_then(|step| Event::deserialize(step).ok());
    let sampler = step.as_ref().and_then(first_sampler).or_else(|| {
        record
            .ledger
            .groups
            .iter()
            .find_map(|g| first_sampler(&g.event))
    });
    [
        (EPSILON, epsilon_upper(record).map(upper)),
        (DELTA, plan.delta.map(upper)),
        ("neighbours", plan.neighbours.clone()),
        ("sampler", sampler),
        ("accountant", plan.accountant.clone()),
        ("noise multiplier", plan.noise_multiplier.map(shown)),
        ("steps", plan.steps.map(|steps| steps.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

/// Returns the epsilon of a finished run. A killed run repeats steps, so it may have spent more than planned.
pub fn epsilon_upper(record: &RunRecord) -> Option<f64> {
    let planned = record.run.as_ref()?.plan.as_ref()?.epsilon_upper;
    match (record.more("epsilon_spent_upper"), planned) {
        (Some(spent), Some(planned)) => Some(spent.max(planned)),
        (spent, planned) => spent.or(planned),
    }
}

/// Returns a neighbour relation in words; `unit` names what neighbours replace, if that is not a single record.
pub fn neighbours(of: Neighbours, unit: Option<&str>) -> String {
    match of {
        Neighbours::ReplaceOne => format!("replace {}", unit.unwrap_or("one record")),
        Neighbours::KEnd => "replace one record by one of its group, group sizes public".into(),
        Neighbours::AddRemove => "add or remove one record".into(),
        Neighbours::ZeroOut => "one record counts or is blank, their number being public".into(),
    }
}
