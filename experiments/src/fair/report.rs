//! What a run leaves behind.

use std::time::SystemTime;

use dp_core::ledger::Ledger;
use lab::diagnostic::Failure;
use lab::figures::{Format, Histogram, LineChart, Scale, Series, scatter};
use lab::report::{Better, FigureFile, Metric, Plan, RunFile, timestamp, upper};
use lab::run_folder::RunFolder;
use serde_json::{Value, json};

use crate::not_private::not_private;
use crate::spent::{besides, spent};
use crate::uses::but;

use super::metrics::{Outputs, Scores, scores};
use super::run::Run;
use super::settings::Notion;
use super::table::Tables;

/// What is said where there is no noise.
pub const NOT_PRIVATE: &str =
    "Not private: trained with --no-privacy, without clipping and without noise.";
/// Points of a scatter plot.
const POINTS: usize = 3000;

/// A neighbour relation in words.
pub fn neighbours(notion: Notion) -> &'static str {
    match notion {
        Notion::Sp => "replace one record by one of its group, group sizes public",
        Notion::Eo => "replace one record by one of its group and class, their sizes public",
    }
}

/// Writes the pictures, `run.json` and `report.html`, and says where.
///
/// # Errors
///
/// [`Failure::Failed`] names the file that could not be written.
pub fn write(
    folder: &RunFolder,
    run: &Run,
    ledger: &Ledger,
    said: &Outputs,
    command: &str,
) -> Result<(), Failure> {
    let kind = (run.settings.task, run.settings.notion);
    let scores = scores(
        said,
        &run.tables,
        kind,
        run.settings.alpha,
        run.settings.ball(),
    )?;
    let mut figures = Vec::new();
    for (name, caption, bytes) in pictures(folder, run, said)? {
        folder.write(name, &bytes)?;
        figures.push(FigureFile::new(name, caption));
    }
    let spent = spent(run.plan(), ledger)?;
    let privacy = privacy(run, ledger.releases(), spent);
    let settings = serde_json::to_value(&run.settings).map_err(Failure::run)?;
    let file = RunFile {
        experiment: "fair".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        commit: option_env!("SLIVER_COMMIT").map(String::from),
        device: run.chosen.description.clone(),
        settings: settings.as_object().cloned().unwrap_or_default(),
        records: Some(run.tables.train.len() as u64),
        privacy: privacy.clone(),
        private: run.settings.promises(),
        plan: run.plan().map(|plan| Plan {
            epsilon_upper: Some(plan.epsilon_upper()),
            delta: Some(plan.delta()),
            accountant: Some(plan.accountant().to_string()),
            neighbours: Some(neighbours(run.settings.notion).to_string()),
            noise_multiplier: Some(plan.noise_multiplier()),
            steps: Some(plan.steps()),
            more: [
                ("step".to_string(), json!(plan.step_event())),
                ("besides".to_string(), besides(plan)),
            ]
            .into_iter()
            .collect(),
        }),
        releases: Some(ledger.releases()),
        training_seconds: Some(run.seconds),
        command: Some(folder.command(command)),
        figures,
        metrics: metrics(&scores),
        test: match json!(scores) {
            Value::Object(map) => map,
            _ => serde_json::Map::new(),
        },
        warnings: run.elsewhere.iter().cloned().chain(run.note()).collect(),
        finished: Some(timestamp(SystemTime::now())),
        more: [("epsilon_spent_upper".to_string(), json!(spent))]
            .into_iter()
            .collect(),
        ..RunFile::default()
    };
    // Last of what the run computes: its presence says that the run is done.
    folder.write_json("run.json", &file)?;
    let page = lab::report::write_in(folder)?;
    for metric in &file.metrics {
        println!(
            "score     {}: {:.4}",
            metric.name,
            metric.value.unwrap_or(f64::NAN)
        );
    }
    println!("time      {:.1} s", run.seconds);
    println!("privacy   {privacy}");
    for figure in &file.figures {
        println!("picture   {}", folder.file(&figure.file).display());
    }
    println!("report    {}", page.display());
    Ok(())
}

