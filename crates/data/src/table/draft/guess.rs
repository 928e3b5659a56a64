//! Guesses what a column holds.

use std::collections::BTreeMap;

use toml::Value;

use super::super::blocks::NULL;
use super::super::calendar::{DAY, Step};
use super::super::number::MAX_BINS;
use super::super::number::Unit;
use super::super::parquet::Storage;
use super::example::such_as;
use super::forms::{Forms, InForm, Kind, number};
use super::range::{is_long_tailed, round, specials};
use super::{Field, Fields, texts};

/// The largest number of categories of a column that is not text.
pub(super) const MAX_LEVELS: usize = 100;
/// The least number of records that share a listed value; a value of fewer records would reveal them.
const FEW: u64 = 5;
/// The largest number of classes of a label of whole numbers.
const MAX_NUMBERED_CLASSES: usize = 10;
/// The number of different values that are kept to guess the rest.
const DIFFERENT: usize = 10_000;
/// The words for a missing value.
const ABSENT: [&str; 14] = [
    "", "?", "na", "n/a", "null", "nan", "none", "nil", "-", "--", "#n/a", "<na>", "\\n", ".",
];
/// Words that programs read as numbers, but that lie in no range.
const INFINITE: [&str; 2] = ["inf", "infinity"];
const YES_AND_NO: [[&str; 2]; 5] = [
    ["no", "yes"],
    ["n", "y"],
    ["false", "true"],
    ["f", "t"],
    ["0", "1"],
];
/// Words in the names of columns, with the bounds of such values.
const CALENDAR: [(&str, [f64; 2]); 8] = [
    ("month", [1.0, 12.0]),
    ("day", [1.0, 31.0]),
    ("weekday", [0.0, 7.0]),
    ("dow", [0.0, 7.0]),
    ("week", [0.0, 53.0]),
    ("hour", [0.0, 23.0]),
    ("minute", [0.0, 59.0]),
    ("second", [0.0, 59.0]),
];
/// The range in which whole numbers may be years.
const YEARS: [f64; 2] = [1500.0, 2200.0];
/// If all numbers are smaller than this, a copy has too few digits for them.
const LEAST: f64 = 1e-12;
const EXACT: f64 = (1_u64 << 53) as f64;
/// The least number of different numbers among words; fewer are categories like the words.
const MIN_NUMBERS: usize = 20;
/// Words in a name that mark a column as an identifier.
const IDENTIFIERS: [&str; 8] = [
    "id", "ids", "uuid", "guid", "index", "ssn", "rownames", "unnamed",
];

/// The guess about a column.
pub(super) struct Guess {
    /// Whether its values cannot be read, such as lists.
    pub unread: bool,
    /// Whether the file knows the type, so that the written form is not stated.
    pub typed: bool,
    /// The type in the file, if it is a Parquet file.
    pub stored: Option<Storage>,
    /// The number of values that are not missing.
    values: u64,
    /// The words for missing values, with their counts.
    missing: BTreeMap<String, u64>,
    /// The values with their counts, until there are too many.
    counts: BTreeMap<String, u64>,
    /// The number of values in these counts.
    counted: u64,
    /// The forms of the column, once there are too many values to keep.
    forms: Option<Forms>,
    /// The last value if it is whole, by which each next value is checked to be the one after it.
    running: Option<i64>,
    is_running: bool,
}

/// The categories that a draft lists.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Listed {
    /// Categories that a few records share.
    Frequent,
    /// All categories: of a public file, or of a draft that no one is shown.
    All { public: bool },
}

/// The draft of a column.
pub(super) struct Drafted {
    pub fields: Fields,
    /// The form of its numbers or dates.
    pub form: Option<InForm>,
    /// The words for missing values, the most frequent first.
    pub absent: Vec<String>,
}

impl Drafted {
    /// A column that no copy contains, with the reason.
    pub(super) fn left_out(why: &str) -> Self {
        Self {
            fields: Fields(vec![("kind", "ignore".into()), ("why", why.into())]),
            form: None,
            absent: Vec::new(),
        }
    }
}

