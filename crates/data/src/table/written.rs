//! The forms in which a column's numbers, days and times are written, if not in the schema's own form.

use super::calendar::{DAY, Step};
use super::number::Unit;
use chrono::format::{Item, Numeric, Parsed, StrftimeItems, parse};
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};

/// A written form: for a number, how 1234.5 is written in the file, such as `$1,234.5`; for days and times, a pattern of
/// `strftime`, such as `%d/%m/%Y`; for times as numbers, `HHMM`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Written {
    Number(Box<Form>),
    Time(Pattern),
    /// Hours and minutes as one number, 517 for 5:17, which may end in `.0`.
    Clock {
        zero: bool,
    },
}

/// The form of a number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Form {
    /// The number 1234.5, or 1234, in this form.
    text: String,
    before: String,
    /// The texts before and after the digits of a negative number.
    negative: [String; 2],
    /// The sign between groups of three digits.
    between: Option<char>,
    point: char,
    /// The number of zeros after the point of a whole number.
    zeros: usize,
    after: String,
}

/// The form of a day or a time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    text: String,
    /// Whether words are in capitals.
    upper: bool,
    items: Vec<Item<'static>>,
    has: Has,
}

/// The parts of a date and time that a pattern has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Has {
    date: bool,
    time: bool,
    step: Step,
}

/// The days from the first day of the common era to 1970-01-01.
const EPOCH: i64 = 719_163;
/// The signs of a negative number.
const NEGATIVE: [char; 4] = ['(', ')', '-', '\u{2212}'];

impl Form {
    /// Reads the form from 1234.5 or 1234 as it is written.
    fn parse(text: &str) -> Option<Self> {
        let (before, rest) = text.split_once('1')?;
        let (between, rest) = rest.split_once("234")?;
        let point = rest.chars().next();
        let digits = &rest[point.map_or(0, char::len_utf8)..];
        let after = digits.trim_start_matches('0');
        let zeros = digits.len() - after.len();
        let (point, after) = match (zeros, after.strip_prefix('5')) {
            (0, Some(after)) => (point, after),
            (1.., _) => (point, after),
            _ => (None, rest),
        };
        let mut between = between.chars();
        let (between, more) = (between.next(), between.next());
        // `(1234.5)`, `1234.5-` and `+1234.5` show how negative numbers are written, too.
        let signed = [before, after].concat().contains(NEGATIVE);
        let [before, after, negative, behind] = match signed {
            true => {
                let without = |text: &str| text.replace(NEGATIVE, "");
                [without(before), without(after), before.into(), after.into()]
            }
            false if before.contains('+') => [
                before.into(),
                after.into(),
                before.replace('+', "-"),
                after.into(),
            ],
            false => [
                before.into(),
                after.into(),
                format!("-{before}"),
                after.into(),
            ],
        };
        let form = Self {
            text: text.into(),
            negative: [negative, behind],
            between,
            point: point.unwrap_or(if between == Some('.') { ',' } else { '.' }),
            zeros,
            before,
            after,
        };
        let unclear = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+');
        let clear = more.is_none()
            && between != Some(form.point)
            && !between.into_iter().chain([form.point]).any(unclear)
            && ![&*form.before, &*form.after]
                .concat()
                .contains(|c: char| c.is_ascii_digit());
        clear.then_some(form)
    }

    /// The number as Rust writes it.
    fn plain(&self, text: &str) -> Option<String> {
        let [before, after] = &self.negative;
        let below = text.strip_prefix(&**before);
        let below = below.and_then(|text| text.strip_suffix(&**after));
        let (mut sign, mut text) = match below {
            Some(text) => ("-", text),
            None => ("", text),
        };
        for known in ["-", "+", "\u{2212}"] {
            if let Some(rest) = text.strip_prefix(known).filter(|_| sign.is_empty()) {
                (sign, text) = (known, rest);
            }
        }
        text = text.strip_prefix(&*self.before).unwrap_or(text);
        if sign.is_empty()
            && let Some(rest) = text.strip_prefix('-')
        {
            (sign, text) = ("-", rest);
        }
        text = text.strip_suffix(&*self.after).unwrap_or(text);
        let (whole, part) = match text.split_once(self.point) {
            Some((whole, part)) => (whole, Some(part)),
            None => (text, None),
        };
        let mut plain = String::with_capacity(text.len() + 1);
        plain.push_str(if matches!(sign, "" | "+") { "" } else { "-" });
        match self.between {
            Some(between) if whole.contains(between) => {
                let mut groups = whole.split(between);
                let first = groups
                    .next()
                    .filter(|first| (1..=3).contains(&first.len()))?;
                plain.push_str(first);
                for group in groups {
                    plain.push_str(Some(group).filter(|group| group.len() == 3)?);
                }
            }
            _ => plain.push_str(whole),
        }
        if let Some(part) = part {
            plain.push('.');
            plain.push_str(part);
        }
        // Only characters of a number count, so that a word such as `inf` is not one.
        let made = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
        plain.chars().all(made).then_some(plain)
    }

