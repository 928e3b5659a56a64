//! Private tables, for copies and for classifiers: what is public of them, and the public table that a result is judged by.

mod releases;

use std::path::Path;

use data::adult;
use data::penguins::{SCHEMA as PENGUINS_SCHEMA, TABLE as PENGUINS_TABLE};
use data::split::Use;
use data::{BiasedConfig, CodedTable, DataError, OpenSchema, Part, Schema, biased};
use lab::command::{command_line, this_command};
use lab::prelude::*;
use private_synth::SynthError;
use private_synth::table::{PerUnit, Reading, Records};

use crate::apart;
use crate::in_run;
use crate::random::stream;
use crate::records::{self, of_path};
use crate::schema;

pub(crate) use releases::noise;

/// Tables by name.
const ADULT: &str = "adult";
const BIASED: &str = "biased";
const PENGUINS: &str = "penguins";
const NAMES: [&str; 3] = [ADULT, BIASED, PENGUINS];
/// Files that are tables, beside these packed by gzip.
const TABLES: [&str; 6] = ["csv", "tsv", "tab", "txt", "dat", "parquet"];
/// Records of the simulated bias, and of its test.
const SIMULATED: [usize; 2] = [30_000, 10_000];

/// Whether an input is a table, as far as its name tells.
pub(crate) fn names_table(input: &str) -> bool {
    let name = input.to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    NAMES.contains(&input)
        || ending.is_some_and(|ending| TABLES.contains(&ending))
        || data::is_parts(Path::new(input))
}

/// What is said of a private table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// A file, a folder, a pattern, or a table by its name.
    pub input: &'a str,
    pub records: Option<usize>,
    pub schema: Option<&'a Path>,
    pub schema_from: Option<&'a Path>,
    /// The share of the budget that finds what the schema leaves open.
    pub private_schema: Option<f64>,
    pub leave_out: &'a [String],
    pub label: Option<&'a str>,
    pub unit: Option<&'a str>,
    pub most_per_unit: Option<usize>,
    pub test: Option<&'a Path>,
}

/// What a run reads.
pub(crate) struct Input {
    /// Private records, or the part of them that this process holds.
    pub records: Records,
    /// Their schema as text.
    pub text: String,
    /// Public ones.
    pub test: Option<CodedTable>,
    /// The data sets, noted with what of each is public.
    pub used: Vec<Used>,
    /// What is public, in words.
    pub public: String,
}

impl Input {
    pub(crate) fn load(
        asked: &Asked<'_>,
        data_dir: Option<&Path>,
        part: Part,
    ) -> Result<Self, Failure> {
        let known = NAMES.contains(&asked.input);
        for (flag, given) in [
            ("schema", asked.schema.is_some()),
            ("schema-from", asked.schema_from.is_some()),
            ("private-schema", asked.private_schema.is_some()),
            ("leave-out", !asked.leave_out.is_empty()),
            ("test", asked.test.is_some()),
            ("unit", asked.unit.is_some()),
        ] {
            let bound = "left out for a table by its name";
            bounded(flag, asked.input, !(known && given), bound)?;
        }
        let alone = asked.records.is_none() || asked.unit.is_none();
        let bound = "left out where there are units";
        bounded("records", asked.records.unwrap_or(0), alone, bound)?;
        let unit = asked.unit.map(String::from).zip(asked.most_per_unit);
        let reading = Reading {
            first: asked.records,
            part,
            unit: unit.map(|(column, most)| PerUnit { column, most }),
        };
        let mut input = match asked.input {
            ADULT => adult(data_dir, &reading)?,
            BIASED => simulated(&reading)?,
            PENGUINS => penguins(&reading)?,
            path => own(asked, Path::new(path), &reading)?,
        };
        let all = input.records.table().rows;
        let records = asked.records.unwrap_or(all);
        let bound = format!("at most {all}, the records that there are");
        bounded("records", records, records <= all, &bound)?;
        if let Some(label) = asked.label {
            let labelled = input.records.with_label(label);
            let advice = "give --label one of them, or leave it out";
            input.records = labelled.map_err(|error| match error {
                SynthError::Data(e) => private::refused_of("label", &e, advice),
                other => in_run::refused(other),
            })?;
        }
        input.settle(asked)?;
        if let Some((path, table)) = asked.test.zip(input.test.as_ref()) {
            let sum = table.sha256.clone();
            input.uses("test", path, &sum)?;
            input.public += ", and the test records that --test names";
        }
        if let Some(path) = asked.schema_from {
            let table = input.records.schema().stored(path, Part::ALL, usize::MAX);
            let sum = table.map_err(refused)?.sha256;
            input.uses("schema-from", path, &sum)?;
        }
        let neighbours = input.records.neighbours();
        let bound = "a table of at least 2 records, or units: one has no other to hide behind";
        bounded("input", asked.input, neighbours >= 2, bound)?;
        Ok(input)
    }

