//! Choosing hyperparameters privately: a random number of runs, each a random cell of the sweep, and the best alone
//! leaves (Papernot and Steinke 2022, arXiv 2110.03620; `dp_accountant::accounting::PrivateSelection`).
//!
//! `FOLDER/private` holds which cells were sampled and all runs. It must stay secret: its very length says how many runs
//! there were. `FOLDER/best` is what is released: the best run, with a ledger, a page and a `run.json` that say what the
//! whole selection cost. What may leave is listed, files and fields: nothing tells how many runs came before, no time and no
//! other run, and no number says what a single run would have cost.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use dp_accountant::accounting::{
    AccountingError, Event, Neighbours, PrivateSelection, RepetitionDistribution,
};
use dp_accountant::decimal::upper;
use dp_accountant::delta::loose_delta;
use dp_accountant::ledger::{Entries, Ledger, LedgerEntry};
use files::atomic::{NewFile, rename, sync_folder};
use rand::RngExt;
use rand::rand_core::UnwrapErr;
use rand::rngs::SysRng;
use reporting::checksum::hex;
use reporting::diagnostic::{Failure, OrFailed};
use reporting::report::{Better, Metric, Plan, RunFile, RunRecord, SAMPLED_RUNS, command_line};
use reporting::run_folder::write_file;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::runner::{Executor, Runner};
use super::{Arguments, GridCell, Sweep};

/// The runs that stay secret, and the one that leaves.
const PRIVATE: &str = "private";
const BEST: &str = "best";
/// Flags whose scores read private records beyond the ledger.
const READS_PRIVATE: [&str; 3] = ["--memorisation", "--ceilings", "--paper-labels"];
/// How the names of scores begin that read private records.
const COUNTS_PRIVATE: &str = "Reads private";
/// Files of a run that may leave as they are: what samples are made from, and pictures without a number of the run's privacy.
const LEAVES: [&str; 26] = [
    "model.bpk",
    "weights.f32",
    "generator.f32",
    "autoencoder.f32",
    "latents.f32",
    "labels.u8",
    "class-moments.bin",
    "samples.json",
    "table.json",
    "schema.toml",
    "marginals.csv",
    "model.json",
    "copy.bin",
    "samples.png",
    "varied.png",
    "strip.png",
    "reconstructions.png",
    "interpolations.png",
    "privatised.png",
    "latents.svg",
    "points.svg",
    "columns.svg",
    "pairs.svg",
    "group.svg",
    "group-class-1.svg",
    "curve.svg",
];
/// Trials of the runs' epsilon for that of the selection.
const TRIALS: u32 = 12;

/// What asks a run what it would release.
const PLAN: [&str; 2] = ["--plan", "--json"];

/// What a run says that it would release.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Planned {
    private: bool,
    /// As they follow from the command line alone.
    settings: Map<String, Value>,
    event: Option<Event>,
    neighbours: Option<Neighbours>,
    delta: Option<f64>,
    releases: Option<u64>,
}

/// What was sampled, kept so that a selection resumes with the same number of runs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct SampledRuns {
    /// Of the sweep and of what was asked for.
    request: String,
    /// The epsilon of each run, where it was chosen for the selection.
    epsilon: Option<f64>,
    cells: Vec<usize>,
}

/// What the selection promises.
struct Promise {
    selection: PrivateSelection,
    events: Vec<Event>,
    neighbours: Neighbours,
    delta: f64,
    epsilon: f64,
    /// Of each cell.
    releases: Vec<u64>,
    settings: Vec<Map<String, Value>>,
}

