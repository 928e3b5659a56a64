//! Published figures beside those of a run: theirs, from `assets/published.toml`.

use serde::{Deserialize, Serialize};

use super::number::shown;
use super::record::RunRecord;

const FILE: &str = include_str!("../../../../assets/published.toml");

const DIFFERS: &str = "Theirs, and not repeated here: accuracies at delta 1e-5, on real test records, of a \
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
    /// Figures on the run's data set, where there are any and the run's images were judged.
    pub(super) fn of(record: &RunRecord) -> Option<Self> {
        let images = record.run.as_ref()?.more.get("images")?.as_object()?;
        let accuracy: fn(&Figure) -> f64 = match record.settings.get("dataset")? {
            "mnist" => |figure| figure.mnist,
            "fashion-mnist" => |figure| figure.fashion_mnist,
            _ => return None,
        };
        let ours = images.get("field").and_then(|field| {
            let mean = field["convolutional"]["mean"].as_f64()?;
            Some(format!(
                " The same score of this run, convolutional: {}.",
                shown(mean)
            ))
        });
        let ours = ours.unwrap_or_else(|| {
            " This run was not judged by the field's protocol (--protocol field).".into()
        });
        Some(Self {
            what: format!("{DIFFERS}{ours}"),
            rows: figures()
                .iter()
                .map(|figure| figure.row(accuracy(figure)))
                .collect(),
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
    use super::*;

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
