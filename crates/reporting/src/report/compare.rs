//! Several runs side by side.

use serde::Serialize;

use super::html;
use super::metrics::Curve;
use super::page::{facts, picture_of, warnings};
use super::picture::Picture;
use super::privacy::{Standing, Statement, lost};
use super::record::RunRecord;
use super::results::{Shown, results};
use super::settings::Settings;
use super::together::sentence;
use crate::diagnostic::Failure;

#[derive(Debug, Serialize)]
struct Page {
    title: String,
    runs: Vec<Run>,
    warnings: Vec<String>,
    together: Option<String>,
    facts: Vec<Line>,
    results: Vec<Line>,
    differing: Vec<Line>,
    common: Vec<(String, String)>,
    curves: Vec<Picture>,
    pictures: Vec<Pictures>,
}

/// The head of a column.
#[derive(Debug, Serialize)]
struct Run {
    name: String,
    standing: Standing,
    heading: &'static str,
}

/// One row: a value a run.
#[derive(Debug, Serialize)]
struct Line {
    name: String,
    note: &'static str,
    values: Vec<Cell>,
    differs: bool,
}

#[derive(Debug, Serialize)]
struct Cell {
    text: String,
    best: bool,
}

/// The same picture of each run.
#[derive(Debug, Serialize)]
struct Pictures {
    name: String,
    of_runs: Vec<(String, Option<Picture>)>,
}

impl Line {
    fn of(name: &str, values: Vec<Option<String>>, differs: bool) -> Self {
        let cells = values.into_iter().map(|value| Cell {
            text: value.unwrap_or_else(missing),
            best: false,
        });
        Self {
            name: name.to_string(),
            note: "",
            values: cells.collect(),
            differs,
        }
    }

    fn of_results(shown: Shown) -> Self {
        let best = shown.best();
        let cells = shown.values.iter().enumerate().map(|(run, value)| Cell {
            text: value
                .as_ref()
                .map_or_else(missing, |metric| metric.ours.clone()),
            best: best.contains(&run),
        });
        Self {
            name: shown.name.clone(),
            note: shown.better_in_words(),
            values: cells.collect(),
            differs: false,
        }
    }
}

fn missing() -> String {
    "\u{2013}".into()
}

/// The page that compares runs: privacy, results, settings with those that differ marked, curves
/// over each other, pictures in columns.
///
/// # Errors
///
/// [`Failure::BadInput`] for no run at all; [`Failure::Failed`] where it cannot be rendered.
pub fn compare(records: &[RunRecord]) -> Result<String, Failure> {
    if records.is_empty() {
        return Err(Failure::input(
            "there is no run to compare",
            "name run folders, such as runs/swae/*",
        ));
    }
    let names = names(records);
    let mut notes = notes(records, &names);
    let (differing, common) = settings(records);
    let curves = curves(records, &names, &mut notes);
    let pictures = pictures(records, &names, &mut notes);
    let runs = records.iter().zip(&names).map(|(record, name)| {
        let statement = Statement::of(record);
        Run {
            name: name.clone(),
            standing: statement.standing,
            heading: statement.heading,
        }
    });
    html::render(
        "compare.html.jinja",
        &Page {
            title: format!("{} runs compared", records.len()),
            runs: runs.collect(),
            warnings: notes,
            together: sentence(records),
            facts: fact_lines(records),
            results: results(records).into_iter().map(Line::of_results).collect(),
            differing,
            common,
            curves,
            pictures,
        },
    )
}

