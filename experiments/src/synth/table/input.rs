//! The private table, what is public of it, and the public one that the copy is judged by.

use std::path::Path;

use data::adult;
use data::split::Use;
use data::{BiasedConfig, DataError, LoadOptions, Units, biased};
use data::{CodeColumn, CodedTable, Schema};
use lab::diagnostic::Failure;
use lab::session::{Used, bounded, name_of_path};

use super::settings::Settings;
use crate::random::stream;

/// Tables by name.
const ADULT: &str = "adult";
const BIASED: &str = "biased";
/// Files that are tables.
const TABLES: [&str; 2] = ["csv", "tsv"];
/// Records of the simulated bias, and of its test.
const SIMULATED: [usize; 2] = [30_000, 10_000];

/// Whether the input of a copy is a table, as far as its name tells.
pub(crate) fn names_table(input: &str) -> bool {
    let extension = Path::new(input).extension().map(|e| e.to_ascii_lowercase());
    let is_table = |e: std::ffi::OsString| TABLES.iter().any(|known| e == *known);
    [ADULT, BIASED].contains(&input) || extension.is_some_and(is_table)
}

/// What a run reads.
pub(super) struct Input {
    /// How the table is written, and as text.
    pub schema: Schema,
    pub text: String,
    pub columns: Vec<CodeColumn>,
    /// The place of the label.
    pub label: Option<usize>,
    /// Private records; of each unit no more than count.
    pub records: CodedTable,
    /// How many units there are, where neighbours replace all records of one.
    pub units: Option<usize>,
    /// Public ones.
    pub test: Option<CodedTable>,
    /// The data sets among the notes of what is public where.
    pub used: Vec<Used>,
    /// What is public, in words.
    pub public: String,
}

impl Input {
    pub(super) fn load(settings: &Settings, data_dir: Option<&Path>) -> Result<Self, Failure> {
        let known = [ADULT, BIASED].contains(&&*settings.input);
        for (flag, given) in [
            ("schema", settings.schema.is_some()),
            ("schema-from", settings.schema_from.is_some()),
            ("test", settings.test.is_some()),
            ("unit", settings.unit.is_some()),
        ] {
            let bound = "left out for a table by its name";
            bounded(flag, &settings.input, !(known && given), bound)?;
        }
        let mut input = match &*settings.input {
            ADULT => adult(data_dir)?,
            BIASED => simulated()?,
            path => own(settings, Path::new(path))?,
        };
        if let Some(label) = &settings.label {
            let schema = input.schema.clone().with_label(label);
            input.schema = schema.map_err(refused)?;
        }
        input.label = input.schema.label();
        input.columns = input.schema.code_columns();
        if let Some(label) = input.label {
            let name = &input.columns[label].name;
            let bound = "a column beside others, which tell of it";
            bounded("label", name, input.columns.len() > 1, bound)?;
        }
        if let Some(path) = &settings.test {
            input.test = Some(input.tested(path)?);
        }
        let all = input.records.rows;
        let alone = settings.records.is_none() || input.units.is_none();
        let bound = "left out where there are units";
        bounded("records", settings.records.unwrap_or(0), alone, bound)?;
        let records = settings.records.unwrap_or(all);
        let bound = format!("at most {all}, the records that there are");
        bounded("records", records, records <= all, &bound)?;
        if input.records.clamped > 0 {
            // Not on standard output, which may be shown around.
            eprintln!(
                "PRIVATE   {} numbers lay outside of their range, and became its nearer end: this line tells of private records",
                input.records.clamped
            );
        }
        input.records.codes.truncate(records * input.columns.len());
        input.records.rows = records;
        let rules = input.schema.rules();
        let all = input.records.codes.chunks_exact(input.columns.len());
        let broken = all.filter(|record| !rules.keep(record)).count();
        if broken > 0 {
            eprintln!(
                "PRIVATE   {broken} records break a rule between columns, and count as others do: this line tells of private records"
            );
        }
        let neighbours = input.neighbours();
        let bound = "a table of at least 2 records, or units: one has no other to hide behind";
        bounded("input", &settings.input, neighbours >= 2, bound)?;
        Ok(input)
    }

    /// How many neighbours there are: units, or records.
    pub(super) fn neighbours(&self) -> usize {
        self.units.unwrap_or(self.records.rows)
    }

    /// Values of each column.
    pub(super) fn sizes(&self) -> Vec<usize> {
        self.columns.iter().map(|c| c.codes.len()).collect()
    }

    /// How many of them are bins of a number.
    pub(super) fn ordered(&self) -> Vec<usize> {
        self.columns.iter().map(|c| c.ordered).collect()
    }

    /// A copy that something else made.
    pub(super) fn compared(&self, path: &Path) -> Result<CodedTable, Failure> {
        let tested = self.test.is_some();
        let bound = "left out where there are no public test records";
        bounded("compare", path.display(), tested, bound)?;
        let table = self.schema.coded(path);
        table.map_err(|e| Failure::input(format!("--compare: {e}"), ADVICE))
    }

