//! `sliver predict`: what a model says of new records. No private record is read.

use std::path::{Path, PathBuf};

use data::{Asked, Classes, DataError, Part, Schema};
use lab::prelude::*;
use private_classifiers::{Features, Head, TableModel, largest};

use super::model::{DESCRIPTION, Description, Kind, Learned, Model, SCHEMA};
use super::run::MODEL;
use crate::images::levels;

/// Records that are classified at once.
const BLOCK: usize = 5000;

/// Classify new records by a model of `sliver classify`
///
/// Writes a line for each record: its name, the most probable class, and the probability of each class; or the number. Only the model and these
/// records are read, and nothing is spent.
#[derive(Debug, clap::Parser)]
#[command(name = "predict")]
pub struct Predict {
    /// The folder of a finished run, or its `model`.
    model: PathBuf,
    /// The records: images in a folder or an archive, an .npy file of rows, or a table, as the model has them.
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
    let (text, count) = match &model.learned {
        Learned::Head { features, head } => of_records(&model.description, features, head, input)?,
        Learned::Table {
            schema,
            model: table,
        } => of_table(&model.description, schema, table, input)?,
    };
    write_file(out, &text)?;
    println!("predicted  {count} records to {}", out.display());
    Ok(())
}

/// The lines of images or of rows, and their number.
fn of_records(
    description: &Description,
    features: &Features,
    head: &Head,
    input: &Path,
) -> Result<(Vec<u8>, usize), Failure> {
    let found = data::read(input, &asked(&description.features)?, &|_| {});
    let found = found.map_err(|e| refused(&e, "give records of the form that the model has"))?;
    let (size, expected) = (found.records.image_size(), features.size());
    let bound = format!("records of {expected} values, as the model has them, not {size}");
    bounded("input", input.display(), size == expected, &bound)?;
    for skipped in &found.skipped {
        let (reason, count, name) = (skipped.reason, skipped.count, &skipped.name);
        eprintln!("passed over  {reason}: {count}, the first: {name}");
    }
    let progress = Progress::new("blocks", found.records.len().div_ceil(BLOCK) as u64);
    let mut place = 0;
    let mut lines = Lines::new(&description.classes)?;
    for block in found.records.blocks(BLOCK) {
        let values = block.or_failed()?.values().or_failed()?;
        let rows = features.rows(&values).or_failed()?;
        let answers = match description.range {
            Some(_) => head.values(&rows),
            None => head.probabilities(&rows),
        };
        for answer in answers.or_failed()?.chunks_exact(head.outputs()) {
            match description.range {
                Some(range) => lines.add_number(found.name(place), range.value(answer[0]))?,
                None => lines.add(found.name(place), answer)?,
            }
            place += 1;
        }
        progress.step();
    }
    progress.finish();
    Ok((lines.end()?, place))
}

/// The lines of the records of a table, which need not have the label, and their number. A record has its place, from 1.
fn of_table(
    description: &Description,
    schema: &str,
    model: &TableModel,
    input: &Path,
) -> Result<(Vec<u8>, usize), Failure> {
    let advice = "give a table of the columns that the model's schema.toml has; it may lack the label and those that are ignored";
    let Kind::Table { label } = &description.features else {
        return Err(Failure::failed("a model of a table without its label"));
    };
    let whole = Schema::parse(SCHEMA, schema).and_then(|schema| schema.with_label(label));
    // A value that the schema does not have is refused by its place.
    let table = whole.and_then(|whole| whole.without_label().stored(input, Part::ALL, usize::MAX));
    let table = table.map_err(|e| refused(&e, advice))?;
    let mut lines = Lines::new(&description.classes)?;
    let mut place = 0;
    for block in table.blocks() {
        let probabilities = model.probabilities_without_label(&block.or_failed()?);
        let probabilities = probabilities.or_failed()?;
        for row in probabilities.chunks_exact(model.classes()) {
            place += 1;
            lines.add(place.to_string(), row)?;
        }
    }
    Ok((lines.end()?, place))
}

/// The records are those of who asks: what is wrong with them is said.
fn refused(error: &DataError, advice: &str) -> Failure {
    let whole = error
        .private()
        .map_or_else(|| error.to_string(), ToString::to_string);
    Failure::input(whole, advice)
}

/// What is read of the records: their form is the model's.
fn asked(kind: &Kind) -> Result<Asked, Failure> {
    let asked = Asked {
        classes: Classes::Unread,
        ..Asked::default()
    };
    Ok(match kind {
        Kind::Embedding { .. } | Kind::Table { .. } => asked,
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

/// The predictions, as a CSV file.
struct Lines<'a> {
    writer: csv::Writer<Vec<u8>>,
    classes: &'a [String],
}

impl<'a> Lines<'a> {
    fn new(classes: &'a [String]) -> Result<Self, Failure> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let said = if classes.is_empty() {
            "number"
        } else {
            "class"
        };
        let heads = ["record", said].into_iter().map(String::from);
        let heads = heads.chain(classes.iter().map(|class| format!("p({class})")));
        writer.write_record(heads).or_failed()?;
        Ok(Self { writer, classes })
    }

    fn add(&mut self, name: String, probabilities: &[f64]) -> Result<(), Failure> {
        let class = self.classes[largest(probabilities)].clone();
        let line = [name, class].into_iter();
        let line = line.chain(probabilities.iter().map(|p| format!("{p:.6}")));
        self.writer.write_record(line).or_failed()
    }

    fn add_number(&mut self, name: String, number: f64) -> Result<(), Failure> {
        let line = [name, (number as f32).to_string()];
        self.writer.write_record(line).or_failed()
    }

    fn end(self) -> Result<Vec<u8>, Failure> {
        self.writer.into_inner().or_failed()
    }
}