/// The promise, in a sentence.
fn privacy(run: &Run, releases: u64, spent: Option<f64>) -> String {
    let Some(plan) = run.plan() else {
        return NOT_PRIVATE.to_string();
    };
    format!(
        "{}({}, {})-differentially private; neighbours: {}; batches of fixed size of each \
         group drawn afresh without replacement; accountant: {} (upper bound); {releases} releases in \
         the ledger, which cover the training gradients{}. Not covered: the choice of \
         hyperparameters, and the test records, which are public.{}",
        not_private(run.settings.insecure_noise_seed, None).unwrap_or_default(),
        upper(spent.unwrap_or(plan.epsilon_upper())),
        upper(plan.delta()),
        neighbours(run.settings.notion),
        plan.accountant(),
        if run.settings.post_process.is_some() {
            " and the histograms of the post-processing"
        } else {
            ""
        },
        but(&run.elsewhere),
    )
}

fn metrics(scores: &Scores) -> Vec<Metric> {
    let lower = |name: &str, value: f64| Metric::new(name, value).better(Better::Lower);
    let mut metrics = vec![
        lower("Objective on test records", scores.objective),
        lower("Loss", scores.loss),
        lower("Penalty", scores.penalty),
        lower("SW2^2 between groups", scores.w2_squared),
    ];
    if let Some(bounded) = scores.w2_squared_in_ball {
        metrics.push(lower("SW2^2 between groups, as it is penalised", bounded));
    }
    if let Some(accuracy) = scores.accuracy {
        metrics.push(Metric::new("Accuracy", accuracy).better(Better::Higher));
    }
    for (name, value) in [
        ("Disparate impact (1 is fair)", scores.disparate_impact),
        ("EO0 (1 is fair)", scores.eo0),
        ("EO1 (1 is fair)", scores.eo1),
        ("OD0", scores.od0),
        ("OD1", scores.od1),
    ] {
        metrics.extend(value.map(|value| Metric::new(name, value)));
    }
    for (name, value) in [
        ("Demographic parity gap", scores.demographic_parity_gap),
        ("Mean squared error", scores.mse),
        ("RL_core", scores.rl_core),
        (
            "Kolmogorov-Smirnov distance between groups",
            scores.kolmogorov_smirnov,
        ),
    ] {
        metrics.extend(value.map(|value| lower(name, value)));
    }
    metrics
}

type Pictures = Vec<(&'static str, String, Vec<u8>)>;

fn pictures(folder: &RunFolder, run: &Run, said: &Outputs) -> Result<Pictures, Failure> {
    let test = &run.tables.test;
    let d = run.settings.task.penalised();
    let mut pictures: Pictures = Vec::new();
    if d == 1 {
        let groups = Tables::groups(test, run.settings.notion);
        let names = ["group.png", "group-class-1.png"];
        for (class, (pair, name)) in groups.chunks_exact(2).zip(names).enumerate() {
            let values = |group: &Vec<usize>| {
                let value = |&i: &usize| f64::from(said.activations[i]);
                group.iter().map(value).collect()
            };
            let of = match run.settings.notion {
                Notion::Sp => String::new(),
                Notion::Eo => format!(", Y = {class}"),
            };
            let chart = Histogram {
                quantity: "output".into(),
                groups: (0..2)
                    .map(|a| (format!("A = {a}{of}"), values(&pair[a])))
                    .collect(),
                bins: 40,
                range: run.settings.task.classifies().then_some((0.0, 1.0)),
                ..Histogram::default()
            };
            let caption = format!("Outputs on test records by group{of}");
            pictures.push((name, caption, chart.draw(Format::Png)?.bytes));
        }
    } else {
        let count = test.len().min(POINTS);
        let classes: Vec<usize> = test.groups()[..count].iter().map(|&g| g.into()).collect();
        let points = &said.activations[..count * d];
        let radius = points.iter().fold(0.1f32, |r, x| r.max(x.abs()));
        let bytes = scatter(points, d, &classes, radius)?;
        let caption = format!("{count} test records by sensitive attribute");
        pictures.push(("group.png", caption, bytes));
    }
    let text = std::fs::read_to_string(folder.file("metrics.jsonl")).map_err(Failure::run)?;
    let lines: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let curve = |key: &str| {
        let point = |line: &Value| Some((line["step"].as_f64()?, line[key].as_f64()?));
        Series::new(key, lines.iter().filter_map(point).collect())
    };
    let chart = LineChart {
        x: Scale::linear("step"),
        y: Scale::linear("on test records"),
        series: ["objective", "loss", "penalty"].map(curve).into(),
        ..LineChart::default()
    };
    let caption = "Objective, loss and penalty over the steps".to_string();
    pictures.push(("curve.png", caption, chart.draw(Format::Png)?.bytes));
    Ok(pictures)
}
