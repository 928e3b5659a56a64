//! The range of numbers: round bounds, special values and long tails.

use super::super::number::MAX_BINS;

/// Numbers that often stand for a missing value.
const SENTINELS: [f64; 12] = [
    -1.0, -9.0, -99.0, -999.0, -9999.0, 9.0, 99.0, 999.0, 9999.0, 99_999.0, 999_999.0, -8.0,
];

/// The largest ratio of a range to the span of its values.
const WIDER: f64 = 2.0;

/// Finds frequent values far from the rest, which stand for something else than a number, and 0 if over a third are 0. Narrows
/// the range to the rest.
pub(super) fn specials(values: &[(f64, u64)], range: &mut [f64; 2]) -> Vec<f64> {
    let all: u64 = values.iter().map(|(_, times)| times).sum();
    let mut rest = values;
    let mut found = Vec::new();
    while let [first, middle @ .., last] = rest
        && middle.len() > 2
        && found.len() < 3
    {
        let is_special = |one: (f64, u64), near: f64, [low, high]: [f64; 2]| {
            let frequent = one.1 >= 5 && 100 * one.1 >= all;
            let gap = (one.0 - near).abs();
            let known =
                SENTINELS.contains(&one.0) && (one.0 < 0.0 && low >= 0.0 || one.0 > 2.0 * high);
            frequent && (gap > high - low || known)
        };
        let (second, before) = (middle[0].0, middle[middle.len() - 1].0);
        if is_special(*first, second, [second, last.0]) {
            found.push(first.0);
            rest = &rest[1..];
        } else if is_special(*last, before, [first.0, before]) {
            found.push(last.0);
            rest = &rest[..rest.len() - 1];
        } else {
            break;
        }
    }
    if !found.is_empty()
        && let ([first, ..], [.., last]) = (rest, rest)
    {
        // Only known values move the range; none of the others lay far away.
        *range = [
            if found.contains(&range[0]) {
                first.0
            } else {
                range[0]
            },
            if found.contains(&range[1]) {
                last.0
            } else {
                range[1]
            },
        ];
    }
    let zeros = values.iter().find(|(value, _)| *value == 0.0);
    if zeros.is_some_and(|(_, times)| 3 * times > all) && !found.contains(&0.0) {
        found.push(0.0);
    }
    found
}

/// Whether half of the values lie in a few of many evenly spaced bins.
pub(super) fn is_long_tailed(values: &[(f64, u64)], [min, max]: [f64; 2]) -> bool {
    let all: u64 = values
        .iter()
        .filter(|(value, _)| *value > min)
        .map(|(_, times)| times)
        .sum();
    let mut below = 0;
    let above = values.iter().filter(|(value, _)| *value > min);
    let median = above.into_iter().find(|(_, times)| {
        below += times;
        2 * below >= all
    });
    let width = (max - min) / MAX_BINS as f64;
    median.is_some_and(|(median, _)| min >= 0.0 && max - min > 30.0 && median - min < 8.0 * width)
}

/// Rounds bounds to multiples of the power of ten of the range's first digit. Returns the bounds, their range and their
/// decimals.
pub(super) fn round([low, high]: [f64; 2], integer: bool) -> ([f64; 2], f64, usize) {
    let span = match high - low {
        0.0 => high.abs().max(1.0),
        span => span,
    };
    let power = span.log10().floor().clamp(-15.0, 300.0) as i32;
    let power = if integer { power.max(0) } else { power };
    // A range that is much wider than the values leaves few bins for them.
    let rough = |power: i32| {
        let step = 10_f64.powi(power);
        ((high / step).ceil() - (low / step).floor()) * step > WIDER * span
    };
    let power = power - i32::from(high > low && rough(power) && !(integer && power == 0));
    // A power of ten below one is not exact as `f64`, but its inverse is.
    let (up, down) = (10_f64.powi(power.max(0)), 10_f64.powi((-power).max(0)));
    let step = |steps: f64| steps * up / down;
    let (first, last) = ((low * down / up).floor(), (high * down / up).ceil());
    // Large powers of ten are not exact either.
    let first = first - f64::from(u8::from(step(first) > low));
    let last = last + f64::from(u8::from(first == last || step(last) < high));
    let bounds = [step(first), step(last)];
    (bounds, bounds[1] - bounds[0], (-power).max(0) as usize)
}
