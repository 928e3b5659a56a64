//! Gaussian noise that is shifted by a random number of records of a group: the pair of Poisson samples of groups.

/// `sum over j of w_j N(j mu, 1)` against `N(0, 1)`, `w` the law `Binomial(records, rate)`.
///
/// *Why it dominates.* A group of `k` records adds `v_S` to a sum, `S` those of them that are sampled, with a norm of at most `|S|
/// mu`, and the rest of the sample is independent of it (it may be fixed: `H` is jointly convex). With `R = sum_S P(S) e^(<v_S,
/// x> - |v_S|^2 / 2)` both `H_a(P || Q) = E_Q (R - a)_+` and `H_a(Q || P) = E_Q (1 - a R)_+` are means of convex functions of `R`.
/// Each summand is log-normal under `Q`. Of all joint laws with these marginals the sum is largest in convex order where all
/// are functions of one normal variable (Dhaene et al. 2002), and it rises in that order with each `|v_S|`, as
/// `e^(s Z - s^2 / 2)` does. So shifts by `|S| mu` along one line are the worst, in both directions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shifts {
    mu: f64,
    /// `ln w_j - (j mu)^2 / 2`.
    constants: Vec<f64>,
}

impl Shifts {
    pub(super) fn new(mu: f64, rate: f64, records: u32) -> Self {
        let all = f64::from(records);
        let mut ln_weight = all * (-rate).ln_1p();
        let odds = rate.ln() - (-rate).ln_1p();
        let mut constants = Vec::with_capacity(records as usize + 1);
        for j in 0..=records {
            let count = f64::from(j);
            constants.push(ln_weight - 0.5 * (count * mu).powi(2));
            ln_weight += ((all - count) / (count + 1.0)).ln() + odds;
        }
        Self { mu, constants }
    }

    /// The largest shift.
    pub(super) fn furthest(&self) -> f64 {
        self.mu * (self.constants.len() - 1) as f64
    }

    /// `ln dP/dQ` at `x`.
    pub(super) fn ln_ratio(&self, x: f64) -> f64 {
        self.ln_ratio_and_slope(x).0
    }

    fn ln_ratio_and_slope(&self, x: f64) -> (f64, f64) {
        if x == f64::NEG_INFINITY {
            return (self.constants[0], 0.0);
        }
        let at = |j: usize| self.constants[j] + j as f64 * self.mu * x;
        // Concave in j: the largest lies where it stops to rise.
        let all = self.constants.len();
        let most = (0..all).map(at).fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut first) = (0.0, 0.0);
        for j in 0..all {
            let over = at(j) - most;
            if over > -45.0 {
                let weight = over.exp();
                sum += weight;
                first += weight * j as f64;
            }
        }
        (most + sum.ln(), self.mu * first / sum)
    }

    /// The `x` in `range` at which [`Self::ln_ratio`], which rises, has this value; an end where none has it.
    pub(super) fn where_ratio_is(&self, value: f64, range: (f64, f64)) -> f64 {
        let (mut low, mut high) = range;
        if self.ln_ratio(low) >= value {
            return low;
        }
        if self.ln_ratio(high) <= value {
            return high;
        }
        let mut x = 0.5 * (low + high);
        for _ in 0..200 {
            let (found, slope) = self.ln_ratio_and_slope(x);
            if found < value {
                low = x;
            } else {
                high = x;
            }
            let next = x + (value - found) / slope;
            let next = if next > low && next < high {
                next
            } else {
                0.5 * (low + high)
            };
            if (next - x).abs() <= 1e-15 * (1.0 + x.abs()) {
                return next;
            }
            x = next;
        }
        x
    }
}
