//! In which forms the values of a column may be written, and what they are then.

use std::collections::BTreeMap;

use super::super::calendar::Step;
use super::super::number::Unit;
use super::super::written::Written;

/// Words among numbers, or dates, that are none: more different ones than these are no words for missing values.
const MAX_STRAYS: usize = 3;
/// What may stand before or behind a number.
const SIGNS: [char; 10] = ['$', '€', '£', '¥', '₹', '%', '‰', '°', ' ', '\u{a0}'];
/// Between groups of digits, and before the digits behind the point.
const DIGITS: [[&str; 2]; 8] = [
    ["", "."],
    ["", ","],
    [",", "."],
    [".", ","],
    ["'", "."],
    ["’", "."],
    [" ", ","],
    ["\u{a0}", ","],
];
/// Days, with a slash in the place of signs that may stand there.
const DAYS: [&str; 8] = [
    "%Y/%m/%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%Y/%-m/%-d",
    "%-d/%-m/%Y",
    "%-m/%-d/%Y",
];
const NAMED_DAYS: [&str; 9] = [
    "%Y%m%d",
    "%d %b %Y",
    "%-d %b %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b %d %Y",
    "%b %-d %Y",
    "%b %d, %Y",
    "%B %-d, %Y",
];
const TIMES: [&str; 17] = [
    "%H:%M",
    "%H:%M:00",
    "%H:%M:%S",
    "%H:%M:00.000",
    "%H:%M:%S.000",
    "%H:%M:%S.000000",
    "%H:%M:%S.000000000",
    "%H:%M:%S%.3f",
    "%H:%M:%S%.6f",
    "%H:%M:%S%.9f",
    "%-H:%M",
    "%I:%M %p",
    "%-I:%M %p",
    "%I:%M:%S %p",
    "%-I:%M:%S %p",
    "%I:%M%p",
    "%-I:%M%p",
];
const ZONES: [&str; 5] = ["", "Z", "+00:00", "+0000", " UTC"];
const MIDNIGHTS: [&str; 3] = ["00:00:00", "00:00", "00:00:00.000"];

/// Values in one form.
#[derive(Clone)]
pub(super) struct InForm {
    /// None for the form in which a schema writes.
    pub written: Option<String>,
    pub kind: Kind,
    form: Option<Written>,
    /// What is no value in this form, and how often.
    pub strays: BTreeMap<String, u64>,
    pub values: u64,
    /// The least and the largest: of days and times in milliseconds.
    pub range: [f64; 2],
    /// Whether all are whole.
    pub whole: bool,
    /// The fewest and the most digits behind the point.
    pub decimals: [usize; 2],
    /// Whether each has three digits behind the point or none: it may stand between thousands.
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
            // What numbers are without a word is known better than by a form.
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

    /// The value of a text that is in this form, and its digits behind the point.
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

    /// The same values as times that are written as numbers, if they are.
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

    /// Takes a text that stands `times` times; `false` if this is not the form of the column.
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

    /// The step of its times.
    pub(super) fn step(&self) -> Step {
        self.form.as_ref().map_or(Step::Minute, Written::step)
    }

    /// Whether its point may be a sign between thousands.
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

    /// Which of day and month comes first.
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

    /// Whether it is the same form but for day and month.
    pub(super) fn is_mistaken_for(&self, other: &Self) -> bool {
        let both = self.day_first().zip(other.day_first());
        both.is_some_and(|(own, other)| own != other)
    }
}

/// The forms in which all values of a column may be written.
#[derive(Clone, Default)]
pub(super) struct Forms(pub Vec<InForm>);

impl Forms {
    /// Of a column with these values, each with how often it stands there.
    pub(super) fn of<'a>(counts: impl Iterator<Item = (&'a String, &'a u64)> + Clone) -> Self {
        // A form has to fit one of the first few values: others may be words.
        let mut forms: Vec<InForm> = Vec::new();
        for (text, _) in counts.clone().take(2 * MAX_STRAYS + 1) {
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

/// All forms in which a text is something, those that are more likely first.
fn candidates(text: &str) -> Vec<InForm> {
    let mut all = Vec::new();
    let mut add = |kind, written: &str| {
        all.extend(InForm::new(kind, written).filter(|form| form.read(text).is_some()));
    };
    if text.len() > 48 || !text.contains(|c: char| c.is_ascii_digit()) {
        return all;
    }
    // Eight digits may be a day, and no other number is one.
    let mut days: Vec<String> = Vec::new();
    for day in DAYS {
        let signs: &[&str] = match day.starts_with("%m") || day.starts_with("%-m") {
            true => &["/", "-"],
            false => &["-", "/", "."],
        };
        days.extend(signs.iter().map(|sign| day.replace('/', sign)));
    }
    days.extend(NAMED_DAYS.map(String::from));
    for day in &days {
        add(Kind::Date, day);
    }
    if text.contains(':') {
        for time in TIMES {
            add(Kind::Time, time);
        }
        for day in &days {
            for between in ["T", " ", ", "] {
                for zone in ZONES {
                    for midnight in MIDNIGHTS {
                        add(Kind::Date, &format!("{day}{between}{midnight}{zone}"));
                    }
                    for time in TIMES {
                        add(Kind::Datetime, &format!("{day}{between}{time}{zone}"));
                    }
                }
            }
        }
    }
    add(Kind::Number, "1234.5");
    let digits = |c: char| !SIGNS.contains(&c);
    let unsigned = text.trim_start_matches(['-', '+']);
    let before = unsigned.find(digits).map_or("", |place| &unsigned[..place]);
    let after = text.rfind(digits).map_or("", |place| {
        let end = place + text[place..].chars().next().map_or(0, char::len_utf8);
        &text[end..]
    });
    for [between, point] in DIGITS {
        let written = format!("{before}1{between}234{point}5{after}");
        if written != "1234.5" {
            add(Kind::Number, &written);
        }
    }
    all
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
