//! Smooths noisy counts of the bins of a number as far as the noise allows.

/// A difference is kept if it exceeds this many standard deviations of its noise.
const KEPT: f64 = 1.5;

/// Smooths `counts`, each with noise of a `deviation`, of bins in order: Haar wavelets with a hard threshold (Donoho and
/// Johnstone 1994).
///
/// A stretch of `m` bins is split into two parts of `a` and `b` bins, and its count is divided evenly per bin. If the parts
/// differ from that by more than 1.5 deviations of the noise in it, `s sqrt(a b / m)`, they keep their difference instead.
/// Each part is split further, down to single bins. Sums are kept.
pub(super) fn smooth(counts: &[f64], deviation: f64) -> Vec<f64> {
    let mut smoothed = vec![0.0; counts.len()];
    halve(counts, deviation, counts.iter().sum(), &mut smoothed);
    smoothed
}

fn halve(counts: &[f64], deviation: f64, sum: f64, smoothed: &mut [f64]) {
    match counts.len() {
        0 => {}
        1 => smoothed[0] = sum,
        all => {
            let (left, right) = counts.split_at(all / 2);
            let share = left.len() as f64 / all as f64;
            let found: f64 = left.iter().sum::<f64>() - share * counts.iter().sum::<f64>();
            let noise = deviation * (share * right.len() as f64).sqrt();
            let kept = if found.abs() > KEPT * noise {
                found
            } else {
                0.0
            };
            let of_left = share * sum + kept;
            let (first, second) = smoothed.split_at_mut(left.len());
            halve(left, deviation, of_left, first);
            halve(right, deviation, sum - of_left, second);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::seeded;

    #[test]
    fn noise_is_even_and_what_stands_out_of_it_stays() {
        let noise = [3.0, -2.0, 5.0, 1.0, -4.0, 2.0, 0.0, 3.0];
        let mut counts = noise.map(|n| n + 100.0);
        assert!(
            smooth(&counts, 4.0)
                .iter()
                .all(|count| (count - 101.0).abs() < 1e-9)
        );
        counts[5] += 1000.0;
        let smoothed = smooth(&counts, 4.0);
        assert!((smoothed[5] - counts[5]).abs() < 5.0, "{smoothed:?}");
        assert!(
            smoothed[..4]
                .iter()
                .all(|count| (count - 100.0).abs() < 5.0),
            "{smoothed:?}"
        );
    }

    #[test]
    fn sums_stay_and_without_noise_all_does() {
        let mut rng = seeded();
        for length in 1..40 {
            let counts: Vec<f64> = (0..length)
                .map(|_| rng.random_range(-50.0..500.0))
                .collect();
            let sum = |counts: &[f64]| counts.iter().sum::<f64>();
            let smoothed = smooth(&counts, 100.0);
            assert!((sum(&smoothed) - sum(&counts)).abs() < 1e-6);
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
            assert!(smooth(&counts, 0.0).iter().zip(&counts).all(near));
            assert!(length < 9 || !smoothed.iter().zip(&counts).all(near));
        }
    }
}
