//! What a run leaves behind, and what starts several: ledgers, results, splits, sweeps.

use std::path::Path;

use data::{PublicShare, Records, Split, SplitPlan};
use dp_accountant::ledger::Entries;
use reporting::report::{RunRecord, markdown};
use tools::sweep::Sweep;

use crate::{Parser, file, text};

pub(super) const PARSERS: &[Parser] = &[
    Parser {
        name: "ledger",
        read: |bytes, _| {
            if let Ok(entries) = Entries::parse(text(bytes)) {
                let _ = (entries.releases(), entries.event());
            }
        },
        seeds: || vec![LEDGER.as_bytes().to_vec()],
    },
    Parser {
        name: "run",
        read: |bytes, folder| {
            run(
                folder,
                &[("run.json", bytes), ("ledger.jsonl", LEDGER.as_bytes())],
            )
        },
        seeds: || vec![RUN.as_bytes().to_vec()],
    },
    Parser {
        name: "metrics",
        read: |bytes, folder| {
            run(
                folder,
                &[("config.toml", b"steps = 3"), ("metrics.jsonl", bytes)],
            )
        },
        seeds: || {
            vec![b"{\"step\":1,\"scores\":{\"a\":0.5,\"b\":null}}\n{\"step\":2,\"scores\":{\"a\":[1,2]}}\n".to_vec()]
        },
    },
    Parser {
        name: "summary",
        read: |bytes, folder| {
            run(
                folder,
                &[("config.toml", b"steps = 3"), ("ledger.jsonl", bytes)],
            )
        },
        seeds: || vec![LEDGER.as_bytes().to_vec()],
    },
    Parser {
        name: "split",
        read: |bytes, folder| {
            file(folder, "tiny.split.json", bytes);
            let _ = Split::load_or_create(folder, SPLIT, &records(), &PLAN);
        },
        seeds: || {
            let folder = tempfile::tempdir().expect("a folder to write to");
            Split::load_or_create(folder.path(), SPLIT, &records(), &PLAN).expect("a split");
            vec![std::fs::read(folder.path().join("tiny.split.json")).expect("a split")]
        },
    },
    Parser {
        name: "sweep",
        read: |bytes, _| {
            if let Ok(sweep) = Sweep::parse(text(bytes)) {
                let _ = sweep.cells();
            }
        },
        seeds: || vec![include_bytes!("../../../assets/sweeps/smoke.toml").to_vec()],
    },
];

const PLAN: SplitPlan = SplitPlan {
    share: PublicShare::Fraction(0.5),
    seed: 1,
    stratified: true,
};
const SPLIT: &str = "tiny";
const LEDGER: &str = r#"{"event":{"type":"sampled","sampler":{"kind":"without_replacement","records":60000,"batch":600},"event":{"type":"gaussian","noise_multiplier":0.75}},"count":1,"neighbours":"replace_one","sensitivity":0.1,"deviation":0.075,"secret_noise":true}
{"event":{"type":"composed","events":[{"type":"gaussian","noise_multiplier":2.5},{"type":"laplace","scale":3}]},"count":2,"neighbours":"replace_one","sensitivity":null,"deviation":null,"secret_noise":false}
"#;
const RUN: &str = include_str!("run.json");

fn records() -> Records {
    Records::new((0..24).collect(), vec![0, 1, 0, 1, 1, 0], 2, 2, 2).expect("images")
}

/// Reads a run of these files, and what a page is made of.
fn run(folder: &Path, files: &[(&str, &[u8])]) {
    let folder = folder.join("run");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder to write to");
    for (name, bytes) in files {
        file(&folder, name, bytes);
    }
    if let Ok(record) = RunRecord::read(&folder) {
        let _ = (record.title(), record.results());
        let _ = markdown(&record);
    }
}
