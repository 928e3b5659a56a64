//! `account compare`.

use clap::ValueEnum;
use dp_accountant::accounting::{
    Accountant, AccountingError, Event, PldAccountant, noise_multiplier_for,
};
use dp_accountant::decimal::{lower, upper};
use reporting::diagnostic::Failure;
use serde_json::{Value, json};

use super::arguments::{AccountantName, CompareFlags};
use super::output::{NOT_A_BOUND, in_full, number, table};
use super::refusal::refusal;

pub(super) fn compare(asked: &CompareFlags) -> Result<(), Failure> {
    let rows = match (asked.noise_multiplier, asked.epsilon) {
        (Some(z), _) => claims(asked, z)?,
        (None, Some(target)) => noises(asked, target)?,
        (None, None) => {
            return Err(Failure::input(
                "there is nothing to compare",
                "give --noise-multiplier or --epsilon",
            ));
        }
    };
    let best = &rows[0];
    if asked.json {
        let object = json!({
            "epsilon": number(best.claimed),
            "delta": asked.delta,
            "accountant": "pld",
            "is_upper_bound": true,
            "noise_multiplier": best.noise_multiplier,
            "steps": asked.steps,
            "accountants": rows.iter().map(Row::json).collect::<Vec<_>>(),
        });
        println!("{object}");
        return Ok(());
    }
    let shown = match asked.noise_multiplier {
        Some(_) => in_full,
        None => upper,
    };
    let cells: Vec<Vec<String>> = rows.iter().map(|row| row.cells(shown)).collect();
    table(
        &[
            "accountant",
            "noise multiplier",
            "claims",
            "true epsilon",
            "upper bound",
            "",
        ],
        &cells,
    );
    Ok(())
}

/// One accountant's answer beside the truth.
struct Row {
    name: &'static str,
    is_upper_bound: bool,
    noise_multiplier: f64,
    claimed: f64,
    /// Lower and upper bound on what the mechanism really gives.
    truth: (f64, f64),
    refused: Option<String>,
}

impl Row {
    fn refused(accountant: &dyn Accountant, error: &AccountingError) -> Self {
        Self {
            name: accountant.name(),
            is_upper_bound: accountant.is_upper_bound(),
            noise_multiplier: f64::NAN,
            claimed: f64::NAN,
            truth: (f64::NAN, f64::NAN),
            refused: Some(error.to_string()),
        }
    }

    fn json(&self) -> Value {
        match &self.refused {
            Some(reason) => json!({
                "accountant": self.name,
                "is_upper_bound": self.is_upper_bound,
                "refused": reason,
            }),
            None => {
                let mut object = json!({
                    "accountant": self.name,
                    "is_upper_bound": self.is_upper_bound,
                    "noise_multiplier": self.noise_multiplier,
                    "epsilon": number(self.claimed),
                    "true_epsilon_lower": number(self.truth.0),
                    "true_epsilon_upper": number(self.truth.1),
                });
                if !self.is_upper_bound {
                    object["note"] = json!(NOT_A_BOUND);
                }
                object
            }
        }
    }

    fn cells(&self, multiplier: fn(f64) -> String) -> Vec<String> {
        if let Some(reason) = &self.refused {
            let none = || "-".to_string();
            return vec![
                self.name.into(),
                none(),
                none(),
                none(),
                none(),
                reason.clone(),
            ];
        }
        vec![
            self.name.into(),
            multiplier(self.noise_multiplier),
            upper(self.claimed),
            format!("{} to {}", lower(self.truth.0), upper(self.truth.1)),
            (if self.is_upper_bound { "yes" } else { "no" }).into(),
            (if self.is_upper_bound { "" } else { NOT_A_BOUND }).into(),
        ]
    }
}

fn truth(event: &Event, delta: f64) -> Result<(f64, f64), Failure> {
    let pld = PldAccountant::default();
    let lower = pld.epsilon_lower(event, delta).map_err(refusal)?;
    let upper = pld.epsilon(event, delta).map_err(refusal)?;
    Ok((lower, upper))
}

fn claims(asked: &CompareFlags, z: f64) -> Result<Vec<Row>, Failure> {
    let event = asked.mechanism.event(z, asked.steps)?;
    let truth = truth(&event, asked.delta)?;
    let row = |name: &AccountantName| {
        let accountant = name.accountant();
        match accountant.epsilon(&event, asked.delta) {
            Ok(claimed) => Row {
                name: accountant.name(),
                is_upper_bound: accountant.is_upper_bound(),
                noise_multiplier: z,
                claimed,
                truth,
                refused: None,
            },
            Err(error) => Row::refused(accountant.as_ref(), &error),
        }
    };
    Ok(AccountantName::value_variants().iter().map(row).collect())
}

fn noises(asked: &CompareFlags, target: f64) -> Result<Vec<Row>, Failure> {
    let sampled = asked.mechanism.event(1.0, asked.steps)?;
    let event = |z| {
        asked
            .mechanism
            .event(z, asked.steps)
            .unwrap_or_else(|_| sampled.clone())
    };
    let mut rows = vec![];
    for name in AccountantName::value_variants() {
        let accountant = name.accountant();
        let found = noise_multiplier_for(accountant.as_ref(), target, asked.delta, event);
        rows.push(match found {
            Ok(z) => Row {
                name: accountant.name(),
                is_upper_bound: accountant.is_upper_bound(),
                noise_multiplier: z,
                claimed: accountant
                    .epsilon(&event(z), asked.delta)
                    .map_err(refusal)?,
                truth: truth(&event(z), asked.delta)?,
                refused: None,
            },
            // What the default refuses is a mistake in the flags.
            Err(error) if *name == AccountantName::Pld => return Err(refusal(error)),
            Err(error) => Row::refused(accountant.as_ref(), &error),
        });
    }
    Ok(rows)
}
