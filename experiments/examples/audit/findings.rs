//! What is printed of an audit, and its verdict.

use std::fmt;

use clap::ValueEnum;
use dp_audit::{LowerBound, Verdict};
use dp_core::decimal::{lower, nearest, upper};
use lab::diagnostic::Failure;

use super::Arguments;
use super::replay::AuditFinding;
use super::target::{AuditedMechanism, Mechanism};

/// How many estimators share the probability of a false alarm, at most.
const ESTIMATORS: f64 = 6.0;

/// What was found against one claim.
#[derive(Debug)]
pub(crate) struct Findings {
    mechanism: Mechanism,
    epsilon: f64,
    delta: f64,
    false_alarm: f64,
    pub(crate) attacks: Vec<Attack>,
}

/// What one attack showed.
#[derive(Debug)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// What it looked at.
    how: String,
    /// What it found.
    found: String,
    /// Its lower bound on epsilon in percents of the claim; a test has none.
    pub(crate) share: Option<f64>,
    pub(crate) violated: bool,
}

impl fmt::Display for Attack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}: {}\n  {}\n  ",
            self.name, self.how, self.found
        )?;
        if let Some(share) = self.share {
            write!(formatter, "{} % of the claim: ", lower(share))?;
        }
        match self.violated {
            true => Verdict::Violated.fmt(formatter),
            false => Verdict::NotViolated.fmt(formatter),
        }
    }
}

fn name<T: ValueEnum>(value: &T) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().into())
}

impl Findings {
    pub(super) fn new(arguments: &Arguments) -> Self {
        Self {
            mechanism: arguments.mechanism,
            epsilon: arguments.epsilon,
            delta: arguments.delta,
            false_alarm: arguments.false_alarm,
            attacks: Vec::new(),
        }
    }

    /// The probability of a false alarm that one estimator may spend.
    pub(super) fn alarm_rate(&self) -> f64 {
        self.false_alarm / ESTIMATORS
    }

    pub(super) fn announce(&self, arguments: &Arguments, target: &AuditedMechanism) {
        println!(
            "claim      epsilon {} at delta {}, {} release{} of mechanism {}: noise multiplier {}",
            upper(self.epsilon),
            nearest(self.delta, 5),
            arguments.steps,
            if arguments.steps == 1 { "" } else { "s" },
            name(&self.mechanism),
            nearest(target.noise_multiplier(), 5),
        );
        if let Some(sabotage) = arguments.sabotage {
            println!("sabotaged  {}", name(&sabotage));
        }
    }

    /// A bound on epsilon.
    pub(super) fn bound(&mut self, name: &'static str, how: &str, bound: &LowerBound) {
        self.note(Attack {
            name,
            how: how.into(),
            found: bound.to_string(),
            share: Some(self.share(bound.epsilon)),
            violated: bound.against(self.epsilon) == Verdict::Violated,
        });
    }

    /// A bound on epsilon among claims of one kind.
    pub(super) fn among(&mut self, name: &'static str, how: &str, epsilon: f64, p_value: f64) {
        let found = format!(
            "epsilon is at least {} at delta {}, if it is that of this mechanism with some noise; p-value of the claim at \
             most {}",
            lower(epsilon),
            nearest(self.delta, 5),
            upper(p_value)
        );
        self.note(Attack {
            name,
            how: how.into(),
            found,
            share: Some(self.share(epsilon)),
            violated: p_value <= self.alarm_rate(),
        });
    }

    /// A test of the claim.
    pub(super) fn test(&mut self, name: &'static str, how: &str, p_value: f64) {
        self.note(Attack {
            name,
            how: how.into(),
            found: format!("p-value at most {}", upper(p_value)),
            share: None,
            violated: p_value <= self.alarm_rate(),
        });
    }

    /// What pairs of recorded runs showed: each kind of fault with the first pair that has it.
    pub(super) fn replays(&mut self, replays: u64, found: &[(u64, AuditFinding)]) {
        println!("record and replay: {replays} pairs of trainings of 2 to 48 records");
        for (pair, fault) in found {
            self.note(Attack {
                name: "record and replay",
                how: format!("pair {pair}"),
                found: fault.to_string(),
                share: None,
                violated: true,
            });
        }
    }

    fn share(&self, epsilon: f64) -> f64 {
        100.0 * epsilon / self.epsilon
    }

    fn note(&mut self, attack: Attack) {
        println!("\n{attack}");
        self.attacks.push(attack);
    }

    /// The attacks that violate the claim, each once.
    pub(crate) fn violations(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = Vec::new();
        for attack in self.attacks.iter().filter(|attack| attack.violated) {
            if !names.contains(&attack.name) {
                names.push(attack.name);
            }
        }
        names
    }

    /// Prints the verdict.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] if the claim is violated.
    pub(crate) fn verdict(&self) -> Result<(), Failure> {
        let (violated, training) = (self.violations(), self.mechanism == Mechanism::Training);
        let verdict = match violated.is_empty() {
            true if training => "every training keeps what it declares".to_string(),
            true => "no attack violates the claim".to_string(),
            false => format!("the claim is violated by {}", violated.join("; ")),
        };
        let rate = upper(self.false_alarm);
        println!("\nverdict    at a false-alarm rate of at most {rate}\n           {verdict}");
        match violated.is_empty() {
            true => Ok(()),
            false if training => Err(Failure::failed("what a training declares is violated")),
            false => Err(Failure::failed(format!(
                "the claim of epsilon {} at delta {} is violated",
                upper(self.epsilon),
                nearest(self.delta, 5)
            ))),
        }
    }
}
