//! A model of the label, learned from samples of a mixture that was fitted to released counts.

use std::ops::RangeInclusive;

use private_classifiers::{ClassifierError, CodedRecords, Learner, TableModel};
use rand::Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};

use super::copy::Released;
use super::model::Signal;
use super::records::Records;
use crate::{SynthError, Watch, Work};

/// Samples for each private record: fewer lose some of what the counts say, and more add nothing.
const TIMES: usize = 20;
/// The minimum and maximum number of samples; of more than two classes each takes as long as two do.
const SAMPLES: [usize; 2] = [50_000, 1_000_000];
/// The number of values of a label that a model is learned of: each takes a learner of its own.
pub const CLASSES: RangeInclusive<usize> = 2..=64;
/// The share of the samples by which learners are compared.
const COMPARED: usize = 4;
/// The share of the loss of logistic regression that trees may have at most to be chosen. A mixture has dependencies of its own that
/// trees learn: on Adult they saved up to 4 % of the loss on samples, and did no better on test records.
const TREES: f64 = 0.9;
/// Samples by which the influence of columns is measured.
const PROBED: usize = 20_000;

/// A model of the label, and what its choice was based on. All of it is a function of the releases.
#[derive(Debug, Clone)]
pub struct Classifier {
    /// The model.
    pub model: TableModel,
    /// The number of samples from which it learned.
    pub samples: usize,
    /// The mean of `-ln p(label)` of each learner, trained on one half of the noise and scored on samples of the other.
    pub losses: Vec<(Learner, f64)>,
    /// The influence of each column but the label.
    pub influences: Vec<Influence>,
}

/// How much a model needs a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Influence {
    /// The index of the column.
    pub column: usize,
    /// By how much the mean of `-ln p(label)` rises on samples when the values of the column change places.
    pub loss: f64,
    /// An estimate of the standard deviation of that by the noise of the releases.
    pub deviation: f64,
}

/// The share of the way from chance to certainty that noise must leave, at least.
const TOLD: f64 = 0.1;
/// Records that are simulated.
const SIMULATED: usize = 4000;

/// Refuses a number of classes of which the noise of all counts leaves nothing: simulates the accuracy if every other column told the label by
/// itself, and all classes had equally many records. It looks at no record.
///
/// # Errors
/// Returns [`SynthError::TooManyClasses`] if that is less than a tenth of the way from chance to 1.
pub fn check_classes(classes: usize, signal: Signal, rng: &mut impl Rng) -> Result<(), SynthError> {
    let own = signal.of_class(classes);
    let right = (0..SIMULATED).filter(|_| {
        let mut noise = || -> f64 { StandardNormal.sample(rng) };
        let count = own + noise();
        (1..classes).all(|_| noise() < count)
    });
    let chance = 1.0 / classes as f64;
    let most = (right.count() as f64 / SIMULATED as f64).max(chance);
    if most - chance >= TOLD * (1.0 - chance) {
        return Ok(());
    }
    Err(SynthError::TooManyClasses { classes, most })
}

impl Released {
    /// Divides the noise in two: `y + e` and `y - e`, with `e` of the same deviation as the noise of `y`, are independent releases whose
    /// noise has `sqrt 2` times the deviation. The groups of values, which follow from `y`, stay those of both.
    fn halves(&self, rng: &mut impl Rng) -> [Self; 2] {
        let mut halves = [self.clone(), self.clone()];
        let [first, second] = &mut halves;
        let ones = first.columns.iter_mut().chain(&mut first.pairs);
        let others = second.columns.iter_mut().chain(&mut second.pairs);
        for (one, other) in ones.zip(others) {
            for (a, b) in one.counts.iter_mut().zip(&mut other.counts) {
                let noise: f64 = StandardNormal.sample(rng);
                *a += one.deviation * noise;
                *b -= one.deviation * noise;
            }
            one.deviation *= std::f64::consts::SQRT_2;
            other.deviation = one.deviation;
        }
        halves
    }