    fn write(&self, plain: &str) -> String {
        let [below, behind] = &self.negative;
        let (before, digits, after) = match plain.strip_prefix('-') {
            Some(digits) => (below, digits, behind),
            None => (&self.before, plain, &self.after),
        };
        let zeros = "0".repeat(self.zeros);
        let (whole, part) = match digits.split_once('.') {
            Some((whole, part)) => (whole, Some(part)),
            None => (digits, (self.zeros > 0).then_some(&*zeros)),
        };
        let mut text = before.clone();
        for (place, digit) in whole.char_indices() {
            if let Some(between) = self.between
                && place > 0
                && (whole.len() - place).is_multiple_of(3)
            {
                text.push(between);
            }
            text.push(digit);
        }
        if let Some(part) = part {
            text.push(self.point);
            text += part;
        }
        text + after
    }
}

impl Pattern {
    /// Parses a pattern; `None` if it is not one, or has too little for a day or a time.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let plain = text.replace("%^", "%");
        let items = StrftimeItems::new(&plain).parse_to_owned().ok()?;
        let numeric = |of: &[Numeric]| {
            let is =
                |item: &Item<'_>| matches!(item, Item::Numeric(found, _) if of.contains(found));
            items.iter().any(is)
        };
        let text_of_month = items.iter().any(|item| {
            use chrono::format::Fixed as F;
            matches!(item, Item::Fixed(F::ShortMonthName | F::LongMonthName))
        });
        let year = numeric(&[Numeric::Year, Numeric::YearMod100]);
        let date =
            year && numeric(&[Numeric::Day]) && (text_of_month || numeric(&[Numeric::Month]));
        let hour = numeric(&[Numeric::Hour, Numeric::Hour12]);
        let parts = items.iter().any(|item| {
            use chrono::format::Fixed as F;
            let parts = F::Nanosecond;
            let parts = [parts, F::Nanosecond3, F::Nanosecond6, F::Nanosecond9];
            matches!(item, Item::Fixed(found) if parts.contains(found))
        });
        let has = Has {
            date,
            time: hour,
            step: match (parts, numeric(&[Numeric::Second])) {
                (true, _) => Step::Milli,
                (_, true) => Step::Second,
                _ if numeric(&[Numeric::Minute]) => Step::Minute,
                _ => Step::Hour,
            },
        };
        (has.date || has.time && !year).then(|| Self {
            text: text.into(),
            upper: plain != text,
            items,
            has,
        })
    }

    fn write(&self, moment: Moment) -> String {
        let text = moment.format_with_items(self.items.iter()).to_string();
        if self.upper {
            text.to_uppercase()
        } else {
            text
        }
    }

    fn read(&self, text: &str) -> Option<Moment> {
        let mut parsed = Parsed::new();
        parse(&mut parsed, text, self.items.iter()).ok()?;
        if self.has.step == Step::Hour {
            parsed.set_minute(0).ok()?;
        }
        let date = match self.has.date {
            true => parsed.to_naive_date().ok()?,
            false => NaiveDate::from_ymd_opt(1970, 1, 1)?,
        };
        let time = match self.has.time {
            true => parsed.to_naive_time().ok()?,
            false => NaiveTime::MIN,
        };
        (1..=9999)
            .contains(&date.year())
            .then(|| date.and_time(time))
    }
}

/// A date with a time.
type Moment = NaiveDateTime;

fn millis(moment: Moment) -> i64 {
    let days = i64::from(moment.num_days_from_ce()) - EPOCH;
    let seconds = i64::from(moment.num_seconds_from_midnight());
    days * DAY + seconds * 1000 + i64::from(moment.nanosecond() / 1_000_000)
}

