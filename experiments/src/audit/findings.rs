//! What is printed of an audit, and its verdict.

use clap::ValueEnum;
use dp_core::audit::{Fault, LowerBound, Verdict};
use dp_core::decimal::{lower, nearest, upper};
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;

use super::Arguments;
use super::page::{Row, write};
use super::target::{AuditedMechanism, Mechanism};

/// How many estimators share the probability of a false alarm, at most.
const ESTIMATORS: f64 = 6.0;

/// What was found against one claim.
pub(super) struct Findings {
    epsilon: f64,
    delta: f64,
    false_alarm: f64,
    rows: Vec<Row>,
    /// Epsilon and delta of the claim, all along its curve.
    curve: Vec<(f64, f64)>,
    /// Where its page goes.
    folder: RunFolder,
}

pub(super) fn name<T: ValueEnum>(value: &T) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().into())
}

impl Findings {
    pub(super) fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let folder = arguments.out.clone();
        let folder = folder.unwrap_or_else(|| arguments.default_folder());
        Ok(Self {
            epsilon: arguments.epsilon,
            delta: arguments.delta,
            false_alarm: arguments.false_alarm,
            rows: Vec::new(),
            curve: Vec::new(),
            folder: RunFolder::create(&folder)?,
        })
    }

    /// The probability of a false alarm that one estimator may spend.
    pub(super) fn alarm_rate(&self) -> f64 {
        self.false_alarm / ESTIMATORS
    }

    pub(super) fn announce(&mut self, arguments: &Arguments, target: &AuditedMechanism) {
        self.curve = target.curve(2.0 * self.epsilon);
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
        self.says(
            attack,
            how,
            (bound.epsilon, bound.assumes.to_string()),
            verdict,
        );
    }

    /// A bound on epsilon among claims of one kind.
    pub(super) fn among(&mut self, attack: &'static str, how: &str, epsilon: f64, p_value: f64) {
        let violated = p_value <= self.alarm_rate();
        let assumes = "if it is that of this mechanism with some noise";
        println!("\n{attack}: {how}");
        println!(
            "  epsilon is at least {} at delta {}, {assumes}; p-value of the claim at most {}",
            lower(epsilon),
            nearest(self.delta, 5),
            upper(p_value)
        );
        let verdict = if violated {
            Verdict::Violated
        } else {
            Verdict::NotViolated
        };
        self.says(attack, how, (epsilon, assumes.into()), verdict);
    }

    /// What `pairs` of recorded runs showed, each kind of fault with the first pair that has it.
    pub(super) fn replays(
        mut self,
        arguments: &Arguments,
        found: &[(u64, Fault)],
    ) -> Result<(), Failure> {
        let how = format!(
            "{} pairs of trainings of 2 to 48 records",
            arguments.replays
        );
        println!("record and replay: {how}");
        for (pair, fault) in found {
            println!("  pair {pair}: {fault}");
            let how = format!("pair {pair}: {fault}");
            self.note("record and replay", &how, None, Verdict::Violated);
        }
        if found.is_empty() {
            self.note("record and replay", &how, None, Verdict::NotViolated);
        }
        self.verdict(arguments)
    }

    /// A test of the claim.
    pub(super) fn test(&mut self, attack: &'static str, how: &str, p_value: f64) {
        let violated = p_value <= self.alarm_rate();
        let verdict = if violated {
            Verdict::Violated
        } else {
            Verdict::NotViolated
        };
        let how = format!("{how}; p-value at most {}", upper(p_value));
        println!("\n{attack}: {how}: {verdict}");
        self.note(attack, &how, None, verdict);
    }

    fn says(
        &mut self,
        attack: &'static str,
        how: &str,
        (epsilon, assumes): (f64, String),
        verdict: Verdict,
    ) {
        println!(
            "  {} % of the claim: {verdict}",
            lower(100.0 * epsilon / self.epsilon)
        );
        self.note(attack, how, Some((epsilon, assumes)), verdict);
    }

    fn note(
        &mut self,
        attack: &'static str,
        how: &str,
        bound: Option<(f64, String)>,
        verdict: Verdict,
    ) {
        let (epsilon_lower, assumes) = bound.unzip();
        self.rows.push(Row {
            attack,
            how: how.into(),
            assumes: assumes.unwrap_or_default(),
            epsilon_lower,
            violated: verdict == Verdict::Violated,
        });
    }

    /// The end of an audit: its page and its verdict.
    pub(super) fn verdict(self, arguments: &Arguments) -> Result<(), Failure> {
        let rate = upper(self.false_alarm);
        let mut violated: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| row.violated) {
            if !violated.contains(&row.attack) {
                violated.push(row.attack);
            }
        }
        let verdict = match violated.is_empty() {
            true if arguments.mechanism == Mechanism::Training => {
                "every training keeps what it declares".to_string()
            }
            true => "no attack violates the claim".to_string(),
            false => format!("the claim is violated by {}", violated.join("; ")),
        };
        println!("\nverdict    at a false-alarm rate of at most {rate}\n           {verdict}");
        // A claim that is violated says so whether or not its page can be written.
        let page = write(&self.folder, arguments, &verdict, &self.rows, &self.curve)
            .map(|page| println!("page       {}", page.display()));
        if let (Err(failure), false) = (&page, violated.is_empty()) {
            eprintln!("no page: {failure}");
        }
        match violated.is_empty() {
            true => page,
            false if arguments.mechanism == Mechanism::Training => {
                Err(Failure::failed("what a training declares is violated"))
            }
            false => Err(Failure::failed(format!(
                "the claim of epsilon {} at delta {} is violated",
                upper(self.epsilon),
                nearest(self.delta, 5)
            ))),
        }
    }
}
