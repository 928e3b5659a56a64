//! The privacy ledger in a table: releases grouped by what was released.

use std::path::Path;

use dp_accountant::accounting::Event;
use serde::Deserialize;

use super::read::{at, read_text};
use crate::diagnostic::Failure;

/// One line of `ledger.jsonl`, as `dp_accountant::ledger` writes it.
#[derive(Debug, Deserialize)]
struct Line {
    event: Event,
    count: u64,
    #[serde(default)]
    neighbours: Option<String>,
    #[serde(default)]
    sensitivity: Option<f64>,
    #[serde(default)]
    deviation: Option<f64>,
    /// Of earlier programs: the sensitivity may fail.
    #[serde(default)]
    failure_probability: f64,
    #[serde(default = "yes")]
    secret_noise: bool,
}

fn yes() -> bool {
    true
}

/// Smallest and largest of some numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl Span {
    fn with(span: Option<Self>, value: Option<f64>) -> Option<Self> {
        match (span, value) {
            (span, None) => span,
            (None, Some(v)) => Some(Self { low: v, high: v }),
            (Some(span), Some(v)) => Some(Self {
                low: span.low.min(v),
                high: span.high.max(v),
            }),
        }
    }
}

/// Releases of the same event.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The event.
    pub event: Event,
    /// How often it was released.
    pub count: u64,
    /// The neighbour relation of its sensitivity.
    pub neighbours: Option<String>,
    /// L2 sensitivities.
    pub sensitivity: Option<Span>,
    /// Standard deviations of the noise.
    pub deviation: Option<Span>,
    /// Whether the noise was secret.
    pub secret_noise: bool,
    /// First and last line of each uninterrupted run of lines: the phases in which it was released.
    pub phases: Vec<(usize, usize)>,
}

/// What a ledger holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LedgerSummary {
    /// Groups in the order in which they first appear.
    pub groups: Vec<Group>,
    /// Releases: the sum of the lines' counts.
    pub releases: u64,
    /// Lines that a kill cut off; what they announced never left.
    pub torn: Vec<usize>,
}

impl LedgerSummary {
    /// Reads a ledger; a file that is absent is an empty ledger.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the first line that cannot be read, and its field.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let mut summary = Self::default();
        for (index, text) in read_text(path)?.unwrap_or_default().lines().enumerate() {
            let number = index + 1;
            let mut source = serde_json::Deserializer::from_str(text);
            match serde_path_to_error::deserialize::<_, Line>(&mut source) {
                Ok(line) if line.failure_probability != 0.0 => {
                    return Err(Failure::input(
                        format!(
                            "{}: line {number}: its sensitivity may fail",
                            path.display()
                        ),
                        "nothing is promised of such a run: leave it out",
                    ));
                }
                Ok(line) => summary.add(number, line),
                Err(error) if error.inner().is_eof() => summary.torn.push(number),
                Err(error) => return Err(at(path, &format!("line {number}: "), &error)),
            }
        }
        Ok(summary)
    }

    fn add(&mut self, number: usize, line: Line) {
        self.releases += line.count;
        let same = |group: &&mut Group| {
            group.event == line.event
                && group.neighbours == line.neighbours
                && group.secret_noise == line.secret_noise
        };
        if let Some(group) = self.groups.iter_mut().find(same) {
            group.count += line.count;
            group.sensitivity = Span::with(group.sensitivity, line.sensitivity);
            group.deviation = Span::with(group.deviation, line.deviation);
            match group.phases.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => group.phases.push((number, number)),
            }
            return;
        }
        self.groups.push(Group {
            event: line.event,
            count: line.count,
            neighbours: line.neighbours,
            sensitivity: Span::with(None, line.sensitivity),
            deviation: Span::with(None, line.deviation),
            secret_noise: line.secret_noise,
            phases: vec![(number, number)],
        });
    }

    /// Whether all noise was secret and every release had some.
    pub fn is_private(&self) -> bool {
        self.groups
            .iter()
            .all(|group| group.secret_noise && !super::event::is_bare(&group.event))
    }
}