/// Runs the private selection of a sweep, or resumes it, and releases the best run.
pub(super) fn run(
    arguments: &Arguments,
    sweep: &Sweep,
    runner: &Runner,
    folder: &Path,
) -> Result<(), Failure> {
    let select = arguments.select.as_deref().unwrap_or_default();
    let cells = sweep.cells();
    refuse(sweep, &cells)?;
    let runs = arguments.law.of_mean(arguments.runs).map_err(refused)?;
    let best = folder.join(BEST);
    if best.exists() {
        println!("released  {}", best.display());
        return Ok(());
    }
    let flags: Vec<_> = cells.iter().map(|c| (&c.name, &c.flags)).collect();
    let request = format!(
        "{} {runs:?} {select:?} {:?} {:?} {flags:?}",
        sweep.experiment, arguments.delta, arguments.epsilon
    );
    let request = hex(request.as_bytes());
    let secret = folder.join(PRIVATE);
    let before = sampled_before(&secret, &request)?;
    let promise_at = |epsilon: Option<f64>| {
        let cells: Vec<GridCell> = cells
            .iter()
            .map(|cell| with_epsilon(cell, epsilon))
            .collect();
        let plans: Result<Vec<Planned>, Failure> =
            cells.iter().map(|cell| planned(runner, cell)).collect();
        Ok::<_, Failure>((promise(runs, &plans?, arguments.delta)?, cells))
    };
    let epsilon = match (&before, arguments.epsilon) {
        (Some(sampled), _) => sampled.epsilon,
        (None, Some(total)) => Some(calibrated(&cells, total, |e| {
            Ok(promise_at(Some(e))?.0.epsilon)
        })?),
        (None, None) => None,
    };
    let (promise, cells) = promise_at(epsilon)?;
    println!(
        "sweep     {}: the best of {} by {select:?}, each one of {} cells at random",
        sweep.name,
        law(runs),
        cells.len()
    );
    if let Some(epsilon) = epsilon {
        println!("run       epsilon {}", upper(epsilon));
    }
    println!(
        "privacy   epsilon {} at delta {} of what is released; neighbours: {}",
        upper(promise.epsilon),
        upper(promise.delta),
        promise.neighbours
    );
    println!(
        "secret    {} and what is printed below: the number of runs, and all of them but the best",
        secret.display()
    );
    let sampled = match before {
        Some(sampled) => sampled,
        None => draw(&secret, runs, cells.len(), request, epsilon)?,
    };
    let attempts: Vec<GridCell> = sampled
        .cells
        .iter()
        .enumerate()
        .map(|(number, &cell)| GridCell {
            name: format!("{:05}_{}", number + 1, cells[cell].name),
            flags: cells[cell].flags.clone(),
        })
        .collect();
    let open: Vec<GridCell> = attempts
        .iter()
        .filter(|cell| !secret.join(&cell.name).join("run.json").exists())
        .cloned()
        .collect();
    let workers = arguments.workers.map_or(1, NonZeroUsize::get);
    runner.run(&open, &secret, &Executor::Here { workers })?;
    let mut mechanisms = promise.events.clone();
    let mut found: Option<(RunRecord, Metric, usize)> = None;
    for (attempt, &cell) in attempts.iter().zip(&sampled.cells) {
        let path = secret.join(&attempt.name);
        let record = RunRecord::read(&path)?;
        mechanisms.extend(more_than_planned(&path, promise.releases[cell])?);
        let metric = metric(&record, select)?;
        if found
            .as_ref()
            .is_none_or(|(_, best, _)| is_better(&metric, best))
        {
            found = Some((record, metric, cell));
        }
    }
    let promise = Promise {
        selection: PrivateSelection::new(runs, mechanisms.clone(), 0.0).map_err(refused)?,
        events: mechanisms,
        ..promise
    };
    let Some((record, metric, cell)) = found else {
        println!("released  nothing: the law drew no run, and that is what may be told");
        return Ok(());
    };
    let chosen = Chosen {
        record: &record,
        metric: &metric,
        settings: &promise.settings[cell],
    };
    release(&chosen, &promise, cells.len(), arguments, &best)?;
    println!("released  {}", best.display());
    Ok(())
}

/// Refuses a sweep whose runs are not private, or whose scores read private records.
fn refuse(sweep: &Sweep, cells: &[GridCell]) -> Result<(), Failure> {
    if sweep.coupled {
        return Err(Failure::input(
            "coupled: the cells share their noise, which is known",
            "leave coupled out of a sweep that chooses privately",
        ));
    }
    let read = |cell: &GridCell| {
        READS_PRIVATE
            .into_iter()
            .find(|flag| cell.flags.iter().any(|f| f == flag))
    };
    match cells.iter().find_map(read) {
        Some(flag) => Err(Failure::input(
            format!("{flag} reads private records, which no ledger covers"),
            "leave it out of a sweep that chooses privately",
        )),
        None => Ok(()),
    }
}

fn refused(why: AccountingError) -> Failure {
    Failure::input(
        format!("the selection is refused: {why}"),
        "change --runs, --law, --delta or the cells",
    )
}

