//! Isotonic regression: the nearest sequence that does not decrease.

/// Returns the non-decreasing sequence nearest to `values` in squares, by pooling adjacent violators:
/// `y_i = max over a <= i of min over b >= i of the mean of values a..=b`. It takes linear time.
///
/// Source: Ayer, Brunk, Ewing, Reid and Silverman 1955.
pub(super) fn isotonic(values: &[f64]) -> Vec<f64> {
    // Each block of pooled values has a sum and a length; the means increase.
    let mut blocks: Vec<(f64, usize)> = Vec::with_capacity(values.len());
    for &value in values {
        let (mut sum, mut length) = (value, 1);
        while let Some(&(before, count)) = blocks.last() {
            if before * length as f64 <= sum * count as f64 {
                break;
            }
            (sum, length) = (sum + before, length + count);
            blocks.pop();
        }
        blocks.push((sum, length));
    }
    let mut fitted = Vec::with_capacity(values.len());
    for (sum, length) in blocks {
        fitted.resize(fitted.len() + length, sum / length as f64);
    }
    // Means of blocks may be out of order by rounding.
    super::clean::make_monotone(&mut fitted);
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The formula as it stands.
    fn isotonic_reference(values: &[f64]) -> Vec<f64> {
        let mean = |a: usize, b: usize| values[a..=b].iter().sum::<f64>() / (b - a + 1) as f64;
        let n = values.len();
        (0..n)
            .map(|i| {
                (0..=i)
                    .map(|a| (i..n).map(|b| mean(a, b)).fold(f64::INFINITY, f64::min))
                    .fold(f64::NEG_INFINITY, f64::max)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn agrees_with_the_formula(
            values in prop::collection::vec(prop_oneof![-2.0..2.0, Just(0.5)], 0..40)
        ) {
            let fitted = isotonic(&values);
            prop_assert_eq!(fitted.len(), values.len());
            prop_assert!(fitted.windows(2).all(|pair| pair[0] <= pair[1]));
            for (fitted, expected) in fitted.iter().zip(isotonic_reference(&values)) {
                prop_assert!((fitted - expected).abs() < 1e-12);
            }
            prop_assert_eq!(isotonic(&fitted), fitted);
        }
    }
}
