//! What is printed of an audit, and its verdict.

use clap::ValueEnum;
use dp_core::audit::{Fault, LowerBound, Verdict};
use dp_core::decimal::{lower, nearest, upper};
use lab::diagnostic::Failure;

use super::Arguments;
use super::target::Target;

/// How many estimators share the probability of a false alarm, at most.
const ESTIMATORS: f64 = 6.0;

/// What was found against one claim.
pub(super) struct Findings {
    epsilon: f64,
    delta: f64,
    false_alarm: f64,
    violated: Vec<&'static str>,
}

fn name<T: ValueEnum>(value: &T) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().into())
}

impl Findings {
    pub(super) fn new(arguments: &Arguments) -> Self {
        Self {
            epsilon: arguments.epsilon,
            delta: arguments.delta,
            false_alarm: arguments.false_alarm,
            violated: Vec::new(),
        }
    }

    /// The probability of a false alarm that one estimator may spend.
    pub(super) fn alarm_rate(&self) -> f64 {
        self.false_alarm / ESTIMATORS
    }

    pub(super) fn announce(&self, arguments: &Arguments, target: &Target) {
        println!(
            "claim      epsilon {} at delta {}, {} release{} of mechanism {}: noise multiplier {}",
            upper(self.epsilon),
            nearest(self.delta, 5),
            arguments.steps,
            if arguments.steps == 1 { "" } else { "s" },
            name(&arguments.mechanism),
            nearest(target.noise_multiplier(), 5),
        );
        if let Some(sabotage) = arguments.sabotage {
            println!("sabotaged  {}", name(&sabotage));
        }
    }

    /// A bound on epsilon.
    pub(super) fn bound(&mut self, attack: &'static str, how: &str, bound: &LowerBound) {
        let verdict = bound.against(self.epsilon);
        println!("\n{attack}: {how}\n  {bound}");
        self.says(attack, bound.epsilon, verdict);
    }

    /// A bound on epsilon among claims of one kind.
    pub(super) fn among(&mut self, attack: &'static str, how: &str, epsilon: f64, p_value: f64) {
        let violated = p_value <= self.alarm_rate();
        println!("\n{attack}: {how}");
        println!(
            "  epsilon is at least {} at delta {}, if it is that of this mechanism with some noise; p-value of the \
             claim at most {}",
            lower(epsilon),
            nearest(self.delta, 5),
            upper(p_value)
        );
        let verdict = if violated {
            Verdict::Violated
        } else {
            Verdict::NotViolated
        };
        self.says(attack, epsilon, verdict);
    }

    /// What `pairs` of recorded runs showed, each kind of fault with the first pair that has it.
    pub(super) fn replays(self, pairs: u64, found: &[(u64, Fault)]) -> Result<(), Failure> {
        println!("record and replay: {pairs} pairs of trainings of 2 to 48 records");
        for (pair, fault) in found {
            println!("  pair {pair}: {fault}");
        }
        let rate = upper(self.false_alarm);
        println!("\nverdict    at a false-alarm rate of at most {rate}");
        if found.is_empty() {
            println!("           every training keeps what it declares");
            return Ok(());
        }
        println!("           violated by record and replay");
        let message = "what a training declares is violated";
        Err(Failure::failed(message))
    }

    /// A test of the claim.
    pub(super) fn test(&mut self, attack: &'static str, how: &str, p_value: f64) {
        let violated = p_value <= self.alarm_rate();
        let verdict = if violated {
            Verdict::Violated
        } else {
            Verdict::NotViolated
        };
        println!(
            "\n{attack}: {how}\n  p-value at most {}: {verdict}",
            upper(p_value)
        );
        self.note(attack, verdict);
    }

    fn says(&mut self, attack: &'static str, epsilon: f64, verdict: Verdict) {
        println!(
            "  {} % of the claim: {verdict}",
            lower(100.0 * epsilon / self.epsilon)
        );
        self.note(attack, verdict);
    }

    fn note(&mut self, attack: &'static str, verdict: Verdict) {
        if verdict == Verdict::Violated {
            self.violated.push(attack);
        }
    }

    /// The end of an audit.
    pub(super) fn verdict(self) -> Result<(), Failure> {
        let rate = upper(self.false_alarm);
        println!("\nverdict    at a false-alarm rate of at most {rate}");
        if self.violated.is_empty() {
            println!("           no attack violates the claim");
            return Ok(());
        }
        println!("           violated by {}", self.violated.join("; "));
        Err(Failure::failed(format!(
            "the claim of epsilon {} at delta {} is violated",
            upper(self.epsilon),
            nearest(self.delta, 5)
        )))
    }
}
