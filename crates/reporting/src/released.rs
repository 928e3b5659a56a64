//! The number of releases that the files of a run's folder record. A ledger with fewer releases has lost some.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::checksum::hex;

const METRICS: &str = "metrics.jsonl";
const CHECKPOINTS: &str = "checkpoints";

/// Returns the files of a folder that record a number of releases, by name, with that number at the time of writing:
/// `metrics.jsonl`, checkpoints, values that were released once, and `run.json`, which comes last. A file that cannot be
/// read is left out.
pub fn recorded(folder: &Path) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    found.extend(in_metrics(folder).map(|releases| (METRICS.to_string(), releases)));
    let checkpoints = names(&folder.join(CHECKPOINTS)).into_iter();
    // Folders with other names are being written, or were when the run was killed.
    for name in checkpoints.filter(|name| name.starts_with("step-")) {
        let name = format!("{CHECKPOINTS}/{name}");
        let manifest = read(&folder.join(&name).join("manifest.json"));
        found.extend(manifest.and_then(|bytes| Some((name, in_json(&bytes)?))));
    }
    let mut names = names(folder);
    names.sort_by_key(|name| (name == "run.json", name.clone()));
    for name in names {
        let path = folder.join(&name);
        let releases = match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => read(&path).and_then(|bytes| in_json(&bytes)),
            Some("bin") => read(&path).and_then(|bytes| in_values(&bytes)),
            _ => None,
        };
        found.extend(releases.map(|releases| (name, releases)));
    }
    found
}

/// Returns the names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn read(path: &Path) -> Option<Vec<u8>> {
    fs::read(path).ok()
}

fn in_json(bytes: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Value>(bytes).ok()?["releases"].as_u64()
}

/// Reads the count at the start of a file of released values, after the checksum of all that follows.
fn in_values(bytes: &[u8]) -> Option<u64> {
    let (sum, body) = bytes.split_at_checked(64)?;
    let count = body.first_chunk().copied().map(u64::from_le_bytes);
    count.filter(|_| hex(body).as_bytes() == sum)
}

/// Returns the most releases on a line of `metrics.jsonl` with an epsilon; a line without that number counts its step.
fn in_metrics(folder: &Path) -> Option<u64> {
    let text = fs::read_to_string(folder.join(METRICS)).ok()?;
    text.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["epsilon_upper"].is_number())
        .filter_map(|line| line["releases"].as_u64().or(line["step"].as_u64()))
        .max()
}
