//! Turns a ledger of releases back into one event.

use super::LedgerEntry;
use crate::accounting::{AccountingError, Event, MAX_STEPS, Neighbours, Result};

/// Returns the event of all releases of a ledger.
///
/// Equal events are counted together, so accounting for a ledger with one line per step takes no longer than for the original
/// event.
///
/// ```
/// use dp_accountant::accounting::{Accountant, PldAccountant};
/// use dp_accountant::ledger::{Entries, replay};
///
/// let text = r#"
/// {"event": {"type": "gaussian", "noise_multiplier": 5.0}, "count": 1, "neighbours": "replace_one"}
/// {"event": {"type": "gaussian", "noise_multiplier": 5.0}, "count": 3, "neighbours": "replace_one"}
/// "#;
/// let event = replay(&Entries::parse(text)?.entries)?;
/// assert!(PldAccountant::default().epsilon(&event, 1e-5)? < 1.6);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
///
/// # Errors
/// Returns [`AccountingError::MixedNeighbours`] if a release is claimed, or made, under neighbours that do not fit the others,
/// and [`AccountingError::TooManySteps`] for too many releases of an event.
pub fn replay<'r>(releases: impl IntoIterator<Item = &'r LedgerEntry>) -> Result<Event> {
    let mut runs: Vec<(Event, u64)> = Vec::new();
    let mut neighbours: Option<Neighbours> = None;
    for release in releases {
        let mut claimed = release.neighbours;
        if let Some(own) = release.event.neighbours()? {
            // Amplification for records that stay in their stratum does not hold for records that change it.
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
                    .ok_or(AccountingError::TooManySteps { bound: MAX_STEPS })?;
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

/// Returns whether a ledger holds exactly the planned events: each as often as planned, in any order.
///
/// Planned events are compared as a ledger's text reads back, which may round the last digit of a number.
pub(crate) fn is_as_planned<'r>(
    releases: impl IntoIterator<Item = &'r LedgerEntry>,
    planned: &[(Event, u64)],
) -> bool {
    let mut due: Vec<(Event, u64)> = Vec::new();
    for (event, count) in planned {
        let Some(read) = as_read(event) else {
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

/// Returns an event as it reads back from a ledger.
pub(super) fn as_read(event: &Event) -> Option<Event> {
    let text = serde_json::to_string(event).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_more_or_other_releases_are_not_as_planned() {
        let [event, other] =
            [2.0, 2.0 + 1e-9].map(|noise_multiplier| Event::Gaussian { noise_multiplier });
        let planned = [(event.clone(), 2), (event.clone(), 1)];
        type Case<'a> = (&'a [(&'a Event, u64)], &'a [(Event, u64)], bool);
        let cases: [Case; 7] = [
            (&[(&event, 3)], &planned, true),
            (&[(&event, 1), (&event, 2)], &planned, true),
            (&[(&event, 2)], &planned, false),
            (&[(&event, 4)], &planned, false),
            (&[(&event, 2), (&other, 1)], &planned, false),
            (&[], &[], true),
            (&[(&other, 0)], &[], false),
        ];
        for (made, planned, expected) in cases {
            let release = |(event, count): &(&Event, u64)| {
                let line = serde_json::json!({"event": event, "count": count, "neighbours": "replace_one"});
                serde_json::from_value(line).unwrap()
            };
            let made: Vec<LedgerEntry> = made.iter().map(release).collect();
            assert_eq!(is_as_planned(&made, planned), expected, "{made:?}");
        }
    }
}