    /// Learns a model of the label from samples of a mixture that is fitted to the releases. It uses only public values of `records`.
    ///
    /// That is logistic regression, or boosted trees if they save a tenth of its loss. For that the noise is divided in two: each learns
    /// from one half, and is scored on samples of the other.
    ///
    /// # Errors
    /// Returns [`SynthError::Unlabelled`] if the label has not [`CLASSES`], [`SynthError::Rules`], and the errors of `watch`.
    pub fn classifier<W: Watch>(
        &self,
        records: &Records,
        rng: &mut impl Rng,
        watch: &mut W,
    ) -> Result<Classifier, W::Error> {
        let classes = records.label().map(|label| (label, records.sizes()[label]));
        let Some((label, classes)) = classes.filter(|(_, classes)| CLASSES.contains(classes))
        else {
            return Err(W::failed(SynthError::Unlabelled));
        };
        let refused = |error: ClassifierError| W::failed(error.into());
        let (sizes, ordered) = (records.sizes(), records.ordered());
        let coded = |codes| CodedRecords::new(codes, &sizes, &ordered).map_err(refused);
        let scores = if classes == 2 { 1 } else { classes };
        let most = (SAMPLES[1] / scores).max(SAMPLES[0]);
        let samples = (TIMES * self.records(records)).clamp(SAMPLES[0], most);
        let sampled = |released: &Self, count: usize, rng: &mut _, watch: &mut W| {
            let model = released.fit(records, rng, watch)?;
            let made = model.sample(records.schema().rules(), count, rng, watch)?;
            watch.go_on(Work::Sampling)?;
            Ok(made)
        };
        let mut halves = Vec::new();
        for half in self.halves(rng) {
            halves.push(sampled(&half, samples / COMPARED, rng, watch)?);
        }
        let [one, other] = [coded(&halves[0])?, coded(&halves[1])?];
        let mut compared = Vec::new();
        for learner in Learner::ALL {
            let mut learn = |table| {
                watch.go_on(Work::Sampling)?;
                TableModel::learn(learner, table, label).map_err(refused)
            };
            let models = [learn(&one)?, learn(&other)?];
            let loss = |model: &TableModel, table| model.log_loss(table).map_err(refused);
            let loss = (loss(&models[0], &other)? + loss(&models[1], &one)?) / 2.0;
            compared.push((learner, loss, models));
        }
        let losses = compared.iter().map(|(learner, loss, _)| (*learner, *loss));
        let losses: Vec<(Learner, f64)> = losses.collect();
        let simple = losses[0].1;
        let better = |(learner, loss, _): &(Learner, f64, _)| {
            *learner == Learner::Logistic || *loss < TREES * simple
        };
        let best = compared.into_iter().rfind(better);
        let (learner, _, models) = best.ok_or_else(|| W::failed(SynthError::Unlabelled))?;
        let made = sampled(self, samples, rng, watch)?;
        let table = coded(&made)?;
        let model = TableModel::learn(learner, &table, label).map_err(refused)?;
        let probe = &made[..made.len().min(PROBED * sizes.len())];
        let influences = influences(&[&model, &models[0], &models[1]], &coded(probe)?, rng);
        Ok(Classifier {
            model,
            samples,
            losses,
            influences: influences.map_err(refused)?,
        })
    }
}

/// The influence of each column on the first model; the others learned from halves of the noise, so that half of their difference has the
/// deviation that the noise gives to the first.
fn influences(
    models: &[&TableModel; 3],
    probe: &CodedRecords<'_>,
    rng: &mut impl Rng,
) -> Result<Vec<Influence>, ClassifierError> {
    let width = probe.columns();
    let mut order: Vec<usize> = (0..probe.records()).collect();
    order.shuffle(rng);
    let before = losses(models, probe)?;
    let columns = (0..width).filter(|&column| column != models[0].label());
    columns
        .map(|column| {
            let mut codes = probe.codes.to_vec();
            for (record, &from) in codes.chunks_exact_mut(width).zip(&order) {
                record[column] = probe.codes[from * width + column];
            }
            let mixed = CodedRecords::new(&codes, probe.sizes, probe.ordered)?;
            let after = losses(models, &mixed)?;
            let [all, one, other] = [0, 1, 2].map(|model| after[model] - before[model]);
            Ok(Influence {
                column,
                loss: all,
                deviation: (one - other).abs() / 2.0,
            })
        })
        .collect()
}

fn losses(
    models: &[&TableModel; 3],
    table: &CodedRecords<'_>,
) -> Result<[f64; 3], ClassifierError> {
    let [a, b, c] = models;
    Ok([a.log_loss(table)?, b.log_loss(table)?, c.log_loss(table)?])
}

#[cfg(test)]
mod tests {
    use data::{Part, Schema, StoredTable};

    use super::*;
    use crate::table::Aim;
    use crate::{Direct, seeded};
    use dp_core::ledger::Ledger;
    use dp_core::mechanism::NoiseSource;
    use dp_core::plan::TrainingPlan;

