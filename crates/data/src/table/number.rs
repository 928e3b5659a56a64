//! Numbers on a public grid, and its bins.
//!
//! A copy holds each number as a whole number of units: 10^-decimals, a day, a minute. So a bin holds the whole numbers from
//! its start to before its end, and a number sampled from a bin is read back into it, whatever is rounded.

use rand::{Rng, RngExt};

use super::calendar::{DAY, Step, clock, clock_text, day, day_text, midnight, moment, moment_text};
use super::raw::{Outside, Scale, values};
use super::written::Written;

/// The largest number of bins of a column.
pub(super) const MAX_BINS: usize = 256;
/// Whole numbers up to this one are exact as `f64`.
const EXACT: f64 = (1_u64 << 53) as f64;

/// A column of numbers: its public range, with `min < max`, and its bins and special values, which are codes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number {
    pub unit: Unit,
    /// The form in which it is written, if not the schema's own.
    pub written: Option<Written>,
    pub min: f64,
    pub max: f64,
    pub outside: Outside,
    pub special: Vec<Special>,
    pub bins: Vec<Bin>,
    /// Whole numbers that no bin may give, ascending: they are special, or a word for a missing value.
    holes: Vec<i64>,
}

/// A special value, which has its own code.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Special {
    pub value: f64,
    /// The text in the schema.
    pub text: String,
    /// The text in the file.
    pub written: String,
}

/// The whole numbers from `start` to before `end`, at least one of which is not a hole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bin {
    pub start: i64,
    pub end: i64,
    /// The number of values that are not holes.
    pub values: i64,
}

/// The unit that whole numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A unit of 10^-decimals.
    Decimal(i32),
    One,
    Day,
    /// A step of time, counted from the start of the day or from 1970.
    Time {
        date: bool,
        step: Step,
    },
}

/// A column of numbers as the schema asks for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub unit: Unit,
    pub written: Option<Written>,
    pub min: f64,
    pub max: f64,
    pub outside: Outside,
    pub decimals: Option<u32>,
    pub special: Vec<f64>,
    pub scale: Option<Scale>,
    pub edges: Option<Vec<f64>>,
}

impl Unit {
    pub(super) fn parse(self, text: &str) -> Option<f64> {
        match self {
            Self::Decimal(_) => text.parse().ok().filter(|x: &f64| x.is_finite()),
            Self::One => match text.parse::<i64>() {
                Ok(whole) => Some(whole as f64),
                Err(_) => text
                    .parse()
                    .ok()
                    .filter(|x: &f64| x.is_finite() && x.fract() == 0.0),
            },
            Self::Day => day(text).or_else(|| midnight(text)).map(|day| day as f64),
            Self::Time { date, .. } => {
                let milli = if date { moment(text) } else { clock(text) };
                milli.map(|milli| milli.div_euclid(self.millis()) as f64)
            }
        }
    }

    /// The milliseconds of a unit of time.
    pub(super) fn millis(self) -> i64 {
        match self {
            Self::Day => DAY,
            Self::Time { step, .. } => step.millis(),
            _ => 1,
        }
    }

