//! The private table, what is public of it, and the public one that the copy is judged by.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use data::adult;
use data::split::Use;
use data::{BiasedConfig, DataError, LoadOptions, Units, biased};
use data::{CodeColumn, CodedTable, OpenSchema, Part, Schema, StoredTable};
use dp_core::mechanism::SensitiveVector;
use lab::diagnostic::{Failure, OrFailed};
use lab::private;
use lab::session::{Used, bounded, name_of_path};
use private_queries::Contingency;

use super::bins::Bins;
use super::run::grouped;
use super::settings::Settings;
use crate::apart;
use crate::random::stream;

/// Tables by name.
const ADULT: &str = "adult";
const BIASED: &str = "biased";
/// Files that are tables.
const TABLES: [&str; 3] = ["csv", "tsv", "parquet"];
/// Records of the simulated bias, and of its test.
const SIMULATED: [usize; 2] = [30_000, 10_000];

/// Whether the input of a copy is a table, as far as its name tells.
pub(crate) fn names_table(input: &str) -> bool {
    let extension = Path::new(input).extension().map(|e| e.to_ascii_lowercase());
    let is_table = |e: std::ffi::OsString| TABLES.iter().any(|known| e == *known);
    [ADULT, BIASED].contains(&input)
        || extension.is_some_and(is_table)
        || data::is_parts(Path::new(input))
}

/// What a run reads.
pub(super) struct Input {
    /// How the table is written, and as text.
    pub schema: Schema,
    pub text: String,
    pub columns: Vec<CodeColumn>,
    /// The place of the label.
    pub label: Option<usize>,
    /// Private records, or the part of them that this process holds; of each unit no more than count.
    pub records: StoredTable,
    /// How many there are in all parts.
    pub rows: usize,
    /// How many units there are, where neighbours replace all records of one.
    pub units: Option<usize>,
    /// Public ones.
    pub test: Option<CodedTable>,
    /// The data sets among the notes of what is public where.
    pub used: Vec<Used>,
    /// What is public, in words.
    pub public: String,
    /// What the schema leaves to be found, of a file that is read again by what was.
    pub open: Option<Open>,
}

/// A table of which not all is known.
pub(super) struct Open {
    pub schema: OpenSchema,
    path: PathBuf,
    /// The places of the records that count, where there are units.
    kept: Option<Vec<usize>>,
}

impl Input {
    pub(super) fn load(
        settings: &Settings,
        data_dir: Option<&Path>,
        part: Part,
    ) -> Result<Self, Failure> {
        let known = [ADULT, BIASED].contains(&&*settings.input);
        for (flag, given) in [
            ("schema", settings.schema.is_some()),
            ("schema-from", settings.schema_from.is_some()),
            ("private-schema", settings.private_schema.is_some()),
            ("test", settings.test.is_some()),
            ("unit", settings.unit.is_some()),
        ] {
            let bound = "left out for a table by its name";
            bounded(flag, &settings.input, !(known && given), bound)?;
        }
        let alone = settings.records.is_none() || settings.unit.is_none();
        let bound = "left out where there are units";
        bounded("records", settings.records.unwrap_or(0), alone, bound)?;
        let mut input = match &*settings.input {
            ADULT => adult(data_dir)?,
            BIASED => simulated()?,
            path => own(settings, Path::new(path), part)?,
        };
        let all = input.records.rows;
        let records = settings.records.unwrap_or(all);
        let bound = format!("at most {all}, the records that there are");
        bounded("records", records, records <= all, &bound)?;
        if known {
            let own = |place| place < records && part.has(place);
            input.records.retain(own).or_failed()?;
        }
        if input.units.is_none() {
            input.rows = records;
        }
        input.settle(settings)?;
        if let Some((path, table)) = settings.test.as_ref().zip(input.test.as_ref()) {
            let sum = table.sha256.clone();
            input.uses("test", path, &sum)?;
            input.public += ", and the test records that --test names";
        }
        if let Some(path) = &settings.schema_from {
            let table = input.schema.stored(path, Part::ALL, usize::MAX);
            let sum = table.map_err(refused)?.sha256;
            input.uses("schema-from", path, &sum)?;
        }
        let neighbours = input.neighbours();
        let bound = "a table of at least 2 records, or units: one has no other to hide behind";
        bounded("input", &settings.input, neighbours >= 2, bound)?;
        Ok(input)
    }

