//! Drafts of schemas from what records hold.

use std::collections::{BTreeSet, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::{Serialize, Serializer};
use toml::Value;

use super::blocks::{Block, Opened, Places, Records};
use super::calendar::{DAY, day, midnight, minute, minute_text};
use super::lines::Lines;
use super::number::MAX_BINS;
use super::parquet::{ParquetRows, is_parquet};
use super::parts::parts;
use super::{OpenSchema, Schema};
use crate::DataError;
use crate::error::{empty, open};

/// The most categories of a column that is no text.
const MAX_LEVELS: usize = 100;
/// The most classes of a label of whole numbers.
const MAX_NUMBERED_CLASSES: usize = 10;
/// Records that are read at once: all fields of all columns.
const RECORDS: usize = 1 << 10;
/// First lines, by which the delimiter is guessed.
const FIRST_LINES: usize = 20;
/// What stands for a missing value, in letters of either case.
const ABSENT: [&str; 6] = ["", "?", "na", "n/a", "null", "nan"];
/// The same as they are mostly written: what a draft says that shows none of the records.
const ABSENT_WORDS: [&str; 11] = [
    "", "?", "NA", "na", "N/A", "n/a", "NULL", "null", "NaN", "NAN", "nan",
];
const YES_AND_NO: [[&str; 2]; 5] = [
    ["no", "yes"],
    ["n", "y"],
    ["false", "true"],
    ["f", "t"],
    ["0", "1"],
];

impl Schema {
    /// The text of a draft from the content of a CSV file: delimiter, names of columns, kinds, categories where there are at
    /// most 100, ranges widened to round numbers, whole years and the words that stand for missing values. Text is left
    /// out. `name` is the name to use in errors and in the draft, `label` the column that a copy is to predict.
    ///
    /// **Private**: it has seen the records. Each column says `public = false` until someone has confirmed it.
    ///
    /// # Errors
    /// [`DataError::Request`] without a record, and for a label that is not there, or has neither two categories nor
    /// numbers; [`DataError::Record`] for a line of another number of fields than the
    /// first; [`DataError::File`] for what is no text, and for columns without a name or with the same.
    pub fn draft(name: &str, bytes: &[u8], label: Option<&str>) -> Result<String, DataError> {
        let guessed = Guessed::of_text(None, name, || Ok(bytes))?;
        match guessed.records {
            0 => Err(empty(name, "record")),
            _ => guessed.draft(name, label, Shown::All),
        }
    }

    /// As [`Schema::draft`], of a file or several, Parquet or CSV, as [`Schema::coded`].
    ///
    /// # Errors
    /// As [`Schema::draft`]; [`DataError::Io`].
    pub fn draft_of(path: &Path, label: Option<&str>) -> Result<String, DataError> {
        Guessed::of_files(path)?.draft(&path.display().to_string(), label, Shown::All)
    }

    /// The text of the schema of a public file, by the rules of [`Schema::draft_of`], confirmed: it tells of no private record.
    ///
    /// # Errors
    /// As [`Schema::draft_of`].
    pub fn of_public(path: &Path) -> Result<String, DataError> {
        let name = path.display().to_string();
        Guessed::of_files(path)?.text(&name, None, Shown::Confirmed)
    }
}

impl OpenSchema {
    /// The text of a draft that shows names and kinds of columns alone, and of the `label` its classes or its range: it is the
    /// same for all files of which those are the same. Truth values are categories, whose spellings are found as all others.
    ///
    /// **Private**: kinds are guessed from the records.
    ///
    /// # Errors
    /// As [`Schema::draft_of`].
    pub fn draft_of(path: &Path, label: Option<&str>) -> Result<String, DataError> {
        Guessed::of_files(path)?.draft(&path.display().to_string(), label, Shown::Kinds)
    }
}

/// What a text says of the records.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    /// All that a schema needs, as public.
    Confirmed,
    /// The same, to be confirmed.
    All,
    /// Names and kinds, to be confirmed.
    Kinds,
}

fn head(name: &str, shown: Shown) -> String {
    let head = match shown {
        Shown::Kinds => KINDS_HEAD,
        _ => HEAD,
    };
    format!("# A draft of the schema of {name:?}. IT HAS SEEN THE RECORDS.\n{head}")
}