    /// The expected form of a field, before its bounds.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Decimal(_) | Self::One => "a number",
            Self::Day => "a date as YYYY-MM-DD",
            Self::Time { date: true, step } => match step {
                Step::Hour | Step::Minute => "a date and time as YYYY-MM-DDTHH:MM",
                Step::Second => "a date and time as YYYY-MM-DDTHH:MM:SS",
                Step::Milli => "a date and time as YYYY-MM-DDTHH:MM:SS.SSS",
            },
            Self::Time { step, .. } => match step {
                Step::Hour | Step::Minute => "a time as HH:MM",
                Step::Second => "a time as HH:MM:SS",
                Step::Milli => "a time as HH:MM:SS.SSS",
            },
        }
    }

    /// A bound as people write it.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            // Adding 0.0 removes the sign of zero.
            Self::Decimal(_) | Self::One => (value + 0.0).to_string(),
            Self::Day | Self::Time { .. } => self.text(value as i64),
        }
    }

    /// The `f64` that the text of this many units is read as.
    pub(super) fn at(self, count: i64) -> f64 {
        match self {
            Self::Decimal(decimals @ 0..=22) => count as f64 / 10_f64.powi(decimals),
            // This power of ten is not exact as `f64`, but a text is rounded only once when it is read.
            Self::Decimal(_) => self.text(count).parse().unwrap_or(f64::NAN),
            _ => count as f64,
        }
    }

    pub(super) fn text(self, count: i64) -> String {
        match self {
            Self::Decimal(decimals @ 0..=22) => {
                format!("{:.*}", decimals as usize, self.at(count))
            }
            Self::Decimal(decimals) => format!("{count}e{}", -decimals),
            Self::One => count.to_string(),
            Self::Day => day_text(count),
            Self::Time { date, step } => {
                let text = if date { moment_text } else { clock_text };
                text(count * step.millis(), step)
            }
        }
    }

    /// The largest number of units that is at most `value`.
    fn floor(self, value: f64) -> i64 {
        let Self::Decimal(decimals) = self else {
            return value.floor() as i64;
        };
        let near = match decimals {
            0.. => value * 10_f64.powi(decimals),
            _ => value / 10_f64.powi(-decimals),
        };
        // Ranges end before this bound, but a special value may lie beyond it.
        let near = near.round().clamp(-2.0 * EXACT, 2.0 * EXACT) as i64;
        if self.at(near) > value {
            near - 1
        } else if self.at(near + 1) <= value {
            near + 1
        } else {
            near
        }
    }

    /// The least number of units that is at least `value`.
    fn ceil(self, value: f64) -> i64 {
        let floor = self.floor(value);
        floor + i64::from(self.at(floor) < value)
    }

    /// The number of units in `value`, if it is whole.
    fn whole(self, value: f64) -> Option<i64> {
        let count = self.floor(value);
        (self.at(count) == value).then_some(count)
    }

    fn width(self) -> f64 {
        match self {
            Self::Decimal(decimals) => 10_f64.powi(-decimals),
            _ => 1.0,
        }
    }
}

impl Number {
    pub(super) fn new(asked: &Asked, absent: &[String]) -> Result<Self, String> {
        let Asked { min, max, .. } = *asked;
        let ends = || match asked.unit {
            Unit::Decimal(_) => format!("min {min:?} and max {max:?}"),
            unit => format!("min {} and max {}", unit.show(min), unit.show(max)),
        };
        if !(min.is_finite() && max.is_finite() && min < max) {
            return Err(format!(
                "{}: expected finite numbers, min below max",
                ends()
            ));
        }
        if !(max - min).is_finite() {
            return Err(format!(
                "{}: they lie further apart than numbers go; expected what values can be, such as 0 and 1e6",
                ends()
            ));
        }
        let unit = asked.unit()?;
        let special: Vec<Special> = asked
            .special
            .iter()
            .map(|&value| {
                let text = unit.show(value);
                let count = unit.whole(value);
                let written = asked.written.as_ref().zip(count);
                let written = written.map(|(written, count)| written.write(count, unit));
                let written = written.unwrap_or_else(|| text.clone());
                Special {
                    value,
                    text,
                    written,
                }
            })
            .collect();
        if let Some(special) = special.iter().find(|special| !special.value.is_finite()) {
            return Err(format!(
                "{:?} in 'special': expected a finite number; remove it",
                special.value
            ));
        }
        let texts: Vec<String> = special.iter().map(|special| special.text.clone()).collect();
        values("special", &texts, absent)?;

        let (first, last) = (unit.ceil(min), unit.floor(max));
        if first > last {
            return Err(format!(
                "min {min:?} and max {max:?}: no number of {} lies between them; change one",
                match unit {
                    Unit::Decimal(decimals) => format!("{decimals} decimals"),
                    _ => "this kind".into(),
                }
            ));
        }
        // The word counts in any form of writing, because some programs read all of them as missing.
        let written = |text: &String| unit.whole(read(&asked.written, unit, text)?);
        let is_special = special.iter().filter_map(|own| unit.whole(own.value));
        let holes = is_special.chain(absent.iter().filter_map(written));
        let mut holes: Vec<i64> = holes.filter(|hole| (first..=last).contains(hole)).collect();
        holes.sort_unstable();
        holes.dedup();

        let starts = asked.starts(unit, first, last)?;
        let ends = starts.iter().skip(1).copied().chain([last + 1]);
        let bin = |(&start, end): (&i64, i64)| Bin {
            start,
            end,
            values: end - start - within(&holes, start, end).len() as i64,
        };
        let bins: Vec<Bin> = starts.iter().zip(ends).map(bin).collect();
        let bins: Vec<Bin> = bins.into_iter().filter(|bin| bin.values > 0).collect();
        if bins.is_empty() && special.is_empty() {
            return Err("no value is left beside those that stand for a missing one".into());
        }
        Ok(Self {
            unit,
            written: asked.written.clone(),
            min,
            max,
            outside: asked.outside,
            special,
            bins,
            holes,
        })
    }

