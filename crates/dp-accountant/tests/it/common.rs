//! Events in short, and what the exact accountant says of them.

use dp_accountant::accounting::{Accountant, BatchDistribution, Event, PldAccountant};
use dp_accountant::ledger::{Entries, replay};
use proptest::prelude::*;

pub(crate) fn gaussian(noise_multiplier: f64) -> Event {
    Event::Gaussian { noise_multiplier }
}

pub(crate) fn laplace(noise_multiplier: f64) -> Event {
    Event::Laplace { noise_multiplier }
}

pub(crate) fn composed(events: impl Into<Vec<Event>>) -> Event {
    let events = events.into();
    Event::Composed { events }
}

pub(crate) fn parallel(partition: &str, events: impl Into<Vec<Event>>) -> Event {
    let (partition, events) = (partition.into(), events.into());
    Event::Parallel { partition, events }
}

pub(crate) fn poisson(rate: f64) -> BatchDistribution {
    BatchDistribution::Poisson { rate }
}

pub(crate) fn without_replacement(rate: f64) -> BatchDistribution {
    BatchDistribution::WithoutReplacementRate { rate }
}

pub(crate) fn pld() -> PldAccountant {
    PldAccountant::default()
}

pub(crate) fn epsilon(event: &Event, delta: f64) -> f64 {
    pld().epsilon(event, delta).expect("epsilon")
}

pub(crate) fn delta(event: &Event, epsilon: f64) -> f64 {
    pld().delta(event, epsilon).expect("delta")
}

/// The event of a ledger of this one line.
pub(crate) fn replayed(line: &str) -> Event {
    replay(&Entries::parse(line).expect("entries").entries).expect("an event")
}

/// A value between `low` and `high`, uniform in its logarithm.
pub(crate) fn log_uniform(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low.ln()..high.ln()).prop_map(f64::exp)
}

#[track_caller]
pub(crate) fn within(found: f64, low: f64, high: f64) {
    assert!(low <= found && found <= high, "{found}: {low} to {high}");
}
