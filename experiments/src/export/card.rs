//! `card.json` and `README.md` of an export: what it is, what it promises, what it may be used for.

use std::collections::BTreeMap;
use std::path::Path;

use data::Arrays;
use data::export::{Format, Layout};
use lab::prelude::*;
use lab::report::{Standing, Statement, epsilon_upper};
use serde_json::{Value, json};

use super::{Destination, PART, Source};
use crate::scores::READS_PRIVATE;

/// The name of the card in an export; a folder with one is an export.
pub(crate) const CARD: &str = "card.json";

const USE: &str = "All of this is computed from the values in the ledger and from public data alone (post-processing): \
                   using, copying or publishing them, as often as you like, spends no privacy beyond the guarantee on \
                   this card. The guarantee is no licence: rights in the private and in the public data sets stay with \
                   their owners.";
const OF_TESTS: &str = "samples of the same run, against public test records";
const NOT_PRIVATE: &str = "NOT PRIVATE: nothing is promised of what lies here. Treat it as the private records \
                           themselves.";

/// What an export holds, in words and numbers: all of it is public.
pub(crate) struct Contents {
    /// In a few words.
    pub what: String,
    /// Fields of the card of its own kind, such as the size of images.
    pub facts: Value,
    /// What its page begins with.
    pub lead: String,
    /// What the public side knew.
    pub public_knowledge: String,
    pub scores_are_of: String,
    /// Settings that stay with the run: a card may be published, and where private records lie is private.
    pub kept_back: &'static [&'static str],
    /// How programs read it.
    pub loading: Vec<Loading>,
}

/// How a program reads an export.
pub(crate) struct Loading {
    pub program: &'static str,
    /// Of its code.
    pub language: &'static str,
    pub code: String,
}

/// The card of an export.
pub(crate) struct Card {
    card: Value,
    private: bool,
    lead: String,
    loading: Vec<Loading>,
}

impl Contents {
    pub(crate) fn images(layout: &Layout, source: &Source, title: &str) -> Self {
        let [height, width] = layout.sides;
        let colour = ["colour", "grey"][usize::from(layout.channels == 1)];
        let labels = ["without labels", "with labels"][usize::from(layout.labels)];
        let mut lead = format!("{height} x {width} pixels, {colour}, {labels}.");
        lead += " [card.json](card.json) has all of what follows, and more.\n\n";
        if !layout.classes.is_empty() {
            let named = layout.classes.iter().enumerate();
            let named: Vec<String> = named
                .map(|(label, name)| format!("{label} {name}"))
                .collect();
            lead += &format!("Classes, by their labels: {}.\n\n", named.join(", "));
        }
        lead += &files(layout);
        Self {
            what: match &source.copy {
                Some(_) => format!("{} synthetic images, a private copy", layout.count),
                None => format!("{} synthetic images of {title}", layout.count),
            },
            facts: json!({
                "count": layout.count,
                "image": {"height": height, "width": width, "channels": layout.channels},
                "labels": layout.labels,
                "classes": layout.classes,
            }),
            lead,
            public_knowledge: source.public_knowledge.clone(),
            scores_are_of: match &source.copy {
                Some(copy) => copy.scores_are_of.clone(),
                None => OF_TESTS.into(),
            },
            kept_back: match &source.copy {
                Some(_) => &["input", "unit", "unit-from-name", "test"],
                None => &[],
            },
            loading: vec![Loading {
                program: "Python",
                language: "python",
                code: python(layout),
            }],
        }
    }
}

