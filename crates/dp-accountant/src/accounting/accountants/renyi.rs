//! Renyi divergences of one step.

use std::cell::RefCell;
use std::f64::consts::{LN_2, PI};

use crate::accounting::steps::{Mechanism, Sampling, Step, mixed};
use crate::numerics::gauss_legendre::FIVE;
use crate::numerics::ln_sum_exp;

/// Largest order at which batches without replacement use the strengthened bound.
const STRENGTHENED: f64 = 256.0;

/// Upper bounds on the Renyi divergences of one step.
pub(crate) struct Renyi {
    step: Step,
    /// `ln B(j)` at j = 2, 4, 6, ... as far as needed so far.
    central: RefCell<Vec<f64>>,
}

impl Renyi {
    pub(super) fn new(step: Step) -> Self {
        Self {
            step,
            central: RefCell::default(),
        }
    }

    /// The bound at an order above 1.
    pub(super) fn divergence(&self, order: f64) -> f64 {
        match (self.step.mechanism, self.step.sampling) {
            (mechanism, Sampling::None) => plain(mechanism, order),
            (mechanism, Sampling::Poisson { rate }) => {
                let removed = ln_moment(mechanism, rate, order, Half::Whole);
                let added = ln_moment(mechanism, rate, 1.0 - order, Half::Whole);
                removed.max(added).max(0.0) / (order - 1.0)
            }
            (Mechanism::Gaussian { mu }, Sampling::Fixed { rate }) => {
                let pair = dominating(self.step.mechanism, rate, order);
                self.without_replacement(mu, rate, order).max(pair)
            }
            (mechanism, Sampling::Fixed { rate }) => dominating(mechanism, rate, order),
            // Only pairs are composed for these.
            (_, Sampling::PoissonGroup { .. } | Sampling::Allocation { .. }) => f64::INFINITY,
        }
    }

    /// Wang, Balle and Kasiviswanathan 2019, theorem 27, for Gaussian noise: at whole orders
    /// `1 + sum over j of C(order, j) rate^j t_j` with `t_2 = min(4 B(2), 2 e^D(2))` and
    /// `t_j = min(4 sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), 2 e^((j-1) D(j)))`, where
    /// `B(j) = E_Q[(dP/dQ - 1)^j]`; between them by convexity of the cumulant (corollary 10).
    fn without_replacement(&self, mu: f64, rate: f64, order: f64) -> f64 {
        let (below, above) = (order.floor(), order.ceil());
        let share = order - below;
        let low = self.without_replacement_whole(mu, rate, below);
        let total = if share == 0.0 {
            low
        } else {
            (1.0 - share) * low + share * self.without_replacement_whole(mu, rate, above)
        };
        total / (order - 1.0)
    }

    /// The cumulant `(order - 1) D(order)` of the bound at a whole order.
    fn without_replacement_whole(&self, mu: f64, rate: f64, order: f64) -> f64 {
        let mut terms = vec![0.0];
        let mut ln_choose = order.ln();
        for j in 2..=order as u32 {
            let count = f64::from(j);
            ln_choose += ((order - count + 1.0) / count).ln();
            let capped = LN_2 + 0.5 * count * (count - 1.0) * mu * mu;
            let term = if order <= STRENGTHENED {
                let central = 0.5 * (self.central(mu, j / 2) + self.central(mu, j.div_ceil(2)));
                capped.min(2.0 * LN_2 + central)
            } else {
                capped
            };
            terms.push(ln_choose + count * rate.ln() + term);
        }
        ln_sums(&terms)
    }

    /// `ln B(2 half)` for `half >= 1`.
    fn central(&self, mu: f64, half: u32) -> f64 {
        let mut known = self.central.borrow_mut();
        while (known.len() as u32) < half {
            let next = 2 * (known.len() as u32 + 1);
            known.push(ln_central(mu, next));
        }
        known[half as usize - 1]
    }
}

/// Closed forms without sampling (Mironov 2017, table II).
fn plain(mechanism: Mechanism, order: f64) -> f64 {
    match mechanism {
        Mechanism::Gaussian { mu } => 0.5 * order * mu * mu,
        Mechanism::Laplace { scale } => {
            let far = (order / (2.0 * order - 1.0)).ln() + (order - 1.0) / scale;
            let near = ((order - 1.0) / (2.0 * order - 1.0)).ln() - order / scale;
            cancelled(ln_sums(&[far, near]), order, 1.0 / scale)
        }
        Mechanism::Exponential { epsilon } => of_range(epsilon, order),
        Mechanism::Pure { epsilon } => {
            // Of masses 1 / (1 + e^-epsilon) and e^-epsilon times that.
            let all = (-epsilon).exp().ln_1p();
            let far = (order - 1.0) * epsilon - all;
            let near = -order * epsilon - all;
            cancelled(ln_sums(&[far, near]), order, epsilon)
        }
    }
}

