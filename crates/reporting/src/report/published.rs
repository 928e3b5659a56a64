//! Published figures beside those of a run: theirs, from `assets/published.toml`.

use serde::{Deserialize, Serialize};

use super::number::shown;
use super::record::RunRecord;

const FILE: &str = include_str!("../../../../assets/published.toml");

/// The delta of all of them.
const DELTA: f64 = 1e-5;
/// Samples that the field's classifiers learn from.
const SAMPLES: u64 = 60_000;

const DIFFERS: &str = "Theirs, and not repeated here: accuracies at the epsilon and the delta of this run, on real test records, of a \
                       classifier trained on generated samples. What differs: neighbours, classifiers and numbers of runs \
                       are not all the same, and the field's benchmark (Gong et al. 2025, arXiv 2503.14681) averages over \
                       epochs of the classifier or chooses one by an un-noised validation. Ours takes the last epoch of a \
                       fixed schedule, and chooses nothing by private or by test records; this program's constants were set with \
                       scores on these data in view.";

/// The table of a page.
#[derive(Debug, Serialize)]
pub(super) struct Published {
    what: String,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    method: String,
    epsilon: String,
    accuracy: String,
    public: String,
    classifier: String,
    source: String,
}

#[derive(Deserialize)]
struct File {
    published: Vec<Figure>,
}

/// A published accuracy of a classifier that learned from private synthetic images, at delta 1e-5.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Figure {
    /// The method's name.
    pub method: String,
    paper: String,
    year: u32,
    arxiv: Option<String>,
    /// Where the figure stands, where that was checked.
    table: Option<String>,
    /// Which classifier learned from the samples.
    #[serde(default = "convolutional")]
    pub classifier: String,
    /// Its epsilon.
    pub epsilon: f64,
    /// What was public.
    #[serde(default = "nothing")]
    pub public: String,
    /// The accuracy on MNIST.
    pub mnist: f64,
    /// The accuracy on Fashion-MNIST.
    pub fashion_mnist: f64,
}

fn nothing() -> String {
    "nothing".into()
}

fn convolutional() -> String {
    "convolutional".into()
}

impl Published {
    /// Figures that the run can be held against: on its data set, at its epsilon and delta, if it was judged by the field's
    /// protocol.
    pub(super) fn of(record: &RunRecord) -> Option<Self> {
        let run = record.run.as_ref().filter(|run| run.private)?;
        let accuracy: fn(&Figure) -> f64 = match record.settings.get("dataset")? {
            "mnist" => |figure| figure.mnist,
            "fashion-mnist" => |figure| figure.fashion_mnist,
            _ => return None,
        };
        let field = run.more.get("images")?.get("field")?;
        let ours = field["convolutional"]["mean"].as_f64()?;
        let samples = field["training_records"].as_u64();
        let plan = run.plan.as_ref()?;
        let epsilon = plan.epsilon_upper?;
        // What is planned for an epsilon is a little below it.
        let alike = |figure: &Figure| (0.99..=1.0 + 1e-9).contains(&(epsilon / figure.epsilon));
        let figures = figures();
        let rows: Vec<Row> = figures
            .iter()
            .filter(|figure| alike(figure))
            .map(|figure| figure.row(accuracy(figure)))
            .collect();
        let same = samples == Some(SAMPLES) && plan.delta == Some(DELTA) && !rows.is_empty();
        same.then(|| Self {
            what: format!(
                "{DIFFERS} The same score of this run, convolutional: {}.",
                shown(ours)
            ),
            rows,
        })
    }
}

impl Figure {
    fn row(&self, accuracy: f64) -> Row {
        let mut source = format!("{} {}", self.paper, self.year);
        if let Some(arxiv) = &self.arxiv {
            source += &format!(", arXiv {arxiv}");
        }
        source += match &self.table {
            Some(table) => format!("; table: {table}"),
            None => {
                "; the paper is the method's, which table the figure is from was not checked".into()
            }
        }
        .as_str();
        Row {
            method: self.method.clone(),
            epsilon: shown(self.epsilon),
            accuracy: format!("{accuracy:.3}"),
            public: self.public.clone(),
            classifier: self.classifier.clone(),
            source,
        }
    }
}

/// All of `assets/published.toml`.
pub fn figures() -> Vec<Figure> {
    // The file is part of the program, and the test below reads it.
    toml::from_str(FILE).map_or_else(|_| Vec::new(), |file: File| file.published)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::report::RunFile;

    /// The rows beside a run on MNIST, after `change`.
    fn beside(change: impl Fn(&mut Value)) -> usize {
        let mut run = json!({
            "experiment": "flow", "version": "1", "device": "x", "privacy": "", "private": true,
            "settings": {"dataset": "mnist"},
            "plan": {"epsilon_upper": 0.99999, "delta": 1e-5},
            "images": {"field": {"training_records": 60_000, "convolutional": {"mean": 0.9}}},
        });
        change(&mut run);
        let run: RunFile = serde_json::from_value(run).unwrap();
        let record = RunRecord {
            folder: "run".into(),
            settings: crate::report::Settings::from_json(&run.settings),
            run: Some(run),
            ledger: Default::default(),
            metrics: Default::default(),
        };
        Published::of(&record).map_or(0, |published| published.rows.len())
    }

    #[test]
    fn figures_stand_beside_runs_of_their_protocol_alone() {
        let at = |epsilon: f64| {
            let all = figures().into_iter();
            all.filter(|figure| figure.epsilon == epsilon).count()
        };
        assert!(at(1.0) > 0 && at(10.0) > 0);
        assert_eq!(beside(|_| {}), at(1.0));
        assert_eq!(
            beside(|run| run["plan"]["epsilon_upper"] = json!(9.97)),
            at(10.0)
        );
        let others: [fn(&mut Value); 7] = [
            |run| run["plan"]["epsilon_upper"] = json!(1.2),
            |run| run["plan"]["epsilon_upper"] = json!(0.9),
            |run| run["plan"]["delta"] = json!(1e-6),
            |run| run["settings"]["dataset"] = json!("glyphs"),
            |run| run["private"] = json!(false),
            |run| run["images"]["field"] = Value::Null,
            |run| run["images"]["field"]["training_records"] = json!(10_000),
        ];
        for (number, other) in others.into_iter().enumerate() {
            assert_eq!(beside(other), 0, "{number}");
        }
    }

    #[test]
    fn every_figure_is_an_accuracy_with_a_source() {
        toml::from_str::<File>(FILE).map(|_| ()).unwrap();
        let figures = figures();
        assert!(figures.len() >= 7);
        for figure in figures {
            assert!((0.1..1.0).contains(&figure.mnist), "{}", figure.method);
            assert!(
                (0.1..1.0).contains(&figure.fashion_mnist),
                "{}",
                figure.method
            );
            assert!(figure.epsilon > 0.0 && (2018..2030).contains(&figure.year));
            let row = figure.row(figure.mnist);
            assert!(row.source.contains(&figure.year.to_string()));
        }
    }
}