    /// The public table that `--test` names.
    fn tested(&mut self, path: &Path) -> Result<CodedTable, Failure> {
        let table = self.schema.coded(path);
        let table = table.map_err(|e| Failure::input(format!("--test: {e}"), ADVICE))?;
        let other = self.used.iter().all(|used| used.sha256 != table.sha256);
        let bound = "another table than the private one";
        bounded("test", path.display(), other, bound)?;
        let name = name_of_path("table", path);
        let what = path.display().to_string();
        let used = Used::new(what, name, &table.sha256, Use::AllPublic);
        self.used.push(used);
        self.public += ", and the test records that --test names";
        Ok(table)
    }
}

const ADVICE: &str = "the schema says what is public of a table: change it, or the file";

fn refused(error: DataError) -> Failure {
    Failure::input(error.to_string(), ADVICE)
}

/// A schema that is known, and records by it.
fn known(name: &str, text: String, schema: Schema, [records, test]: [CodedTable; 2]) -> Input {
    let used = Used::new(name, name, &records.sha256, Use::AllPrivate);
    Input {
        schema,
        text,
        columns: Vec::new(),
        label: None,
        records,
        units: None,
        test: Some(test),
        used: vec![used],
        public: "the schema of the table, the number of its records, and its test records".into(),
    }
}

fn adult(data_dir: Option<&Path>) -> Result<Input, Failure> {
    let options = LoadOptions {
        data_dir: data_dir.map(Path::to_path_buf),
        ..LoadOptions::default()
    };
    let tables = adult::tables(true, &options);
    let (schema, train, test) =
        tables.map_err(|e| Failure::input(e.to_string(), "check --data-dir"))?;
    Ok(known(ADULT, adult::SCHEMA.into(), schema, [train, test]))
}

/// The simulated bias as a table with a header.
fn simulated() -> Result<Input, Failure> {
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
    Ok(known(BIASED, text, schema, tables))
}

/// A file of one's own.
fn own(settings: &Settings, path: &Path) -> Result<Input, Failure> {
    let shown = path.display();
    let text = match (&settings.schema, &settings.schema_from) {
        (Some(schema), _) => std::fs::read_to_string(schema)
            .map_err(|e| Failure::input(format!("--schema {}: {e}", schema.display()), ADVICE))?,
        (None, Some(from)) => of_public(from)?,
        (None, None) => {
            return Err(Failure::input(
                format!(
                    "--input {shown}: which columns and values it has is public, and must be said"
                ),
                format!(
                    "`sliver schema {shown}` drafts a schema: confirm it and give it with --schema"
                ),
            ));
        }
    };
    let file = settings
        .schema
        .as_deref()
        .unwrap_or(Path::new("the schema"));
    let name = file.display().to_string();
    let schema = Schema::parse(&name, &text).map_err(refused)?;
    let unconfirmed = schema.unconfirmed();
    if !unconfirmed.is_empty() {
        let shown: Vec<&str> = unconfirmed.iter().take(8).map(String::as_str).collect();
        return Err(Failure::input(
            format!(
                "{name}: {} columns are not confirmed: {}",
                unconfirmed.len(),
                shown.join(", ")
            ),
            "say public = true for each column whose values, bounds and type may be known to everybody; ignore the others",
        ));
    }
    let refused = |e: DataError| Failure::input(format!("--input: {e}"), ADVICE);
    let mut records = schema.coded(path).map_err(refused)?;
    let sha256 = records.sha256.clone();
    let mut units = None;
    if let Some((column, most)) = settings.unit.as_ref().zip(settings.most_per_unit) {
        let of_records = schema.units(path, column).map_err(refused)?;
        units = Some(of_records.count());
        bound_units(&mut records, &of_records, most);
    }
    let what = if units.is_some() { "units" } else { "records" };
    let whence = match settings.schema_from {
        Some(_) => "as a public table has them",
        None => "as the schema has them",
    };
    Ok(Input {
        used: vec![Used::new(
            shown.to_string(),
            name_of_path("table", path),
            &sha256,
            Use::AllPrivate,
        )],
        schema,
        text,
        columns: Vec::new(),
        label: None,
        records,
        units,
        test: None,
        public: format!(
            "the number of {what}, and the names, types and values of the columns, {whence}"
        ),
    })
}

/// Keeps so many records of each unit, at most.
fn bound_units(records: &mut CodedTable, units: &Units, most: usize) {
    let width = records.columns;
    let codes = |place: usize| &records.codes[place * width..(place + 1) * width];
    let bytes = |place: usize| {
        codes(place)
            .iter()
            .flat_map(|code| code.to_le_bytes())
            .collect()
    };
    let kept = units.kept(most, bytes);
    let codes = kept
        .iter()
        .flat_map(|&place| codes(place))
        .copied()
        .collect();
    (records.codes, records.rows) = (codes, kept.len());
}

/// The schema of a public table: nobody has to confirm it.
fn of_public(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let refused = |e: &dyn std::fmt::Display| {
        Failure::input(
            format!("--schema-from {shown}: {e}"),
            "name a public table of the same form",
        )
    };
    let bytes = std::fs::read(path).map_err(|e| refused(&e))?;
    Schema::of_public(&shown.to_string(), &bytes).map_err(|e| refused(&e))
}