/// A cell at another epsilon.
fn with_epsilon(cell: &GridCell, epsilon: Option<f64>) -> GridCell {
    let Some(epsilon) = epsilon else {
        return cell.clone();
    };
    let mut flags = cell.flags.clone();
    if let Some(place) = flags.iter().position(|flag| flag == "--epsilon") {
        flags.drain(place..(place + 2).min(flags.len()));
    }
    flags.extend(["--epsilon".to_string(), epsilon.to_string()]);
    GridCell {
        name: cell.name.clone(),
        flags,
    }
}

/// What a run of this cell would release.
fn planned(runner: &Runner, cell: &GridCell) -> Result<Planned, Failure> {
    let output = runner.command(cell).args(PLAN).output().or_failed()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    match last.map(serde_json::from_str) {
        Some(Ok(planned)) if output.status.success() => Ok(planned),
        _ => Err(Failure::input(
            format!(
                "{} gives no plan: {}",
                runner.line(cell, &PLAN),
                String::from_utf8_lossy(&output.stderr).trim()
            ),
            "change the cell so that this command runs",
        )),
    }
}

/// What the best of a random number of runs promises, each of any of these plans.
fn promise(
    runs: RepetitionDistribution,
    plans: &[Planned],
    delta: Option<f64>,
) -> Result<Promise, Failure> {
    let mut events: Vec<Event> = Vec::new();
    let (mut shared, mut largest) = (None::<Neighbours>, 0.0_f64);
    let (mut releases, mut all_settings) = (Vec::new(), Vec::new());
    for plan in plans {
        let Planned {
            private: true,
            event: Some(event),
            neighbours: Some(neighbours),
            delta: Some(own),
            releases: Some(count),
            settings,
        } = plan
        else {
            return Err(Failure::input(
                "a cell promises nothing",
                "let every cell be private, with secret noise",
            ));
        };
        if !events.contains(event) {
            events.push(event.clone());
        }
        if shared.is_some_and(|before| before != *neighbours) {
            return Err(Failure::input(
                "the cells hold under different neighbours",
                "let every cell draw its batches alike, or make two sweeps",
            ));
        }
        shared = Some(*neighbours);
        largest = largest.max(*own);
        releases.push(*count);
        all_settings.push(settings.clone());
    }
    let delta = delta.unwrap_or(largest);
    let selection = PrivateSelection::new(runs, events.clone(), 0.0).map_err(refused)?;
    Ok(Promise {
        epsilon: selection.epsilon(delta).map_err(refused)?,
        selection,
        events,
        neighbours: shared.unwrap_or(Neighbours::ReplaceOne),
        delta,
        releases,
        settings: all_settings,
    })
}

/// The largest epsilon of a run, to four digits down, at which the selection has at most `total`.
fn calibrated(
    cells: &[GridCell],
    total: f64,
    epsilon_at: impl Fn(f64) -> Result<f64, Failure>,
) -> Result<f64, Failure> {
    let value = |cell: &GridCell| {
        let place = cell.flags.iter().position(|flag| flag == "--epsilon")?;
        cell.flags.get(place + 1).cloned()
    };
    let first = cells.first().and_then(value);
    if cells.iter().any(|cell| value(cell) != first) || !(total > 0.0 && total.is_finite()) {
        return Err(Failure::input(
            format!("--epsilon {total}: it must be positive, and epsilon no part of the grid"),
            "take epsilon out of [grid], or leave --epsilon out",
        ));
    }
    let (mut low, mut high) = (0.02 * total, total);
    if epsilon_at(low)? > total {
        return Err(Failure::input(
            format!("--epsilon {total}: runs of epsilon {low} already give more"),
            "give a larger epsilon or delta, or a smaller --runs",
        ));
    }
    for _ in 0..TRIALS {
        let middle = (low * high).sqrt();
        match epsilon_at(middle)? <= total {
            true => low = middle,
            false => high = middle,
        }
    }
    let unit = 10_f64.powf(low.log10().floor() - 3.0);
    let rounded = (low / unit).floor() * unit;
    // Without the digits that the product of a rounding has.
    let digits = format!("{rounded:.6}").parse().unwrap_or(low);
    Ok(if epsilon_at(digits)? <= total {
        digits
    } else {
        low
    })
}