    /// What follows from the schema, when it is read and once all of it is known.
    pub(crate) fn settle(&mut self, asked: &Asked<'_>) -> Result<(), Failure> {
        let schema = self.records.schema();
        if let Some(path) = asked.test {
            let table = schema.coded(path);
            let table = table.map_err(|e| private::refused_of("test", &e, ADVICE))?;
            self.test = Some(table);
        }
        if self.records.is_open() {
            return Ok(());
        }
        let table = self.records.table();
        if schema.clamps() {
            let may = "numbers outside of their range become its nearer end";
            let clamped = table.clamped;
            private::count(may, || {
                Ok(format!(
                    "{clamped} numbers lay outside of their range, and became its nearer end"
                ))
            })?;
        }
        let rules = schema.rules();
        if rules.pairs().is_empty() {
            return Ok(());
        }
        private::count("records that break a rule count as others do", || {
            let mut broken = 0;
            for block in table.blocks() {
                let block = block.or_failed()?;
                let records = block.chunks_exact(table.columns);
                broken += records.filter(|record| !rules.keep(record)).count();
            }
            Ok(format!(
                "{broken} records break a rule between columns, and count as others do"
            ))
        })
    }

    /// A copy that something else made.
    pub(crate) fn compared(&self, path: &Path) -> Result<CodedTable, Failure> {
        let tested = self.test.is_some();
        let bound = "left out where there are no public test records";
        bounded("compare", path.display(), tested, bound)?;
        let table = self.records.schema().coded(path);
        let table = table.map_err(|e| private::refused_of("compare", &e, ADVICE))?;
        self.check_other("compare", path, &table.sha256)?;
        Ok(table)
    }

    /// Refuses a public table, of this checksum, that is the private one.
    fn check_other(&self, flag: &str, path: &Path, sha256: &str) -> Result<(), Failure> {
        let bound = "another table than the private one";
        records::apart(flag, path.display(), sha256, &self.used, bound)
    }

    /// Notes the public table that a flag names, of this checksum.
    fn uses(&mut self, flag: &str, path: &Path, sha256: &str) -> Result<(), Failure> {
        self.check_other(flag, path, sha256)?;
        self.used
            .push(of_path("table", path, sha256, Use::AllPublic));
        Ok(())
    }
}

const ADVICE: &str = "the schema says what is public of a table: change it, or the file";

fn refused(error: DataError) -> Failure {
    private::refused(&error, ADVICE)
}

fn known(
    name: &str,
    text: String,
    schema: Schema,
    [records, test]: [CodedTable; 2],
    reading: &Reading,
) -> Result<Input, Failure> {
    let used = Used::new(name, name, &records.sha256, Use::AllPrivate);
    let records = Records::of(schema, records.into(), reading.first, reading.part);
    Ok(Input {
        records: records.map_err(in_run::refused)?,
        text,
        test: Some(test),
        used: vec![used],
        public: "the schema of the table, the number of its records, and its test records".into(),
    })
}

