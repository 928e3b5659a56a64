//! The forms in which the values of a column may be written, and the kind of value in each form.

use std::collections::BTreeMap;

use super::super::calendar::Step;
use super::super::number::Unit;
use super::super::written::Written;
use super::moments::patterns;

/// The largest number of different words among numbers or dates that may stand for missing values.
const MAX_STRAYS: usize = 3;
/// The largest number of letters of a unit before or after a number, such as `USD` or `mm/h`.
const MAX_LETTERS: usize = 4;
/// Values with a unit are numbers if more than this many differ; others may be categories, such as doses.
const MIN_WITH_UNIT: usize = 20;
const CURRENCIES: &str = "$€£¥₹₽₺₩₪฿₫₴₦₱₡₲₵¢";
/// The sign between groups of digits, and the sign before the decimals.
const DIGITS: [[&str; 2]; 12] = [
    ["", "."],
    ["", ","],
    [",", "."],
    [".", ","],
    ["'", "."],
    ["’", "."],
    [" ", ","],
    [" ", "."],
    ["\u{a0}", ","],
    ["\u{202f}", ","],
    ["\u{2009}", ","],
    ["\u{2009}", "."],
];

/// The values of a column, read in one form.
#[derive(Clone)]
pub(super) struct InForm {
    /// The form, or `None` if it is the schema's own form.
    pub written: Option<String>,
    pub kind: Kind,
    form: Option<Written>,
    /// The texts that are not values in this form, with their counts.
    pub strays: BTreeMap<String, u64>,
    pub values: u64,
    /// The least and the largest value, in milliseconds for days and times.
    pub range: [f64; 2],
    /// Whether all values are whole.
    pub whole: bool,
    /// The fewest and the most decimals.
    pub decimals: [usize; 2],
    /// Whether each value has three decimals or none, so that the point may separate thousands.
    threes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Date,
    Datetime,
    Time,
}

impl Kind {
    fn unit(self) -> Unit {
        match self {
            Self::Number => Unit::Decimal(15),
            Self::Date => Unit::Day,
            Self::Datetime => Unit::Time {
                date: true,
                step: Step::Milli,
            },
            Self::Time => Unit::Time {
                date: false,
                step: Step::Milli,
            },
        }
    }
}

impl InForm {
    fn new(kind: Kind, text: &str) -> Option<Self> {
        let plain = ["1234.5", "%Y-%m-%d", "%Y-%m-%dT%H:%M"].contains(&text);
        Some(Self {
            written: (!plain).then(|| text.into()),
            kind,
            // Numbers without a unit are read directly, which is more reliable than by a form.
            form: match (kind, plain) {
                (Kind::Number, true) => None,
                _ => Some(Written::parse(text, kind.unit()).ok()?),
            },
            strays: BTreeMap::new(),
            values: 0,
            range: [f64::INFINITY, f64::NEG_INFINITY],
            whole: true,
            decimals: [usize::MAX, 0],
            threes: true,
        })
    }

    /// The value of a text in this form, with its number of decimals.
    pub(super) fn read(&self, text: &str) -> Option<(f64, usize)> {
        match (&self.form, self.kind) {
            (None, _) => number(text),
            (Some(form), Kind::Number) => {
                form.is_form_of(text).then_some(())?;
                number(&form.plain(text)?)
            }
            (Some(form), kind) => {
                form.is_form_of(text).then_some(())?;
                Some((
                    form.read(text, kind.unit())? * kind.unit().millis() as f64,
                    0,
                ))
            }
        }
    }

    /// The same values read as times that are written as numbers, if all of them can be.
    pub(super) fn as_clock<'a>(
        &self,
        counts: impl Iterator<Item = (&'a String, &'a u64)>,
    ) -> Option<Self> {
        let zero = self.decimals == [1, 1];
        let mut form = Self::new(Kind::Time, if zero { "HHMM.0" } else { "HHMM" })?;
        for (text, &times) in counts {
            form.add(text, times);
        }
        (form.strays.keys().eq(self.strays.keys())).then_some(form)
    }

    /// Adds a text that occurs `times` times; `false` if this is not the form of the column.
    fn add(&mut self, text: &str, times: u64) -> bool {
        let Some((value, decimals)) = self.read(text) else {
            *self.strays.entry(text.into()).or_default() += times;
            return self.strays.len() <= MAX_STRAYS;
        };
        self.values += times;
        let [low, high] = self.range;
        self.range = [low.min(value), high.max(value)];
        self.whole &= value.fract() == 0.0;
        let [fewest, most] = self.decimals;
        self.decimals = [fewest.min(decimals), most.max(decimals)];
        self.threes &= decimals == 0 || decimals == 3;
        true
    }

    /// The step of the times in this form.
    pub(super) fn step(&self) -> Step {
        self.form.as_ref().map_or(Step::Minute, Written::step)
    }

    /// Whether the point may separate thousands.
    pub(super) fn may_be_thousands(&self) -> bool {
        let point = self
            .written
            .as_ref()
            .is_none_or(|text| text.contains("234,5"));
        let alone = self
            .written
            .as_ref()
            .is_none_or(|text| text.contains("1234"));
        self.kind == Kind::Number
            && point
            && alone
            && self.threes
            && self.decimals[1] == 3
            && (self.decimals[0] == 0 || self.written.is_some())
    }

    /// Whether values with this unit may be categories or codes: few values, or whole ones after a word, such as `Model 12`.
    pub(super) fn may_be_words(&self, different: usize) -> bool {
        let Some(written) = self.written.as_ref().filter(|_| self.kind == Kind::Number) else {
            return false;
        };
        let before = written.split('1').next().unwrap_or_default();
        let word = |text: &str| text.contains(char::is_alphabetic);
        let coded = word(before) && self.whole && !before.contains(|c| CURRENCIES.contains(c));
        word(written) && (coded || different <= MIN_WITH_UNIT)
    }

    /// Whether the day comes before the month.
    fn day_first(&self) -> Option<bool> {
        let text = self.written.as_ref()?;
        let [day, month] = ["d", "m"].map(|of| {
            let place = text
                .find(&format!("%{of}"))
                .or_else(|| text.find(&format!("%-{of}")));
            place.filter(|_| !text.starts_with("%Y"))
        });
        Some(day? < month?)
    }

    /// Whether the two forms differ only in the order of day and month.
    pub(super) fn is_mistaken_for(&self, other: &Self) -> bool {
        let both = self.day_first().zip(other.day_first());
        both.is_some_and(|(own, other)| own != other)
    }
}

