//! The copy as a file, with its schema, its card and its page.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use data::CodeColumn;
use data::table::Schema;
use lab::prelude::*;
use lab::run_folder::write_file_with;
use private_synth::table::Model;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::run::TableCopy;
use super::{loading, marginals};
use crate::export::{Card, Contents, Destination, ExportRequest, bytes, damaged};
use crate::in_run::Watched;
use crate::random::stream;

/// What the run's folder keeps of the copy.
const CODES: &str = "copy.bin";
const MODEL: &str = "model.json";
const SCHEMA: &str = "schema.toml";
const SOURCE: &str = "table.json";
/// Where the copy lies in the run's folder, and its files.
const COPY: &str = "copy";
const TABLE: &str = "table.csv";
const MARGINALS: &str = "marginals.csv";
const PARQUET: &str = "table.parquet";
/// Records that are written at once.
const BLOCK: usize = 1 << 17;
/// Of the generator of values within bins; others serve the run.
const STREAM: u64 = 72;
/// Of the generator of records beside the copy.
const OTHERS: u64 = 75;

/// What is public of the table that a copy was made of, beside its schema.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    /// The name of its file, which says in what form it is.
    table: String,
    label: Option<String>,
    public_knowledge: String,
    scores_are_of: String,
}

/// Keeps what the copy is written from.
pub(super) fn keep(run: &TableCopy, folder: &RunFolder) -> Result<(), Failure> {
    let input = &run.input;
    let records = &input.records;
    let source = Source {
        table: match data::is_parquet(Path::new(&run.settings.input)) {
            true => PARQUET.into(),
            false => TABLE.into(),
        },
        label: records.label().map(|place| records.columns()[place].name.clone()),
        public_knowledge: format!("Public: {}.", input.public),
        scores_are_of: match input.test {
            Some(_) => "all records of the copy, against public test records",
            None => "all records of the copy, against the private ones, with noise that the budget covers",
        }
        .into(),
    };
    folder.write_json(SOURCE, &source)?;
    folder.write(SCHEMA, published(&input.text)?.as_bytes())?;
    folder.write(MARGINALS, &marginals::csv(run)?)?;
    folder.write(MODEL, &serde_json::to_vec(&run.model).or_failed()?)?;
    write_file_with(&folder.file(CODES), |file| {
        let mut codes = run.made.iter();
        codes.try_for_each(|code| file.write_all(&code.to_le_bytes()))
    })
}

/// A schema without what is in no copy: comments, which tell of where it came from, and columns that are ignored.
fn published(schema: &str) -> Result<String, Failure> {
    let mut table: toml::Table = toml::from_str(schema).or_failed()?;
    let columns = table.get_mut("column").and_then(toml::Value::as_array_mut);
    if let Some(columns) = columns {
        columns.retain(|column| column.get("kind").and_then(toml::Value::as_str) != Some("ignore"));
    }
    toml::to_string(&table).or_failed()
}

/// What a run's folder keeps of its copy.
struct Kept<'a> {
    folder: &'a RunFolder,
    record: RunRecord,
    source: Source,
    schema: Schema,
    text: String,
    columns: Vec<CodeColumn>,
    /// Records of the copy.
    rows: usize,
    /// The seed of the run.
    seed: u64,
}

impl<'a> Kept<'a> {
    fn of(folder: &'a RunFolder) -> Result<Self, Failure> {
        let text = bytes(folder, SCHEMA)?;
        let text = String::from_utf8(text).map_err(|e| damaged(&folder.file(SCHEMA), &e))?;
        let source = serde_json::from_slice(&bytes(folder, SOURCE)?)
            .map_err(|e| damaged(&folder.file(SOURCE), &e))?;
        let schema = Schema::parse(SCHEMA, &text).map_err(|e| damaged(&folder.file(SCHEMA), &e))?;
        let stored = folder.file(CODES);
        let length = fs::metadata(&stored).map_err(|e| damaged(&stored, &e))?;
        let columns = schema.code_columns();
        let record = RunRecord::read(folder.path())?;
        let run = record.run.as_ref();
        let seed = run.and_then(|run| run.settings.get("seed")?.as_u64());
        Ok(Self {
            rows: length.len() as usize / 2 / columns.len(),
            seed: seed.unwrap_or(0),
            folder,
            record,
            source,
            schema,
            text,
            columns,
        })
    }

