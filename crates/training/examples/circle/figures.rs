//! Figures 22 and 23: the distance to the circle over the budget and the steps, panels of generated points; and the table.

use std::path::Path;

use reporting::figures::{Chart, Mark, Point, Scale, Series, mean_and_deviation, panels};

use super::Failed;
use super::run::{Panel, RADIUS, Run};

/// The part of the plane that is seen, and points of the circle behind the generated ones.
const SIDE: f64 = 1.4;
const CIRCLE: u32 = 200;

/// Writes the charts of some runs, and prints their table.
pub(super) fn write(runs: &[Run], out: &Path) -> Result<(), Failed> {
    let mut methods: Vec<(String, Vec<&Run>)> = Vec::new();
    for run in runs {
        let name = serde_json::to_value(run.settings.method)?;
        let name = name.as_str().unwrap_or_default();
        match methods.iter_mut().find(|(method, _)| method == name) {
            Some((_, of)) => of.push(run),
            None => methods.push((name.into(), vec![run])),
        }
    }
    let save = |name: &str, bytes: Vec<u8>| {
        let path = out.join(format!("circle-{name}.svg"));
        std::fs::write(&path, bytes)?;
        eprintln!("picture   {}", path.display());
        Ok::<(), Failed>(())
    };
    let distance = || Scale::logarithmic("SW2^2 to the circle");
    let mut over_budgets = Vec::new();
    let delta = runs.first().map_or(0.0, |run| run.settings.delta);
    println!(
        "| method | budget | epsilon of the circle at delta {delta:e} | of what is fed | SW2^2, 1e-3 |"
    );
    println!("|---|---|---|---|---|");
    for (method, runs) in &methods {
        let (mut budgets, mut over_steps) = (Vec::new(), Vec::new());
        for (budget, runs) in by_budget(runs) {
            let scores: Vec<f64> = runs.iter().map(|run| run.sliced_w2_squared).collect();
            let (mean, deviation) = mean_and_deviation(&scores);
            let spread = deviation.map_or(String::new(), |d| format!(" +- {:.2}", 1e3 * d));
            let [fed, circle] = runs[0].epsilons.map(in_words);
            let mean_in_table = 1e3 * mean;
            println!("| {method} | {budget} | {circle} | {fed} | {mean_in_table:.2}{spread} |");
            budgets.extend(runs[0].settings.epsilon.map(|epsilon| Point {
                y_error: deviation.unwrap_or(0.0),
                ..(epsilon, mean).into()
            }));
            let course = |run: &&Run| {
                let steps = run.course.iter();
                steps.map(|&(step, value)| (step as f64, value)).collect()
            };
            let courses: Vec<Vec<(f64, f64)>> = runs.iter().map(course).collect();
            over_steps.push(Series::mean_and_deviation(budget, &courses));
        }
        if !budgets.is_empty() {
            over_budgets.push(Series::new(method, budgets));
        }
        let file = method.replace(", ", "-").replace([' ', '\''], "-");
        let chart = Chart {
            title: method.clone(),
            x: Scale::linear("step"),
            y: distance(),
            series: over_steps,
            ..Chart::default()
        };
        save(&format!("{file}-steps"), chart.draw()?.bytes)?;
        save(&format!("{file}-panels"), points(runs)?)?;
    }
    if over_budgets.is_empty() {
        return Ok(());
    }
    let chart = Chart {
        x: Scale::logarithmic("epsilon of the circle's points"),
        y: distance(),
        series: over_budgets,
        ..Chart::default()
    };
    save("budgets", chart.draw()?.bytes)
}

/// Runs of one budget together, the budgets in the order of the runs.
fn by_budget<'a>(runs: &[&'a Run]) -> Vec<(String, Vec<&'a Run>)> {
    let mut budgets: Vec<(String, Vec<&Run>)> = Vec::new();
    for &run in runs {
        let budget = run.settings.budget();
        match budgets.iter_mut().find(|(known, _)| *known == budget) {
            Some((_, of)) => of.push(run),
            None => budgets.push((budget, vec![run])),
        }
    }
    budgets
}

/// A row a budget, a column a step: the first seed's.
fn points(runs: &[&Run]) -> Result<Vec<u8>, Failed> {
    let budgets = by_budget(runs);
    let rows = || budgets.iter().map(|(_, of)| &of[0].panels);
    let columns = rows().map(Vec::len).min().unwrap_or(0);
    let charts = rows().flat_map(|row| row[row.len() - columns..].iter().map(chart));
    Ok(panels(&charts.collect::<Vec<_>>(), columns)?.bytes)
}

/// Generated points over the circle; X is the epsilon of what the network is fed, Z that of the circle.
fn chart(panel: &Panel) -> Chart {
    let [x, z] = panel.epsilons;
    let side = |name: &str, epsilon: Option<f64>| {
        epsilon.map_or(String::new(), |epsilon| format!(", {name} {epsilon:.2}"))
    };
    let circle = (0..CIRCLE).map(|i| {
        let angle = f64::from(i) / f64::from(CIRCLE) * std::f64::consts::TAU;
        (RADIUS * angle.cos(), RADIUS * angle.sin())
    });
    let (step, distance) = (panel.step, panel.sliced_w2_squared);
    let (x, z) = (side("X", x), side("Z", z));
    let series = vec![
        Series::of(Mark::Dots, "generated", panel.points.clone()),
        Series::of(Mark::Dots, "circle", circle),
    ];
    Chart::plane(format!("step {step}: {distance:.4}{x}{z}"), SIDE, series)
}

fn in_words(epsilon: Option<f64>) -> String {
    epsilon.map_or("none".into(), dp_core::decimal::upper)
}