fn adult(data_dir: Option<&Path>, reading: &Reading) -> Result<Input, Failure> {
    let tables = adult::tables(true, &records::options(data_dir));
    let (schema, train, test) = tables.map_err(|e| private::refused(&e, "check --data-dir"))?;
    known(ADULT, adult::SCHEMA.into(), schema, [train, test], reading)
}

/// The penguins that the program brings: each fourth is a test record.
fn penguins(reading: &Reading) -> Result<Input, Failure> {
    let schema = Schema::parse(PENGUINS, PENGUINS_SCHEMA).map_err(refused)?;
    let mut lines = PENGUINS_TABLE.lines();
    let head = lines.next().unwrap_or_default();
    let table = |is_test: bool| {
        let part = lines.clone().enumerate();
        let part = part.filter(|(place, _)| (place % 4 == 3) == is_test);
        let part = part.map(|(_, line)| format!("{line}\n"));
        let text = format!("{head}\n{}", part.collect::<String>());
        schema
            .coded_bytes(PENGUINS, text.as_bytes())
            .map_err(refused)
    };
    let tables = [table(false)?, table(true)?];
    known(PENGUINS, PENGUINS_SCHEMA.into(), schema, tables, reading)
}

/// The simulated bias as a table with a header.
fn simulated(reading: &Reading) -> Result<Input, Failure> {
    let config = |records| BiasedConfig {
        records,
        core: 4,
        spurious: 2,
        ..BiasedConfig::default()
    };
    let names: Vec<String> = (1..=4)
        .map(|i| format!("core{i}"))
        .chain((1..=2).map(|i| format!("other{i}")))
        .collect();
    let mut text = String::from("header = true\n");
    for name in &names {
        text += &format!(
            "\n[[column]]\nname = \"{name}\"\nkind = \"numeric\"\nmin = -2\nmax = 3\noutside = \"clamp\"\ndecimals = 3\npublic = true\n"
        );
    }
    text += "\n[[column]]\nname = \"group\"\nkind = \"categorical\"\nlevels = [\"a\", \"b\"]\npublic = true\n";
    text += "\n[[column]]\nname = \"label\"\nkind = \"label\"\nclasses = [[\"no\"], [\"yes\"]]\npublic = true\n";
    let schema = Schema::parse(BIASED, &text).map_err(refused)?;
    let table = |number: usize| {
        let mut rng = stream(0, 70 + number as u64);
        let sampled = biased::simulate(&config(SIMULATED[number]), &mut rng).map_err(refused)?;
        let mut csv = names.join(",") + ",group,label\n";
        let records = sampled.features.chunks_exact(names.len());
        for ((record, group), label) in records.zip(&sampled.sensitive).zip(&sampled.labels) {
            for value in record {
                csv += &format!("{value:.3},");
            }
            let group = ["a", "b"][usize::from(*group)];
            let label = ["no", "yes"][usize::from(*label)];
            csv += &format!("{group},{label}\n");
        }
        schema.coded_bytes(BIASED, csv.as_bytes()).map_err(refused)
    };
    let tables = [table(0)?, table(1)?];
    known(BIASED, text, schema, tables, reading)
}