    /// Reads a field as a number. Fields of a `typed` column are written as the schema writes them.
    pub(super) fn parse(&self, text: &str, typed: bool) -> Option<f64> {
        match typed {
            true => self.unit.parse(text),
            false => read(&self.written, self.unit, text),
        }
    }

    /// The field of a file for a number of units.
    pub(super) fn text(&self, count: i64) -> String {
        let written = self.written.as_ref();
        written.map_or_else(
            || self.unit.text(count),
            |written| written.write(count, self.unit),
        )
    }

    /// The field of a file for a number.
    pub(super) fn shown(&self, value: f64) -> String {
        let special = self.special.iter().find(|special| special.value == value);
        special.map_or_else(
            || self.text(self.unit.floor(value)),
            |special| special.written.clone(),
        )
    }

    /// The bounds, for a message.
    pub(super) fn expected(&self) -> String {
        let [min, max] = [self.min, self.max].map(|bound| self.unit.show(bound));
        let written = self.written.as_ref().map(Written::text);
        let written = written.map_or(String::new(), |text| format!(", written as {text}"));
        format!("{} from {min} to {max}{written}", self.unit.expected())
    }

    /// The number itself, or the nearer end of the range if it is clamped; `None` if a number outside is refused.
    pub(super) fn inside(&self, value: f64) -> Option<f64> {
        let inside = value.clamp(self.min, self.max);
        (inside == value || self.outside == Outside::Clamp).then_some(inside)
    }

    /// The code of a number: its bin, or, after the bins, its place among the special values; and whether it was clamped. `None`
    /// if it is out of range and refused.
    pub(super) fn code(&self, value: f64) -> Option<(usize, bool)> {
        let special = |value: f64| {
            let place = self.special.iter().position(|known| known.value == value);
            place.map(|place| self.bins.len() + place)
        };
        if let Some(code) = special(value) {
            return Some((code, false));
        }
        let inside = self.inside(value)?;
        let bin = || {
            let count = self.unit.floor(inside);
            let past = self.bins.partition_point(|bin| bin.start <= count);
            (!self.bins.is_empty()).then_some(past.saturating_sub(1))
        };
        Some((special(inside).or_else(bin)?, inside != value))
    }

    /// A number with this code, as its text is read. A bin gives each of its numbers with equal probability.
    pub(super) fn value(&self, code: usize, rng: &mut impl Rng) -> Option<f64> {
        match self.bins.get(code) {
            Some(bin) => Some(self.unit.at(self.sample(bin.start, bin.end, rng))),
            None => self.special(code).map(|special| special.value),
        }
    }