impl Guess {
    pub(super) fn new() -> Self {
        Self {
            unread: false,
            typed: false,
            stored: None,
            values: 0,
            missing: BTreeMap::new(),
            counts: BTreeMap::new(),
            counted: 0,
            forms: None,
            running: None,
            is_running: true,
        }
    }

    pub(super) fn add(&mut self, text: &str) {
        if text == NULL || ABSENT.iter().any(|word| word.eq_ignore_ascii_case(text)) {
            *self.missing.entry(text.into()).or_default() += 1;
            return;
        }
        self.values += 1;
        if self.is_running {
            let whole = text.trim_end_matches(".0").parse::<i64>().ok();
            self.is_running = match (self.running, whole) {
                (_, None) => false,
                (before, Some(whole)) => {
                    before.is_none_or(|before| whole == before.wrapping_add(1))
                }
            };
            self.running = whole;
        }
        if let Some(forms) = &mut self.forms {
            return forms.add(text, 1);
        }
        self.counted += 1;
        match self.counts.get_mut(text) {
            Some(count) => *count += 1,
            None => drop(self.counts.insert(text.into(), 1)),
        }
        if self.counts.len() > DIFFERENT {
            self.forms = Some(Forms::of(self.counts.iter()));
        }
    }

    /// Whether some values are not words for missing ones.
    pub(super) fn has_values(&self) -> bool {
        self.values > 0
    }

    /// Whether a single text is a number, a day or a time.
    pub(super) fn is_number_or_date(text: &str) -> bool {
        let mut guess = Self::new();
        guess.add(text);
        guess.values > 0 && guess.form().is_some()
    }

    pub(super) fn missing(&self) -> impl Iterator<Item = &String> {
        self.missing.keys()
    }

    fn all_forms(&self) -> Forms {
        self.forms
            .clone()
            .unwrap_or_else(|| Forms::of(self.counts.iter()))
    }