    const SCHEMA: &str = r#"
        header = true
        column = [
            { name = "a", kind = "categorical", levels = ["x", "y"], public = true },
            { name = "b", kind = "categorical", levels = ["x", "y"], public = true },
            { name = "c", kind = "integer", min = 0, max = 9, public = true },
            { name = "yes", kind = "label", classes = [["no"], ["yes"]], public = true },
        ]
    "#;

    /// Releases of 4000 records whose label follows from two categories by `of`, but for one in ten.
    fn released(of: fn(bool, bool) -> bool) -> (Records, Released) {
        let line = |i: usize| {
            let (a, b) = (i % 2 == 1, i / 2 % 2 == 1);
            let yes = of(a, b) != i.is_multiple_of(10);
            let [a, b] = [a, b].map(|is| ["x", "y"][usize::from(is)]);
            format!(
                "{a},{b},{},{}\n",
                i / 4 % 10,
                ["no", "yes"][usize::from(yes)]
            )
        };
        let text = "a,b,c,yes\n".to_string() + &(0..4000).map(line).collect::<String>();
        let schema = Schema::parse("schema", SCHEMA).unwrap();
        let table = schema.coded_bytes("table", text.as_bytes()).unwrap();
        let table = StoredTable::from(table);
        let mut records = Records::of(schema, table, None, Part::ALL).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).unwrap();
        let plan: TrainingPlan = crate::table::TableCopy::new().plan(&records).unwrap();
        let plan = plan.check().unwrap();
        let noise = plan.noise_multiplier();
        let mut by = Direct::new(plan.releaser(NoiseSource::insecure(3)), &mut ledger);
        let released = Released::of(&mut records, noise, Aim::Model, &mut by).unwrap();
        (records, released)
    }

    #[test]
    fn trees_are_chosen_where_no_column_tells_by_itself() {
        let parity = released(|a, b| a != b);
        let first = released(|a, _| a);
        for ((records, released), learner) in [(parity, Learner::Trees), (first, Learner::Logistic)]
        {
            let chosen = released.classifier(&records, &mut seeded(), &mut crate::Unwatched);
            let chosen = chosen.unwrap();
            assert_eq!(chosen.model.learner(), learner, "{:?}", chosen.losses);
            // The third tells in part which records break the rule.
            let of = |column: usize| chosen.influences[column].loss;
            assert!(
                of(0) > 0.3 && of(2) < of(0) / 3.0,
                "{:?}",
                chosen.influences
            );
        }
    }

    /// Of 64 classes 60 000 records leave nearly all, and 64 records nearly nothing. A share of 4000 records is off by less than 0.04 but for
    /// one seed in a million.
    #[test]
    fn what_noise_leaves_of_classes() {
        let check = |classes, records, noise| {
            check_classes(classes, Signal::new(records, noise), &mut seeded())
        };
        assert!(check(64, 60_000, 4.0).is_ok());
        assert!(check(2, 100, 10.0).is_ok());
        // Half, and 0.001 more.
        let few = check(2, 100, 1e4).unwrap_err().to_string();
        assert!(few.contains("an accuracy of 0.5"), "{few}");
        let many = check(64, 64, 4.0).unwrap_err().to_string();
        assert!(many.contains("64 classes"), "{many}");
    }

    /// The halves have the released counts as their mean, and what is added and taken has the deviation of the noise: of `y = x + n` the
    /// noises `n + e` and `n - e` have no covariance then. Over 100 cells its mean square is between 0.5 and 1.6 but for one seed in 3000.
    #[test]
    fn halves_of_the_noise_are_apart() {
        let (_, whole) = released(|a, _| a);
        let halves = whole.halves(&mut seeded());
        let (mut squares, mut cells) = (0.0, 0.0);
        for (place, table) in whole.pairs.iter().enumerate() {
            let [one, other] = [0, 1].map(|half| &halves[half].pairs[place]);
            assert!((one.deviation / table.deviation - 2.0_f64.sqrt()).abs() < 1e-12);
            for (cell, count) in table.counts.iter().enumerate() {
                let [a, b] = [one, other].map(|half| half.counts[cell]);
                assert!(((a + b) / 2.0 - count).abs() < 1e-6);
                let moved = (a - count) / table.deviation;
                squares += moved * moved;
                cells += 1.0;
            }
        }
        let variance = squares / cells;
        assert!(
            cells > 100.0 && (0.5..1.6).contains(&variance),
            "{variance}"
        );
    }
}