/// What a reader must know about each of several runs, by its name; what holds for several is said once.
pub(super) fn notes(records: &[RunRecord], names: &[String]) -> Vec<String> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (record, name) in records.iter().zip(names) {
        // A finished run says so among its warnings, and an unfinished one on its own page alone.
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

/// Names of the runs: as much of the end of each path as tells them apart.
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

fn fact_lines(records: &[RunRecord]) -> Vec<Line> {
    let statements: Vec<Statement> = records.iter().map(Statement::of).collect();
    let privacy = |name: &str| -> Vec<Option<String>> {
        let fact = |statement: &Statement| {
            let mut facts = statement.facts.iter();
            facts.find(|(key, _)| *key == name).map(|(_, v)| v.clone())
        };
        statements.iter().map(fact).collect()
    };
    let mut lines = Vec::new();
    let mut names: Vec<&'static str> = Vec::new();
    for (name, _) in statements.iter().flat_map(|s| &s.facts) {
        if !names.contains(name) {
            names.push(*name);
        }
    }
    for name in names {
        let values = privacy(name);
        let differs = known_differ(&values);
        lines.push(Line::of(name, values, differs));
    }
    let listed: Vec<_> = records.iter().map(facts).collect();
    let mut names: Vec<&'static str> = Vec::new();
    for (name, _) in listed.iter().flatten() {
        if !names.contains(name) {
            names.push(*name);
        }
    }
    for name in names {
        let fact = |facts: &Vec<(&'static str, String)>| {
            let mut facts = facts.iter();
            facts.find(|(key, _)| *key == name).map(|(_, v)| v.clone())
        };
        let values: Vec<Option<String>> = listed.iter().map(fact).collect();
        // No two runs end at the same time or take as long: that is not worth a mark.
        let differs = !["Finished", "Training"].contains(&name) && known_differ(&values);
        lines.push(Line::of(name, values, differs));
    }
    lines
}

/// Whether values differ; what a run does not say is no difference.
fn known_differ(values: &[Option<String>]) -> bool {
    let known: Vec<&String> = values.iter().flatten().collect();
    known.windows(2).any(|pair| pair[0] != pair[1])
}

fn settings(records: &[RunRecord]) -> (Vec<Line>, Vec<(String, String)>) {
    let mut names: Vec<&str> = records
        .iter()
        .flat_map(|record| record.settings.iter().map(|(name, _)| name))
        .collect();
    names.sort_unstable();
    names.dedup();
    let value = |settings: &Settings, name: &str| settings.get(name).map(str::to_string);
    let (mut differing, mut common) = (Vec::new(), Vec::new());
    for name in names {
        let values: Vec<_> = records.iter().map(|r| value(&r.settings, name)).collect();
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        let line = Line::of(name, values, differs);
        match line.differs {
            true => differing.push(line),
            false => common.push((line.name, line.values[0].text.clone())),
        }
    }
    (differing, common)
}

/// A chart for each field that more than one step of some run has.
fn curves(records: &[RunRecord], names: &[String], notes: &mut Vec<String>) -> Vec<Picture> {
    let mut fields: Vec<(&str, String)> = Vec::new();
    for curve in records.iter().flat_map(|record| &record.metrics.curves) {
        if fields.iter().all(|(field, _)| *field != curve.field) {
            fields.push((&curve.field, curve.title()));
        }
    }
    let chart = |(field, title): (&str, String)| {
        let of_runs: Vec<(String, &Curve)> = records
            .iter()
            .zip(names)
            .filter_map(|(record, name)| Some((name.clone(), record.metrics.curve(field)?)))
            .collect();
        picture_of(&title, &of_runs, notes)
    };
    fields.into_iter().filter_map(chart).collect()
}

/// The pictures that any of the runs has, by file name.
fn pictures(records: &[RunRecord], names: &[String], notes: &mut Vec<String>) -> Vec<Pictures> {
    let mut all: Vec<Pictures> = Vec::new();
    for (record, name) in records.iter().zip(names) {
        for figure in record.figures() {
            let picture = match Picture::read(&record.folder, &figure) {
                Ok(picture) => Some(picture),
                Err(why) => {
                    notes.push(format!(
                        "{name}: the picture \"{}\" is missing: {why}.",
                        figure.file
                    ));
                    None
                }
            };
            let key = figure.file;
            let known = all.iter_mut().find(|pictures| pictures.name == key);
            match known {
                Some(pictures) => pictures.of_runs.push((name.clone(), picture)),
                None => all.push(Pictures {
                    name: key,
                    of_runs: vec![(name.clone(), picture)],
                }),
            }
        }
    }
    all
}
