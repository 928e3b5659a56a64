//! `card.json` and `README.md` of an export: what it is, what it promises, what it may be used for.

use std::collections::BTreeMap;
use std::path::Path;

use data::export::{Format, Layout};
use lab::checkpoint::hex;
use lab::diagnostic::Failure;
use lab::report::{RunRecord, Standing, Statement, epsilon_upper};
use lab::run_folder::{RunFolder, write_file};
use serde_json::{Value, json};

use super::{PART, Source};
use crate::scores::READS_PRIVATE;

/// The name of the card in an export; a folder with one is an export.
pub(crate) const CARD: &str = "card.json";

const USE: &str = "Samples are computed from the values in the ledger and from public data alone (post-processing): \
                   using, copying or publishing them, as often as you like, spends no privacy beyond the guarantee on \
                   this card. The guarantee is no licence: rights in the private and in the public data sets stay with \
                   their owners.";
const OF_TESTS: &str = "samples of the same run, against public test records";
const NOT_PRIVATE: &str = "NOT PRIVATE: nothing is promised of these samples. Treat them as the private records \
                           themselves.";

/// The card of an export.
pub(crate) struct Card {
    card: Value,
    private: bool,
    layout: Layout,
    classes: BTreeMap<u8, usize>,
}

impl Card {
    /// The card of samples of a run.
    pub(crate) fn new(
        record: &RunRecord,
        folder: &RunFolder,
        source: &Source,
        layout: &Layout,
        seed: u64,
    ) -> Result<Self, Failure> {
        let ledger = super::source::bytes(folder, "ledger.jsonl")?;
        let statement = Statement::of(record);
        let private = statement.standing == Standing::Private;
        let run = record.run.clone().unwrap_or_default();
        let plan = run.plan.unwrap_or_default();
        // What read private records beyond the ledger stays with the run.
        let covered = run
            .metrics
            .iter()
            .filter(|m| !m.name.starts_with(READS_PRIVATE));
        let scores = covered.map(|metric| {
            json!({"name": metric.name, "value": metric.value, "unit": metric.unit, "better": metric.better})
        });
        let scores: Vec<Value> = scores.collect();
        let mut settings = json!(run.settings);
        if let (Some(_), Some(settings)) = (&source.copy, settings.as_object_mut()) {
            // The card may be published; where the private images lie stays here.
            settings
                .retain(|key, _| !["input", "unit", "unit-from-name", "test"].contains(&&**key));
        }
        let card = json!({
            "what": match &source.copy {
                Some(_) => format!("{} synthetic images, a private copy", layout.count),
                None => format!("{} synthetic images of {}", layout.count, record.title()),
            },
            "count": layout.count,
            "image": {"height": layout.sides[0], "width": layout.sides[1], "channels": layout.channels},
            "labels": layout.labels,
            "classes": layout.classes,
            "privacy": {
                "private": private,
                "statement": statement.sentence,
                "epsilon_upper": epsilon_upper(record),
                "delta": plan.delta,
                "neighbours": plan.neighbours,
                "accountant": plan.accountant,
                "noise_multiplier": plan.noise_multiplier,
                "ledger_releases": record.ledger.releases,
                "ledger_sha256": hex(&ledger),
            },
            "public_knowledge": source.public_knowledge,
            "use": if private { USE } else { NOT_PRIVATE },
            "scores": scores,
            "scores_are_of": source.copy.as_ref().map_or(OF_TESTS, |copy| &copy.scores_are_of),
            "warnings": run.warnings,
            "sampling": {"seed": seed, "part": PART, "order": "without meaning"},
            "run": {
                "experiment": run.experiment,
                "version": run.version,
                "commit": run.commit,
                "private_records": run.records,
                "settings": settings,
            },
        });
        Ok(Self {
            card,
            private,
            layout: layout.clone(),
            classes: BTreeMap::new(),
        })
    }

    /// Counts the labels of samples that were written.
    pub(crate) fn count(&mut self, labels: &[u8]) {
        for &label in labels {
            *self.classes.entry(label).or_default() += 1;
        }
    }

