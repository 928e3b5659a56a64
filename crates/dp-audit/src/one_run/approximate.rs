//! Right guesses against `(epsilon, delta)` alone.

use super::CanaryGuesses;
use dp_accountant::accounting::binomial::upper_tail;

/// An upper bound on `P(right >= v)` for `r` guesses on `m` canaries (Steinke, Nasr and Jagielski 2023, arXiv
/// 2305.08846, theorem 5.2): with `W ~ Binomial(r, 1 / (1 + exp(-epsilon)))`,
/// `P(W >= v) + 2 m delta max over i of P(v > W >= v - i) / i`.
pub(super) fn p_value(found: &CanaryGuesses, epsilon: f64, delta: f64) -> f64 {
    let (r, v) = (found.guesses, found.right);
    let rate = 1.0 / (1.0 + (-epsilon).exp());
    let sure = upper_tail(v, r, rate);
    if delta == 0.0 || sure >= 1.0 {
        return sure;
    }
    // The tails from v down, each the one before and the density between them.
    let (mut tail, mut density, mut steepest) = (sure, 0.0, 0.0_f64);
    for i in 1..=v {
        let k = v - i;
        density = if i == 1 || density < 1e-250 {
            (upper_tail(k, r, rate) - upper_tail(k + 1, r, rate)).max(0.0)
        } else {
            // P(W = k) / P(W = k + 1).
            density * (k + 1) as f64 / (r - k) as f64 * (-epsilon).exp()
        };
        tail += density;
        steepest = steepest.max((tail - sure) / i as f64);
        // Densities fall from the mode down: no later mean is larger once one falls below the largest so far.
        if density < steepest && (k as f64) < r as f64 * rate - 1.0 {
            break;
        }
    }
    (sure + 2.0 * found.canaries as f64 * delta * steepest).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every tail by itself, every i.
    fn plainly(found: &CanaryGuesses, epsilon: f64, delta: f64) -> f64 {
        let rate = 1.0 / (1.0 + (-epsilon).exp());
        let tail = |v| upper_tail(v, found.guesses, rate);
        let sure = tail(found.right);
        let mean = |i: u64| (tail(found.right - i) - sure) / i as f64;
        let steepest = (1..=found.right).map(mean).fold(0.0, f64::max);
        (sure + 2.0 * found.canaries as f64 * delta * steepest).min(1.0)
    }

    #[test]
    fn is_what_its_formula_says() {
        let cases = [
            (1, 1, 1),
            (10, 4, 0),
            (100, 60, 41),
            (1000, 100, 100),
            (1000, 1000, 700),
        ];
        for (m, r, v) in cases {
            let found = CanaryGuesses::new(m, r, v).unwrap();
            for epsilon in [0.0, 0.3, 1.0, 3.0] {
                for delta in [0.0, 1e-6, 1e-3] {
                    let value = p_value(&found, epsilon, delta);
                    let off = (value - plainly(&found, epsilon, delta)).abs();
                    assert!(
                        off < 1e-12 + 1e-9 * value,
                        "{found:?} {epsilon} {delta}: {off}"
                    );
                }
            }
        }
    }

    // All of r right at delta 0: P = (1 + exp(-epsilon))^-r = 0.05.
}
