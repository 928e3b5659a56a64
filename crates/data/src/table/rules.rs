//! Rules between columns, which every record of a copy keeps.
//!
//! On codes, a rule is two lists of numbers: `least` for the codes of one column and `most` for those of another. Two codes are
//! possible together if `least[a] <= most[b]`. For `a <= b` these are the least number of a code and the largest one. For
//! `when` and `then`, `least` is 1 for a code with any value that meets `when`, and `most` is 1 for a code whose values all meet
//! `then`. A missing value has neither number, and breaks no rule.
//!
//! Codes of `a <= b` hold several numbers each, which must be possible together too: [`Rules::caps`] are the largest ones.

use rand::Rng;

use super::column::{Column, unreadable};
use super::number::{Number, Unit};
use super::raw::{RawCondition, RawRule};
use super::value::{Reader, one_of};

/// A rule between two columns of a copy: it says which of their codes may occur together.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    columns: [usize; 2],
    /// The `least` of each code of the first column, except a missing value.
    least: Vec<i64>,
    /// The `most` of each code of the second column.
    most: Vec<i64>,
}

impl Rule {
    /// Returns the two columns as places among [`Schema::code_columns`](super::Schema::code_columns).
    pub fn columns(&self) -> [usize; 2] {
        self.columns
    }

    /// Returns whether this rule lets a record have these codes of the two columns.
    pub fn allows(&self, first: u16, second: u16) -> bool {
        let least = self.least.get(usize::from(first));
        let most = self.most.get(usize::from(second));
        least.zip(most).is_none_or(|(least, most)| least <= most)
    }
}

/// The rules between the columns of a copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// All rules of pairs, with those that follow from several `at_most`.
    pairs: Vec<Rule>,
    /// The columns under `at_most`, each before the columns that bound it from above.
    ordered: Vec<Ordered>,
}

#[derive(Clone, Debug, PartialEq)]
struct Ordered {
    /// The place among the columns of a copy.
    column: usize,
    number: Number,
    /// The places in `ordered` of all columns that bound this one from above.
    uppers: Vec<usize>,
}

/// A number that was sampled together with others of its record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ruled {
    unit: Unit,
    pub count: i64,
}

impl Ruled {
    /// The number that its text is read as.
    pub(super) fn value(self) -> f64 {
        self.unit.at(self.count)
    }
}

impl Rules {
    /// Returns the rules of pairs of columns. If `a <= b` and `b <= c`, the rule `a <= c` is among them.
    pub fn pairs(&self) -> &[Rule] {
        &self.pairs
    }

    /// Returns whether some values with these codes, shape `[D]`, keep all rules together; `false` if codes are missing.
    pub fn keep(&self, record: &[u16]) -> bool {
        let allows = |rule: &Rule| {
            let [first, second] = rule.columns.map(|column| record.get(column));
            let both = first.zip(second);
            both.is_some_and(|(&first, &second)| rule.allows(first, second))
        };
        self.pairs.iter().all(allows) && self.caps(record).is_some()
    }

    /// The largest number that each column under `at_most` may have in a record of these codes, unbounded if the code is not a
    /// number. `None` if a column has no such number, or no code.
    ///
    /// The caps are found from the last column to the first: each is the largest number of its code that is at most the caps of
    /// all uppers. Any number of the code up to its cap, and at least its lowers, then leaves a number for each upper: its cap.
    fn caps(&self, record: &[u16]) -> Option<Vec<i64>> {
        let mut caps = vec![i64::MAX; self.ordered.len()];
        for (place, own) in self.ordered.iter().enumerate().rev() {
            let code = usize::from(*record.get(own.column)?);
            if own.number.ends(code).is_some() {
                let uppers = own.uppers.iter().map(|&upper| caps[upper]);
                caps[place] = own.number.cap(code, uppers.min().unwrap_or(i64::MAX))?;
            }
        }
        Some(caps)
    }

    /// Samples numbers for the bins of the columns under `at_most`, each with the place of its column. From the first column to
    /// the last, each number is uniform among those of its bin that are at least its lowers and at most its cap. The list is
    /// empty if no numbers keep the rules.
    pub(super) fn sample(&self, record: &[u16], rng: &mut impl Rng) -> Vec<(usize, Ruled)> {
        let Some(caps) = self.caps(record) else {
            return Vec::new();
        };
        let (mut numbers, mut lows) = (Vec::new(), vec![i64::MIN; caps.len()]);
        for (place, own) in self.ordered.iter().enumerate() {
            let code = usize::from(record[own.column]);
            let Some([first, _]) = own.number.ends(code) else {
                continue;
            };
            let mut count = first;
            if code < own.number.bins.len() {
                let low = first.max(lows[place]);
                count = own.number.sample(low, caps[place] + 1, rng);
                let unit = own.number.unit;
                numbers.push((own.column, Ruled { unit, count }));
            }
            for &upper in &own.uppers {
                lows[upper] = lows[upper].max(count);
            }
        }
        numbers
    }
}