/// The minute of the day for 517 or 517.0; 2400 is the start of the day.
fn clock(text: &str) -> Option<i64> {
    let digits = text.strip_suffix(".0").unwrap_or(text);
    let is_number = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let number: i64 = is_number.then(|| digits.parse().ok())??;
    let (hour, minute) = (number / 100, number % 100);
    (minute < 60 && hour * 60 + minute <= 24 * 60).then_some((hour * 60 + minute) % (24 * 60))
}

impl Written {
    /// Parses the form that a schema gives for a column of this unit.
    pub(super) fn parse(text: &str, unit: Unit) -> Result<Self, String> {
        let time = |date: bool, time: bool| {
            let pattern = Pattern::parse(text);
            let pattern =
                pattern.filter(|known| known.has.date == date && (known.has.time || !time));
            pattern.map(Self::Time)
        };
        let (form, expected) = match unit {
            Unit::Decimal(_) | Unit::One => (
                Form::parse(text).map(Box::new).map(Self::Number),
                "how the number 1234.5 stands there, such as \"1.234,5\" or \"$1,234.5\"",
            ),
            Unit::Day => (time(true, false), "a pattern of days, such as \"%d/%m/%Y\""),
            Unit::Time { date: true, .. } => (
                time(true, true),
                "a pattern of days and times, such as \"%Y-%m-%d %H:%M:%S\"",
            ),
            Unit::Time { .. } => {
                let clock = match text {
                    "HHMM" => Some(Self::Clock { zero: false }),
                    "HHMM.0" => Some(Self::Clock { zero: true }),
                    _ => time(false, true),
                };
                (clock, "a pattern of times, such as \"%H:%M\" or \"HHMM\"")
            }
        };
        form.ok_or_else(|| format!("'written' is {text:?}: expected {expected}"))
    }

    /// The step of the times in this form.
    pub(super) fn step(&self) -> Step {
        match self {
            Self::Time(pattern) => pattern.has.step,
            _ => Step::Minute,
        }
    }

    /// The text of the form in a schema.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Number(form) => &form.text,
            Self::Time(pattern) => &pattern.text,
            Self::Clock { zero: false } => "HHMM",
            Self::Clock { zero: true } => "HHMM.0",
        }
    }

    /// The number, or the count of units, that a text stands for.
    pub(super) fn read(&self, text: &str, unit: Unit) -> Option<f64> {
        match self {
            Self::Number(form) => unit.parse(&form.plain(text)?),
            Self::Time(pattern) => {
                let (millis, unit) = (millis(pattern.read(text)?), unit.millis());
                // A day that has a time other than its start is refused.
                let whole = millis.rem_euclid(unit) == 0 || unit != DAY;
                whole.then_some(millis.div_euclid(unit) as f64)
            }
            Self::Clock { .. } => clock(text).map(|minute| minute as f64),
        }
    }

    /// Writes a number of units in this form.
    pub(super) fn write(&self, count: i64, unit: Unit) -> String {
        match self {
            Self::Number(form) => form.write(&unit.text(count)),
            Self::Time(pattern) => {
                let after = TimeDelta::try_milliseconds(count * unit.millis());
                let moment = after
                    .and_then(|after| DateTime::UNIX_EPOCH.naive_utc().checked_add_signed(after));
                moment.map_or(String::new(), |moment| pattern.write(moment))
            }
            Self::Clock { zero } => {
                let number = count.div_euclid(60) * 100 + count.rem_euclid(60);
                format!("{number}{}", if *zero { ".0" } else { "" })
            }
        }
    }

    /// The number as the schema writes it; `None` for days and times.
    pub(super) fn plain(&self, text: &str) -> Option<String> {
        match self {
            Self::Number(form) => form.plain(text),
            Self::Time(_) | Self::Clock { .. } => None,
        }
    }

    /// Whether a text is a number in this form, and would be written the same again.
    pub(super) fn is_form_of(&self, text: &str) -> bool {
        match self {
            Self::Number(form) => {
                let plain = form.plain(text);
                plain.is_some_and(|plain| form.write(plain.trim_start_matches('+')) == text)
            }
            Self::Time(pattern) => pattern
                .read(text)
                .is_some_and(|moment| pattern.write(moment) == text),
            Self::Clock { zero } => clock(text).is_some() && text.ends_with(".0") == *zero,
        }
    }
}
