//! The budget that several runs on the same private records spend together, which is more than that of each.

use std::borrow::Borrow;

use dp_accountant::accounting::{Accountant, AccountingError, Neighbours, PldAccountant};
use dp_accountant::decimal::upper;
use dp_accountant::ledger::Entries;

use super::privacy::{Standing, Statement, epsilon_upper, lost};
use super::read::read_text;
use super::record::RunRecord;

/// The guarantee of runs taken together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Together {
    /// Nothing private was released.
    Nothing,
    /// Upper bounds, for the neighbours that all of them share.
    Private {
        epsilon: f64,
        delta: f64,
        /// Whether epsilons and deltas were added up, because the accountant cannot compose the ledgers.
        added: bool,
    },
    /// This number of runs promise nothing, so all runs together promise nothing.
    NotPrivate(usize),
    /// The ledgers are not complete or do not compose, or no delta is known.
    Unknown,
}

impl Together {
    /// Returns the guarantee of all `records`; unfinished runs count with what they have released.
    pub(super) fn of<R: Borrow<RunRecord>>(records: &[R]) -> Self {
        let open = records
            .iter()
            .filter(|r| !is_private((*r).borrow()))
            .count();
        if open > 0 {
            return Self::NotPrivate(open);
        }
        let spent: Vec<&RunRecord> = records
            .iter()
            .map(Borrow::borrow)
            .filter(|r| plan(r).is_some() || r.ledger.releases > 0 || lost(r).is_some())
            .collect();
        match spent[..] {
            [] => Self::Nothing,
            [one] => added(&[one]).unwrap_or(Self::Unknown),
            _ if spent.iter().any(|r| lost(r).is_some()) => added(&spent).unwrap_or(Self::Unknown),
            _ => match composed(&spent) {
                Ok(Some(together)) => together,
                // Neighbours differ: a sum would add promises about different things.
                Err(AccountingError::MixedNeighbours { .. }) => Self::Unknown,
                Ok(None) | Err(_) => added(&spent).unwrap_or(Self::Unknown),
            },
        }
    }

    /// Returns the guarantee in a few characters, for a cell of a table; `alone` is the text for a single run.
    pub(super) fn brief(self, runs: usize, alone: &str) -> String {
        match self {
            Self::Private {
                epsilon,
                delta,
                added,
            } => format!(
                "({}, {}){}",
                upper(epsilon),
                upper(delta),
                if added && runs > 1 { ", added up" } else { "" }
            ),
            Self::NotPrivate(open) if open < runs => {
                format!("Not private: {open} of {runs} runs promise nothing")
            }
            Self::Nothing | Self::NotPrivate(_) => alone.to_string(),
            Self::Unknown => "not known".into(),
        }
    }
}

/// Returns a sentence about the budget that the private runs among `records` spend together, and the number of other
/// runs; `None` if fewer than two are private.
pub(super) fn sentence(records: &[RunRecord]) -> Option<String> {
    let private: Vec<&RunRecord> = records.iter().filter(|r| is_private(r)).collect();
    let count = private.len();
    if count < 2 {
        return None;
    }
    let others = match records.len() - count {
        0 => String::new(),
        open => format!(" Runs that are not private, and are not in this bound: {open}."),
    };
    let spent = match Together::of(&private) {
        Together::Private {
            epsilon,
            delta,
            added,
        } => format!(
            "together at most epsilon {} at delta {}, if they are on the same private records ({}; \
             neighbours: those that all of them share)",
            upper(epsilon),
            upper(delta),
            if added {
                "epsilons and deltas added up"
            } else {
                "composed from their ledgers"
            }
        ),
        Together::Nothing => return None,
        _ => {
            "what they spend together is not known, because their ledgers are not whole, or do not \
              compose"
                .into()
        }
    };
    Some(format!("All {count} private runs: {spent}.{others}"))
}

/// Whether a guarantee covers all that a run has released.
fn is_private(record: &RunRecord) -> bool {
    match Statement::of(record).standing {
        Standing::Private => true,
        Standing::Unfinished => record.ledger.is_private(),
        Standing::KnownNoise | Standing::NotPrivate => false,
    }
}

/// Returns epsilon and delta of a finished run.
fn plan(record: &RunRecord) -> Option<(f64, f64)> {
    let delta = record.run.as_ref()?.plan.as_ref()?.delta?;
    Some((epsilon_upper(record)?, delta))
}

/// Returns the neighbours of a run's releases by its ledger; `None` if it is empty, or if its neighbours do not combine.
fn neighbours(record: &RunRecord) -> Option<Neighbours> {
    let mut all = record.ledger.groups.iter().map(|group| group.neighbours);
    let first = all.next()?;
    all.try_fold(first, |before, own| before.both(own).ok())
}

/// Composes the ledgers with the accountant, at the largest of the runs' deltas. `None` if a ledger is missing or no delta known.
fn composed(records: &[&RunRecord]) -> Result<Option<Together>, AccountingError> {
    let (mut releases, mut delta, mut largest) = (Entries::default(), None, 0.0_f64);
    for record in records {
        let text = read_text(&record.folder.join("ledger.jsonl"))
            .ok()
            .flatten();
        let own = Entries::parse(&text.unwrap_or_default())?;
        if own.entries.is_empty() {
            return Ok(None);
        }
        if let Some((epsilon, own_delta)) = plan(record) {
            largest = largest.max(epsilon);
            delta = Some(delta.unwrap_or(0.0_f64).max(own_delta));
        }
        releases.entries.extend(own.entries);
    }
    let Some(delta) = delta else {
        return Ok(None);
    };
    let epsilon = PldAccountant::default().epsilon(&releases.event()?, delta)?;
    Ok(Some(Together::Private {
        // All runs together are never reported to spend less than one of them.
        epsilon: epsilon.max(largest),
        delta,
        added: false,
    }))
}

/// Adds epsilons and deltas (basic composition). `None` if one is not known, or if the promises are for different neighbours.
fn added(records: &[&RunRecord]) -> Option<Together> {
    let (mut epsilon, mut delta, mut shared) = (0.0, 0.0, None::<Neighbours>);
    for record in records {
        let (own_epsilon, own_delta) = plan(record)?;
        if records.len() > 1 {
            let own = neighbours(record)?;
            shared = Some(shared.map_or(Ok(own), |before| before.both(own)).ok()?);
        }
        epsilon += own_epsilon;
        delta += own_delta;
    }
    Some(Together::Private {
        epsilon,
        delta: delta.min(1.0),
        added: true,
    })
}
