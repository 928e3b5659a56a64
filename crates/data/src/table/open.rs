//! Schemas that leave ranges and categories open, to be found with noise.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Value;

use super::Schema;
use super::column::Role;
use super::number::Number;
use super::raw::parsed;
use crate::DataError;

/// Digits of the bounds between which the range of a number is sought first.
const ROUND: [f64; 6] = [1.0, 1.5, 2.0, 3.0, 5.0, 7.0];
/// Decades of numbers, from the smallest unit.
const DECADES: i32 = 15;
/// Decimals of numbers of which the schema says none, while their range is sought.
const DECIMALS: i32 = 6;
/// Years of dates.
const YEARS: [i32; 2] = [1850, 2099];
/// What values become that few records have.
const OTHER: &str = "other";

/// A schema of a copy that says of some numbers no range, and of some categories none: names, kinds and everything else are
/// public.
///
/// What is open is found in steps, each by noisy counts: of each number over [`OpenSchema::schema`], which has bins of round
/// numbers at first, [`OpenSchema::narrow`]; of each category by its names, [`OpenSchema::counted`] and [`OpenSchema::named`].
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
    name: String,
    table: toml::Table,
    /// Places of numbers without a range, among all columns; whether they have one by now.
    numbers: Vec<usize>,
    sought: bool,
    /// Places of categories without levels.
    categories: Vec<usize>,
}