const HEAD: &str = "#\n\
         # The categories, ranges and words for missing values below were taken from them, and so tell of them. No private\n\
         # copy is made with a column that says public = false. For each column:\n\
         #\n\
         # 1. Replace what is not known to everybody: give the range or the categories that anyone would expect who has\n\
         #    never seen a record. For rare categories say other = \"other\", and remove them.\n\
         # 2. Or leave the column out: kind = \"ignore\", and nothing else but its name.\n\
         # 3. Then say public = true.\n\
         #\n\
         # The words in 'missing' and the names of the columns become public with them. If the names are values of the first\n\
         # record, say header = false and name the columns.\n\n";

const KINDS_HEAD: &str = "#\n\
         # The kinds below were guessed from them, and the classes or the range of a label are theirs. A share of the budget\n\
         # finds all other ranges and categories (--private-schema). No private copy is made with a column that says\n\
         # public = false. For each column:\n\
         #\n\
         # 1. Say the range or the categories where everybody knows them: nothing is spent on them then.\n\
         # 2. Or leave the column out: kind = \"ignore\", and nothing else but its name.\n\
         # 3. Remove missing = \"level\" where no value can be missing.\n\
         # 4. Then say public = true.\n\
         #\n\
         # The names of the columns become public. If they are values of the first record, say header = false and name the\n\
         # columns.\n\n";

/// What a file seems to hold.
struct Guessed {
    delimiter: u8,
    header: bool,
    records: usize,
    columns: Vec<(String, Guess)>,
}

/// What a column seems to hold.
struct Guess {
    /// Whether its values are none that can be read, as lists.
    unread: bool,
    /// Values that are not missing.
    values: u64,
    /// Words that stand for missing ones.
    missing: BTreeSet<String>,
    /// Its values, each once, until there are too many.
    levels: BTreeSet<String>,
    integer: bool,
    number: bool,
    date: bool,
    time: bool,
    /// The least and the largest number.
    range: [f64; 2],
    /// The least and the largest minute.
    period: [i64; 2],
    /// Digits behind the point.
    decimals: usize,
    zeros: u64,
}

impl Guessed {
    /// Of a file, or of several with the same columns.
    fn of_files(path: &Path) -> Result<Self, DataError> {
        let mut all: Option<Self> = None;
        let file = path.display().to_string();
        for part in parts(path)? {
            let with = Self::with(all, &file, &part).map_err(|e| e.of_part(path, &part))?;
            all = Some(with);
        }
        all.filter(|all| all.records > 0)
            .ok_or_else(|| empty(path.display(), "record"))
    }

    /// Of a part too, of the files before it.
    fn with(before: Option<Self>, file: &str, part: &Path) -> Result<Self, DataError> {
        if !is_parquet(part) {
            return Self::of_text(before, file, || open(part));
        }
        let rows = ParquetRows::open(file, part, "")?;
        let names = checked(file, rows.names().to_vec())?;
        let guessed = Self::or(before, file, b',', true, names)?;
        guessed.read(
            file,
            rows.readable(),
            Records::<std::fs::File>::Parquet(rows),
        )
    }

    /// Of a text that is read more than once: first for its delimiter.
    fn of_text<R: Read>(
        before: Option<Self>,
        file: &str,
        text: impl Fn() -> Result<R, DataError>,
    ) -> Result<Self, DataError> {
        let text = || text().map(BufReader::new);
        let delimiter = delimiter(file, &text)?;
        let mut lines = Lines::new(file, delimiter, None, text()?);
        let Some(first) = lines.peek()? else {
            return Err(empty(file, "record"));
        };
        let mut names: Vec<String> = first.fields.iter().map(|&text| text.into()).collect();
        let header = !names.iter().any(|text| Guess::of(text).is_number_or_date());
        if header {
            names = checked(file, names)?;
            lines.next()?;
        } else {
            let numbered = (1..=names.len()).map(|place| format!("column{place}"));
            names = numbered.collect();
        }
        let guessed = Self::or(before, file, delimiter, header, names)?;
        let all = (0..guessed.columns.len()).collect();
        guessed.read(file, all, Records::Text(lines))
    }

    /// What the files before seem to hold, which have the same columns, or nothing yet.
    fn or(
        before: Option<Self>,
        file: &str,
        delimiter: u8,
        header: bool,
        names: Vec<String>,
    ) -> Result<Self, DataError> {
        let Some(before) = before else {
            return Ok(Self {
                delimiter,
                header,
                records: 0,
                columns: names.into_iter().map(|name| (name, Guess::new())).collect(),
            });
        };
        let same = before.columns.iter().map(|(name, _)| name).eq(&names);
        match same && (before.delimiter, before.header) == (delimiter, header) {
            true => Ok(before),
            false => Err(DataError::file(format!(
                "{file}: expected the columns of the files before it, in their order, found others; write it anew, or leave it \
                 out"
            ))),
        }
    }

