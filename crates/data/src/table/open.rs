//! Schemas that leave ranges and categories open, which noisy counts then find.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Value;

use super::Schema;
use super::blocks::NULL;
use super::calendar::{Step, clock, day, moment};
use super::column::{Open, Role};
use super::number::{Asked, Number, Unit};
use super::raw::{Missing, Outside, RawSchema, parsed};
use super::rules;
use super::schema::check;
use super::value::missing_in_copy;
use crate::DataError;

/// The leading digits of the bounds between which the range of a number is sought first.
const ROUND: [f64; 6] = [1.0, 1.5, 2.0, 3.0, 5.0, 7.0];
/// The number of decades of these bounds, counted from the smallest unit.
const DECADES: i32 = 15;
/// The decimals of a number while its range is sought, if the schema gives none.
const DECIMALS: u32 = 6;
/// The first and the last year between which dates are sought.
const YEARS: [i32; 2] = [1850, 2099];
/// The value that rare categories become.
const OTHER: &str = "other";

/// A schema of a copy that leaves the range of some numbers and the categories of some columns open. Names, kinds and
/// everything else are public.
///
/// Noisy counts find what is open. For numbers, count over the bins of [`OpenSchema::schema`], which are round numbers at first,
/// then call [`OpenSchema::narrow`]. For categories, count with [`OpenSchema::counted`] and list them with [`OpenSchema::named`].
///
/// ```toml
/// [[column]]
/// name = "income"
/// kind = "integer"       # without min and max
/// public = true
///
/// [[column]]
/// name = "town"
/// kind = "categorical"   # without levels
/// public = true
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OpenSchema {
    /// The schema as it is written, with the ranges and categories found so far.
    table: toml::Table,
    /// The schema with the current bins of each open number, and without the open categories.
    schema: Schema,
    /// The places of the numbers without a range among all columns, with their other fields.
    numbers: Vec<(usize, Asked)>,
    sought: bool,
    /// The places of the categorical columns without levels, and what each does if a value is missing.
    categories: Vec<(usize, Missing)>,
    unconfirmed: Vec<String>,
}

impl OpenSchema {
    /// Reads a schema from its text; `name` is the name to use in errors.
    ///
    /// # Errors
    /// As [`Schema::parse`]; [`DataError::File`] if nothing is open, or if a column lacks something else.
    pub fn parse(name: &str, text: &str) -> Result<Self, DataError> {
        let (table, raw) = (parsed(name, text)?, parsed(name, text)?);
        Self::of(name, table, raw).map_err(|problem| DataError::file(format!("{name}: {problem}")))
    }

    fn of(name: &str, table: toml::Table, mut raw: RawSchema) -> Result<Self, String> {
        let ruled = std::mem::take(&mut raw.rule);
        let mut schema = check(name, raw, true)?;
        let (mut numbers, mut categories, mut half) = (Vec::new(), Vec::new(), Ok(()));
        for (place, column) in schema.columns.iter().enumerate() {
            match &column.role {
                Role::Open(Open::Range(asked)) if asked.edges.is_some() => {
                    let number = place + 1;
                    return Err(format!(
                        "column {number}: 'edges' without 'min' and 'max': give those too"
                    ));
                }
                Role::Open(Open::Range(asked)) => numbers.push((place, asked.clone())),
                Role::Open(open @ Open::Half(_)) => {
                    let problem = format!("column '{}': {}", column.name, open.missing());
                    half = half.and(Err(problem));
                }
                Role::Open(Open::Categories) => categories.push((place, column.missing)),
                _ => {}
            }
        }
        if numbers.is_empty() && categories.is_empty() {
            return Err(
                "every column has its range or its categories: leave 'min' and 'max', or 'levels', out of those that are to be \
                 found"
                    .into(),
            );
        }
        half?;
        let other = |place: usize| {
            schema.columns[place]
                .absent
                .iter()
                .any(|word| word == OTHER)
        };
        if categories.iter().any(|&(place, _)| other(place)) {
            return Err(format!(
                "'{OTHER}' in 'missing' is what rare categories become: give them another word, or say which they are"
            ));
        }
        let is_open = |name: &&String| {
            let mut columns = schema.columns.iter();
            columns.any(|column| column.name == **name && matches!(column.role, Role::Open(_)))
        };
        for rule in &ruled {
            let conditions = [&rule.when, &rule.then];
            let conditions = conditions.into_iter().flatten().map(|part| &part.column);
            let mut columns = rule.at_most.iter().flatten().chain(conditions);
            if let Some(column) = columns.find(is_open) {
                let column = Value::String(column.clone());
                return Err(format!(
                    "a rule of column {column}, whose values are to be found: say them, or remove the rule"
                ));
            }
        }
        // Whatever else is wrong with it is said before anything is released.
        rules::check(&schema.columns, &ruled)?;
        let unconfirmed = schema.unconfirmed();
        for &(place, _) in &categories {
            schema.columns[place].role = Role::Ignored(None);
        }
        let mut open = Self {
            table,
            schema,
            numbers,
            sought: false,
            categories,
            unconfirmed,
        };
        let grids: Vec<Asked> = open.numbers.iter().map(|(_, asked)| grid(asked)).collect();
        open.set(&grids)?;
        Ok(open)
    }

