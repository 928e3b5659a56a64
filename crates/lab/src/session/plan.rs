//! `--plan`: what a run would release and promise, for a person or, with `--json`, for those who account for several runs.

use dp_core::accounting::Event;
use dp_core::decimal::{nearest, upper};
use dp_core::plan::CheckedPlan;
use serde_json::{Value, json};

use super::{
    Arguments, Declared, Experiment, FlagsOf, Promise, Settings, checked, finish, promise,
};
use crate::diagnostic::Failure;
use crate::report::noise_multiplier;

/// Prints the plan.
pub(super) fn tell<E: Experiment>(arguments: &Arguments<FlagsOf<E>>) -> Result<(), Failure> {
    let settings = <E::Settings as Settings>::resolve(arguments).and_then(checked)?;
    let chosen = arguments.running.backend.choose()?;
    let mut experiment = E::load(&settings, arguments, &chosen)?;
    if arguments.running.json {
        println!("{}", planned(&mut experiment, &settings)?);
        return Ok(());
    }
    let data = experiment.data();
    let records = format!(
        "{} private {} of {}, {} test records (public)",
        data.private,
        experiment.wording().each(),
        data.name,
        data.test
    );
    let promise = promise(&mut experiment, data.private, &settings, &[]);
    let lines = [["records".into(), records]].into_iter();
    for line in aligned(&lines.chain(promised(&promise)).collect::<Vec<_>>()) {
        println!("{line}");
    }
    if let Some(plan) = promise.plan {
        println!();
        for line in aligned(&released(plan)) {
            println!("{line}");
        }
    }
    println!("\nnothing was created or released");
    Ok(())
}

/// The plan as a line of JSON.
fn planned<E: Experiment>(experiment: &mut E, settings: &E::Settings) -> Result<Value, Failure> {
    let records = experiment.data().private;
    let plan = experiment.plan();
    Ok(json!({
        "experiment": E::NAME,
        "settings": finish::resolved(settings)?,
        "records": records,
        "private": plan.is_some() && Declared::insecure_noise_seed(settings).is_none(),
        "event": plan.map(|plan| plan.event()),
        "neighbours": plan.map(|plan| plan.neighbours()),
        "epsilon_upper": plan.map(|plan| plan.epsilon_upper()),
        "delta": plan.map(|plan| plan.delta()),
        "releases": plan.map(|plan| plan.releases_in_all()),
    }))
}

/// What is promised, and what is public.
fn promised(promise: &Promise<'_>) -> Vec<[String; 2]> {
    let row = |name: &str, value: String| [name.to_string(), value];
    let Some(plan) = promise.plan else {
        return vec![row("privacy", promise.wording.without_noise.clone())];
    };
    let known = promise.no_promise().map(|why| row("privacy", why));
    let rows = [
        row(
            "epsilon",
            format!("{}, at most", upper(plan.epsilon_upper())),
        ),
        row("delta", upper(plan.delta())),
        row("neighbours", promise.neighbours(plan)),
        row("accountant", plan.accountant().into()),
        row("public", promise.wording.public.clone()),
    ];
    let notes = promise.warnings().into_iter();
    let notes = notes.map(|note| row("note", note));
    known.into_iter().chain(rows).chain(notes).collect()
}

/// What is released, how often, and by which noise.
fn released(plan: &CheckedPlan) -> Vec<[String; 4]> {
    let once = plan.releases().map(|(name, event)| (name, 1, event));
    let steps = plan.releases_in_all() - plan.releases().count() as u64;
    let steps = (plan.steps() > 0).then(|| ("steps", steps, plan.step_event()));
    let row = |(name, times, event): (&str, u64, &Event)| {
        let noise = noise_multiplier(event).map_or_else(|| "several".into(), |z| nearest(z, 4));
        [name.into(), times.to_string(), noise, event.words()]
    };
    let head = ["released", "times", "noise multiplier", "noise"].map(String::from);
    let rows = once.chain(steps).map(row);
    std::iter::once(head).chain(rows).collect()
}

/// Rows in columns.
fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let cell = |(column, text): (usize, &String)| {
        let width = width(column).unwrap_or(0) + 2;
        format!("{text:width$}")
    };
    let line = |row: &[String; N]| row.iter().enumerate().map(cell).collect::<String>();
    rows.iter().map(|row| line(row).trim_end().into()).collect()
}
