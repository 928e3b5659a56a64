//! `sliver predict`: what a model says of new records. No private record is read.

use std::path::PathBuf;

use data::{Asked, Classes};
use lab::prelude::*;

use super::model::{DESCRIPTION, Kind, Model};
use super::run::MODEL;
use crate::images::levels;

/// Records that are classified at once.
const BLOCK: usize = 5000;

/// Classify new records by a model of `sliver classify`
///
/// Writes a line for each record: its name, the most probable class, and the probability of each class. Only the model and these
/// records are read, and nothing is spent.
#[derive(Debug, clap::Parser)]
#[command(name = "predict")]
pub struct Predict {
    /// The folder of a finished run, or its `model`.
    model: PathBuf,
    /// The records: images in a folder or an archive, or an .npy file of rows, as the model has them.
    input: PathBuf,
    /// The CSV file to write.
    #[arg(long, value_name = "CSV")]
    out: PathBuf,
    /// Overwrite this file.
    #[arg(long)]
    force: bool,
}

/// Classifies the records of `--input`.
pub(crate) fn run(arguments: &Predict) -> Result<(), Failure> {
    let Predict {
        model,
        input,
        out,
        force,
    } = arguments;
    let free = *force || !out.exists();
    let bound = "a file that does not exist yet, or --force beside it";
    bounded("out", out.display(), free, bound)?;
    let inner = model.join(MODEL);
    let model = Model::read(match inner.join(DESCRIPTION).exists() {
        true => &inner,
        false => model,
    })?;
    let found = data::read(input, &asked(&model.description.features)?, &|_| {});
    let found = found.map_err(|e| {
        Failure::input(
            e.private()
                .map_or_else(|| e.to_string(), ToString::to_string),
            "give records of the form that the model has",
        )
    })?;
    let (size, expected) = (found.records.image_size(), model.features.size());
    let bound = format!("records of {expected} values, as the model has them, not {size}");
    bounded("input", input.display(), size == expected, &bound)?;
    for skipped in &found.skipped {
        let (reason, count, name) = (skipped.reason, skipped.count, &skipped.name);
        eprintln!("passed over  {reason}: {count}, the first: {name}");
    }
    let text = lines(&model, &found)?;
    write_file(out, &text)?;
    println!(
        "predicted  {} records to {}",
        found.records.len(),
        out.display()
    );
    Ok(())
}

/// What is read of the records: their form is the model's.
fn asked(kind: &Kind) -> Result<Asked, Failure> {
    let asked = Asked {
        classes: Classes::Unread,
        ..Asked::default()
    };
    Ok(match kind {
        Kind::Embedding { .. } => asked,
        Kind::Scattering {
            channels,
            side,
            levels: text,
            ..
        } => Asked {
            side: Some(*side),
            channels: Some(*channels),
            levels: levels(text.as_deref())?,
            ..asked
        },
    })
}

fn lines(model: &Model, found: &data::Found) -> Result<Vec<u8>, Failure> {
    let classes = &model.description.classes;
    let mut writer = csv::Writer::from_writer(Vec::new());
    let heads = ["record", "class"].into_iter().map(String::from);
    let heads = heads.chain(classes.iter().map(|class| format!("p({class})")));
    writer.write_record(heads).or_failed()?;
    let progress = Progress::new("blocks", found.records.len().div_ceil(BLOCK) as u64);
    let mut place = 0;
    for block in found.records.blocks(BLOCK) {
        let probabilities = model.probabilities(&block.or_failed()?.values().or_failed()?)?;
        for row in probabilities.chunks_exact(classes.len()) {
            let class = classes[private_classifiers::largest(row)].clone();
            let line = [found.name(place), class].into_iter();
            let line = line.chain(row.iter().map(|p| format!("{p:.6}")));
            writer.write_record(line).or_failed()?;
            place += 1;
        }
        progress.step();
    }
    progress.finish();
    writer.into_inner().or_failed()
}