    /// What must be said where nothing is promised.
    pub(crate) fn warning(&self) -> Option<&'static str> {
        (!self.private).then_some(NOT_PRIVATE)
    }

    /// Writes card and page, with the SHA-256 of `files`.
    pub(crate) fn write(&mut self, folder: &Path, files: &[&'static str]) -> Result<(), Failure> {
        let mut sums = BTreeMap::new();
        for &file in files {
            sums.insert(file, sha256(&folder.join(file))?);
        }
        self.card["sha256"] = json!(sums);
        if self.layout.labels {
            self.card["class_counts"] = json!(self.classes);
        }
        let text = serde_json::to_string_pretty(&self.card).map_err(Failure::failed)? + "\n";
        write_file(&folder.join(CARD), text.as_bytes())?;
        write_file(&folder.join("README.md"), self.page().as_bytes())
    }

    fn page(&self) -> String {
        let text = |name: &str| self.card[name].as_str().unwrap_or_default();
        let (image, privacy) = (&self.card["image"], &self.card["privacy"]);
        let mut page = format!(
            "# {}\n\n{} x {} pixels, {}, {}. [card.json](card.json) has all of what follows, and more.\n\n",
            text("what"),
            image["height"],
            image["width"],
            if self.layout.channels == 1 {
                "grey"
            } else {
                "colour"
            },
            if self.layout.labels {
                "with labels"
            } else {
                "without labels"
            },
        );
        if !self.layout.classes.is_empty() {
            let named = self.layout.classes.iter().enumerate();
            let named: Vec<String> = named
                .map(|(label, name)| format!("{label} {name}"))
                .collect();
            page += &format!("Classes, by their labels: {}.\n\n", named.join(", "));
        }
        page += &format!(
            "## What is promised\n\n{}\n\nSHA-256 of the ledger of releases: `{}`\n\n{}\n\n",
            privacy["statement"].as_str().unwrap_or_default(),
            privacy["ledger_sha256"].as_str().unwrap_or_default(),
            text("use"),
        );
        page += &format!(
            "## What the public side knew\n\n{}\n\n",
            text("public_knowledge")
        );
        if let Some(scores) = self.card["scores"].as_array().filter(|s| !s.is_empty()) {
            page += "## Scores of the run\n\n| | |\n|---|---|\n";
            for score in scores {
                let value = score["value"]
                    .as_f64()
                    .map_or("not finite".into(), |v| format!("{v:.4}"));
                page += &format!(
                    "| {} | {value} |\n",
                    score["name"].as_str().unwrap_or_default()
                );
            }
            page += &format!("\nOf {}.\n\n", text("scores_are_of"));
        }
        page + "## Loading\n\nIn Python, beside this folder named `export`:\n\n```python\n"
            + self.python().trim_start()
            + "```\n"
    }

    /// How NumPy, torchvision or its folders read what was written.
    fn python(&self) -> String {
        let mut lines = String::new();
        if self.layout.formats.contains(&Format::Npz) {
            lines += "import numpy as np\n\nimages = np.load(\"export/images.npz\")[\"images\"]\n";
            if self.layout.labels {
                lines += "labels = np.load(\"export/images.npz\")[\"labels\"]\n";
            }
        }
        if self.layout.formats.contains(&Format::Idx) && self.layout.labels {
            lines += "\nfrom torchvision import datasets\n\nclass MNIST(datasets.MNIST):\n    resources = datasets.MNIST.resources[:2]\n\ntrain = MNIST(\"export\")\n";
        }
        if self.layout.formats.contains(&Format::Png) {
            lines += "\nfrom torchvision.datasets import ImageFolder\n\nfolder = ImageFolder(\"export/png\", allow_empty=True)\n";
        }
        lines
    }
}

/// The checksum of a file that need not fit into memory.
fn sha256(path: &Path) -> Result<String, Failure> {
    use sha2::{Digest, Sha256};
    use std::io::Read;
    let failed = |e| Failure::failed(format!("{}: {e}", path.display()));
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let (mut sum, mut part) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part).map_err(failed)? {
            0 => break,
            read => sum.update(&part[..read]),
        }
    }
    Ok(sum
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