impl Card {
    /// The card of what comes of a run, and of public randomness of `seed`.
    pub(crate) fn new(
        record: &RunRecord,
        folder: &RunFolder,
        contents: Contents,
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
        if let Some(settings) = settings.as_object_mut() {
            settings.retain(|key, _| !contents.kept_back.contains(&&**key));
        }
        let mut card = json!({
            "what": contents.what,
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
            "public_knowledge": contents.public_knowledge,
            "use": if private { USE } else { NOT_PRIVATE },
            "scores": scores,
            "scores_are_of": contents.scores_are_of,
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
        if let (Some(card), Value::Object(facts)) = (card.as_object_mut(), contents.facts) {
            card.extend(facts);
        }
        Ok(Self {
            card,
            private,
            lead: contents.lead,
            loading: contents.loading,
        })
    }

    /// Writes card and page, with the SHA-256 of `files` and how many samples each class has, puts the export in its place, and says
    /// `what` it is.
    pub(crate) fn finish(
        mut self,
        place: Destination,
        files: &[&str],
        class_counts: Option<&BTreeMap<u8, usize>>,
        what: &str,
    ) -> Result<(), Failure> {
        let folder = place.path();
        let mut sums = BTreeMap::new();
        for &file in files {
            sums.insert(file, sha256(&folder.join(file))?);
        }
        self.card["sha256"] = json!(sums);
        if let Some(counts) = class_counts {
            self.card["class_counts"] = json!(counts);
        }
        let text = serde_json::to_string_pretty(&self.card).or_failed()? + "\n";
        write_file(&folder.join(CARD), text.as_bytes())?;
        write_file(&folder.join("README.md"), self.page().as_bytes())?;
        println!("exported  {what} to {}", place.finish()?.display());
        if !self.private {
            println!("WARNING   {NOT_PRIVATE}");
        }
        Ok(())
    }

    fn page(&self) -> String {
        let text = |name: &str| self.card[name].as_str().unwrap_or_default();
        let privacy = &self.card["privacy"];
        let mut page = format!("# {}\n\n{}", text("what"), self.lead);
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
        if let Some(warnings) = self.card["warnings"].as_array().filter(|w| !w.is_empty()) {
            page += "## Warnings\n\n";
            for warning in warnings.iter().filter_map(Value::as_str) {
                page += &format!("- {warning}\n");
            }
            page += "\n";
        }
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
        page += "## Loading\n\nBeside this folder, named `export`:\n";
        for Loading {
            program,
            language,
            code,
        } in &self.loading
        {
            page += &format!(
                "\nIn {program}:\n\n```{language}\n{}```\n",
                code.trim_start()
            );
        }
        page
    }
}

/// Where images lie below the card, a sentence each.
fn files(layout: &Layout) -> String {
    let [class, labels] = match layout.labels {
        true => ["CLASS/", " and labels"],
        false => ["", ""],
    };
    let of = |format: &Format| match format {
        Format::Idx => format!("Images{labels} are idx files in `MNIST/raw`."),
        Format::Npz => format!("Images{labels} are arrays of `images.npz`."),
        Format::Png => {
            let path = layout.png_folder().join(class).join("NUMBER.png");
            format!("Images are PNG files, `{}`.", path.display())
        }
    };
    let all: Vec<String> = layout.formats.iter().map(of).collect();
    all.join(" ") + "\n\n"
}

/// How NumPy, torchvision or its folders read images.
fn python(layout: &Layout) -> String {
    let mut lines = String::new();
    if layout.formats.contains(&Format::Npz) {
        let Arrays { images, labels, .. } = &layout.arrays;
        lines += "import numpy as np\n\n";
        lines += &format!("images = np.load(\"export/images.npz\")[\"{images}\"]\n");
        if layout.labels {
            lines += &format!("labels = np.load(\"export/images.npz\")[\"{labels}\"]\n");
        }
    }
    if layout.formats.contains(&Format::Idx) && layout.labels {
        lines += "\nfrom torchvision import datasets\n\nclass MNIST(datasets.MNIST):\n    resources = datasets.MNIST.resources[:2]\n\ntrain = MNIST(\"export\")\n";
    }
    if layout.formats.contains(&Format::Png) {
        let folder = Path::new("export").join(layout.png_folder());
        let folder = folder.display().to_string();
        let folder = folder.trim_end_matches('/');
        lines += &match layout.labels {
            true => format!(
                "\nfrom torchvision.datasets import ImageFolder\n\nfolder = ImageFolder(\"{folder}\", allow_empty=True)\n"
            ),
            false => format!(
                "\nfrom pathlib import Path\nfrom PIL import Image\n\nimages = [Image.open(path) for path in sorted(Path(\"{folder}\").glob(\"*.png\"))]\n"
            ),
        };
    }
    lines
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