    /// What follows from the schema.
    fn settle(&mut self, settings: &Settings) -> Result<(), Failure> {
        if let Some(label) = &settings.label {
            let schema = self.schema.clone().with_label(label);
            self.schema = schema.map_err(refused)?;
        }
        self.label = self.schema.label();
        self.columns = self.schema.code_columns();
        if let Some(label) = self.label {
            let name = &self.columns[label].name;
            let bound = "a column beside others, which tell of it";
            let holds = self.columns.len() > 1 || self.open.is_some();
            bounded("label", name, holds, bound)?;
        }
        if let Some(path) = &settings.test {
            let table = self.schema.coded(path);
            let table = table.map_err(|e| private::refused_of("test", &e, ADVICE))?;
            self.test = Some(table);
        }
        if self.open.is_some() {
            return Ok(());
        }
        if self.schema.clamps() {
            let may = "numbers outside of their range become its nearer end";
            let clamped = self.records.clamped;
            private::count(may, || {
                Ok(format!(
                    "{clamped} numbers lay outside of their range, and became its nearer end"
                ))
            })?;
        }
        let rules = self.schema.rules();
        if rules.pairs().is_empty() {
            return Ok(());
        }
        private::count("records that break a rule count as others do", || {
            let mut broken = 0;
            for block in self.records.blocks() {
                let block = block.or_failed()?;
                let records = block.chunks_exact(self.columns.len());
                broken += records.filter(|record| !rules.keep(record)).count();
            }
            Ok(format!(
                "{broken} records break a rule between columns, and count as others do"
            ))
        })
    }

    /// Reads the private table again by another schema.
    fn read(&mut self, open: &Open, schema: Schema, settings: &Settings) -> Result<(), Failure> {
        let most = settings.records.unwrap_or(usize::MAX);
        let records = schema.stored(&open.path, Part::ALL, most);
        let mut records = records.map_err(refused)?;
        if let Some(kept) = &open.kept {
            let has = |place| kept.binary_search(&place).is_ok();
            records.retain(has).or_failed()?;
        }
        (self.records, self.schema) = (records, schema);
        Ok(())
    }

    /// Narrows the open numbers to these of their bins, and reads the table by that.
    pub(super) fn narrow(
        &mut self,
        bins: &[[usize; 2]],
        settings: &Settings,
    ) -> Result<(), Failure> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        open.schema.narrow(bins).map_err(refused)?;
        let schema = open.schema.schema().map_err(refused)?;
        self.read(&open, schema, settings)?;
        self.open = Some(open);
        self.settle(settings)
    }

    /// How many records have each name of each open category.
    pub(super) fn names(&self, settings: &Settings) -> Result<Vec<BTreeMap<String, u64>>, Failure> {
        let Some(open) = &self.open else {
            return Ok(Vec::new());
        };
        let most = settings.records.unwrap_or(usize::MAX);
        let kept = |place: usize| match &open.kept {
            Some(kept) => kept.binary_search(&place).is_ok(),
            None => place < most,
        };
        open.schema.counted(&open.path, kept).map_err(refused)
    }

    /// Closes what is open by these names, and reads the table by that.
    pub(super) fn close(
        &mut self,
        names: &[Vec<String>],
        settings: &Settings,
    ) -> Result<(), Failure> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        self.text = open.schema.clone().named(names).map_err(refused)?;
        let schema = Schema::parse("the schema", &self.text).map_err(refused)?;
        self.read(&open, schema, settings)?;
        self.settle(settings)
    }

    /// What a query measures of all records: by their codes, or by the groups of these.
    pub(super) fn measured(
        &self,
        query: &Contingency,
        groups: Option<&[Bins]>,
    ) -> Result<SensitiveVector, Failure> {
        let mut counting = query.counting();
        for block in self.records.blocks() {
            let block = block.or_failed()?;
            let counted = match groups {
                Some(bins) => counting.add(&grouped(&block, bins)),
                None => counting.add(&block),
            };
            counted.or_failed()?;
        }
        Ok(counting.measured())
    }

    /// How many neighbours there are: units, or records.
    pub(super) fn neighbours(&self) -> usize {
        self.units.unwrap_or(self.rows)
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
        let table = table.map_err(|e| private::refused_of("compare", &e, ADVICE))?;
        self.check_other("compare", path, &table.sha256)?;
        Ok(table)
    }

    /// Refuses the private table where a flag names another one, of this checksum.
    fn check_other(&self, flag: &str, path: &Path, sha256: &str) -> Result<(), Failure> {
        let private = |used: &Used| used.used == Use::AllPrivate && used.sha256 == sha256;
        let other = !self.used.iter().any(private);
        bounded(
            flag,
            path.display(),
            other,
            "another table than the private one",
        )
    }

    /// Notes the public table that a flag names, of this checksum.
    fn uses(&mut self, flag: &str, path: &Path, sha256: &str) -> Result<(), Failure> {
        self.check_other(flag, path, sha256)?;
        let name = name_of_path("table", path);
        let what = path.display().to_string();
        let used = Used::new(what, name, sha256, Use::AllPublic);
        self.used.push(used);
        Ok(())
    }
}