    /// The form of the numbers or dates, with their strays; and the other form if day and month may be confused.
    fn form(&self) -> Option<(InForm, Option<String>)> {
        let forms = self.all_forms().0;
        let words = |form: &InForm| {
            // Strays may be a repeated word among many numbers.
            let strays: u64 = form.strays.values().sum();
            let repeated = form.strays.values().all(|&times| times > 1);
            let different = self.counts.len() - form.strays.len();
            let infinite = form.strays.keys().all(|word| {
                let word = word.trim_start_matches(['-', '+']);
                INFINITE
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(word))
            });
            infinite || repeated && different >= 10 && 2 * strays < self.values
        };
        let fits = |form: &&InForm| {
            form.values > 0 && words(form) && !form.may_be_words(self.counts.len())
        };
        let best = forms
            .iter()
            .filter(fits)
            .min_by_key(|form| (form.strays.len(), form.may_be_thousands()))?;
        let other = forms.iter().filter(fits).find(|form| {
            form.strays.len() == best.strays.len()
                && form.kind == best.kind
                && form.is_mistaken_for(best)
        });
        Some((best.clone(), other.and_then(|form| form.written.clone())))
    }

    /// Whether there are at least 20 values, and more than half of the counted ones are different.
    fn is_near_unique(&self) -> bool {
        self.values >= 20 && 2 * self.counts.len() as u64 > self.counted
    }

    /// Drafts the column's kind and its fields, or the reason why it is left out.
    pub(super) fn column(&self, name: &str, listed: Listed) -> Drafted {
        let mut absent: Vec<(&String, u64)> = self
            .missing
            .iter()
            .map(|(word, &times)| (word, times))
            .collect();
        let form = self.form();
        let strays = form.iter().flat_map(|(form, _)| &form.strays);
        absent.extend(strays.map(|(word, &times)| (word, times)));
        absent.sort_by_key(|&(word, times)| (std::cmp::Reverse(times), word));
        let absent = absent.into_iter().map(|(word, _)| word.clone()).collect();
        match self.kind(name, listed, form) {
            Ok((fields, form)) => Drafted {
                fields: Fields(fields),
                form,
                absent,
            },
            Err(why) => Drafted::left_out(&why),
        }
    }

    fn kind(
        &self,
        name: &str,
        listed: Listed,
        form: Option<(InForm, Option<String>)>,
    ) -> Result<(Vec<Field>, Option<InForm>), String> {
        if self.unread {
            return Err("neither numbers, dates, texts nor truth values".into());
        }
        if self.values == 0 {
            return Err("nothing but missing values".into());
        }
        let few = if listed == Listed::Frequent { FEW } else { 1 };
        if let Some([zero, one]) = self.yes_and_no() {
            let fields = vec![
                ("kind", "boolean".into()),
                ("zero", texts([zero])),
                ("one", texts([one])),
            ];
            return Ok((fields, None));
        }
        let shown = listed != (Listed::All { public: false });
        if shown && self.counts.len() == 1 && self.values >= few {
            let fields = vec![
                ("kind", "categorical".into()),
                ("levels", texts(self.counts.keys())),
            ];
            return Ok((fields, form.map(|(form, _)| form)));
        }
        match form {
            Some((form, other)) if form.kind == Kind::Number => {
                self.refuse_identifier(name, &form, listed)?;
                if let Some(fields) = self.months(&form, few, listed)? {
                    return Ok((fields, None));
                }
                if let Some(clock) = self.clock(name, &form) {
                    let mut fields = period(&clock, &[]);
                    fields.extend(self.written(&clock, None));
                    fields.push(("outside", "clamp".into()));
                    return Ok((fields, Some(clock)));
                }
                let (kind, mut fields) = self.numbers(name, &form);
                fields.insert(0, ("kind", kind.into()));
                fields.extend(self.written(&form, other));
                fields.push(("outside", "clamp".into()));
                Ok((fields, Some(form)))
            }
            Some((form, other)) => {
                let mut fields = period(&form, &self.values_in(&form));
                fields.extend(self.written(&form, other));
                fields.push(("outside", "clamp".into()));
                Ok((fields, Some(form)))
            }
            None => Ok((self.categories(few, listed)?, None)),
        }
    }

    /// The numbers as times of a day, if the column's name says so.
    fn clock(&self, name: &str, form: &InForm) -> Option<InForm> {
        let named = words(name)
            .iter()
            .any(|word| word == "time" || word == "hhmm");
        let many = form.range[1] >= 100.0 && self.counts.len() > 20;
        let kept = named && form.whole && many && !self.typed;
        kept.then(|| form.as_clock(self.counts.iter())).flatten()
    }

    /// The numbers as categories if all are months such as 202305, because numbers such as 202313 are not.
    fn months(
        &self,
        form: &InForm,
        few: u64,
        listed: Listed,
    ) -> Result<Option<Vec<Field>>, String> {
        let month = |text: &String| {
            let found = form.read(text).filter(|&(_, decimals)| decimals == 0);
            found.is_some_and(|(value, _)| {
                (190_001.0..=210_012.0).contains(&value) && (1.0..=12.0).contains(&(value % 100.0))
            })
        };
        let several = (5..=DIFFERENT).contains(&self.counts.len());
        if !several || self.typed || !self.counts.keys().all(month) {
            return Ok(None);
        }
        if self.counts.len() > MAX_LEVELS {
            return Err(format!(
                "months as numbers: more than {MAX_LEVELS} different ones"
            ));
        }
        Ok(Some(self.levels(few, listed)?))
    }

    /// The written form, if it is not the schema's own.
    fn written(&self, form: &InForm, other: Option<String>) -> Option<Field> {
        if !self.typed {
            return written(form, other);
        }
        // The pattern only gives the step of the times; the file has its own form for them.
        let pattern = match (form.kind, form.step()) {
            (Kind::Datetime, Step::Hour) => "%Y-%m-%dT%H:00",
            (Kind::Datetime, Step::Second) => "%Y-%m-%dT%H:%M:%S",
            (Kind::Datetime, Step::Milli) => "%Y-%m-%dT%H:%M:%S%.3f",
            (Kind::Time, Step::Hour) => "%H:00",
            (Kind::Time, Step::Second) => "%H:%M:%S",
            (Kind::Time, Step::Milli) => "%H:%M:%S%.3f",
            _ => return None,
        };
        Some(("written", pattern.into()))
    }

    /// The form of the values, if the draft may show it.
    fn such_as(&self, listed: Listed) -> String {
        match listed {
            Listed::All { public: false } => String::new(),
            _ => such_as(self.counts.iter()),
        }
    }

    fn refuse_identifier(&self, name: &str, form: &InForm, listed: Listed) -> Result<(), String> {
        let [low, high] = form.range;
        let such_as = self.such_as(listed);
        let mut texts = self.counts.keys();
        let is_float = form.decimals[1] > 0 && texts.any(|text| text.contains(['e', 'E']));
        let largest = low.abs().max(high.abs());
        if largest > 0.0 && largest < LEAST {
            return Err(
                "numbers below 1e-12, of which a copy has 15 decimals: take another unit".into(),
            );
        }
        if form.whole && !is_float && largest >= EXACT {
            return Err(format!(
                "whole numbers of more than 15 digits{such_as}: an identifier, or text"
            ));
        }
        let words = words(name);
        let named = words.iter().any(|word| IDENTIFIERS.contains(&&**word));
        if self.values < 20 || !form.whole {
            return Ok(());
        }
        match (
            self.is_running,
            named && self.counts.len() as u64 == self.counted,
        ) {
            (true, _) => Err(format!(
                "a running number{such_as}: it says the place of a record"
            )),
            (_, true) => Err(format!(
                "another number for each record{such_as}: an identifier"
            )),
            _ => Ok(()),
        }
    }

    fn categories(&self, few: u64, listed: Listed) -> Result<Vec<Field>, String> {
        let (mut different, mut words) = (0, 0);
        let mut strays = BTreeMap::new();
        for (text, &times) in &self.counts {
            match number(text) {
                Some(_) => different += 1,
                None => {
                    words += times;
                    strays.insert(text.clone(), times);
                }
            }
        }
        if different > MIN_NUMBERS && 2 * words < self.counted {
            let strays = match listed {
                Listed::All { public: false } => "some that are none".into(),
                _ => format!("{words} that are none{}", such_as(strays.iter())),
            };
            return Err(format!(
                "numbers, but for {strays}: repair them, or name them in 'absent' of a column with kind \
                 and range"
            ));
        }
        self.levels(few, listed)
    }

    fn levels(&self, few: u64, listed: Listed) -> Result<Vec<Field>, String> {
        let such_as = self.such_as(listed);
        match listed {
            Listed::All { public: true } if self.counts.len() > MAX_LEVELS => {
                return Err(format!(
                    "text{such_as}: more than {MAX_LEVELS} different values"
                ));
            }
            Listed::All { public: true } => {}
            _ if self.is_near_unique() => {
                return Err(format!(
                    "text of which almost every record has its own{such_as}: names, identifiers, notes, or numbers or dates \
                     in a form that is not known"
                ));
            }
            _ => {}
        }
        let mut levels: Vec<(&String, u64)> = self
            .counts
            .iter()
            .map(|(text, &times)| (text, times))
            .collect();
        let all = levels.len();
        levels.retain(|&(_, times)| times >= few);
        levels.sort_by_key(|&(text, times)| (std::cmp::Reverse(times), text));
        levels.truncate(MAX_LEVELS);
        if levels.is_empty() {
            return Err(format!(
                "text of which no value is in {few} records{such_as}"
            ));
        }
        if self.forms.is_some() {
            return Err(format!(
                "text{such_as}: more than {DIFFERENT} different values"
            ));
        }
        levels.sort_unstable();
        let is_whole = levels.len() == all;
        let levels = texts(levels.iter().map(|(text, _)| *text));
        let mut fields = vec![("kind", "categorical".into()), ("levels", levels)];
        if !is_whole {
            fields.push(("other", "other".into()));
        }
        Ok(fields)
    }

    /// Drafts the column as [`Guess::column`] does, but as the label.
    pub(super) fn label(&self, name: &str) -> Option<Drafted> {
        let kind = ("kind", "label".into());
        let absent = self.missing.keys().cloned().collect();
        let of = |fields| Drafted {
            fields: Fields(fields),
            form: None,
            absent,
        };
        let classes = |levels: &[&String]| {
            let classes = levels.iter().map(|&level| texts([level])).collect();
            vec![kind.clone(), ("classes", Value::Array(classes))]
        };
        let mut levels: Vec<&String> = self.counts.keys().collect();
        if let Some([zero, one]) = self.yes_and_no() {
            return Some(of(classes(&[zero, one])));
        }
        let form = self
            .form()
            .map(|(form, _)| form)
            .filter(|form| form.strays.is_empty());
        let number = form.filter(|form| form.kind == Kind::Number);
        if let Some(number) = &number {
            if number.whole && (2..=MAX_NUMBERED_CLASSES).contains(&levels.len()) {
                let value = |text: &str| number.read(text).map_or(0.0, |(value, _)| value);
                levels.sort_by(|a, b| value(a).total_cmp(&value(b)));
                return Some(of(classes(&levels)));
            }
            let (_, fields) = self.numbers(name, number);
            let mut all = vec![kind.clone()];
            all.extend(fields.into_iter().filter(|(field, _)| *field != "special"));
            if !all.iter().any(|(field, _)| *field == "decimals") {
                all.push(("decimals", 0.into()));
            }
            all.extend(self.written(number, None));
            all.push(("outside", "clamp".into()));
            let drafted = of(all);
            return Some(Drafted {
                form: Some(number.clone()),
                ..drafted
            });
        }
        let is_text = self.form().is_none() && !self.is_near_unique();
        (is_text && (2..=MAX_LEVELS).contains(&levels.len())).then(|| of(classes(&levels)))
    }

    fn yes_and_no(&self) -> Option<[&String; 2]> {
        let levels: Vec<&String> = self.counts.keys().collect();
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

    /// The values in a form with their counts, ascending.
    fn values_in(&self, form: &InForm) -> Vec<(f64, u64)> {
        let value = |(text, &times): (&String, &u64)| Some((form.read(text)?.0, times));
        let mut all: Vec<(f64, u64)> = self.counts.iter().filter_map(value).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    /// The kind of the numbers, with their bounds, decimals, special values and scale.
    fn numbers(&self, name: &str, form: &InForm) -> (&'static str, Vec<Field>) {
        let values = self.values_in(form);
        let mut range = form.range;
        let largest = range[0].abs().max(range[1].abs());
        let integer = form.whole && largest < EXACT;
        let special = specials(&values, &mut range);
        let (bounds, kind) = match (self.named_bounds(name, integer, range), integer) {
            (Some(bounds), _) => (bounds, "integer"),
            // Numbers that are exact may have round bounds that are not.
            (None, true) => (
                round(range, true).0.map(|bound| bound.clamp(-EXACT, EXACT)),
                "integer",
            ),
            (None, false) => (round(range, false).0, "numeric"),
        };
        let [mut min, mut max] = bounds;
        if let Some([low, high]) = self.stored.as_ref().and_then(|stored| stored.kind.bounds()) {
            (min, max) = (min.max(low), max.min(high));
        }
        let mut fields = Vec::new();
        match kind {
            "integer" => {
                let bound = |bound: f64| Value::Integer(bound.round() as i64);
                fields.extend([("min", bound(min)), ("max", bound(max))]);
            }
            _ => {
                let digits = round(range, false).2;
                let largest = min.abs().max(max.abs());
                let fits = |&decimals: &usize| largest * 10_f64.powi(decimals as i32) < EXACT;
                let wanted = form.decimals[1].max(digits).min(15);
                fields.extend([("min", min.into()), ("max", max.into())]);
                let decimals = (0..=wanted).rev().find(fits);
                fields.extend(decimals.map(|count| ("decimals", (count as i64).into())));
            }
        }
        let number = |value: f64| match kind {
            "integer" => Value::Integer(value as i64),
            _ => Value::Float(value),
        };
        // A few whole numbers are separate codes anyway.
        let few = integer && max - min <= MAX_BINS as f64;
        let special = special
            .into_iter()
            .filter(|value| !(min..=max).contains(value) || !few);
        let special: Vec<Value> = special.map(number).collect();
        if !special.is_empty() {
            fields.push(("special", Value::Array(special)));
        }
        if !few && is_long_tailed(&values, [min, max]) {
            fields.push(("scale", "log".into()));
        }
        (kind, fields)
    }

    /// Bounds that follow from the column's name, or from years.
    fn named_bounds(&self, name: &str, integer: bool, range: [f64; 2]) -> Option<[f64; 2]> {
        let within = |[low, high]: [f64; 2]| low <= range[0] && range[1] <= high;
        let words = words(name);
        let known = CALENDAR
            .iter()
            .find(|(word, bounds)| words.iter().any(|own| own == word) && within(*bounds));
        let years = integer
            && within(YEARS)
            && (words.iter().any(|word| word.contains("year"))
                || range[0] >= 1900.0 && range[1] <= 2100.0);
        let years = years.then_some(range).filter(|[low, high]| low < high);
        known
            .filter(|_| integer)
            .map(|(_, bounds)| *bounds)
            .or(years)
    }
}

/// The words of a name: `admission_day`, `admissionDay` and `Admission day` have the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && before.is_lowercase() {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

/// The written form of a column, if it is not the schema's own; two forms if the day may be the month.
fn written(form: &InForm, other: Option<String>) -> Option<Field> {
    let [low, high] = form.range;
    let zeros = form.decimals[1] > 0 && form.whole && low.abs().max(high.abs()) < EXACT;
    let own = match (&form.written, form.kind) {
        (None, Kind::Number) if zeros => Some(format!("1234.{}", "0".repeat(form.decimals[1]))),
        (Some(written), Kind::Number) => Some(match (form.whole, zeros) {
            (true, true) => written.replacen("5", &"0".repeat(form.decimals[1]), 1),
            (true, false) if form.decimals[1] == 0 => whole(written),
            _ => written.clone(),
        }),
        (written, _) => written.clone(),
    };
    let own = own?;
    Some(match other {
        None => ("written", own.into()),
        Some(other) => ("written", texts([own, other])),
    })
}

/// A form without its decimals.
fn whole(written: &str) -> String {
    let Some(place) = written.find('5') else {
        return written.into();
    };
    let before = written[..place]
        .chars()
        .next_back()
        .map_or(0, char::len_utf8);
    format!("{}{}", &written[..place - before], &written[place + 1..])
}

/// The kind of a column of days or times, with its bounds: whole years, or one day for times alone.
fn period(form: &InForm, values: &[(f64, u64)]) -> Vec<Field> {
    let mut range = form.range;
    let special = specials(values, &mut range);
    let [low, high] = range;
    let year = |milli: f64| Unit::Day.text((milli / DAY as f64).floor() as i64)[..4].to_string();
    let (kind, [start, end]) = match form.kind {
        Kind::Time => {
            return vec![
                ("kind", "time".into()),
                ("min", "00:00".into()),
                ("max", form.step().last().into()),
            ];
        }
        Kind::Datetime => (
            "datetime",
            ["T00:00".into(), format!("T{}", form.step().last())],
        ),
        _ => ("date", [String::new(), String::new()]),
    };
    let unit = match kind {
        "date" => Unit::Day,
        _ => Unit::Time {
            date: true,
            step: form.step(),
        },
    };
    let special = special
        .into_iter()
        .map(|milli| unit.text((milli as i64).div_euclid(unit.millis())));
    let special: Vec<String> = special.collect();
    let mut fields = vec![
        ("kind", kind.into()),
        ("min", format!("{}-01-01{start}", year(low)).into()),
        ("max", format!("{}-12-31{end}", year(high)).into()),
    ];
    fields.extend((!special.is_empty()).then(|| ("special", texts(special))));
    fields
}