    /// Gives each open number these bins.
    fn set(&mut self, asked: &[Asked]) -> Result<(), String> {
        for ((place, _), asked) in self.numbers.iter().zip(asked) {
            let column = &mut self.schema.columns[*place];
            let refuse = |problem| format!("column '{}': {problem}", column.name);
            column.role = Role::Number(Number::new(asked, &column.absent).map_err(refuse)?);
        }
        Ok(())
    }

    /// Returns the names of the open numbers, then those of the open categorical columns.
    pub fn open(&self) -> [Vec<String>; 2] {
        let name = |place: usize| self.schema.columns[place].name.clone();
        let numbers = self.numbers.iter().map(|&(place, _)| name(place));
        let categories = self.categories.iter().map(|&(place, _)| name(place));
        [numbers.collect(), categories.collect()]
    }

    /// Returns the same as [`Schema::left_out`], without the open columns that [`OpenSchema::schema`] ignores for now.
    pub fn left_out(&self) -> Vec<(&str, Option<&str>)> {
        let mut all = self.schema.left_out();
        let [_, open] = self.open();
        all.retain(|(name, _)| !open.iter().any(|known| known == name));
        all
    }

    /// Returns the names of the columns of a copy that no one has marked `public = true`.
    pub fn unconfirmed(&self) -> Vec<String> {
        self.unconfirmed.clone()
    }

    /// Returns a schema by which the open values can be counted. Numbers have bins between round numbers, or in their range
    /// once it is narrowed, and are clamped to the bins. Open categories are ignored. Rules apply to copies only: it has none.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Narrows each open number to a range of the bins of [`OpenSchema::schema`]: its first and its last bin, shape `[numbers]`.
    ///
    /// # Errors
    /// [`DataError::Request`] for bins that do not exist; as [`Schema::parse`].
    pub fn narrow(&mut self, bins: &[[usize; 2]]) -> Result<(), DataError> {
        let name = self.schema.name.clone();
        let ends = |(&(place, _), bins): (&(usize, Asked), &[usize; 2])| {
            let number = self.schema.columns[place].number()?;
            let [first, last] = bins.map(|bin| number.bins.get(bin));
            let (start, end) = (first?.start, last?.end - 1);
            // A range of a single value is widened by one unit.
            Some((number.unit, [start, end.max(start + 1)]))
        };
        let all: Option<Vec<_>> = self.numbers.iter().zip(bins).map(ends).collect();
        let all = all.filter(|ends| ends.len() == self.numbers.len());
        let all =
            all.ok_or_else(|| DataError::request(format!("{name}: bins that there are not")))?;
        let mut written: Vec<&mut toml::Table> = columns_mut(&mut self.table).collect();
        for ((place, asked), (unit, ends)) in self.numbers.iter_mut().zip(all) {
            [asked.min, asked.max] = ends.map(|count| unit.at(count));
            asked.outside = Outside::Clamp;
            let [min, max] = ends.map(|count| match unit {
                Unit::One => Value::Integer(count),
                Unit::Decimal(_) => Value::Float(unit.at(count)),
                Unit::Day | Unit::Time { .. } => Value::String(unit.text(count)),
            });
            let fields = [("min", min), ("max", max), ("outside", "clamp".into())];
            written[*place].extend(fields.map(|(field, value)| (field.to_string(), value)));
        }
        self.sought = true;
        let narrower: Vec<Asked> = self
            .numbers
            .iter()
            .map(|(_, asked)| asked.clone())
            .collect();
        self.set(&narrower)
            .map_err(|problem| DataError::file(format!("{name}: {problem}")))
    }

