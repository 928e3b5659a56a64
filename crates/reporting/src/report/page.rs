//! The page of one run.

use dp_accountant::decimal::upper;
use serde::Serialize;

use super::event::noise_multiplier;
use super::html;
use super::ledger::Group;
use super::metrics::Curve;
use super::number::{duration, range, shown};
use super::picture::Picture;
use super::privacy::{Standing, Statement, epsilon_upper, neighbours};
use super::record::RunRecord;
use super::results::Results;
use super::run_file::RunFile;
use crate::diagnostic::Failure;
use crate::figures::{Chart, Scale, Series};

/// The largest number of curves of a page.
const MOST_CURVES: usize = 12;

/// The content of the template.
#[derive(Debug, Serialize)]
struct Page {
    title: String,
    name: String,
    facts: Vec<(&'static str, String)>,
    privacy: Statement,
    warnings: Vec<String>,
    public_knowledge: Option<String>,
    results: Results,
    figures: Vec<Picture>,
    curves: Vec<Picture>,
    ledger: Vec<Release>,
    settings: Vec<(String, String)>,
    command: Option<String>,
}

/// One line of the ledger's table.
#[derive(Debug, Serialize)]
struct Release {
    event: String,
    count: u64,
    noise_multiplier: String,
    sensitivity: String,
    deviation: String,
    neighbours: String,
    phases: String,
    secret_noise: bool,
}

impl Release {
    fn of(group: &Group, unit: Option<&str>) -> Self {
        let missing = || "\u{2013}".to_string();
        let phase = |&(first, last): &(usize, usize)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}\u{2013}{last}")
            }
        };
        let mut phases: Vec<String> = group.phases.iter().take(6).map(phase).collect();
        if group.phases.len() > phases.len() {
            phases.push(format!("and {} more", group.phases.len() - phases.len()));
        }
        Self {
            event: group.event.words(),
            count: group.count,
            noise_multiplier: noise_multiplier(&group.event).map_or_else(missing, shown),
            sensitivity: group
                .sensitivity
                .map_or_else(missing, |s| range(s.low, s.high, upper)),
            deviation: group
                .deviation
                .map_or_else(missing, |s| range(s.low, s.high, shown)),
            neighbours: neighbours(group.neighbours, unit),
            phases: phases.join(", "),
            secret_noise: group.secret_noise,
        }
    }
}

/// Returns the page of a run.
pub(super) fn page(record: &RunRecord) -> Result<String, Failure> {
    let mut warnings = warnings(record);
    let mut figures = Vec::new();
    for figure in record.figures() {
        match Picture::read(&record.folder, &figure) {
            Ok(picture) => figures.push(picture),
            Err(why) => warnings.push(format!(
                "The picture \"{}\" ({}) is missing here: {why}.",
                figure.file, figure.caption
            )),
        }
    }
    let mut curves = Vec::new();
    for curve in record.metrics.curves.iter().take(MOST_CURVES) {
        curves.extend(picture_of(curve, &mut warnings));
    }
    let privacy = Statement::of(record);
    let knows = |run: &RunFile| Some(run.more.get("public_knowledge")?.as_str()?.into());
    let releases = record.ledger.groups.iter();
    html::render(
        "run.html.jinja",
        &Page {
            title: heading(record, privacy.standing),
            name: record.name(),
            facts: facts(record),
            privacy,
            warnings,
            public_knowledge: record.run.as_ref().and_then(knows),
            results: Results::of(&record.results()),
            figures,
            curves,
            ledger: releases
                .map(|group| Release::of(group, unit(record)))
                .collect(),
            settings: record.settings.shown(),
            command: record.run.as_ref().and_then(|run| run.command.clone()),
        },
    )
}

/// Returns the heading: what was run, and what it promises.
fn heading(record: &RunRecord, standing: Standing) -> String {
    let promise = match (standing, epsilon_upper(record)) {
        (Standing::Private, Some(epsilon)) => format!("epsilon {}", upper(epsilon)),
        (Standing::Private, None) => "private".into(),
        (Standing::KnownNoise | Standing::NotPrivate, _) => "not private".into(),
        (Standing::Unfinished, _) => "unfinished".into(),
    };
    format!("{}, {promise}", record.title())
}