impl OpenSchema {
    /// Reads a schema from its text; `name` is the name to use in errors.
    ///
    /// # Errors
    /// As [`Schema::parse`]; [`DataError::File`] where nothing is open, and for what is open of a column but that.
    pub fn parse(name: &str, text: &str) -> Result<Self, DataError> {
        let refuse = |problem: String| DataError::file(format!("{name}: {problem}"));
        let table: toml::Table = parsed(name, text)?;
        let mut open = Self {
            name: name.into(),
            table,
            numbers: Vec::new(),
            sought: false,
            categories: Vec::new(),
        };
        for (place, column) in columns(&open.table).enumerate() {
            let has = |field: &str| column.contains_key(field);
            match column.get("kind").and_then(Value::as_str) {
                Some("numeric" | "integer" | "date" | "datetime") if !has("min") && !has("max") => {
                    if has("edges") {
                        return Err(refuse(format!(
                            "column {}: 'edges' without 'min' and 'max': give those too",
                            place + 1
                        )));
                    }
                    open.numbers.push(place);
                }
                Some("categorical") if !has("levels") && !has("zero") && !has("one") => {
                    open.categories.push(place);
                }
                _ => {}
            }
        }
        if open.numbers.is_empty() && open.categories.is_empty() {
            return Err(refuse(
                "every column has its range or its categories: leave 'min' and 'max', or 'levels', out of those that are to be \
                 found"
                    .into(),
            ));
        }
        let absent = open.table.get("missing").and_then(Value::as_array);
        let is_other = |word: &Value| word.as_str() == Some(OTHER);
        if !open.categories.is_empty() && absent.is_some_and(|words| words.iter().any(is_other)) {
            return Err(refuse(format!(
                "'{OTHER}' in 'missing' is what rare categories become: give them another word, or say which they are"
            )));
        }
        let names = open.open().concat();
        for rule in open
            .table
            .get("rule")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let of = |field: &str| rule.get(field).and_then(|part| part.get("column"));
            let both = rule.get("at_most").and_then(Value::as_array);
            let mut columns = both
                .into_iter()
                .flatten()
                .chain(of("when"))
                .chain(of("then"));
            let is_open = |column: &&Value| names.iter().any(|name| column.as_str() == Some(name));
            if let Some(column) = columns.find(is_open) {
                return Err(refuse(format!(
                    "a rule of column {column}, whose values are to be found: say them, or remove the rule"
                )));
            }
        }
        // Whatever else is wrong with it is said before anything is released.
        let mut table = open.table.clone();
        for (place, column) in columns_mut(&mut table).enumerate() {
            if open.numbers.contains(&place) {
                grid(column);
            } else if open.categories.contains(&place) {
                fill(column, &[]);
            }
        }
        Schema::parse(&open.name, &self::text(&open.name, &table)?)?;
        Ok(open)
    }

    /// The names of the numbers, and of the categories, that are open.
    pub fn open(&self) -> [Vec<String>; 2] {
        let name = |&place: &usize| {
            let column = columns(&self.table).nth(place);
            let name = column.and_then(|column| column.get("name")?.as_str());
            name.unwrap_or_default().to_string()
        };
        [&self.numbers, &self.categories].map(|places| places.iter().map(name).collect())
    }

    /// The names of the columns of a copy of which nobody has said `public = true`.
    pub fn unconfirmed(&self) -> Vec<String> {
        let open = columns(&self.table).filter(|column| {
            let ignored = column.get("kind").and_then(Value::as_str) == Some("ignore");
            !ignored && column.get("public").and_then(Value::as_bool) != Some(true)
        });
        open.filter_map(|column| Some(column.get("name")?.as_str()?.to_string()))
            .collect()
    }

    /// A schema by which what is open can be counted: numbers have bins between round numbers, or in their range where it was
    /// narrowed, and what lies outside is clamped; open categories are ignored.
    ///
    /// # Errors
    /// As [`Schema::parse`].
    pub fn schema(&self) -> Result<Schema, DataError> {
        let mut table = self.table.clone();
        // Rules are of copies, and of columns that may be ignored here.
        table.remove("rule");
        for (place, column) in columns_mut(&mut table).enumerate() {
            if self.categories.contains(&place) {
                column.retain(|field, _| field == "name");
                column.insert("kind".into(), "ignore".into());
            }
            if self.numbers.contains(&place) && !self.sought {
                grid(column);
            }
        }
        Schema::parse(&self.name, &text(&self.name, &table)?)
    }

    /// Narrows each open number to the bins from the first to the last of [`OpenSchema::schema`], shape `[numbers]`.
    ///
    /// # Errors
    /// [`DataError::Request`] for bins that there are not.
    pub fn narrow(&mut self, bins: &[[usize; 2]]) -> Result<(), DataError> {
        let schema = self.schema()?;
        let ranges: Option<Vec<[Value; 2]>> = self
            .numbers
            .iter()
            .zip(bins)
            .map(|(&place, bins)| match &schema.columns.get(place)?.role {
                Role::Number(number) => range(number, *bins),
                _ => None,
            })
            .collect();
        let ranges = ranges.filter(|ranges| ranges.len() == self.numbers.len());
        let refused = || DataError::request(format!("{}: bins that there are not", self.name));
        let ranges = ranges.ok_or_else(refused)?;
        let mut all: Vec<&mut toml::Table> = columns_mut(&mut self.table).collect();
        for (&place, [min, max]) in self.numbers.iter().zip(ranges) {
            let fields = [("min", min), ("max", max), ("outside", "clamp".into())];
            all[place].extend(fields.map(|(field, value)| (field.to_string(), value)));
        }
        self.sought = true;
        Ok(())
    }

    /// How many of the records that are `kept`, by their places in a file, have each value of each open category; the words for
    /// a missing one are none.
    ///
    /// # Errors
    /// As [`Schema::coded`]; [`DataError::Record`] for a missing value where the column does not say `missing = "level"`.
    pub fn counted(
        &self,
        path: &Path,
        kept: impl Fn(usize) -> bool,
    ) -> Result<Vec<BTreeMap<String, u64>>, DataError> {
        let [_, names] = self.open();
        let mut counts = vec![BTreeMap::new(); names.len()];
        let level = |&place: &usize| {
            let column = columns(&self.table).nth(place);
            column.and_then(|column| column.get("missing")?.as_str()) == Some("level")
        };
        let levels: Vec<bool> = self.categories.iter().map(level).collect();
        let schema = self.schema()?;
        let absent = schema.missing.first().map_or("", String::as_str);
        let found = schema.each_ignored(path, &names, absent, |record, fields| {
            for ((counts, field), level) in counts.iter_mut().zip(fields).zip(&levels) {
                if schema.missing.iter().any(|word| word == field.value) {
                    if !level {
                        return Err(field.missing_in_copy());
                    }
                } else if kept(record) {
                    match counts.get_mut(field.value) {
                        Some(count) => *count += 1,
                        None => drop(counts.insert(field.value.to_string(), 1)),
                    }
                }
            }
            Ok(())
        })?;
        let missing = || {
            format!(
                "{}: a column without 'levels' is missing: {}",
                path.display(),
                names.join(", ")
            )
        };
        found
            .then_some(counts)
            .ok_or_else(|| DataError::file(missing()))
    }

    /// The text of the schema with the `levels` of each open category, shape `[categories]`, and what the others become.
    ///
    /// # Errors
    /// As [`Schema::parse`].
    pub fn named(mut self, levels: &[Vec<String>]) -> Result<String, DataError> {
        let mut all: Vec<&mut toml::Table> = columns_mut(&mut self.table).collect();
        for (&place, levels) in self.categories.iter().zip(levels) {
            fill(all[place], levels);
        }
        let written = text(&self.name, &self.table)?;
        if self.sought || self.numbers.is_empty() {
            Schema::parse(&self.name, &written)?;
        }
        Ok(written)
    }
}

