//! What the packages with tensors read: presets, checkpoints, released values.

use std::collections::BTreeMap;
use std::path::Path;

use lab::backend::Backend;
use lab::checkpoint::{Checkpoints, Identity, hex};
use lab::run_folder::RunFolder;
use lab::session::{Settings, released};

use crate::{Parser, file, text};

pub(super) const PARSERS: &[Parser] = &[
    Parser {
        name: "preset",
        read: |bytes, _| {
            preset::<experiments::swae::Settings>(bytes);
            preset::<experiments::synth::Settings>(bytes);
            preset::<experiments::fair::Settings>(bytes);
            preset::<experiments::ldp::Settings>(bytes);
        },
        seeds: || {
            vec![
                include_bytes!("../../../assets/swae/quick.toml").to_vec(),
                include_bytes!("../../../assets/fair/classification.toml").to_vec(),
                include_bytes!("../../../assets/ldp/images.toml").to_vec(),
                b"kind = \"images\"\ninput = \"glyphs\"\npublic = \"half\"\nmethod = \"fixed\"\nscore-share = 0.0\nseed = 0\nslices = 32".to_vec(),
            ]
        },
    },
    Parser {
        name: "checkpoint",
        read: |bytes, folder| {
            let _ = std::fs::remove_dir_all(folder.join("checkpoints"));
            let manifest = stored(folder);
            std::fs::write(manifest, bytes).expect("a folder to write to");
            let _ = Checkpoints::of(folder).resume(&identity(), Backend::Flex, None);
        },
        seeds: || {
            let folder = tempfile::tempdir().expect("a folder to write to");
            vec![std::fs::read(stored(folder.path())).expect("a manifest")]
        },
    },
    Parser {
        name: "released",
        read: |bytes, folder| {
            // Behind its checksum, or nothing damaged would be read.
            file(folder, "config.toml", b"");
            let whole = [hex(bytes).as_bytes(), bytes].concat();
            for bytes in [bytes, &whole] {
                file(folder, "release.bin", bytes);
                if let Ok(run) = RunFolder::open(folder) {
                    let _ = released(&run, "release");
                }
            }
        },
        seeds: || {
            let words = [
                3_u64,
                1.5_f64.to_bits(),
                2,
                0,
                1.0_f64.to_bits(),
                1,
                2.0_f64.to_bits(),
            ];
            vec![words.iter().flat_map(|word| word.to_le_bytes()).collect()]
        },
    },
];

fn preset<S: Settings>(bytes: &[u8]) {
    if let Ok(settings) = toml::from_str::<S>(text(bytes)) {
        let _ = (settings.check(), settings.name());
    }
}

fn identity() -> Identity {
    Identity {
        experiment: "swae".into(),
        settings: "s".into(),
        records: "r".into(),
        encoder: String::new(),
        program: "p".into(),
    }
}

/// Writes a checkpoint; the path of its manifest.
fn stored(folder: &Path) -> std::path::PathBuf {
    let files = BTreeMap::from([("a.bin".to_string(), b"one".to_vec())]);
    let checkpoints = Checkpoints::of(folder);
    checkpoints
        .write(7, 3, &identity(), None, &files)
        .expect("a checkpoint");
    let mut all = std::fs::read_dir(folder.join("checkpoints")).expect("a folder");
    let only = all.next().expect("a checkpoint").expect("a folder");
    only.path().join("manifest.json")
}