    /// Writes `rows` records, by their codes in blocks of whole ones, with all that belongs to them.
    fn write(
        &self,
        to: &Path,
        force: bool,
        rows: usize,
        seed: u64,
        blocks: impl Iterator<Item = Result<Vec<u16>, Failure>>,
    ) -> Result<(), Failure> {
        let bytes_upper = (rows as u64).saturating_mul(16 * self.columns.len() as u64);
        let place = Destination::new(to, force, bytes_upper)?;
        let mut rng = stream(seed, STREAM);
        let table = &*self.source.table;
        let mut file = self.schema.writer(&place.path().join(table)).or_failed()?;
        for block in blocks {
            file.write(&block?, &mut rng).or_failed()?;
        }
        file.finish().or_failed()?;
        write_file(&place.path().join(SCHEMA), self.text.as_bytes())?;
        let marginals = bytes(self.folder, MARGINALS)?;
        write_file(&place.path().join(MARGINALS), &marginals)?;
        let names: Vec<&str> = self.columns.iter().map(|column| &*column.name).collect();
        let label = &self.source.label;
        let predicted = label.as_ref().map_or(String::new(), |label| {
            format!("\n`{label}` is what is to be predicted.\n")
        });
        let contents = Contents {
            what: format!("{rows} synthetic records, a private copy"),
            facts: json!({"count": rows, "columns": names, "label": label}),
            lead: format!(
                "{} columns: {}. [schema.toml](schema.toml) says what they hold, [marginals.csv](marginals.csv) has all counts \
                 as they were released with the deviation of their noise, and [card.json](card.json) has all of what \
                 follows, and more.\n{predicted}\n",
                names.len(),
                names.join(", ")
            ),
            public_knowledge: self.source.public_knowledge.clone(),
            scores_are_of: self.source.scores_are_of.clone(),
            kept_back: &["input", "schema", "schema-from", "test", "unit"],
            loading: match table {
                PARQUET => loading::of_parquet(PARQUET),
                _ => loading::of_text(TABLE, &self.text, &names)?,
            },
        };
        let card = Card::new(&self.record, self.folder, contents, seed)?;
        let what = format!("{rows} records");
        card.finish(place, &[table, SCHEMA, MARGINALS], None, &what)
    }
}

/// Writes the copy of a finished run, unless it is there.
pub(super) fn write(folder: &RunFolder, interrupt: &Interrupt) -> Result<(), Failure> {
    let to = folder.file(COPY);
    if to.exists() {
        return Ok(());
    }
    let kept = Kept::of(folder)?;
    let mut stored = File::open(folder.file(CODES)).or_failed()?;
    let mut next = || -> Result<Vec<u16>, Failure> {
        interrupt.check("the copy was written")?;
        let mut bytes = Vec::new();
        let mut block = Read::take(&mut stored, (BLOCK * kept.columns.len() * 2) as u64);
        block.read_to_end(&mut bytes).or_failed()?;
        let pairs = bytes.as_chunks::<2>().0.iter();
        Ok(pairs.map(|&pair| u16::from_le_bytes(pair)).collect())
    };
    let blocks = (0..kept.rows.div_ceil(BLOCK)).map(|_| next());
    kept.write(&to, false, kept.rows, kept.seed, blocks)
}

/// Writes other records of a finished run than those of its copy, from what was released alone.
pub(crate) fn export(
    folder: &RunFolder,
    to: &Path,
    request: &ExportRequest,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let (formats, none) = (json!(request.format), request.format.is_empty());
    let bound = "left out for a table, which has the form of the private one";
    bounded("format", formats, none, bound)?;
    let model: Model = serde_json::from_slice(&bytes(folder, MODEL)?)
        .map_err(|e| damaged(&folder.file(MODEL), &e))?;
    let kept = Kept::of(folder)?;
    if !model.has(kept.columns.iter().map(|column| column.codes.len())) {
        return Err(damaged(&folder.file(MODEL), &"it is of another schema"));
    }
    let rows = request.count.unwrap_or(kept.rows);
    bounded("count", rows, rows > 0, "at least 1")?;
    let seed = request.sample_seed.unwrap_or(kept.seed);
    let (rng, watch) = (&mut stream(seed, OTHERS), &mut Watched::new(interrupt));
    let made = std::iter::once_with(|| model.sample(kept.schema.rules(), rows, rng, watch));
    kept.write(to, request.force, rows, seed, made)
}