/// The divergence `ln_moment / (order - 1)` of a loss up to `most`, with what its cancelling terms may be off by added.
fn cancelled(ln_moment: f64, order: f64, most: f64) -> f64 {
    let rounding = 4.0 * f64::EPSILON * (1.0 + order * most);
    (ln_moment.max(0.0) + rounding) / (order - 1.0)
}

/// The largest divergence of two distributions whose loss has a range of `epsilon`.
///
/// Losses at `t` and `t - epsilon` with `P`-masses `(1 - e^(t - epsilon)) / (1 - e^-epsilon)` and the rest are the worst (Dong,
/// Durfee and Rogers 2020), and with `b = e^-epsilon` the divergence is largest where
/// `e^t = (order - 1) (1 - b^order) / (order (b - b^order))`; there `e^((order - 1) D)` is `e^((order - 1) t) (1 - b^order) /
/// (order (1 - b))`. It is at most `order epsilon^2 / 8`: `K(s) = ln E_Q e^(s loss)` has `K(0) = K(1) = 0` and, by the range,
/// `K'' <= epsilon^2 / 4`, so that `K(s) - s (s - 1) epsilon^2 / 8` is concave and not above 0 where `s > 1`.
fn of_range(epsilon: f64, order: f64) -> f64 {
    let over = order - 1.0;
    let falls = |times: f64| -(-times * epsilon).exp_m1();
    let t = epsilon - (1.0 / over).ln_1p() + (falls(order) / falls(over)).ln();
    let weight = (falls(order) / (order * falls(1.0))).ln();
    let rounding = 4.0 * f64::EPSILON * (epsilon + 2.0) * (1.0 + 1.0 / over) * (1.0 + order.ln());
    (t + weight / over + rounding).min(order * epsilon * epsilon / 8.0)
}

/// The divergence of the dominating pair of a batch without replacement.
fn dominating(mechanism: Mechanism, rate: f64, order: f64) -> f64 {
    let atom = ((1.0 - rate) * mechanism.total_variation()).ln();
    let positive = ln_moment(mechanism, rate, order, Half::Positive);
    let negative = ln_moment(mechanism, rate, 1.0 - order, Half::Positive);
    ln_sums(&[ln_sums(&[positive, negative]), atom]).max(0.0) / (order - 1.0)
}

/// `ln E_Q[(dP/dQ - 1)^j]` for even `j`.
fn ln_central(mu: f64, j: u32) -> f64 {
    let j = f64::from(j);
    integrate(mu, -14.0, mu * j + 14.0, |x| {
        let loss = mu * (x - 0.5 * mu);
        let ln_ratio = if loss > 30.0 {
            loss
        } else {
            loss.exp_m1().abs().ln()
        };
        j * ln_ratio - 0.5 * x * x
    }) - 0.5 * (2.0 * PI).ln()
}

/// Part of the losses that a moment is taken over.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Whole,
    Positive,
}

/// `ln E_Q[(1 - rate + rate dP/dQ)^power]`, over all or over the positive losses.
fn ln_moment(mechanism: Mechanism, rate: f64, power: f64, half: Half) -> f64 {
    let ln_ratio = |loss: f64| mixed(rate, loss);
    let whole = half == Half::Whole;
    // Of a coordinate in [0, 1] whose middle has the loss 0.
    let start = if whole { 0.0 } else { 0.5 };
    match mechanism {
        Mechanism::Gaussian { mu } => {
            let low = if whole { -14.0 } else { 0.5 * mu };
            let high = mu * power.max(0.0) + mu + 14.0;
            integrate(mu, low, high, |x| {
                power * ln_ratio(mu * (x - 0.5 * mu)) - 0.5 * x * x
            }) - 0.5 * (2.0 * PI).ln()
        }
        Mechanism::Laplace { scale } => {
            // Q is centred at 0 and P at 1; outside of [0, 1] the loss is constant.
            let middle = integrate(power.abs() / scale, start, 1.0, |x| {
                power * ln_ratio((2.0 * x - 1.0) / scale) - x / scale - (2.0 * scale).ln()
            });
            let right = power * ln_ratio(1.0 / scale) - 1.0 / scale - LN_2;
            let total = ln_sums(&[middle, right]);
            if !whole {
                return total;
            }
            ln_sums(&[total, power * ln_ratio(-1.0 / scale) - LN_2])
        }
        Mechanism::Exponential { epsilon } => {
            let scale = epsilon.ln() - (-(-epsilon).exp_m1()).ln();
            integrate(power.abs() * epsilon, start, 1.0, |x| {
                power * ln_ratio((2.0 * x - 1.0) * epsilon) + scale - epsilon * x
            })
        }
        Mechanism::Pure { epsilon } => {
            let all = (-epsilon).exp().ln_1p();
            let right = power * ln_ratio(epsilon) - epsilon - all;
            let left = power * ln_ratio(-epsilon) - all;
            if whole {
                ln_sums(&[right, left])
            } else {
                right
            }
        }
    }
}

