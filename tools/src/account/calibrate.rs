//! `account noise`, `account steps` and `account batch`.

use dp_accountant::accounting::{batch_for, noise_multiplier_for, steps_for};
use reporting::diagnostic::Failure;
use serde_json::json;

use super::arguments::{BudgetFlags, NoiseFlags};
use super::mechanism::SamplerName;
use super::output::Answer;
use super::refusal::refusal;

/// Most steps looked at where `--steps` gives no other limit.
const MOST_STEPS: u64 = 10_000_000;

pub(super) fn noise(asked: &NoiseFlags) -> Result<(), Failure> {
    let accountant = asked.answer.accountant.accountant();
    // What is wrong with the flags is refused before the search.
    let event = |z| asked.mechanism.event(z, asked.steps);
    let sampled = event(1.0)?;
    let z = noise_multiplier_for(accountant.as_ref(), asked.epsilon, asked.delta, |z| {
        event(z).unwrap_or_else(|_| sampled.clone())
    })
    .map_err(refusal)?;
    let event = event(z)?;
    let epsilon = accountant.epsilon(&event, asked.delta).map_err(refusal)?;
    let mut answer = Answer::new(accountant.as_ref(), epsilon, asked.delta);
    answer.push("noise_multiplier", json!(z));
    answer.push("target_epsilon", json!(asked.epsilon));
    answer.push("neighbours", json!(asked.mechanism.neighbours(&event)));
    answer.push("steps", json!(asked.steps));
    answer.print(asked.answer.json);
    Ok(())
}

pub(super) fn steps(asked: &BudgetFlags) -> Result<(), Failure> {
    let accountant = asked.answer.accountant.accountant();
    let event = |steps| asked.mechanism.event(asked.noise_multiplier, steps);
    let one = event(1)?;
    let steps = steps_for(
        accountant.as_ref(),
        asked.epsilon,
        asked.delta,
        asked.steps.unwrap_or(MOST_STEPS),
        |steps| event(steps).unwrap_or_else(|_| one.clone()),
    )
    .map_err(refusal)?;
    let event = event(steps)?;
    let epsilon = accountant.epsilon(&event, asked.delta).map_err(refusal)?;
    let mut answer = Answer::new(accountant.as_ref(), epsilon, asked.delta);
    answer.push("steps", json!(steps));
    answer.push("target_epsilon", json!(asked.epsilon));
    answer.push("neighbours", json!(asked.mechanism.neighbours(&event)));
    answer.push_given("noise_multiplier", asked.noise_multiplier);
    answer.print(asked.answer.json);
    Ok(())
}

pub(super) fn batch(asked: &BudgetFlags) -> Result<(), Failure> {
    let (Some(records), Some(steps)) = (asked.mechanism.records, asked.steps) else {
        return Err(Failure::input(
            "the largest batch depends on the number of records and of steps",
            "give --records and --steps",
        ));
    };
    if asked.mechanism.sampler == SamplerName::None
        || asked.mechanism.batch.is_some()
        || asked.mechanism.rate.is_some()
    {
        return Err(Failure::input(
            "the batch is what is looked for, but --sampler none, --batch or --rate was given",
            "give --records and a sampler only",
        ));
    }
    let accountant = asked.answer.accountant.accountant();
    let z = asked.noise_multiplier;
    let event = |batch| asked.mechanism.event_of_batch(batch, z, steps);
    let batch = batch_for(
        accountant.as_ref(),
        asked.epsilon,
        asked.delta,
        records,
        event,
    )
    .map_err(refusal)?;
    let event = event(batch);
    let epsilon = accountant.epsilon(&event, asked.delta).map_err(refusal)?;
    let mut answer = Answer::new(accountant.as_ref(), epsilon, asked.delta);
    answer.push("batch", json!(batch));
    answer.push("target_epsilon", json!(asked.epsilon));
    answer.push("neighbours", json!(asked.mechanism.neighbours(&event)));
    answer.push_given("noise_multiplier", z);
    answer.push("steps", json!(steps));
    answer.print(asked.answer.json);
    Ok(())
}