    /// Takes all records, of which these columns can be read.
    fn read<R: Read>(
        mut self,
        file: &str,
        readable: Vec<usize>,
        records: Records<R>,
    ) -> Result<Self, DataError> {
        for (place, (_, guess)) in self.columns.iter_mut().enumerate() {
            guess.unread |= !readable.contains(&place);
        }
        let places = Places {
            of_columns: Vec::new(),
            fields: self.columns.len(),
            named: self.header,
        };
        let mut opened = Opened::new(file.into(), records, places);
        opened.read_only(readable.clone())?;
        let mut block = Block::default();
        loop {
            opened.block(RECORDS, &mut block)?;
            if block.places.is_empty() {
                return Ok(self);
            }
            self.records += block.places.len();
            for (&place, texts) in readable.iter().zip(&block.columns) {
                let guess = &mut self.columns[place].1;
                if !guess.unread {
                    texts.iter().for_each(|text| guess.add(text));
                }
            }
        }
    }

    fn draft(&self, file: &str, label: Option<&str>, shown: Shown) -> Result<String, DataError> {
        let text = self.text(file, label, shown)?;
        Ok(head(file, shown) + &text)
    }

    fn text(&self, file: &str, label: Option<&str>, shown: Shown) -> Result<String, DataError> {
        if let Some(label) = label
            && !self.columns.iter().any(|(name, _)| name == label)
        {
            // Their names are left out: where the first line is a record, they are its values.
            return Err(DataError::request(format!(
                "{file}: label '{label}': no column has this name; choose one of the first line"
            )));
        }
        let missing = match shown {
            Shown::Kinds => texts(ABSENT_WORDS),
            _ => texts(
                self.columns
                    .iter()
                    .flat_map(|(_, guess)| &guess.missing)
                    .collect::<BTreeSet<_>>(),
            ),
        };
        let first = Fields(vec![
            ("delimiter", char::from(self.delimiter).to_string().into()),
            ("header", self.header.into()),
            ("missing", missing),
        ]);
        let mut text = first.written(file)?;
        for (name, guess) in &self.columns {
            let (mut fields, note) = match (label == Some(name), shown) {
                (true, _) => {
                    let label = guess.label().ok_or_else(|| {
                        DataError::request(format!(
                            "{file}: label '{name}': expected 2 to {MAX_LEVELS} categories, or numbers; choose another column"
                        ))
                    });
                    (label?, None)
                }
                (false, Shown::Kinds) => (guess.column().0.open(), None),
                (false, _) => guess.column(),
            };
            let ignored = fields.kind() == Some("ignore");
            if !ignored {
                let is_level = match (shown, label == Some(name)) {
                    (Shown::Kinds, false) => true,
                    _ => !guess.missing.is_empty(),
                };
                if is_level {
                    fields.0.push(("missing", "level".into()));
                }
                let public = shown == Shown::Confirmed;
                fields.0.push(("public", public.into()));
            }
            fields.0.insert(0, ("name", name.as_str().into()));
            text += "\n[[column]]\n";
            text += fields.written(file)?.trim_end();
            text += &note.map_or(String::new(), |note| format!(" # {note}"));
            text += "\n";
        }
        Ok(text)
    }
}

/// A line of a draft: its key and its value.
type Field = (&'static str, Value);

/// A table of TOML, in the order in which it is written.
struct Fields(Vec<Field>);

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(field, value)| (field, value)))
    }
}

impl Fields {
    fn kind(&self) -> Option<&str> {
        let (_, kind) = self.0.iter().find(|(field, _)| *field == "kind")?;
        kind.as_str()
    }

    /// Its kind alone, as a column whose values are to be found.
    fn open(self) -> Self {
        let kind = match self.kind() {
            Some("boolean") => "categorical".into(),
            kind => kind.unwrap_or_default().into(),
        };
        Self(vec![("kind", kind)])
    }

    fn written(&self, file: &str) -> Result<String, DataError> {
        toml::to_string(self).map_err(|error| DataError::file(format!("{file}: {error}")))
    }
}

