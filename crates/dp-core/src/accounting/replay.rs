//! From a ledger of releases back to one event.

use serde::{Deserialize, Serialize};

use super::error::{AccountingError, Result};
use super::event::{Event, Neighbours};

/// What an accountant reads of one ledger line; other fields are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Release {
    /// What was released.
    pub event: Event,
    /// How often.
    #[serde(default = "once")]
    pub count: u64,
    /// The neighbour relation that the sensitivity was taken under.
    pub neighbours: Neighbours,
    /// The probability that the sensitivity of one release is exceeded, to be added to delta.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failure_probability: f64,
    /// False where the noise came from a known seed, so that nothing is private.
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

/// The releases of a ledger, with what was passed over.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The releases, one for each line.
    pub releases: Vec<Release>,
    /// Line numbers, from 1, of lines that a kill cut short: their releases never left.
    pub torn: Vec<usize>,
}

/// Reads a ledger in JSON lines.
///
/// A line that ends in the middle of its object was cut short by a kill before its release left,
/// and is passed over; it is listed in [`Replay::torn`].
///
/// # Errors
/// [`AccountingError::Ledger`] for any other line that is not a release.
pub fn read_ledger(text: &str) -> Result<Replay> {
    let mut releases = Vec::new();
    let mut torn = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(line) {
            Ok(release) => releases.push(release),
            Err(error) if error.is_eof() => torn.push(number + 1),
            Err(error) => {
                return Err(AccountingError::Ledger {
                    line: number + 1,
                    reason: error.to_string(),
                });
            }
        }
    }
    Ok(Replay { releases, torn })
}

/// One event for all releases: equal ones are counted together, so that a ledger with one line a
/// step costs no more than the event it came from.
///
/// ```
/// use dp_core::accounting::{Accountant, FdpAccountant, read_ledger, replay};
///
/// let text = r#"
/// {"event": {"type": "gaussian", "noise_multiplier": 5.0}, "count": 1, "neighbours": "replace_one"}
/// {"event": {"type": "gaussian", "noise_multiplier": 5.0}, "count": 3, "neighbours": "replace_one"}
/// "#;
/// let ledger = read_ledger(text)?;
/// let event = replay(&ledger.releases)?;
/// assert!(FdpAccountant::default().epsilon(&event, 1e-5)? < 1.6);
/// # Ok::<(), dp_core::accounting::AccountingError>(())
/// ```
///
/// # Errors
/// [`AccountingError::MixedNeighbours`] when a release is claimed, or made, under neighbours that
/// do not fit the others; [`AccountingError::TooManySteps`].
pub fn replay<'r>(releases: impl IntoIterator<Item = &'r Release>) -> Result<Event> {
    let mut runs: Vec<(Event, u64)> = Vec::new();
    let mut neighbours: Option<Neighbours> = None;
    for release in releases {
        let mut claimed = release.neighbours;
        if let Some(own) = release.event.neighbours()? {
            // A step amplified for records that stay in their group says nothing about others.
            if own == Neighbours::KEnd && claimed == Neighbours::ReplaceOne {
                return Err(AccountingError::MixedNeighbours {
                    first: claimed,
                    second: own,
                });
            }
            claimed = claimed.both(own)?;
        }
        neighbours = Some(match neighbours {
            Some(others) => others.both(claimed)?,
            None => claimed,
        });
        match runs.iter_mut().find(|(event, _)| *event == release.event) {
            Some((_, count)) => {
                *count = count
                    .checked_add(release.count)
                    .ok_or(AccountingError::TooManySteps {
                        bound: super::MAX_STEPS,
                    })?;
            }
            None => runs.push((release.event.clone(), release.count)),
        }
    }
    Ok(Event::Composed {
        events: runs
            .into_iter()
            .map(|(event, count)| event.repeated(count))
            .collect(),
    })
}

/// Whether a ledger holds just what was planned: each event as often as it says, in any order.
///
/// Planned events are compared as they read after a way through a ledger's text, which may round a
/// number's last digit.
pub fn is_as_planned<'r>(
    releases: impl IntoIterator<Item = &'r Release>,
    planned: &[(Event, u64)],
) -> bool {
    let mut due: Vec<(Event, u64)> = Vec::new();
    for (event, count) in planned {
        let text = serde_json::to_string(event);
        let Some(read) = text.ok().and_then(|t| serde_json::from_str(&t).ok()) else {
            return false;
        };
        match due.iter_mut().find(|(other, _)| *other == read) {
            Some((_, total)) => *total = total.saturating_add(*count),
            None => due.push((read, *count)),
        }
    }
    for release in releases {
        let same = due.iter_mut().find(|(event, _)| *event == release.event);
        match same.and_then(|(_, left)| Some((left.checked_sub(release.count)?, left))) {
            Some((rest, left)) => *left = rest,
            None => return false,
        }
    }
    due.iter().all(|(_, left)| *left == 0)
}