    /// The special value of a code after those of the bins.
    pub(super) fn special(&self, code: usize) -> Option<&Special> {
        self.special.get(code.checked_sub(self.bins.len())?)
    }

    /// Samples uniformly from the whole numbers from `start` to before `end` that are not holes; there is at least one.
    pub(super) fn sample(&self, start: i64, end: i64, rng: &mut impl Rng) -> i64 {
        let holes = within(&self.holes, start, end);
        let mut count = start + rng.random_range(0..end - start - holes.len() as i64);
        for &hole in holes {
            count += i64::from(hole <= count);
        }
        count
    }

    /// The least and the largest whole number of a code. `None` for a special value out of range, which does not stand for a
    /// number, and for a code that is not a number.
    pub(super) fn ends(&self, code: usize) -> Option<[i64; 2]> {
        if let Some(bin) = self.bins.get(code) {
            let mut first = bin.start;
            for &hole in within(&self.holes, bin.start, bin.end) {
                first += i64::from(hole == first);
            }
            return Some([first, self.last(bin, bin.end)?]);
        }
        let value = self.special(code)?.value;
        let inside = (self.min..=self.max).contains(&value);
        inside.then(|| [self.unit.floor(value); 2])
    }

    /// A special value in range that is not a whole number of units.
    pub(super) fn finer(&self) -> Option<&str> {
        let is_finer = |special: &&Special| {
            let inside = (self.min..=self.max).contains(&special.value);
            inside && self.unit.whole(special.value).is_none()
        };
        Some(&self.special.iter().find(is_finer)?.text)
    }

    /// The largest whole number of a code that is at most `most`, if there is one.
    pub(super) fn cap(&self, code: usize, most: i64) -> Option<i64> {
        match self.bins.get(code) {
            Some(bin) => self.last(bin, most),
            None => self
                .ends(code)
                .and_then(|[first, last]| (first <= most).then_some(last)),
        }
    }

    fn last(&self, bin: &Bin, most: i64) -> Option<i64> {
        let mut last = most.min(bin.end - 1);
        for &hole in within(&self.holes, bin.start, bin.end).iter().rev() {
            last -= i64::from(hole == last);
        }
        (last >= bin.start).then_some(last)
    }

    /// For each code, whether any of its values lies from `low` to `high`, and whether all do; `None` if [`Number::ends`] is
    /// `None`.
    pub(super) fn between(&self, low: f64, high: f64) -> Vec<Option<[bool; 2]>> {
        let (low, high) = (low.max(self.min), high.min(self.max));
        let none = low > high;
        let of = |code: usize| {
            let [first, last] = self.ends(code)?;
            if none {
                return Some([false; 2]);
            }
            if code >= self.bins.len() {
                let value = self.special[code - self.bins.len()].value;
                return Some([(low..=high).contains(&value); 2]);
            }
            let (low, high) = (self.unit.ceil(low), self.unit.floor(high));
            let any = self.cap(code, high).is_some_and(|last| last >= low);
            Some([any, low <= first && last <= high])
        };
        (0..self.bins.len() + self.special.len()).map(of).collect()
    }

    /// The public name of a bin.
    pub(super) fn name(&self, bin: &Bin) -> String {
        let text = |count| self.unit.text(count);
        let last = self.bins.last() == Some(bin);
        match bin.end - bin.start {
            1 => text(bin.start),
            _ if last => format!("[{}, {}]", text(bin.start), text(bin.end - 1)),
            _ => format!("[{}, {})", text(bin.start), text(bin.end)),
        }
    }

    /// The width of a bin in the unit of the column, without its holes.
    pub(super) fn width(&self, bin: &Bin) -> f64 {
        bin.values as f64 * self.unit.width()
    }
}

fn read(written: &Option<Written>, unit: Unit, text: &str) -> Option<f64> {
    match written {
        None => unit.parse(text),
        Some(written) => written.read(text, unit),
    }
}