/// The forms in which all values of a column may be written.
#[derive(Clone, Default)]
pub(super) struct Forms(pub Vec<InForm>);

impl Forms {
    /// Finds the forms of a column with these values, each with its count.
    pub(super) fn of<'a>(
        counts: impl DoubleEndedIterator<Item = (&'a String, &'a u64)> + Clone,
    ) -> Self {
        // A form must fit one of the first or last few values, because the others may be words.
        let mut forms: Vec<InForm> = Vec::new();
        const TRIED: usize = 2 * MAX_STRAYS + 1;
        let (first, last) = (counts.clone().take(TRIED), counts.clone().rev().take(TRIED));
        for (text, _) in first.chain(last) {
            let known = |form: &InForm| {
                forms
                    .iter()
                    .any(|own| (&own.written, own.kind) == (&form.written, form.kind))
            };
            let more: Vec<InForm> = candidates(text)
                .into_iter()
                .filter(|form| !known(form))
                .collect();
            forms.extend(more);
        }
        let mut all = Self(forms);
        for (text, &times) in counts {
            all.add(text, times);
        }
        all
    }

    pub(super) fn add(&mut self, text: &str, times: u64) {
        self.0.retain_mut(|form| form.add(text, times));
    }
}

/// All forms that fit a text, the more likely first.
fn candidates(text: &str) -> Vec<InForm> {
    let mut all = Vec::new();
    let mut add = |kind, written: &str| {
        all.extend(InForm::new(kind, written).filter(|form| form.read(text).is_some()));
    };
    if text.len() > 48 || !text.contains(|c: char| c.is_ascii_digit()) {
        return all;
    }
    for (kind, written) in patterns(text) {
        add(kind, &written);
    }
    add(Kind::Number, "1234.5");
    for [before, after] in around(text) {
        for [between, point] in DIGITS {
            let written = format!("{before}1{between}234{point}5{after}");
            if written != "1234.5" {
                add(Kind::Number, &written);
            }
        }
    }
    all
}

/// The text before and after the digits of all numbers of a column: a unit, and the sign of negative numbers if it is not a
/// minus in front.
fn around(text: &str) -> Vec<[&str; 2]> {
    let digit = |c: char| c.is_ascii_digit();
    let (Some(first), Some(last)) = (text.find(digit), text.rfind(digit)) else {
        return Vec::new();
    };
    let first = first - usize::from(text[..first].ends_with('.'));
    let [before, after] = [&text[..first], &text[last + 1..]];
    let after = if after == "." { "" } else { after };
    let fits = |text: &str, more: &str| {
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        let known = |c: char| {
            c.is_alphabetic() || c.is_whitespace() || CURRENCIES.contains(c) || more.contains(c)
        };
        letters <= MAX_LETTERS && text.chars().all(known)
    };
    if !fits(before, "(-+\u{2212}.") || !fits(after, ")-%‰°²³µ/.") {
        return Vec::new();
    }
    // Positive numbers may lack the plus that this one has.
    let unsigned = before.trim_start_matches(['-', '+']);
    match before.starts_with('-') || unsigned == before {
        true => vec![[unsigned, after]],
        false => vec![[unsigned, after], [before, after]],
    }
}

/// A number with its count of decimals; `None` with a leading zero, because that is a code.
pub(super) fn number(text: &str) -> Option<(f64, usize)> {
    // A plus sign is a separate form.
    let digits = text.strip_prefix('-').unwrap_or(text);
    let starts = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let is_code =
        digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    let shown = match text.contains(['e', 'E']) {
        true => value.to_string(),
        false => text.into(),
    };
    let decimals = shown.split_once('.').map_or(0, |(_, behind)| behind.len());
    // Programs read `1e5` and `2.` as numbers with a fraction.
    let decimals = decimals.max(usize::from(text.contains(['e', 'E', '.'])));
    (starts && !is_code).then_some((value, decimals))
}
