//! `account epsilon` and `account delta`.

use reporting::diagnostic::Failure;
use serde_json::json;

use super::arguments::{DeltaFlags, EpsilonFlags};
use super::output::Answer;
use super::refusal::refusal;

pub(super) fn epsilon(asked: &EpsilonFlags) -> Result<(), Failure> {
    let accountant = asked.answer.accountant.accountant();
    let event = asked.mechanism.event(asked.noise_multiplier, asked.steps)?;
    let epsilon = accountant.epsilon(&event, asked.delta).map_err(refusal)?;
    let mut answer = Answer::new(accountant.as_ref(), epsilon, asked.delta);
    answer.push("neighbours", json!(asked.mechanism.neighbours(&event)));
    answer.push_given("noise_multiplier", asked.noise_multiplier);
    answer.push("steps", json!(asked.steps));
    answer.print(asked.answer.json);
    Ok(())
}

pub(super) fn delta(asked: &DeltaFlags) -> Result<(), Failure> {
    let accountant = asked.answer.accountant.accountant();
    let event = asked.mechanism.event(asked.noise_multiplier, asked.steps)?;
    let delta = accountant.delta(&event, asked.epsilon).map_err(refusal)?;
    let mut answer = Answer::new(accountant.as_ref(), asked.epsilon, delta);
    answer.push("neighbours", json!(asked.mechanism.neighbours(&event)));
    answer.push_given("noise_multiplier", asked.noise_multiplier);
    answer.push("steps", json!(asked.steps));
    answer.print(asked.answer.json);
    Ok(())
}