/// What an earlier process sampled.
fn sampled_before(secret: &Path, request: &str) -> Result<Option<SampledRuns>, Failure> {
    let path = secret.join(SAMPLED_RUNS);
    if !path.exists() {
        return Ok(None);
    }
    let bytes = fs::read(&path).or_failed()?;
    let sampled: Option<SampledRuns> = serde_json::from_slice(&bytes).ok();
    sampled
        .filter(|sampled| sampled.request == request)
        .map(Some)
        .ok_or_else(|| {
            Failure::input(
                format!(
                    "{}: this is of another selection, or damaged",
                    path.display()
                ),
                "name another folder with --out; a selection is not changed after its draw",
            )
        })
}

/// Draws the number of runs and their cells by the operating system's generator, and keeps them for their owner alone.
fn draw(
    secret: &Path,
    runs: RepetitionDistribution,
    cells: usize,
    request: String,
    epsilon: Option<f64>,
) -> Result<SampledRuns, Failure> {
    let mut rng = UnwrapErr(SysRng);
    let count = runs.draw(&mut rng);
    let sampled = SampledRuns {
        request,
        epsilon,
        cells: (0..count).map(|_| rng.random_range(0..cells)).collect(),
    };
    let attempt = || -> std::io::Result<()> {
        let mut folder = fs::DirBuilder::new();
        folder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.create(secret)?;
        let mut file = NewFile::private(&secret.join(SAMPLED_RUNS))?;
        serde_json::to_writer(&mut file, &sampled)?;
        file.finish_new()
    };
    attempt().map_err(|e| {
        Failure::input(format!("{}: {e}", secret.display()), "choose another --out")
    })?;
    Ok(sampled)
}

/// The event of a run that released more than its plan, because it was killed and made steps again.
fn more_than_planned(run: &Path, planned: u64) -> Result<Option<Event>, Failure> {
    let entries = entries(run)?;
    let shown = format!("{}: its ledger", run.display());
    if !entries.has_secret_noise() {
        return Err(Failure::failed(format!("{shown} promises nothing")));
    }
    if entries.releases() < planned {
        return Err(Failure::failed(format!(
            "{shown} holds fewer releases than its plan"
        )));
    }
    let more = entries.releases() > planned;
    more.then(|| entries.event()).transpose().or_failed()
}

fn entries(run: &Path) -> Result<Entries, Failure> {
    Ledger::read(&run.join("ledger.jsonl")).or_failed()
}

/// The score that chooses: the first result with the text in its name, in any case.
fn metric(record: &RunRecord, select: &str) -> Result<Metric, Failure> {
    let run = record.run.as_ref();
    let metrics = run.map(|run| &run.metrics[..]).unwrap_or_default();
    let wanted = select.to_lowercase();
    let named = |metric: &&Metric| metric.name.to_lowercase().contains(&wanted);
    let Some(found) = metrics.iter().find(named) else {
        let names: Vec<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
        return Err(Failure::input(
            format!("--select {select:?}: no result of a run is called so"),
            format!("name a part of one of these: {}", names.join("; ")),
        ));
    };
    if !is_score(found) {
        return Err(Failure::input(
            format!("--select {select:?}: {:?} cannot choose", found.name),
            "name a score on public records that has a better side",
        ));
    }
    Ok(found.clone())
}

/// Whether a result says how good the run is, and reads no private record beyond the ledger.
fn is_score(metric: &Metric) -> bool {
    metric.better.is_some() && !metric.name.starts_with(COUNTS_PRIVATE)
}

/// Whether a score is better; one that is not finite is worse than any, and of equal ones the first counts, which the
/// accounting allows: runs are exchangeable.
fn is_better(score: &Metric, than: &Metric) -> bool {
    let finite = |metric: &Metric| metric.value.filter(|value| value.is_finite());
    match (finite(score), finite(than)) {
        (Some(score), Some(other)) if than.better == Some(Better::Lower) => score < other,
        (Some(score), Some(other)) => score > other,
        (score, None) => score.is_some(),
        (None, Some(_)) => false,
    }
}

/// A law in words.
fn law(runs: RepetitionDistribution) -> String {
    format!("a random number of runs ({})", runs.words())
}

/// The run that leaves.
struct Chosen<'a> {
    record: &'a RunRecord,
    /// The score that chose it.
    metric: &'a Metric,
    /// As its cell has them.
    settings: &'a Map<String, Value>,
}

