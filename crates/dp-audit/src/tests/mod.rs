//! Audits of mechanisms whose privacy is known: bounds that hold as often as they say, and are near the truth.

mod golden;
mod laws;
mod one_run;
mod power;
mod scores;
mod validity;

use dp_accountant::accounting::Event;
use proptest::prelude::*;

fn gaussian(noise_multiplier: f64) -> Event {
    Event::Gaussian { noise_multiplier }
}

/// A value between `low` and `high`, uniform in its logarithm.
fn log_uniform(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low.ln()..high.ln()).prop_map(f64::exp)
}

#[track_caller]
fn within(found: f64, low: f64, high: f64) {
    assert!(low <= found && found <= high, "{found}: {low} to {high}");
}