/// The delimiter that parts the first lines into the most fields, and each into as many.
fn delimiter<R: BufRead>(
    file: &str,
    text: &impl Fn() -> Result<R, DataError>,
) -> Result<u8, DataError> {
    let mut best = (false, 1, b',');
    for delimiter in *b",;\t|" {
        let mut lines = Lines::new(file, delimiter, None, text()?);
        let mut widths = Vec::new();
        while widths.len() < FIRST_LINES
            && let Some(line) = lines.next()?
        {
            widths.push(line.fields.len());
        }
        let first = widths.first().copied().unwrap_or(0);
        let even = first > 1 && widths.iter().all(|&width| width == first);
        if (even, first) > (best.0, best.1) {
            best = (even, first, delimiter);
        }
    }
    Ok(best.2)
}

fn checked(file: &str, names: Vec<String>) -> Result<Vec<String>, DataError> {
    let refuse = |problem: String| DataError::file(format!("{file}, line 1: {problem}"));
    let mut seen = HashSet::new();
    for (place, name) in (1..).zip(&names) {
        let place: usize = place;
        if name.is_empty() {
            return Err(refuse(format!(
                "field {place} is empty: expected the name of a column; give it one"
            )));
        }
        if !seen.insert(name) {
            return Err(refuse(format!(
                "field {place} is the name of another column too: rename or remove one"
            )));
        }
    }
    Ok(names)
}

impl Guess {
    fn new() -> Self {
        Self {
            unread: false,
            values: 0,
            missing: BTreeSet::new(),
            levels: BTreeSet::new(),
            integer: true,
            number: true,
            date: true,
            time: true,
            range: [f64::INFINITY, f64::NEG_INFINITY],
            period: [i64::MAX, i64::MIN],
            decimals: 0,
            zeros: 0,
        }
    }

    fn of(text: &str) -> Self {
        let mut guess = Self::new();
        guess.add(text);
        guess
    }

    fn is_number_or_date(&self) -> bool {
        self.values > 0 && (self.number || self.date || self.time)
    }

    fn add(&mut self, text: &str) {
        if ABSENT.iter().any(|word| word.eq_ignore_ascii_case(text)) {
            if !self.missing.contains(text) {
                self.missing.insert(text.into());
            }
            return;
        }
        self.values += 1;
        if self.levels.len() <= MAX_LEVELS && !self.levels.contains(text) {
            self.levels.insert(text.into());
        }
        match self.number.then(|| number(text)).flatten() {
            None => (self.number, self.integer) = (false, false),
            Some((value, decimals)) => {
                let [low, high] = self.range;
                self.range = [low.min(value), high.max(value)];
                self.decimals = self.decimals.max(decimals);
                self.integer &= text.parse::<i64>().is_ok();
                self.zeros += u64::from(value == 0.0);
            }
        }
        let days = self.date.then(|| day(text).or_else(|| midnight(text)));
        let minutes = self.time.then(|| minute(text)).flatten();
        let days = days.flatten();
        (self.date, self.time) = (days.is_some(), minutes.is_some());
        if let Some(count) = minutes.or(days.map(|day| day * DAY)) {
            let [low, high] = self.period;
            self.period = [low.min(count), high.max(count)];
        }
    }

    /// Its kind and what that needs, and why it is ignored.
    fn column(&self) -> (Fields, Option<String>) {
        let ignored = |why: &str| (Fields(vec![("kind", "ignore".into())]), Some(why.into()));
        if self.unread {
            return ignored("neither numbers, dates, texts nor truth values");
        }
        if self.values == 0 {
            return ignored("nothing but missing values");
        }
        let mut fields = Vec::new();
        if let Some([zero, one]) = self.yes_and_no() {
            fields.extend([
                ("kind", "boolean".into()),
                ("zero", texts([zero])),
                ("one", texts([one])),
            ]);
        } else if self.number {
            let (kind, bounds, decimals) = self.numbers();
            fields.push(("kind", kind.into()));
            fields.extend(bounds);
            if kind == "numeric" {
                fields.extend(decimals);
            }
            // A few whole numbers are codes of their own anyway.
            let few = kind == "integer" && self.round().1 <= MAX_BINS as f64;
            if 3 * self.zeros > self.values && !few {
                fields.push(("special", Value::Array(vec![0.into()])));
            }
            fields.push(("outside", "clamp".into()));
        } else if self.date || self.time {
            let (kind, [start, end]) = match self.date {
                true => ("date", ["", ""]),
                false => ("datetime", ["T00:00", "T23:59"]),
            };
            let [low, high] = self.period.map(|count| minute_text(count)[..4].to_string());
            fields.extend([
                ("kind", kind.into()),
                ("min", format!("{low}-01-01{start}").into()),
                ("max", format!("{high}-12-31{end}").into()),
                ("outside", "clamp".into()),
            ]);
        } else if self.levels.len() > MAX_LEVELS {
            return ignored(&format!("text: more than {MAX_LEVELS} different values"));
        } else {
            fields.extend([
                ("kind", "categorical".into()),
                ("levels", texts(&self.levels)),
            ]);
        }
        (Fields(fields), None)
    }