/// Puts the best run where it may leave from, whole or not at all.
fn release(
    chosen: &Chosen,
    promise: &Promise,
    cells: usize,
    arguments: &Arguments,
    best: &Path,
) -> Result<(), Failure> {
    let parent = best.parent().unwrap_or(Path::new("."));
    let from = &chosen.record.folder;
    let attempt = || -> std::io::Result<tempfile::TempDir> {
        let part = tempfile::TempDir::with_prefix_in(".best-", parent)?;
        for name in LEAVES {
            let file = from.join(name);
            if file.is_file() {
                let copy = part.path().join(name);
                fs::copy(file, &copy)?;
                fs::File::open(copy)?.sync_all()?;
            }
        }
        Ok(part)
    };
    let part = attempt().or_failed()?;
    let own = entries(from)?;
    ledger(part.path(), &own, promise)?;
    let run = released_run(chosen, &own, promise, cells, arguments)?;
    let settings = toml::to_string_pretty(&run.settings).or_failed()?;
    write_file(&part.path().join("config.toml"), settings.as_bytes())?;
    let bytes = serde_json::to_vec_pretty(&run).or_failed()?;
    write_file(&part.path().join("run.json"), &bytes)?;
    reporting::report::write(part.path())?;
    fs::remove_file(part.path().join(".lock")).or_failed()?;
    sync_folder(part.path()).or_failed()?;
    let made = part.keep();
    #[cfg(unix)]
    {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&made, open).or_failed()?;
    }
    rename(&made, best).or_failed()
}

/// One line with what the selection costs, and one for the releases of the run, which it covers.
fn ledger(folder: &Path, own: &Entries, promise: &Promise) -> Result<(), Failure> {
    let mut ledger = Ledger::create(&folder.join("ledger.jsonl")).or_failed()?;
    let covered = own.releases().saturating_sub(1);
    let selected = Event::Selected {
        runs: promise.selection.runs(),
        events: promise.events.clone(),
    };
    let nothing_more = Event::Composed { events: Vec::new() };
    for (event, count) in [(selected, 1), (nothing_more, covered)] {
        let line = LedgerEntry {
            event,
            count,
            neighbours: promise.neighbours,
            sensitivity: None,
            deviation: None,
            secret_noise: true,
            mechanism: None,
        };
        if count > 0 {
            ledger.append(&line).or_failed()?;
        }
    }
    Ok(())
}

/// Settings with the budget of the selection in the place of the run's, and of paths the last name alone: where private records
/// lie is private.
fn settings(own: &Map<String, Value>, epsilon: f64, delta: f64) -> Map<String, Value> {
    let mut settings = own.clone();
    for value in settings.values_mut() {
        if let Value::String(text) = value
            && let Some(name) = Path::new(&*text).file_name()
        {
            *text = name.to_string_lossy().into_owned();
        }
    }
    if settings.remove("noise-multiplier").is_some() {
        settings.insert("epsilon".into(), Value::Null);
    }
    for (name, of_selection) in [("epsilon", epsilon), ("delta", delta)] {
        if let Some(value) = settings.get_mut(name) {
            *value = json!(of_selection);
        }
    }
    settings
}