/// Checks the rules of a schema with these columns; the error says what is wrong and how to repair it.
pub(super) fn check(columns: &[Column], raw: &[RawRule]) -> Result<Rules, String> {
    let columns: Vec<&Column> = columns.iter().filter(|column| column.is_kept()).collect();
    let (mut pairs, mut edges) = (Vec::new(), Vec::new());
    for (number, rule) in (1..).zip(raw) {
        let rule = match rule {
            RawRule {
                at_most: Some(names),
                when: None,
                then: None,
            } => at_most(&columns, names).map(|edge| edges.push(edge)),
            RawRule {
                at_most: None,
                when: Some(when),
                then: Some(then),
            } => implied(&columns, when, then).map(|rule| pairs.push(rule)),
            _ => Err("expected either 'at_most', or 'when' and 'then'".into()),
        };
        let number: usize = number;
        rule.map_err(|problem| format!("rule {number}: {problem}"))?;
    }
    let mut rules = ordered(&columns, &edges)?;
    rules.pairs.extend(pairs);
    Ok(rules)
}

fn place(columns: &[&Column], name: &str) -> Result<usize, String> {
    let place = columns.iter().position(|column| column.name == name);
    place.ok_or_else(|| {
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let known = one_of(&names);
        format!("column '{name}': expected a column that is not ignored: {known}")
    })
}

/// The places of two columns of numbers with the same unit.
fn at_most(columns: &[&Column], names: &[String; 2]) -> Result<[usize; 2], String> {
    let [first, second] = names;
    let places = [place(columns, first)?, place(columns, second)?];
    let refuse = |expected: &str| {
        Err(format!(
            "'{first}' is to be at most '{second}': expected {expected}"
        ))
    };
    let [Some(one), Some(other)] = places.map(|place| columns[place].number()) else {
        return refuse("two columns of numbers or dates");
    };
    if one.unit != other.unit {
        return refuse("numbers of one kind with as many 'decimals'; say those of both");
    }
    for (name, number) in names.iter().zip([one, other]) {
        if let Some(value) = number.finer() {
            return Err(format!(
                "{value} in 'special' of '{name}' has more decimals than the column: say more in 'decimals'"
            ));
        }
    }
    Ok(places)
}

/// The rules of pairs in which the first column is at most the second, with those that follow from them.
fn ordered(columns: &[&Column], edges: &[[usize; 2]]) -> Result<Rules, String> {
    let mut places = edges.concat();
    places.sort_unstable();
    places.dedup();
    let numbers: Vec<(usize, &Number)> = places
        .into_iter()
        .filter_map(|place| Some((place, columns[place].number()?)))
        .collect();
    let count = numbers.len();
    let name = |at: usize| &columns[numbers[at].0].name;
    // Whether one column is at most another.
    let mut below = vec![vec![false; count]; count];
    for edge in edges {
        let [first, second] = edge.map(|place| numbers.partition_point(|known| known.0 < place));
        below[first][second] = true;
    }
    for middle in 0..count {
        let uppers = below[middle].clone();
        for own in below.iter_mut().filter(|own| own[middle]) {
            own.iter_mut()
                .zip(&uppers)
                .for_each(|(own, upper)| *own |= upper);
        }
    }
    if let Some(one) = (0..count).find(|&one| below[one][one]) {
        let circle = (0..count).filter(|&other| below[one][other] && below[other][one]);
        let names: Vec<String> = circle.map(|at| name(at).clone()).collect();
        return Err(format!(
            "'at_most' goes round in a circle through {}: remove a rule",
            names.join(", ")
        ));
    }
    let mut rules = Rules::default();
    // A column that is at most another has fewer columns below it.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&at| below.iter().filter(|uppers| uppers[at]).count());
    for &at in &order {
        let uppers = (0..count).filter(|&upper| below[at][order[upper]]);
        let uppers: Vec<usize> = uppers.collect();
        let (column, own) = numbers[at];
        let (lows, low) = ends(own);
        for &upper in &uppers {
            let (above, other) = numbers[order[upper]];
            let (highs, high) = ends(other);
            if let Some(([low, _], [_, high])) = low.zip(high)
                && low > high
            {
                return Err(format!(
                    "no value of '{}' is at most one of '{}': they are {} and {}; change one, or remove a rule",
                    name(at),
                    name(order[upper]),
                    own.expected(),
                    other.expected()
                ));
            }
            let least = lows
                .iter()
                .map(|ends| ends.map_or(i64::MIN, |[first, _]| first));
            let most = highs
                .iter()
                .map(|ends| ends.map_or(i64::MAX, |[_, last]| last));
            rules.pairs.push(Rule {
                columns: [column, above],
                least: least.collect(),
                most: most.collect(),
            });
        }
        let number = own.clone();
        rules.ordered.push(Ordered {
            column,
            number,
            uppers,
        });
    }
    Ok(rules)
}