const ADVICE: &str = "the schema says what is public of a table: change it, or the file";

fn refused(error: DataError) -> Failure {
    private::refused(&error, ADVICE)
}

fn known(name: &str, text: String, schema: Schema, [records, test]: [CodedTable; 2]) -> Input {
    let used = Used::new(name, name, &records.sha256, Use::AllPrivate);
    Input {
        schema,
        text,
        columns: Vec::new(),
        label: None,
        records: records.into(),
        rows: 0,
        units: None,
        test: Some(test),
        used: vec![used],
        public: "the schema of the table, the number of its records, and its test records".into(),
        open: None,
    }
}

fn adult(data_dir: Option<&Path>) -> Result<Input, Failure> {
    let options = LoadOptions {
        data_dir: data_dir.map(Path::to_path_buf),
        ..LoadOptions::default()
    };
    let tables = adult::tables(true, &options);
    let (schema, train, test) = tables.map_err(|e| private::refused(&e, "check --data-dir"))?;
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
fn own(settings: &Settings, path: &Path, part: Part) -> Result<Input, Failure> {
    let shown = path.display();
    let public = [
        ("test", &settings.test),
        ("schema-from", &settings.schema_from),
    ];
    for (flag, public) in public {
        let check = |public: &PathBuf| apart::check_table(flag, public, path);
        public.as_ref().map_or(Ok(()), check)?;
    }
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
    let open = settings
        .private_schema
        .map(|_| OpenSchema::parse(&name, &text));
    let open = open.transpose().map_err(refused)?;
    let schema = match &open {
        Some(open) => open.schema(),
        None => Schema::parse(&name, &text),
    };
    let schema = schema.map_err(refused)?;
    let unconfirmed = match &open {
        Some(open) => open.unconfirmed(),
        None => schema.unconfirmed(),
    };
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
    let refused = |e: DataError| private::refused_of("input", &e, ADVICE);
    let most = settings.records.unwrap_or(usize::MAX);
    // Which records of a unit count is decided among all of them.
    let read = if settings.unit.is_some() {
        Part::ALL
    } else {
        part
    };
    let mut records = schema.stored(path, read, most).map_err(refused)?;
    if let Some(open) = &open {
        // What is wrong with a record is said before anything is released.
        open.counted(path, |_| false).map_err(refused)?;
    }
    let sha256 = records.sha256.clone();
    let (mut units, mut kept, mut rows) = (None, None, records.rows);
    if let Some((column, most)) = settings.unit.as_ref().zip(settings.most_per_unit) {
        let of_records = schema.units(path, column).map_err(refused)?;
        units = Some(of_records.count());
        let places = places_of_units(&records, &of_records, most)?;
        rows = places.len();
        let has = |place| {
            places
                .binary_search(&place)
                .is_ok_and(|index| part.has(index))
        };
        records.retain(has).map_err(refused)?;
        kept = Some(places);
    }
    let what = if units.is_some() { "units" } else { "records" };
    let whence = match settings.schema_from {
        Some(_) => "as a public table has them",
        None => "as the schema has them",
    };
    let found = open.as_ref().map_or(String::new(), |open| {
        let found = open.open().concat().join(", ");
        format!("; ranges and categories of {found} are found with noise, by a share of the budget")
    });
    let open = open.map(|schema| Open {
        schema,
        path: path.into(),
        kept,
    });
    Ok(Input {
        open,
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
        rows,
        units,
        test: None,
        public: format!(
            "the number of {what}, and the names, types and values of the columns, {whence}{found}"
        ),
    })
}

/// The places of so many records of each unit, at most.
fn places_of_units(
    records: &StoredTable,
    units: &Units,
    most: usize,
) -> Result<Vec<usize>, Failure> {
    let mut sums = Vec::with_capacity(records.rows);
    for block in records.blocks() {
        let block = block.or_failed()?;
        sums.extend(block.chunks_exact(records.columns).map(|record| {
            let bytes: Vec<u8> = record.iter().flat_map(|code| code.to_le_bytes()).collect();
            Units::sum(&bytes)
        }));
    }
    units.kept(most, &sums).or_failed()
}

/// The schema of a public table: nobody has to confirm it.
fn of_public(path: &Path) -> Result<String, Failure> {
    let advice = "name a public table of the same form";
    Schema::of_public(path).map_err(|e| private::refused_of("schema-from", &e, advice))
}
