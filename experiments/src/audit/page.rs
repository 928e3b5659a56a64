//! The page of an audit: what was claimed, what each attack proves, and a chart of both.

use std::path::PathBuf;
use std::time::SystemTime;

use dp_core::decimal::{lower, nearest, upper};
use lab::diagnostic::Failure;
use lab::figures::{Measured, Method, Scale, TradeOff};
use lab::report::{FigureFile, Metric, RunFile, timestamp, write_in};
use lab::run_folder::RunFolder;
use serde::Serialize;
use serde_json::json;

use super::Arguments;
use super::findings::name;
use super::target::Mechanism;

/// The chart.
const CHART: &str = "claim.svg";

/// What one attack showed.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// Its name.
    pub(super) attack: &'static str,
    /// What it looked at.
    pub(super) how: String,
    /// What the bound assumes; empty for a test.
    pub(super) assumes: String,
    /// A lower bound on epsilon, where it has one.
    pub(super) epsilon_lower: Option<f64>,
    /// Whether that violates the claim.
    pub(super) violated: bool,
}

/// Writes the page of an audit into its folder, and says where it is.
///
/// - `curve`: epsilon and delta of the claim.
pub(super) fn write(
    folder: &RunFolder,
    arguments: &Arguments,
    verdict: &str,
    rows: &[Row],
    curve: &[(f64, f64)],
) -> Result<PathBuf, Failure> {
    folder.note_command()?;
    let settings = json!({
        "mechanism": name(&arguments.mechanism),
        "epsilon": arguments.epsilon,
        "delta": arguments.delta,
        "false-alarm": arguments.false_alarm,
        "steps": arguments.steps,
        "rate": arguments.rate,
        "runs": arguments.runs(),
        "dataset": arguments.dataset.name(),
        "records": arguments.records,
        "canaries": arguments.canaries,
        "pairs": arguments.pairs,
        "replays": arguments.replays,
        "seed": arguments.seed,
        "insecure-noise-seed": arguments.insecure_noise_seed,
        "sabotage": arguments.sabotage.as_ref().map_or_else(|| "none".into(), name),
    });
    let mut figures = Vec::new();
    if !curve.is_empty() {
        folder.write(CHART, &chart(arguments, rows, curve)?)?;
        let caption = "Epsilon and delta: the claim, and what each attack proves at the least";
        figures.push(FigureFile::new(CHART, caption));
    }
    let bounds = rows.iter().filter_map(|row| {
        let name = format!("epsilon is at least, {} ({})", row.attack, row.how);
        Some(Metric::new(name, row.epsilon_lower?))
    });
    // Recorded trainings are held against what they declare, and not against an epsilon.
    let claimed = (arguments.mechanism != Mechanism::Training)
        .then(|| Metric::new("epsilon that is claimed", arguments.epsilon));
    let metrics = claimed.into_iter().chain(bounds).collect();
    let shown = |row: &Row| {
        let found = row.epsilon_lower.map_or_else(String::new, |epsilon| {
            let part = 100.0 * epsilon / arguments.epsilon;
            format!(
                " epsilon is at least {}, {} % of the claim, {};",
                lower(epsilon),
                lower(part),
                row.assumes
            )
        });
        let verdict = if row.violated {
            "violates the claim"
        } else {
            "does not violate the claim"
        };
        format!("{}, {}:{found} {verdict}.", row.attack, row.how)
    };
    let mut warnings = vec![format!(
        "Verdict, at a false-alarm rate of at most {}: {verdict}.",
        upper(arguments.false_alarm)
    )];
    warnings.extend(rows.iter().map(shown));
    let file = RunFile {
        experiment: "audit".into(),
        title: Some(format!("audit of {}", name(&arguments.mechanism))),
        version: env!("CARGO_PKG_VERSION").into(),
        commit: option_env!("SLIVER_COMMIT").map(String::from),
        device: "the host".into(),
        settings: settings.as_object().cloned().unwrap_or_default(),
        privacy: promise(arguments),
        command: Some(folder.command()),
        figures,
        metrics,
        warnings,
        finished: Some(timestamp(SystemTime::now())),
        more: [
            ("attacks".to_string(), json!(rows)),
            ("verdict".to_string(), json!(verdict)),
        ]
        .into_iter()
        .collect(),
        ..RunFile::default()
    };
    folder.write_json("run.json", &file)?;
    write_in(folder)
}

/// What was attacked, and with whose records.
fn promise(arguments: &Arguments) -> String {
    let claim = format!(
        "A claim of epsilon {} at delta {}; a lower bound below it proves nothing.",
        upper(arguments.epsilon),
        nearest(arguments.delta, 5)
    );
    match arguments.mechanism {
        Mechanism::FinalModel => format!(
            "This page has scores of models that learned from {} records of {}, and no guarantee covers it: the records \
             are taken for public. {claim}",
            arguments.records,
            arguments.dataset.name()
        ),
        Mechanism::Training => "An audit of trainings reads no private record: it makes data of its own, and holds what \
                                reaches each mechanism against what is declared of it."
            .into(),
        _ => format!("An audit reads no private record: it attacks data of its own. {claim}"),
    }
}

fn chart(arguments: &Arguments, rows: &[Row], curve: &[(f64, f64)]) -> Result<Vec<u8>, Failure> {
    let at = |(x, y): (f64, f64)| Measured {
        x,
        y,
        y_error: 0.0,
        x_error: 0.0,
    };
    let claim = Method {
        name: "claim, at most".into(),
        points: curve.iter().copied().map(at).collect(),
        joined: true,
    };
    let proved = rows.iter().filter_map(|row| {
        Some(Method {
            name: row.attack.into(),
            points: vec![at((row.epsilon_lower?, arguments.delta))],
            joined: false,
        })
    });
    let chart = TradeOff {
        title: "What is claimed, and what is proved at the least".into(),
        x: Scale::linear("epsilon"),
        y: Scale::logarithmic("delta"),
        methods: std::iter::once(claim).chain(proved).collect(),
    };
    Ok(chart.draw()?.bytes)
}