    /// Counts the records that have each value of each open category. It counts the records whose place in the file is `kept`,
    /// and no missing values.
    ///
    /// # Errors
    /// As [`Schema::coded`]; [`DataError::Record`] for a missing value if the column does not say `missing = "level"`.
    pub fn counted(
        &self,
        path: &Path,
        kept: impl Fn(usize) -> bool,
    ) -> Result<Vec<BTreeMap<String, u64>>, DataError> {
        let [_, names] = self.open();
        let mut counts = vec![BTreeMap::new(); names.len()];
        let each = |record, column: usize, text: &str| {
            let counts: &mut BTreeMap<String, u64> = &mut counts[column];
            let absent = &self.schema.columns[self.categories[column].0].absent;
            if text == NULL || absent.iter().any(|word| word == text) {
                if self.categories[column].1 != Missing::Level {
                    return Err(missing_in_copy());
                }
            } else if kept(record) {
                match counts.get_mut(text) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(text.to_string(), 1)),
                }
            }
            Ok(())
        };
        if self.schema.each_ignored(path, &names, NULL, each)? {
            return Ok(counts);
        }
        let (path, names) = (path.display(), names.join(", "));
        Err(DataError::file(format!(
            "{path}: a column without 'levels' is missing: {names}"
        )))
    }

    /// Returns the text of the schema with the `levels` of each open category, shape `[categories]`, and one for all others.
    ///
    /// # Errors
    /// As [`Schema::parse`].
    pub fn named(mut self, levels: &[Vec<String>]) -> Result<String, DataError> {
        let mut all: Vec<&mut toml::Table> = columns_mut(&mut self.table).collect();
        for (&(place, _), levels) in self.categories.iter().zip(levels) {
            let levels = levels.iter().cloned().map(Value::String);
            let levels: Vec<Value> = levels.collect();
            all[place].insert("levels".into(), levels.into());
            all[place].entry("other").or_insert_with(|| OTHER.into());
        }
        let name = &self.schema.name;
        let written = toml::to_string(&self.table)
            .map_err(|error| DataError::file(format!("{name}: {error}")))?;
        if self.sought || self.numbers.is_empty() {
            Schema::parse(name, &written)?;
        }
        Ok(written)
    }
}

fn columns_mut(table: &mut toml::Table) -> impl Iterator<Item = &mut toml::Table> {
    let all = table.get_mut("column").and_then(Value::as_array_mut);
    all.into_iter().flatten().filter_map(Value::as_table_mut)
}

