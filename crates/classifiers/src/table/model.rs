//! A model that tells the label of a record.

use rayon::prelude::*;

use super::features::Features;
use super::logistic::{self, Linear};
use super::records::CodedRecords;
use super::trees::Ensemble;
use crate::{ClassifierError, largest};

/// Records that are classified at once.
const BLOCK: usize = 1 << 14;
/// The least probability of a class in a loss: one that is 0 by rounding has no logarithm.
const LEAST: f64 = 1e-12;

/// How a model of a table learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learner {
    /// Logistic regression on one-hot codes and on the places of ordered codes, with the penalty `|w|^2 / 2`.
    Logistic,
    /// 100 gradient-boosted trees of at most 31 leaves, at a learning rate of 0.1.
    Trees,
}

impl Learner {
    /// All of them; the simpler first.
    pub const ALL: [Self; 2] = [Self::Logistic, Self::Trees];

    /// Returns its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Logistic => "logistic regression",
            Self::Trees => "boosted trees",
        }
    }
}

/// What tells a class from the others.
#[derive(Clone, PartialEq)]
pub(super) enum Scorer {
    Linear(Linear),
    Trees(Ensemble),
}

impl Scorer {
    fn learn(learner: Learner, features: &Features, of_class: &[bool]) -> Self {
        match learner {
            Learner::Logistic => Self::Linear(logistic::fit(features, of_class)),
            Learner::Trees => Self::Trees(Ensemble::fit(features, of_class)),
        }
    }

    fn scores(&self, features: &Features) -> Vec<f64> {
        match self {
            Self::Linear(linear) => linear.scores(features),
            Self::Trees(trees) => trees.scores(features),
        }
    }
}

/// A model of one column of a table, the label, given the others.
///
/// For two classes it has the log-odds of class 1. For more it has those of each class against the rest, and the probabilities are
/// divided by their sum.
///
/// ```
/// use private_classifiers::{CodedRecords, Learner, TableModel};
/// let codes: Vec<u16> = (0..200).flat_map(|i| [i % 3, u16::from(i % 3 == 2)]).collect();
/// let table = CodedRecords::new(&codes, &[3, 2], &[0, 0])?;
/// for learner in Learner::ALL {
///     let model = TableModel::learn(learner, &table, 1)?;
///     assert_eq!(model.predict(&table)?[..3], [0, 0, 1]);
/// }
/// # Ok::<(), private_classifiers::ClassifierError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct TableModel {
    pub(super) sizes: Vec<usize>,
    pub(super) ordered: Vec<usize>,
    pub(super) label: usize,
    /// One for two classes, one for each of more.
    pub(super) scorers: Vec<Scorer>,
}

/// Without what it learned: of private records that would tell of them.
impl std::fmt::Debug for TableModel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("TableModel");
        shown
            .field("sizes", &self.sizes)
            .field("label", &self.label);
        shown
            .field("learner", &self.learner())
            .finish_non_exhaustive()
    }
}

impl TableModel {
    /// Learns to tell column `label` of `train` from the others.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] without records, for a label that is no column or has one class.
    pub fn learn(
        learner: Learner,
        train: &CodedRecords<'_>,
        label: usize,
    ) -> Result<Self, ClassifierError> {
        train.comparable(train)?;
        train.check_label(label)?;
        let labels = train.column(label);
        let features = Features::of(train, label);
        let classes = scored(train.sizes[label]);
        let learned = classes.into_par_iter().map(|class| {
            let of_class: Vec<bool> = labels.iter().map(|&l| usize::from(l) == class).collect();
            Scorer::learn(learner, &features, &of_class)
        });
        Ok(Self {
            sizes: train.sizes.to_vec(),
            ordered: train.ordered.to_vec(),
            label,
            scorers: learned.collect(),
        })
    }

    /// Returns the index of the label among the columns.
    pub fn label(&self) -> usize {
        self.label
    }

    /// Returns the number of codes of each column, `[D]`.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns how many codes of each column are in order, `[D]`.
    pub fn ordered(&self) -> &[usize] {
        &self.ordered
    }

    /// Returns the number of classes, `C`.
    pub fn classes(&self) -> usize {
        self.sizes[self.label]
    }