fn within(holes: &[i64], start: i64, end: i64) -> &[i64] {
    let place = |bound| holes.partition_point(|&hole| hole < bound);
    &holes[place(start)..place(end)]
}

impl Asked {
    fn largest(&self) -> f64 {
        self.min.abs().max(self.max.abs())
    }

    /// The unit with its decimals: those asked for, or enough for a thousandth of the range and for the schema's numbers.
    fn unit(&self) -> Result<Unit, String> {
        let largest = self.largest();
        if !matches!(self.unit, Unit::Decimal(_)) {
            if self.decimals.is_some() {
                return Err("'decimals' is for kind numeric; remove it".into());
            }
            if largest > EXACT {
                return Err(format!(
                    "min and max: expected whole numbers of at most {EXACT}"
                ));
            }
            return Ok(self.unit);
        }
        let fits = |decimals: i32| largest * 10_f64.powi(decimals) <= EXACT;
        if let Some(decimals) = self.decimals {
            let decimals = i32::try_from(decimals).unwrap_or(i32::MAX);
            if decimals > 15 || !fits(decimals) {
                return Err(format!(
                    "{decimals} decimals of numbers up to {largest:?}: expected at most 15 digits in all; take fewer"
                ));
            }
            return Ok(Unit::Decimal(decimals));
        }
        let digits = |value: &f64| {
            let text = value.to_string();
            text.split_once('.').map_or(0, |(_, behind)| behind.len())
        };
        let named = [self.min, self.max];
        let named = named.iter().chain(self.edges.iter().flatten());
        let named = named.map(digits).max().unwrap_or(0) as i32;
        let thousandth = (3.0 - (self.max - self.min).log10()).ceil() as i32;
        let mut decimals = 2.max(thousandth).max(named).min(300);
        while !fits(decimals) {
            decimals -= 1;
        }
        Ok(Unit::Decimal(decimals))
    }

    /// The starts of the bins, ascending.
    fn starts(&self, unit: Unit, first: i64, last: i64) -> Result<Vec<i64>, String> {
        let count = last - first + 1;
        let most = MAX_BINS as i64;
        let Some(edges) = &self.edges else {
            if count <= most || self.scale != Some(Scale::Log) {
                let width = (count + most - 1) / most;
                return Ok((0..most)
                    .map(|bin| first + bin * width)
                    .filter(|&start| start <= last)
                    .collect());
            }
            let low = unit.at(first);
            let range = (unit.at(last) - low).ln_1p();
            let even = (0..most).map(|bin| (bin as f64 / most as f64 * range).exp_m1());
            let mut starts: Vec<i64> = even
                .map(|above| unit.floor(low + above).clamp(first, last))
                .collect();
            starts.dedup();
            return Ok(starts);
        };
        if self.scale.is_some() {
            return Err("'edges' and 'scale': expected one of them; remove the other".into());
        }
        let mut starts = vec![first];
        for (place, &edge) in edges.iter().enumerate() {
            let shown = unit.show(edge);
            if !(self.min..=self.max).contains(&edge) {
                return Err(format!(
                    "{shown} in 'edges': expected {} to {}",
                    unit.show(self.min),
                    unit.show(self.max)
                ));
            }
            if place > 0 && edges[place - 1] >= edge {
                return Err(format!("{shown} in 'edges': expected ascending ones"));
            }
            let start = unit.whole(edge).ok_or_else(|| {
                format!(
                    "{shown} in 'edges' has more decimals than the column: say more in 'decimals'"
                )
            })?;
            // The ends of the range are edges already, and the last one starts no bin.
            if edge != self.min && edge != self.max {
                starts.push(start);
            }
        }
        if starts.len() > MAX_BINS {
            return Err(format!(
                "'edges' for {} bins: expected at most {MAX_BINS}",
                starts.len()
            ));
        }
        Ok(starts)
    }
}
