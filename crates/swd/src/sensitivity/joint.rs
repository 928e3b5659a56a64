use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::f64::consts::FRAC_PI_2;

use super::{Norms, ROUNDING};
use crate::SwdError;
use crate::check::check_bound;

/// The relative width to which the maximum is enclosed; the upper end is the result.
const WIDTH: f64 = 1e-4;

/// More boxes than any case seen needed, by a factor of 20. If they run out, the upper end is still a bound.
const MOST_BOXES: usize = 400_000;

/// The public quantities of the joint bound.
#[derive(Debug, Clone, Copy)]
pub(super) struct JointInput {
    pub norms: Norms,
    /// The number of private records.
    pub n: usize,
    /// An upper bound on `lambda_max(Theta Theta^T / k)`.
    pub lambda_max: f64,
    /// `Q`, the root mean square over the slices of the largest cell.
    pub q_rms: f64,
    /// An upper bound on the moves of the other records ([`super::CellSpread::shift_upper`]), or twice
    /// `Q` if nothing better is known.
    pub shift: f64,
}

/// Returns the joint bound over all slices, at most a relative `1.1e-4` above its exact value, never below.
///
/// `Delta <= (2/n) max { L1 A(s, t) + L1 min(s, S) + L2 sqrt(lambda) t }` over `0 <= s <= 2Q` and
/// `0 <= t <= 2M`, where `S` is the shift and
/// `A(s, t)^2 = 2 lambda (2 lambda M^2 + 2 Q^2 + sqrt(lambda) sqrt(4M^2 - t^2) sqrt(4Q^2 - s^2))`.
/// `docs/theory.md` of the repository has the proof (theorem 2).
///
/// *Rounding up.* `A` falls in `s` and `t`, the other terms rise. So on a rectangle the expression
/// is at most its first term at the lower corner plus the others at the upper corner. Rectangles of
/// the largest such value are halved until the largest is within the stated width of a value that
/// is attained.
///
/// # Errors
/// `n` is zero, or a quantity is negative or not finite.
pub(super) fn joint_bound(input: &JointInput) -> Result<f64, SwdError> {
    input.norms.check_with(input.lambda_max, input.n)?;
    check_bound("root mean square of the largest cells", input.q_rms)?;
    check_bound("shift of the other records", input.shift)?;
    Ok(2.0 / input.n as f64 * JointObjective::new(input).maximum_upper() * (1.0 + ROUNDING))
}

/// The function to maximise, in `s = 2Q sin a` and `t = 2M sin b`, where the square roots become cosines.
struct JointObjective {
    /// `A^2 = constant + product cos a cos b`, times `L1^2`.
    constant: f64,
    product: f64,
    /// `L1 s = moves sin a`, at most `moves_most`.
    moves: f64,
    moves_most: f64,
    /// `L2 sqrt(lambda) t = other sin b`.
    other: f64,
    a_max: f64,
    b_max: f64,
}

impl JointObjective {
    fn new(input: &JointInput) -> Self {
        let Norms { m_bound, l1, l2 } = input.norms;
        let JointInput {
            lambda_max,
            q_rms,
            shift,
            ..
        } = *input;
        let factor = 2.0 * lambda_max * l1 * l1;
        // Beyond s = S everything falls, and without a second trained side beyond t = 0.
        let a_max = if shift < 2.0 * q_rms {
            (shift / (2.0 * q_rms)).asin()
        } else {
            FRAC_PI_2
        };
        Self {
            constant: factor * 2.0 * (lambda_max * m_bound * m_bound + q_rms * q_rms),
            product: factor * 4.0 * lambda_max.sqrt() * m_bound * q_rms,
            moves: 2.0 * l1 * q_rms,
            moves_most: l1 * shift,
            other: 2.0 * l2 * lambda_max.sqrt() * m_bound,
            a_max,
            b_max: if l2 > 0.0 { FRAC_PI_2 } else { 0.0 },
        }
    }

    /// Returns the falling term at the angles `low` plus the rising terms at the angles `high`.
    fn value(&self, low: (Angle, Angle), high: (Angle, Angle)) -> f64 {
        let falling = (self.constant + self.product * low.0.cos * low.1.cos).sqrt();
        falling + (self.moves * high.0.sin).min(self.moves_most) + self.other * high.1.sin
    }