    /// Returns how it learned.
    pub fn learner(&self) -> Learner {
        match self.scorers.first() {
            Some(Scorer::Trees(_)) => Learner::Trees,
            _ => Learner::Logistic,
        }
    }

    /// Returns the log-odds of each class against the rest, a vector `[n]` for each; for two classes those of class 1 alone. The labels
    /// of the records are not looked at.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for other columns than it learned from.
    pub fn scores(&self, records: &CodedRecords<'_>) -> Result<Vec<Vec<f64>>, ClassifierError> {
        records.same_columns(&self.sizes, &self.ordered)?;
        let features = Features::of(records, self.label);
        Ok(self.scorers.iter().map(|s| s.scores(&features)).collect())
    }

    /// Returns the probabilities of the classes, `[n, C]` in rows.
    ///
    /// # Errors
    ///
    /// Those of [`TableModel::scores`].
    pub fn probabilities(&self, records: &CodedRecords<'_>) -> Result<Vec<f64>, ClassifierError> {
        records.same_columns(&self.sizes, &self.ordered)?;
        let mut all = Vec::with_capacity(records.records() * self.classes());
        for codes in records.codes.chunks(BLOCK * records.columns()) {
            let scores = self.scores(&CodedRecords { codes, ..*records })?;
            for record in 0..codes.len() / records.columns() {
                let chance = |scores: &Vec<f64>| 1.0 / (1.0 + (-scores[record]).exp());
                match &scores[..] {
                    [one] if self.classes() == 2 => all.extend([1.0 - chance(one), chance(one)]),
                    many => {
                        let chances: Vec<f64> = many.iter().map(chance).collect();
                        let sum = chances.iter().sum::<f64>().max(f64::MIN_POSITIVE);
                        all.extend(chances.iter().map(|chance| chance / sum));
                    }
                }
            }
        }
        Ok(all)
    }

    /// Returns the probabilities of the classes of records without their label, `[n, D - 1]` codes in rows, as `[n, C]` in rows.
    ///
    /// # Errors
    ///
    /// Those of [`CodedRecords::new`].
    pub fn probabilities_without_label(&self, codes: &[u16]) -> Result<Vec<f64>, ClassifierError> {
        let width = self.sizes.len() - 1;
        if width == 0 || !codes.len().is_multiple_of(width) {
            let bound = format!("whole records of {width} codes");
            let name = "the number of codes of a table";
            return Err(ClassifierError::range(name, codes.len() as f64, bound));
        }
        let mut whole = Vec::with_capacity(codes.len() / width * self.sizes.len());
        for record in codes.chunks_exact(width) {
            let (before, behind) = record.split_at(self.label);
            whole.extend(before);
            // It is not looked at.
            whole.push(0);
            whole.extend(behind);
        }
        self.probabilities(&CodedRecords::new(&whole, &self.sizes, &self.ordered)?)
    }

    /// Returns the most probable class of each record, `[n]`; the first of equals.
    ///
    /// # Errors
    ///
    /// Those of [`TableModel::scores`].
    pub fn predict(&self, records: &CodedRecords<'_>) -> Result<Vec<u16>, ClassifierError> {
        let probabilities = self.probabilities(records)?;
        let rows = probabilities.chunks_exact(self.classes());
        Ok(rows.map(|row| largest(row) as u16).collect())
    }

    /// Returns the mean of `-ln p(label)` over records.
    ///
    /// # Errors
    ///
    /// Those of [`TableModel::scores`].
    pub fn log_loss(&self, records: &CodedRecords<'_>) -> Result<f64, ClassifierError> {
        let probabilities = self.probabilities(records)?;
        let rows = probabilities.chunks_exact(self.classes());
        let losses = rows.zip(records.column(self.label));
        let losses = losses.map(|(row, label)| -row[usize::from(label)].max(LEAST).ln());
        Ok(losses.sum::<f64>() / records.records().max(1) as f64)
    }
}

/// The classes that have a score: class 1 of two.
pub(super) fn scored(classes: usize) -> Vec<usize> {
    match classes {
        2 => vec![1],
        classes => (0..classes).collect(),
    }
}