/// Gives a number bins between round numbers, or between years. They depend on no table.
fn grid(asked: &Asked) -> Asked {
    let count = |milli: Option<i64>, step: Step| Some(milli?.div_euclid(step.millis()));
    let years = |start: &str, end: &str, count: &dyn Fn(&str) -> Option<i64>| {
        let [first, last] = YEARS;
        let years = (first..=last).map(|year| format!("{year}{start}"));
        let all = years.chain([format!("{last}{end}")]);
        all.filter_map(|text| Some(count(&text)? as f64)).collect()
    };
    let mut decimals = asked.decimals;
    let edges: Vec<f64> = match asked.unit {
        Unit::Day => years("-01-01", "-12-31", &day),
        Unit::Time { date: true, step } => {
            let end = format!("-12-31T{}", step.last());
            years("-01-01T00:00", &end, &|text| count(moment(text), step))
        }
        Unit::Time { step, .. } => {
            let hours = (0..24).map(|hour| format!("{hour:02}:00"));
            let all = hours.chain([step.last()]);
            let counts = all.filter_map(|text| count(clock(&text), step));
            let mut edges: Vec<f64> = counts.map(|count| count as f64).collect();
            // The last time of a day may be its last hour.
            edges.dedup();
            edges
        }
        unit => {
            let own = match unit {
                Unit::One => 0,
                _ => (*decimals.get_or_insert(DECIMALS)).min(DECADES as u32),
            };
            let units =
                (0..=DECADES).flat_map(|decade| ROUND.map(|round| round * 10_f64.powi(decade)));
            let whole =
                units.filter(|units| units.fract() == 0.0 && *units <= 10_f64.powi(DECADES));
            let above: Vec<f64> = whole.collect();
            let below = above.iter().rev().map(|units| -units);
            let all = below.chain([0.0]).chain(above.iter().copied());
            all.map(|units| units / 10_f64.powi(own as i32)).collect()
        }
    };
    Asked {
        min: edges[0],
        max: edges[edges.len() - 1],
        outside: Outside::Clamp,
        decimals,
        scale: None,
        edges: Some(edges),
        ..asked.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
missing = [""]

[[column]]
name = "age"
kind = "integer"
special = [-1]

[[column]]
name = "born"
kind = "date"

[[column]]
name = "height"
kind = "numeric"
scale = "log"

[[column]]
name = "town"
kind = "categorical"
missing = "level"

[[column]]
name = "ill"
kind = "boolean"
zero = ["no"]
one = ["yes"]
"#;

    /// The bin of a value, and its name.
    fn bin(schema: &Schema, column: usize, value: &str) -> (usize, String) {
        let line = ["17", "1984-02-03", "1.8125", "", "no"];
        let mut fields = line.map(str::to_string);
        fields[column] = value.into();
        let csv = format!("age,born,height,town,ill\n{}\n", fields.join(","));
        let coded = schema
            .coded_bytes("table", csv.as_bytes())
            .expect("a record");
        let code = usize::from(coded.codes[column]);
        (code, schema.code_columns()[column].codes[code].clone())
    }

    #[test]
    fn ranges_are_narrowed_from_round_numbers() {
        let mut open = OpenSchema::parse("open", TEXT).expect("open");
        assert_eq!(open.open(), [vec!["age", "born", "height"], vec!["town"]]);
        let schema = open.schema().clone();
        for (column, value, name) in [
            (0, "17", "[15, 20)"),
            (0, "-17", "[-20, -15)"),
            (0, "0", "0"),
            (0, "9000000000000000", "[700000000000000, 1000000000000000]"),
            (0, "-1", "-1"),
            (1, "1984-02-03", "[1984-01-01, 1985-01-01)"),
            (2, "1.8125", "[1.500000, 2.000000)"),
            (2, "0.0000001", "0.000000"),
        ] {
            assert_eq!(bin(&schema, column, value).1, name);
        }
        let at = |column, value| bin(&schema, column, value).0;
        let bins = [
            [at(0, "17"), at(0, "95")],
            [at(1, "1950-01-01"), at(1, "2001-01-01")],
            [at(2, "1.1"), at(2, "2.5")],
        ];
        open.narrow(&bins).expect("narrower");
        let schema = open.schema().clone();
        assert_eq!(bin(&schema, 0, "12").1, "15");
        assert_eq!(bin(&schema, 0, "200").1, "99");
        assert_eq!(bin(&schema, 1, "1984-02-03").1, "[1984-02-02, 1984-04-17)");
        // A second time, within the range.
        let at = |column, value| bin(&schema, column, value).0;
        let narrower = [
            [at(0, "17"), at(0, "95")],
            [at(1, "1984-02-03"); 2],
            [at(2, "1.5"), at(2, "1.9")],
        ];
        open.narrow(&narrower).expect("narrower");
        let text = open
            .named(&[vec!["Bern".into(), "Zug".into()]])
            .expect("a text");
        let schema = Schema::parse("closed", &text).expect("a schema");
        let columns = schema.code_columns();
        assert_eq!(columns[0].codes[0], "17");
        assert_eq!(columns[0].codes.last().expect("a code"), "-1");
        assert_eq!(columns[3].codes, ["Bern", "Zug", "other", "?"]);
        assert!(
            text.contains("scale = \"log\"") && text.contains("min = \"1984-02-02\""),
            "{text}"
        );
    }

    #[test]
    fn what_is_not_open_is_not_opened() {
        let refused = |text: &str| {
            OpenSchema::parse("open", text)
                .expect_err("refused")
                .to_string()
        };
        let closed = "[[column]]\nname = \"a\"\nkind = \"integer\"\nmin = 0\nmax = 1\n";
        assert!(refused(closed).contains("every column has its range"));
        assert!(refused(&closed.replace("max = 1\n", "")).contains("every column has"));
        let edges = "[[column]]\nname = \"a\"\nkind = \"integer\"\nedges = [1]\n";
        assert!(refused(edges).contains("'edges' without"));
        let label = "[[column]]\nname = \"a\"\nkind = \"label\"\n\n[[column]]\nname = \"b\"\nkind = \"integer\"\n";
        assert!(refused(label).contains("expected either 'classes'"));
        let other = "missing = [\"other\"]\n[[column]]\nname = \"a\"\nkind = \"categorical\"\n";
        assert!(refused(other).contains("what rare categories become"));
        let fine = TEXT.replace("scale = \"log\"", "decimals = 20");
        assert!(refused(&fine).contains("20 decimals"));
        let ruled = TEXT.to_string()
            + "\n[[rule]]\nwhen = { column = \"ill\", values = [\"yes\"] }\nthen = { column = \"town\", values = [\"Bern\"] }\n";
        assert!(refused(&ruled).contains("a rule of column \"town\""));
        let mut open = OpenSchema::parse("open", TEXT).expect("open");
        assert!(open.narrow(&[[0, 1]]).is_err());
        assert!(open.narrow(&[[0, 9999]; 3]).is_err());
    }
}