    /// As [`Guess::column`], of what is to be predicted.
    fn label(&self) -> Option<Fields> {
        let kind = ("kind", "label".into());
        let classes = |levels: &[&String]| {
            let classes = levels.iter().map(|&level| texts([level])).collect();
            Fields(vec![kind.clone(), ("classes", Value::Array(classes))])
        };
        let mut levels: Vec<&String> = self.levels.iter().collect();
        if let Some([zero, one]) = self.yes_and_no() {
            return Some(classes(&[zero, one]));
        }
        if self.integer && (2..=MAX_NUMBERED_CLASSES).contains(&levels.len()) {
            levels.sort_by_key(|level| level.parse().unwrap_or(0_i64));
            return Some(classes(&levels));
        }
        if self.values > 0 && self.number {
            let (_, bounds, decimals) = self.numbers();
            let mut fields = vec![kind.clone()];
            fields.extend(bounds.into_iter().chain(decimals));
            fields.push(("outside", "clamp".into()));
            return Some(Fields(fields));
        }
        let is_text = !self.date && !self.time;
        (is_text && (2..=MAX_LEVELS).contains(&levels.len())).then(|| classes(&levels))
    }

    fn yes_and_no(&self) -> Option<[&String; 2]> {
        let levels: Vec<&String> = self.levels.iter().collect();
        let &[a, b] = levels.as_slice() else {
            return None;
        };
        let is = |text: &String, word: &str| text.eq_ignore_ascii_case(word);
        YES_AND_NO.iter().find_map(|[no, yes]| {
            if is(a, no) && is(b, yes) {
                Some([a, b])
            } else {
                (is(a, yes) && is(b, no)).then_some([b, a])
            }
        })
    }

    /// The kind of numbers, their round bounds, and what is said of the digits behind the point.
    fn numbers(&self) -> (&'static str, [Field; 2], Option<Field>) {
        const EXACT: f64 = (1_u64 << 53) as f64;
        let ([min, max], _, digits) = self.round();
        let largest = min.abs().max(max.abs());
        let decimals = |count: usize| ("decimals", (count as i64).into());
        if self.integer && largest < EXACT {
            let bound = |bound: f64| Value::Integer(bound.round() as i64);
            let bounds = [("min", bound(min)), ("max", bound(max))];
            return ("integer", bounds, Some(decimals(0)));
        }
        let fits = |&decimals: &usize| largest * 10_f64.powi(decimals as i32) < EXACT;
        let wanted = self.decimals.max(digits).min(15);
        let found = (0..=wanted).rev().find(fits).map(decimals);
        let bounds = [("min", min.into()), ("max", max.into())];
        ("numeric", bounds, found)
    }

    /// Bounds at multiples of the power of ten that is the first digit of the range, the range, and the digits behind the
    /// point of the bounds.
    fn round(&self) -> ([f64; 2], f64, usize) {
        let [low, high] = self.range;
        let span = match high - low {
            0.0 => high.abs().max(1.0),
            span => span,
        };
        let power = span.log10().floor().clamp(-15.0, 300.0) as i32;
        let power = if self.integer { power.max(0) } else { power };
        // A power of ten below one is none of the numbers of `f64`: its inverse is.
        let (up, down) = (10_f64.powi(power.max(0)), 10_f64.powi((-power).max(0)));
        let step = |steps: f64| steps * up / down;
        let (first, last) = ((low * down / up).floor(), (high * down / up).ceil());
        // Large powers of ten are none of them either.
        let first = first - f64::from(u8::from(step(first) > low));
        let last = last + f64::from(u8::from(first == last || step(last) < high));
        let bounds = [step(first), step(last)];
        (bounds, bounds[1] - bounds[0], (-power).max(0) as usize)
    }
}

/// A number and its digits behind the point; none with a leading zero, which is a code.
fn number(text: &str) -> Option<(f64, usize)> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let starts = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let is_code =
        digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    let shown = match text.contains(['e', 'E']) {
        true => value.to_string(),
        false => text.into(),
    };
    let decimals = shown.split_once('.').map_or(0, |(_, behind)| behind.len());
    (starts && !is_code).then_some((value, decimals))
}

fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Value {
    let texts = texts.into_iter().map(|text| Value::String(text.into()));
    Value::Array(texts.collect())
}