fn columns(table: &toml::Table) -> impl Iterator<Item = &toml::Table> {
    let all = table.get("column").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_table)
}

fn columns_mut(table: &mut toml::Table) -> impl Iterator<Item = &mut toml::Table> {
    let all = table.get_mut("column").and_then(Value::as_array_mut);
    all.into_iter().flatten().filter_map(Value::as_table_mut)
}

fn text(name: &str, table: &toml::Table) -> Result<String, DataError> {
    toml::to_string(table).map_err(|error| DataError::file(format!("{name}: {error}")))
}

/// Bins between round numbers, or years: nothing in them is of any table.
fn grid(column: &mut toml::Table) {
    let kind = column.get("kind").and_then(Value::as_str).unwrap_or("");
    let kind = kind.to_string();
    let edges: Vec<Value> = match &*kind {
        "date" | "datetime" => {
            let [start, end] = match &*kind {
                "date" => ["-01-01", "-12-31"],
                _ => ["-01-01T00:00", "-12-31T23:59"],
            };
            let [first, last] = YEARS;
            let years = (first..=last).map(|year| format!("{year}{start}"));
            years
                .chain([format!("{last}{end}")])
                .map(Value::String)
                .collect()
        }
        kind => {
            let decimals = match (kind, column.get("decimals").and_then(Value::as_integer)) {
                ("integer", _) => 0,
                (_, Some(decimals)) => decimals.clamp(0, DECADES.into()) as i32,
                (_, None) => DECIMALS,
            };
            if kind == "numeric" {
                let own = column.entry("decimals");
                own.or_insert_with(|| i64::from(decimals).into());
            }
            let units =
                (0..=DECADES).flat_map(|decade| ROUND.map(|round| round * 10_f64.powi(decade)));
            let whole =
                units.filter(|units| units.fract() == 0.0 && *units <= 10_f64.powi(DECADES));
            let above: Vec<f64> = whole.collect();
            let below = above.iter().rev().map(|units| -units);
            let all = below.chain([0.0]).chain(above.iter().copied());
            match kind {
                "integer" => all.map(|units| Value::Integer(units as i64)).collect(),
                _ => all
                    .map(|units| Value::Float(units / 10_f64.powi(decimals)))
                    .collect(),
            }
        }
    };
    let ends = [
        ("min", edges.first().cloned()),
        ("max", edges.last().cloned()),
    ];
    column.insert("outside".into(), "clamp".into());
    for (field, end) in ends {
        column.extend(end.map(|end| (field.to_string(), end)));
    }
    column.remove("scale");
    column.insert("edges".into(), edges.into());
}

/// Gives a column of categories its levels.
fn fill(column: &mut toml::Table, levels: &[String]) {
    let levels = levels.iter().cloned().map(Value::String);
    column.insert("levels".into(), levels.collect::<Vec<_>>().into());
    column.entry("other").or_insert_with(|| OTHER.into());
}

/// From the first value of a bin to the last one of another.
fn range(number: &Number, [first, last]: [usize; 2]) -> Option<[Value; 2]> {
    let (first, last) = (number.bins.get(first)?, number.bins.get(last)?);
    // A range of one value is none.
    let counts = [first.start, (last.end - 1).max(first.start + 1)];
    Some(counts.map(|count| {
        let text = number.unit.text(count);
        match number.unit {
            super::number::Unit::One => Value::Integer(count),
            super::number::Unit::Decimal(_) => {
                text.parse().map_or(Value::String(text), Value::Float)
            }
            _ => Value::String(text),
        }
    }))
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
        let schema = open.schema().expect("a schema");
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
        let schema = open.schema().expect("a schema");
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