/// `ln` of the integral of `exp(ln_f)`, by five Gauss-Legendre nodes on panels short against 1 and
/// against `1 / slope`.
fn integrate(slope: f64, low: f64, high: f64, ln_f: impl Fn(f64) -> f64) -> f64 {
    let panels = ((high - low) * 4.0 * slope.max(1.0))
        .ceil()
        .clamp(8.0, 20_000.0);
    let half = 0.5 * (high - low) / panels;
    let mut values = Vec::with_capacity(5 * panels as usize);
    for panel in 0..panels as u32 {
        let centre = low + (2.0 * f64::from(panel) + 1.0) * half;
        for (node, weight) in FIVE {
            values.push(ln_f(centre + half * node) + (half * weight).ln());
        }
    }
    ln_sums(&values)
}

fn ln_sums(terms: &[f64]) -> f64 {
    ln_sum_exp(terms.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() < 1e-10 * (1.0 + expected.abs()),
            "{value} {expected}"
        );
    }

    /// Mironov, Talwar and Zhang 2019: `sum C(a, k) (1 - p)^(a - k) p^k e^(k (k - 1) / (2 z^2))`.
    fn binomial(mu: f64, rate: f64, order: u32) -> f64 {
        let mut ln_choose = 0.0;
        let term = |k| {
            if k > 0 {
                ln_choose += (f64::from(order - k + 1) / f64::from(k)).ln();
            }
            let count = f64::from(k);
            let missed = f64::from(order - k) * (1.0 - rate).ln();
            ln_choose + missed + count * rate.ln() + 0.5 * count * (count - 1.0) * mu * mu
        };
        ln_sums(&(0..=order).map(term).collect::<Vec<_>>())
    }

    #[test]
    fn poisson_moments_are_the_binomial_sums() {
        let cases = [
            (1.0, 0.01, 2),
            (0.5, 0.2, 16),
            (2.0, 0.1, 40),
            (0.1, 0.5, 100),
        ];
        for (mu, rate, order) in cases {
            let value = ln_moment(
                Mechanism::Gaussian { mu },
                rate,
                f64::from(order),
                Half::Whole,
            );
            close(value, binomial(mu, rate, order));
        }
    }

    #[test]
    fn full_rate_gives_the_closed_forms() {
        for order in [1.5, 2.0, 7.0, 33.0] {
            for mechanism in [
                Mechanism::Gaussian { mu: 0.7 },
                Mechanism::Laplace { scale: 1.3 },
            ] {
                close(dominating(mechanism, 1.0, order), plain(mechanism, order));
                let moment = ln_moment(mechanism, 1.0, order, Half::Whole);
                close(moment / (order - 1.0), plain(mechanism, order));
            }
        }
    }

    #[test]
    fn removing_a_record_is_the_worse_direction_for_gaussian_noise() {
        for (mu, rate) in [(1.0, 0.01), (0.3, 0.5), (3.0, 0.1)] {
            for order in [1.5, 2.0, 10.0, 60.0] {
                let mechanism = Mechanism::Gaussian { mu };
                let removed = ln_moment(mechanism, rate, order, Half::Whole);
                let added = ln_moment(mechanism, rate, 1.0 - order, Half::Whole);
                assert!(added <= removed + 1e-12, "{mu} {rate} {order}");
            }
        }
    }

    #[test]
    fn the_published_bound_is_never_below_the_dominating_pair() {
        for mu in [0.05, 0.3, 1.0, 3.0] {
            for rate in [1e-4, 0.01, 0.1, 0.7] {
                let (mechanism, sampling) = (Mechanism::Gaussian { mu }, Sampling::Fixed { rate });
                let renyi = Renyi::new(Step {
                    mechanism,
                    sampling,
                });
                for order in [2.0, 2.5, 3.0, 5.0, 17.0, 64.0] {
                    let pair = dominating(mechanism, rate, order);
                    let bound = renyi.without_replacement(mu, rate, order);
                    assert!(bound >= pair * (1.0 - 1e-10) - 1e-14, "{mu} {rate} {order}");
                }
            }
        }
    }

    #[test]
    fn second_central_moment_has_its_closed_form() {
        for mu in [0.01_f64, 0.5, 2.0] {
            close(ln_central(mu, 2), (mu * mu).exp_m1().ln());
        }
    }
}