/// Returns what neighbours replace, if that is not a single record.
fn unit(record: &RunRecord) -> Option<&str> {
    record.run.as_ref()?.plan.as_ref()?.unit.as_deref()
}

/// Returns how long a run took, and its steps.
fn times(record: &RunRecord) -> [(&'static str, Option<String>); 2] {
    let run = record.run.as_ref();
    let took = run.and_then(|run| run.took);
    let covers = |resumed: bool| match resumed {
        true => "since it was resumed",
        false => "from reading the records to the last file",
    };
    let took = took.map(|took| format!("{} {}", duration(took.seconds), covers(took.resumed)));
    let steps = run.and_then(|run| run.training_seconds);
    let steps = steps.filter(|&seconds| seconds > 0.0).map(duration);
    [("Time", took), ("Steps took", steps)]
}

/// Draws a curve over the steps; a single point gives no chart.
fn picture_of(curve: &Curve, warnings: &mut Vec<String>) -> Option<Picture> {
    let [(_, first), .., (step, last)] = curve.points[..] else {
        return None;
    };
    let title = curve.title();
    let values = curve.points.iter().map(|point| point.1);
    let finite = values.filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), v| {
        (l.min(v), h.max(v))
    });
    let chart = Chart {
        title: title.clone(),
        x: Scale::linear("step"),
        y: Scale {
            label: String::new(),
            // Over more than a decade, equal ratios say more than equal differences.
            logarithmic: low > 0.0 && high > 30.0 * low,
            ..Scale::default()
        },
        series: vec![Series::new("", curve.points.clone())],
        ..Chart::default()
    };
    let drawn = match chart.draw() {
        Ok(drawn) => drawn,
        Err(failure) => {
            warnings.push(format!("{failure}."));
            return None;
        }
    };
    if drawn.skipped > 0 {
        warnings.push(format!(
            "{} values of {title} are not finite and are left out of its chart.",
            drawn.skipped
        ));
    }
    let alt = format!(
        "Line chart of {title} over the steps; from {} to {} at step {}",
        shown(first),
        shown(last),
        shown(step)
    );
    Picture::of(&drawn.bytes, "", &alt)
        .map_err(|why| warnings.push(format!("The chart of {title} is missing: {why}.")))
        .ok()
}

/// Returns what was run, where and when.
fn facts(record: &RunRecord) -> Vec<(&'static str, String)> {
    let run = record.run.as_ref();
    let dataset = record.settings.get("dataset").map(str::to_string);
    let version = run.map(|run| match &run.commit {
        Some(commit) => format!("{}, commit {commit}", run.version),
        None => run.version.clone(),
    });
    [
        ("Experiment", Some(record.experiment())),
        ("Data set", dataset),
        (
            match unit(record) {
                Some(_) => "Private units",
                None => "Private records",
            },
            run.and_then(|run| run.records).map(|n| n.to_string()),
        ),
        ("Device", run.map(|run| run.device.clone())),
        ("Version", version),
        ("Finished", run.and_then(|run| run.finished.clone())),
    ]
    .into_iter()
    .chain(times(record))
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

/// Returns the warnings that a reader must know before believing the rest.
pub(super) fn warnings(record: &RunRecord) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(run) = &record.run {
        warnings.extend(run.warnings.iter().cloned());
        let held = record.ledger.releases;
        if let Some(releases) = run.releases
            && releases != held
        {
            warnings.push(format!(
                "run.json speaks of {releases} releases in the ledger, but it holds {held}."
            ));
        }
    }
    if !record.ledger.torn.is_empty() {
        let lines: Vec<String> = record.ledger.torn.iter().map(usize::to_string).collect();
        warnings.push(format!(
            "Lines of the ledger that a kill cut off, and that are passed over because what they \
             announced never left: {}.",
            lines.join(", ")
        ));
    }
    if record.metrics.torn {
        warnings.push("The last line of metrics.jsonl was cut off and is passed over.".into());
    }
    warnings
}