/// The ends of each code, and of all numbers together.
fn ends(number: &Number) -> (Vec<Option<[i64; 2]>>, Option<[i64; 2]>) {
    let codes = 0..number.bins.len() + number.special.len();
    let ends: Vec<Option<[i64; 2]>> = codes.map(|code| number.ends(code)).collect();
    let numbers = ends.iter().flatten();
    let all = numbers
        .copied()
        .reduce(|[low, high], [first, last]| [low.min(first), high.max(last)]);
    (ends, all)
}

/// The rule that a record that meets `when` also meets `then`.
fn implied(columns: &[&Column], when: &RawCondition, then: &RawCondition) -> Result<Rule, String> {
    let places = [place(columns, &when.column)?, place(columns, &then.column)?];
    if places[0] == places[1] {
        return Err(format!(
            "'when' and 'then' are of column '{}': expected two columns; what one may hold its own lines say",
            when.column
        ));
    }
    let [about, allowed] = places.map(|place| columns[place]);
    let (whens, thens) = (met(about, when)?, met(allowed, then)?);
    if !whens.iter().flatten().any(|[any, _]| *any) {
        return Err(format!(
            "'when': no value of '{}' is so: expected {}",
            about.name,
            known(about)
        ));
    }
    if !thens.iter().flatten().any(|[_, all]| *all) {
        return Err(format!(
            "'then' leaves no value of '{}', or no whole bin: expected {}; widen it, or say 'edges' there",
            allowed.name,
            known(allowed)
        ));
    }
    let least = whens
        .iter()
        .map(|met| met.map_or(i64::MIN, |[any, _]| any.into()));
    let most = thens
        .iter()
        .map(|met| met.map_or(i64::MAX, |[_, all]| all.into()));
    Ok(Rule {
        columns: places,
        least: least.collect(),
        most: most.collect(),
    })
}

/// For each code, whether any of its values meets a condition, and whether all do; `None` for a code that does not stand
/// for a number.
fn met(column: &Column, raw: &RawCondition) -> Result<Vec<Option<[bool; 2]>>, String> {
    let refuse = |problem: String| format!("column '{}': {problem}", column.name);
    let bounds = [("min", &raw.min), ("max", &raw.max)];
    let bounded = bounds.iter().any(|(_, bound)| bound.is_some());
    match (column.number(), &raw.values) {
        (Some(number), None) if bounded => {
            let [low, high] = bounds.map(|(field, bound)| match bound {
                None => Ok(None),
                Some(bound) => {
                    let text = bound.as_str().map_or(bound.to_string(), str::to_string);
                    let value = number.unit.parse(&text);
                    let value = value.ok_or_else(|| unreadable(field, &text, number.unit));
                    value.map(Some).map_err(refuse)
                }
            });
            let (low, high) = (
                low?.unwrap_or(f64::NEG_INFINITY),
                high?.unwrap_or(f64::INFINITY),
            );
            Ok(number.between(low, high))
        }
        (Some(_), _) => Err(refuse("expected 'min', 'max', or both, of numbers".into())),
        (None, Some(values)) if !bounded => {
            let reader = Reader::new(column);
            let mut met = vec![Some([false; 2]); column.codes()];
            for value in values {
                let code = reader.level(value).ok_or_else(|| {
                    refuse(format!("'{value}' in 'values': expected {}", known(column)))
                })?;
                met[code] = Some([true; 2]);
            }
            Ok(met)
        }
        (None, _) => Err(refuse("expected 'values', of categories".into())),
    }
}

/// The values that a column may hold, for a message.
fn known(column: &Column) -> String {
    if let Some(number) = column.number() {
        return number.expected();
    }
    let words = (0..column.codes()).filter_map(|code| column.word(code));
    one_of(&words.cloned().collect::<Vec<_>>())
}
