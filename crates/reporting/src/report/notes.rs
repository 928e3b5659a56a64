//! Warnings about several runs, with the name of each.

use super::page::warnings;
use super::privacy::lost;
use super::record::RunRecord;

/// Returns the warnings about several runs, with their names; a warning about several runs is given once.
pub(super) fn notes(records: &[RunRecord], names: &[String]) -> Vec<String> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (record, name) in records.iter().zip(names) {
        // A finished run has this among its warnings. An unfinished run has it only on its own page.
        let lost = record.run.is_none().then(|| lost(record)).flatten();
        for warning in warnings(record).into_iter().chain(lost) {
            match said.iter_mut().find(|(before, _)| *before == warning) {
                Some((_, of)) => of.push(name),
                None => said.push((warning, vec![name])),
            }
        }
    }
    let note = |(warning, of): (String, Vec<&str>)| match of.len() {
        all if all > 1 && all == records.len() => format!("all {all} runs: {warning}"),
        _ => format!("{}: {warning}", of.join(", ")),
    };
    said.into_iter().map(note).collect()
}

/// Returns the shortest ends of the runs' paths that tell them apart.
pub(super) fn names(records: &[RunRecord]) -> Vec<String> {
    let parts: Vec<Vec<String>> = records
        .iter()
        .map(|record| {
            let parts = record.folder.components();
            parts
                .map(|part| part.as_os_str().to_string_lossy().into_owned())
                .collect()
        })
        .collect();
    let longest = parts.iter().map(Vec::len).max().unwrap_or(1);
    let ends = |depth: usize| -> Vec<String> {
        let end = |part: &Vec<String>| part[part.len().saturating_sub(depth)..].join("/");
        parts.iter().map(end).collect()
    };
    (1..=longest)
        .map(ends)
        .find(|names| {
            let mut sorted = names.clone();
            sorted.sort();
            sorted.windows(2).all(|pair| pair[0] != pair[1])
        })
        .unwrap_or_else(|| ends(longest))
}