/// A file of one's own.
fn own(asked: &Asked<'_>, path: &Path, reading: &Reading) -> Result<Input, Failure> {
    let shown = path.display();
    let public = [("test", asked.test), ("schema-from", asked.schema_from)];
    for (flag, public) in public {
        let check = |public: &Path| apart::check_table(flag, public, path);
        public.map_or(Ok(()), check)?;
    }
    let leave_out = asked.leave_out;
    let text = match (asked.schema, asked.schema_from) {
        (Some(schema), _) => std::fs::read_to_string(schema)
            .map_err(|e| Failure::input(format!("--schema {}: {e}", schema.display()), ADVICE))?,
        // Nobody has to confirm the schema of a public table.
        (None, Some(from)) => {
            let advice = "name a public table of the same form";
            Schema::of_public(from).map_err(|e| private::refused_of("schema-from", &e, advice))?
        }
        (None, None) => {
            let open = asked.private_schema.is_some();
            let unsaid = format!(
                "--input {shown}: which columns and values it has is public, and must be said"
            );
            let there = schema::draft_path(path);
            let known = there.exists();
            if !known {
                schema::draft(path, asked.label, leave_out, open)?;
            }
            // Not in the message, which is broken into lines.
            let by_schema = command_line("--schema", [&*there.to_string_lossy()]);
            let next = ["          ", "next      "][usize::from(known)];
            println!("{next}{} {by_schema}", this_command());
            let there = there.display();
            let help = match known {
                true => format!(
                    "give {there} by --schema, once it is confirmed, or draft another by `sliver schema` with --out"
                ),
                false => format!(
                    "confirm {there} as it says, and give it by --schema: nothing was released"
                ),
            };
            return Err(Failure::input(unsaid, help));
        }
    };
    let text = schema::leaving_out(text, leave_out)?;
    let file = asked.schema.unwrap_or(Path::new("the schema"));
    let name = file.display().to_string();
    let refused_records = |error: SynthError| match error {
        SynthError::Data(e) => private::refused_of("input", &e, ADVICE),
        SynthError::Unconfirmed { columns } => {
            let all = columns.len();
            let first = columns[..all.min(8)].join(", ");
            Failure::input(
                format!("{name}: {all} columns are not confirmed: {first}"),
                "say public = true for each column whose values, bounds and type may be known to everybody; ignore the others",
            )
        }
        other => in_run::refused(other),
    };
    let mut found = String::new();
    let left_out;
    let records = match asked.private_schema {
        None => {
            let schema = Schema::parse(&name, &text).map_err(refused)?;
            left_out = without(&schema.left_out());
            Records::read(&schema, path, reading)
        }
        Some(_) => {
            let open = OpenSchema::parse(&name, &text).map_err(refused)?;
            left_out = without(&open.left_out());
            let columns = open.open().concat().join(", ");
            found = format!(
                "; ranges and categories of {columns} are found with noise, by a share of the budget"
            );
            Records::read_open(open, path, reading)
        }
    };
    let records = records.map_err(refused_records)?;
    let what = match records.units() {
        Some(_) => "units",
        None => "records",
    };
    let whence = match asked.schema_from {
        Some(_) => "as a public table has them",
        None => "as the schema has them",
    };
    Ok(Input {
        used: vec![of_path(
            "table",
            path,
            &records.table().sha256,
            Use::AllPrivate,
        )],
        records,
        text,
        test: None,
        public: format!(
            "the number of {what}, and the names, types and values of the columns, {whence}{found}{left_out}"
        ),
    })
}

/// A schema without comments, which tell of where it came from, and with nothing but the names of columns that are ignored: a model is
/// given records that have them.
pub(crate) fn kept(schema: &str) -> Result<String, Failure> {
    let parsed = Schema::parse("the schema", schema).map_err(refused)?;
    let ignored = parsed.left_out().into_iter();
    let ignored: Vec<String> = ignored.map(|(name, _)| name.into()).collect();
    let text = schema::leaving_out(schema.into(), &ignored)?;
    toml::to_string(&toml::from_str::<toml::Table>(&text).or_failed()?).or_failed()
}

/// The columns that are left out, and why, as far as that is public.
fn without(columns: &[(&str, Option<&str>)]) -> String {
    let one = |&(name, why): &(&str, Option<&str>)| match why {
        None => name.to_string(),
        Some(why) => format!("{name} ({why})"),
    };
    match columns {
        [] => String::new(),
        columns => {
            let all: Vec<String> = columns.iter().map(one).collect();
            format!("; left out: {}", all.join(", "))
        }
    }
}