/// `run.json` of what is released.
fn released_run(
    chosen: &Chosen,
    own: &Entries,
    promise: &Promise,
    cells: usize,
    arguments: &Arguments,
) -> Result<RunFile, Failure> {
    let (runs, delta) = (promise.selection.runs(), promise.delta);
    let epsilon = promise.selection.epsilon(delta).map_err(refused)?;
    let run = chosen.record.run.clone().unwrap_or_default();
    let plan = run.plan.unwrap_or_default();
    let (neighbours, unit) = (plan.neighbours, plan.unit);
    let privacy = format!(
        "({}, {})-differentially private, the choice of hyperparameters included: this is the best, by {:?}, of {}, each \
         one of {cells} settings at random; neighbours: {}; accountant: selection (upper bound). The score that \
         chose counts as public. The number of runs and all other runs stay secret. Not covered: the choice of the \
         settings to try.",
        upper(epsilon),
        upper(delta),
        chosen.metric.name,
        law(runs),
        neighbours.as_deref().unwrap_or_default(),
    );
    let file = arguments.file.to_string_lossy();
    let select = arguments.select.as_deref().unwrap_or_default();
    let command = ["sweep", file.as_ref(), "--private", "--select", select];
    let elsewhere = run.more.get("elsewhere").and_then(Value::as_array);
    let elsewhere = elsewhere.into_iter().flatten().filter_map(Value::as_str);
    let loose = loose_delta(delta, run.records.unwrap_or(0) as f64);
    let selection = json!({
        "runs": runs,
        "mean_runs": runs.mean(),
        "cells": cells,
        "score": chosen.metric.name,
        "best": chosen.metric.value,
    });
    let more = [
        ("epsilon_spent_upper", Some(json!(epsilon))),
        ("selection", Some(selection)),
        (
            "public_knowledge",
            run.more.get("public_knowledge").cloned(),
        ),
    ];
    let scores = run.metrics.into_iter().filter(is_score);
    let figures = run.figures.into_iter();
    Ok(RunFile {
        experiment: run.experiment,
        version: run.version,
        commit: run.commit,
        device: run.device,
        settings: settings(chosen.settings, epsilon, delta),
        records: run.records,
        privacy,
        private: true,
        plan: Some(Plan {
            epsilon_upper: Some(epsilon),
            delta: Some(delta),
            accountant: Some("selection".into()),
            neighbours,
            unit,
            ..Plan::default()
        }),
        releases: Some(own.releases()),
        command: Some(command_line("just", command)),
        figures: figures
            .filter(|figure| LEAVES.contains(&&*figure.file))
            .collect(),
        // Published numbers are of a single run.
        metrics: scores
            .map(|score| Metric {
                paper: None,
                source: None,
                ..score
            })
            .collect(),
        warnings: elsewhere.map(String::from).chain(loose).collect(),
        more: more
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_string(), value?)))
            .collect(),
        ..RunFile::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(noise_multiplier: f64) -> Planned {
        Planned {
            private: true,
            settings: Map::new(),
            event: Some(Event::Gaussian { noise_multiplier }),
            neighbours: Some(Neighbours::ReplaceOne),
            delta: Some(1e-5),
            releases: Some(1),
        }
    }

    #[test]
    fn all_cells_count_sampled_or_not() {
        let runs = RepetitionDistribution::negative_binomial(1.0, 5.0).unwrap();
        let of = |plans: &[Planned]| promise(runs, plans, None).unwrap().epsilon;
        assert!(of(&[plan(8.0), plan(3.0)]) >= of(&[plan(3.0)]) - 1e-9);
        assert!(of(&[plan(8.0), plan(3.0)]) > of(&[plan(8.0)]));
    }

    #[test]
    fn a_cell_without_a_promise_is_refused() {
        let runs = RepetitionDistribution::poisson(5.0).unwrap();
        for broken in [
            Planned {
                private: false,
                ..plan(3.0)
            },
            Planned {
                event: None,
                ..plan(3.0)
            },
            Planned {
                neighbours: Some(Neighbours::AddRemove),
                ..plan(3.0)
            },
        ] {
            assert!(promise(runs, &[plan(3.0), broken], None).is_err());
        }
    }

    #[test]
    fn the_epsilon_of_a_run_meets_the_total() {
        let cell = GridCell {
            name: "a".into(),
            flags: vec!["--epsilon".into(), "1".into()],
        };
        let found = calibrated(
            std::slice::from_ref(&cell),
            2.0,
            |epsilon| Ok(1.7 * epsilon),
        )
        .unwrap();
        assert!(1.7 * found <= 2.0 && 1.7 * found > 1.99, "{found}");
        assert_eq!(with_epsilon(&cell, Some(0.5)).flags, ["--epsilon", "0.5"]);
        let other = GridCell {
            name: "b".into(),
            flags: vec!["--epsilon".into(), "2".into()],
        };
        assert!(calibrated(&[cell, other], 2.0, Ok).is_err());
    }

    #[test]
    fn what_is_not_finite_is_never_best() {
        let score = |value: f64| Metric::new("x", value).better(Better::Higher);
        let none = Metric {
            value: None,
            ..score(0.0)
        };
        assert!(is_better(&score(0.2), &score(0.1)) && !is_better(&score(0.1), &score(0.1)));
        assert!(is_better(&score(0.1), &none) && !is_better(&none, &score(0.1)));
        let lower = |value| score(value).better(Better::Lower);
        assert!(is_better(&lower(0.1), &lower(0.2)));
    }
}