    fn maximum_upper(&self) -> f64 {
        let zero = Angle::new(0.0);
        let rectangle = |low: (Angle, Angle), high: (Angle, Angle)| Rectangle {
            low,
            high,
            upper: self.value(low, high),
        };
        let (a, b) = (Angle::new(self.a_max), Angle::new(self.b_max));
        let mut attained = self.value((zero, zero), (zero, zero));
        attained = attained.max(self.value((a, zero), (a, zero)));
        let mut open = BinaryHeap::from([rectangle((zero, zero), (a, b))]);
        for _ in 0..MOST_BOXES {
            let Some(top) = open.peek() else { break };
            if top.upper <= attained * (1.0 + WIDTH) {
                break;
            }
            let Rectangle { low, high, .. } = *top;
            open.pop();
            // Halve the side that contributes more to the width.
            let across_a = self.value((low.0, low.1), (high.0, low.1))
                - self.value((high.0, low.1), (low.0, low.1));
            let across_b = self.value((low.0, low.1), (low.0, high.1))
                - self.value((low.0, high.1), (low.0, low.1));
            let (end, start) = if across_a >= across_b {
                let middle = low.0.halfway(high.0);
                ((middle, high.1), (middle, low.1))
            } else {
                let middle = low.1.halfway(high.1);
                ((high.0, middle), (low.0, middle))
            };
            attained = attained
                .max(self.value(start, start))
                .max(self.value(end, end));
            open.push(rectangle(low, end));
            open.push(rectangle(start, high));
        }
        open.peek().map_or(attained, |top| top.upper.max(attained))
    }
}

/// An angle with its sine and cosine.
#[derive(Clone, Copy)]
struct Angle {
    angle: f64,
    sin: f64,
    cos: f64,
}

impl Angle {
    fn new(angle: f64) -> Self {
        let (sin, cos) = angle.sin_cos();
        // The cosine of the number nearest to pi/2 is not negative; that of a larger one could be.
        let cos = cos.max(0.0);
        Self { angle, sin, cos }
    }

    fn halfway(self, other: Self) -> Self {
        Self::new(0.5 * (self.angle + other.angle))
    }
}

/// A rectangle of angles with an upper bound on the objective there, by which rectangles are compared.
struct Rectangle {
    low: (Angle, Angle),
    high: (Angle, Angle),
    upper: f64,
}

impl Ord for Rectangle {
    fn cmp(&self, other: &Self) -> Ordering {
        self.upper.total_cmp(&other.upper)
    }
}

impl PartialOrd for Rectangle {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rectangle {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rectangle {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `n/2` times the bound at one `(s, t)`, as the formula stands.
    fn expression(input: &JointInput, s: f64, t: f64) -> f64 {
        let (m, q, lambda) = (input.norms.m_bound, input.q_rms, input.lambda_max);
        let roots = (4.0 * m * m - t * t).max(0.0).sqrt() * (4.0 * q * q - s * s).max(0.0).sqrt();
        let inner = 2.0 * lambda * m * m + 2.0 * q * q + lambda.sqrt() * roots;
        let a = (2.0 * lambda).sqrt() * inner.sqrt();
        input.norms.l1 * a
            + input.norms.l1 * s.min(input.shift)
            + input.norms.l2 * lambda.sqrt() * t
    }

    fn input() -> impl Strategy<Value = JointInput> {
        let bound = || prop_oneof![1 => Just(0.0), 8 => 0.0_f64..3.0];
        let all = (bound(), bound(), bound(), 0.001_f64..1.0, bound(), bound());
        all.prop_map(|(m_bound, l1, l2, lambda_max, q_rms, shift)| JointInput {
            norms: Norms { m_bound, l1, l2 },
            n: 2,
            lambda_max,
            q_rms,
            shift,
        })
    }

    proptest! {
        #[test]
        fn the_maximum_is_enclosed(input in input()) {
            let bound = joint_bound(&input).unwrap();
            let steps = 300;
            let mut largest = 0.0_f64;
            let s_turn = input.shift.min(2.0 * input.q_rms);
            // Even steps of the angle: the expression has infinite slope in s and t at the far ends.
            let sine = |step: i32| (FRAC_PI_2 * f64::from(step) / f64::from(steps)).sin();
            for i in 0..=steps {
                for j in 0..=steps {
                    let s = 2.0 * input.q_rms * sine(i);
                    let t = 2.0 * input.norms.m_bound * sine(j);
                    largest = largest.max(expression(&input, s, t));
                    largest = largest.max(expression(&input, s_turn, t));
                }
            }
            prop_assert!(bound >= largest, "{} < {}", bound, largest);
            prop_assert!(bound <= largest * (1.0 + 4e-4) + 1e-300, "{} > {}", bound, largest);
        }
    }

    #[test]
    fn bad_quantities_are_refused() {
        let good = JointInput {
            norms: Norms::new(1.0, 1.0),
            n: 2,
            lambda_max: 0.5,
            q_rms: 1.0,
            shift: 1.0,
        };
        assert!(joint_bound(&good).is_ok());
        assert!(joint_bound(&JointInput { n: 0, ..good }).is_err());
        for bad in [f64::NAN, -1.0, f64::INFINITY] {
            let changes: [fn(&mut JointInput, f64); 6] = [
                |input, bad| input.norms.m_bound = bad,
                |input, bad| input.norms.l1 = bad,
                |input, bad| input.norms.l2 = bad,
                |input, bad| input.lambda_max = bad,
                |input, bad| input.q_rms = bad,
                |input, bad| input.shift = bad,
            ];
            for change in changes {
                let mut input = good;
                change(&mut input, bad);
                assert!(joint_bound(&input).is_err(), "{bad}");
            }
        }
    }
}
