//! The sliced squared 2-Wasserstein distance, computed by [`swd`].

use swd::Slices;
use swd::transport::host::sliced_gradient_and_distance;

use crate::EvaluateError;
use crate::error::{check_count, check_records};

/// Returns `SW_2^2(a, b) = (1/k) sum_l W_2^2(a theta_l, b theta_l)` over the given slices.
///
/// `a` is `[n, d]` and `b` is `[m, d]`, row by row, for any `n` and `m`. The result is in squared units of the points and
/// exact for these slices (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, proposition 3.1).
///
/// # Errors
///
/// Lengths that do not fit the slices, values that are not finite, or no point.
pub fn sliced_w2_squared(a: &[f32], b: &[f32], slices: &Slices) -> Result<f64, EvaluateError> {
    let n = check_records("points of the first set", a, slices.dim())?;
    let m = check_records("points of the second set", b, slices.dim())?;
    check_count("points of the first set", n, 1)?;
    check_count("points of the second set", m, 1)?;
    let (_, distance) = sliced_gradient_and_distance(a, b, slices)?;
    Ok(distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn one_slice_on_the_line_is_the_sorted_difference() {
        let slices = Slices::from_directions(1, &[1.0]).unwrap();
        let distance = sliced_w2_squared(&[3.0, 0.0], &[1.0, 1.0], &slices).unwrap();
        assert!((distance - 2.5).abs() < 1e-12);
        // Unequal counts: half the mass of the one point goes to each of the two.
        let distance = sliced_w2_squared(&[0.0], &[1.0, 3.0], &slices).unwrap();
        assert!((distance - 5.0).abs() < 1e-12);
    }

    #[test]
    fn symmetric_and_zero_on_itself() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let slices = Slices::iid(5, 20, &mut rng).unwrap();
        let mut draw = |n: usize| -> Vec<f32> { (0..n * 5).map(|_| rng.random()).collect() };
        let (a, b) = (draw(40), draw(27));
        let (ab, ba) = (
            sliced_w2_squared(&a, &b, &slices).unwrap(),
            sliced_w2_squared(&b, &a, &slices).unwrap(),
        );
        assert!((ab - ba).abs() < 1e-9 && ab > 0.0);
        assert!(sliced_w2_squared(&a, &a, &slices).unwrap() < 1e-12);
        assert!(sliced_w2_squared(&a, &b[1..], &slices).is_err());
        assert!(sliced_w2_squared(&a, &[], &slices).is_err());
    }
}
