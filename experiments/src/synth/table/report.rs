//! What is shown of a copy.

use data::CodedTable;
use lab::evaluate::EvaluateError;
use lab::evaluate::tabular::{
    CodedRecords, Learner, TableScores, learned_auc, pairs_tvd, single_tvd, sliced_distance,
    triples_tvd,
};
use lab::prelude::*;
use private_queries::NoisyCounts;
use private_synth::table::{Bins, grouped, independent};

use super::pictures::pictures;
use super::run::{SCORED_CLASSES, TableCopy};
use crate::random::stream;
use crate::records::file_name;
use crate::scores::READS_PRIVATE;

/// Records that classifiers learn from and are tested on, at most.
const MOST_SCORED: usize = 100_000;
/// Slices of the sliced distance.
const SLICES: usize = 128;
/// Groups of the bins of a number in distances, at most.
const GROUPS: usize = 16;

/// The first records, no more than are scored: those of a copy are in random order.
pub(super) fn few(codes: &[u16], columns: usize) -> &[u16] {
    &codes[..codes.len().min(MOST_SCORED * columns)]
}

pub(super) fn report(run: &mut TableCopy, session: &mut Session) -> Result<Report, Failure> {
    let mut metrics = scores(run)?;
    let no_better = no_better(&metrics);
    metrics.extend(run.score_privately(session)?);
    let of = file_name(&run.settings.input);
    Ok(Report {
        title: Some(format!("Copy of {of} by counts of pairs of columns")),
        pictures: pictures(run)?,
        metrics,
        warnings: warnings(run)?.into_iter().chain(no_better).collect(),
        ..Report::default()
    })
}

const ALONE: &str = "Columns alone, the baseline: ";
const PAIRS_SCORE: &str = "mean total variation distance to test records, pairs of columns";

/// What is said of a copy that has no more of how columns depend on each other than columns alone.
fn no_better(metrics: &[Metric]) -> Option<String> {
    let value = |name: &str| {
        let mut known = metrics
            .iter()
            .filter(|metric| metric.name.eq_ignore_ascii_case(name));
        known.next().map(|metric| metric.value)
    };
    let [copy, alone] =
        [PAIRS_SCORE.into(), format!("{ALONE}{PAIRS_SCORE}")].map(|name: String| value(&name));
    let none = copy.zip(alone).is_some_and(|(copy, alone)| copy >= alone);
    none.then(|| {
        "By pairs of columns the copy is no better than columns alone: the budget told nothing of how they depend on each other. \
         Take fewer columns or values, or a larger epsilon."
            .into()
    })
}

/// Against public test records.
fn scores(run: &TableCopy) -> Result<Vec<Metric>, Failure> {
    let Some(test) = &run.input.test else {
        return Ok(Vec::new());
    };
    let judged = Judged::new(run, test);
    let alone = independent(
        &run.released()?.columns,
        run.rows(),
        &mut stream(run.settings.seed, 73),
    );
    let named = |whose: &str, copy: &[u16]| -> Result<Vec<Metric>, Failure> {
        let scores = judged.scores(copy, &test.codes)?;
        Ok(named(whose, &scores, judged.sliced(copy, &test.codes)?))
    };
    let mut metrics = named("", &run.made)?;
    metrics.extend(named(ALONE, &alone)?);
    if let Some(other) = &run.compared {
        metrics.extend(named("The compared copy: ", &other.codes)?);
    }
    if run.beside.ceilings {
        let mut private = Vec::new();
        for block in run.input.records.table().blocks() {
            private.extend_from_slice(&block.or_failed()?);
        }
        let prefix = format!("{READS_PRIVATE}, the ceiling: ");
        metrics.extend(named(&prefix, &private)?);
        let own = judged.distances(&run.made, &private)?;
        let name = |what: &str| {
            format!("{READS_PRIVATE}: mean total variation distance of the copy to them, {what}")
        };
        for (what, value) in [
            ("pairs of columns", own.pairs_tvd),
            ("pairs with the label", own.triples_tvd),
        ] {
            let metric = value.map(|value| Metric::new(name(what), value).better(Better::Lower));
            metrics.extend(metric);
        }
    }
    Ok(metrics)
}

/// How records are compared: distances are of groups of bins that have equal numbers of test records, which are public; in finer
/// bins two samples of one distribution are far apart.
struct Judged {
    sizes: Vec<usize>,
    ordered: Vec<usize>,
    label: Option<usize>,
    bins: Vec<Bins>,
}

impl Judged {
    fn new(run: &TableCopy, test: &CodedTable) -> Self {
        let (sizes, ordered) = (run.input.records.sizes(), run.input.records.ordered());
        let width = sizes.len();
        let of = |column: usize| {
            let mut counts = vec![0.0; sizes[column]];
            let codes = test.codes.iter().skip(column).step_by(width);
            codes.for_each(|&code| counts[usize::from(code)] += 1.0);
            let exact = NoisyCounts {
                columns: vec![column],
                counts,
                deviation: 0.0,
                joined: Vec::new(),
            };
            Bins::even(&exact, ordered[column], GROUPS as f64)
        };
        Self {
            bins: (0..width).map(of).collect(),
            label: run.input.records.label(),
            sizes,
            ordered,
        }
    }

