//! The privacy ledger as a table: releases grouped by event.

use std::path::Path;

use dp_accountant::accounting::{Event, Neighbours};
use dp_accountant::ledger::{Entries, LedgerEntry};

use super::read::{ADVICE, read_text};
use crate::diagnostic::Failure;

/// The smallest and the largest of some numbers.
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
    /// The number of releases.
    pub count: u64,
    /// The neighbour relation of its sensitivity.
    pub neighbours: Neighbours,
    /// The smallest and the largest L2 sensitivity.
    pub sensitivity: Option<Span>,
    /// The smallest and the largest standard deviation of the noise.
    pub deviation: Option<Span>,
    /// Whether the noise was secret.
    pub secret_noise: bool,
    /// The first and the last line of each uninterrupted run of lines, which are the phases of the release.
    pub phases: Vec<(usize, usize)>,
}

/// The content of a ledger.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LedgerSummary {
    /// The groups, in the order in which they first appear.
    pub groups: Vec<Group>,
    /// The number of releases: the sum of the lines' counts.
    pub releases: u64,
    /// The lines that a kill cut off; the values that they announced were never released.
    pub torn: Vec<usize>,
}

impl LedgerSummary {
    /// Reads a ledger; an absent file counts as an empty ledger.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the first line that cannot be read.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = read_text(path)?.unwrap_or_default();
        let wrong = |e| Failure::input(format!("{}: {e}", path.display()), ADVICE);
        let found = Entries::parse(&text).map_err(wrong)?;
        let mut summary = Self {
            releases: found.releases(),
            torn: found.torn,
            ..Self::default()
        };
        let whole = text.lines().enumerate().filter(|(index, line)| {
            !line.trim().is_empty() && !summary.torn.contains(&(index + 1))
        });
        let numbers: Vec<usize> = whole.map(|(index, _)| index + 1).collect();
        for (number, entry) in numbers.into_iter().zip(found.entries) {
            summary.add(number, entry);
        }
        Ok(summary)
    }

    fn add(&mut self, number: usize, line: LedgerEntry) {
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

    /// Whether every release had noise and all noise was secret.
    pub fn is_private(&self) -> bool {
        self.groups
            .iter()
            .all(|group| group.secret_noise && !super::event::is_bare(&group.event))
    }
}