    /// Distances alone.
    fn distances(&self, copy: &[u16], real: &[u16]) -> Result<TableScores, Failure> {
        let sizes: Vec<usize> = self.bins.iter().map(Bins::count).collect();
        let none = vec![0; sizes.len()];
        let [copy, real] = [copy, real].map(|codes| grouped(codes, &self.bins));
        let [copy, real] = [&copy, &real].map(|codes| CodedRecords::new(codes, &sizes, &none));
        let (copy, real) = (copy.or_failed()?, real.or_failed()?);
        let scores = || -> Result<TableScores, EvaluateError> {
            Ok(TableScores {
                copy_records: copy.records(),
                real_records: real.records(),
                single_tvd: single_tvd(&copy, &real)?,
                pairs_tvd: pairs_tvd(&copy, &real)?,
                triples_tvd: triples_tvd(&copy, &real, self.label)?,
                trees_auc: None,
                logistic_auc: None,
            })
        };
        scores().or_failed()
    }

    /// The first records by their codes.
    fn first<'a>(&'a self, codes: &'a [u16]) -> Result<CodedRecords<'a>, Failure> {
        let codes = few(codes, self.sizes.len());
        CodedRecords::new(codes, &self.sizes, &self.ordered).or_failed()
    }

    /// The sliced distance, on the same slices for all.
    fn sliced(&self, copy: &[u16], real: &[u16]) -> Result<f64, Failure> {
        let (copy, real) = (self.first(copy)?, self.first(real)?);
        sliced_distance(&copy, &real, SLICES, &mut stream(0, 74)).or_failed()
    }

    /// Distances, and what classifiers learn from the copy of a label of few classes.
    fn scores(&self, copy: &[u16], real: &[u16]) -> Result<TableScores, Failure> {
        let mut scores = self.distances(copy, real)?;
        let few_classes = |&label: &usize| (2..=SCORED_CLASSES).contains(&self.sizes[label]);
        if let Some(label) = self.label.filter(few_classes) {
            let (copy, real) = (self.first(copy)?, self.first(real)?);
            scores.trees_auc = learned_auc(Learner::Trees, &copy, &real, label).or_failed()?;
            scores.logistic_auc =
                learned_auc(Learner::Logistic, &copy, &real, label).or_failed()?;
        }
        Ok(scores)
    }
}

/// The scores of a copy, or of what it is compared with.
fn named(whose: &str, scores: &TableScores, sliced: f64) -> Vec<Metric> {
    let distance = |what: &str, value| {
        let name = format!("mean total variation distance to test records, {what}");
        (name, value, Better::Lower)
    };
    let area = |what: &str, value| {
        let name = format!("area under the ROC curve on test records, {what}");
        (name, value, Better::Higher)
    };
    let sliced_name = "sliced Wasserstein distance to test records".to_string();
    let all = [
        distance("single columns", Some(scores.single_tvd)),
        distance("pairs of columns", scores.pairs_tvd),
        distance("pairs with the label", scores.triples_tvd),
        (sliced_name, Some(sliced), Better::Lower),
        area("boosted trees", scores.trees_auc),
        area("logistic regression", scores.logistic_auc),
    ];
    let metric = |(name, value, better): (String, Option<f64>, Better)| {
        let name = match whose {
            "" => name[..1].to_uppercase() + &name[1..],
            whose => format!("{whose}{name}"),
        };
        Some(Metric::new(name, value?).better(better))
    };
    all.into_iter().filter_map(metric).collect()
}

/// Columns of which noise left nothing.
fn warnings(run: &TableCopy) -> Result<Vec<String>, Failure> {
    let released = run.released()?;
    let columns = run.input.records.columns().iter();
    let columns = columns.zip(&released.bins).zip(&released.columns);
    let open = released.drowned.iter().map(|name| {
        format!(
            "The budget found no values of '{name}': what the copy has of it is noise. Say them in the schema, or give a larger \
             --private-schema."
        )
    });
    let rough = released.rough.iter().map(|name| {
        format!(
            "The budget told the range of '{name}' roughly alone: its finer half is noise, and the copy's bins are wide. Say it in the \
             schema, or give a larger --private-schema."
        )
    });
    let silent = columns.filter(|((column, bins), _)| bins.count() == 1 && column.codes.len() > 1);
    let silent = silent
        .map(|((column, _), noisy)| {
            format!(
                "The budget left nothing of how the column '{}' depends on others: its {} values have noise of deviation {:.0} \
                 on counts of {} records.",
                column.name,
                column.codes.len(),
                noisy.deviation,
                run.records()
            )
        });
    Ok(open.chain(rough).chain(silent).collect())
}
