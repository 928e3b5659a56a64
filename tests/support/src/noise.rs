//! Whether noise has the size that is declared for it.

/// A law of noise.
#[derive(Debug, Clone, Copy)]
pub enum Law {
    /// With standard deviation 1.
    Gaussian,
    /// With scale 1: the mean of `|x|`.
    Laplace,
}

impl Law {
    /// How far the mean of `x^2` (of `|x|`, if the law is Laplace's) is from the expected 1, in its standard deviations: of `n`
    /// values those are `sqrt(2 / n)` and `sqrt(1 / n)`.
    pub fn size_off(self, standard: &[f64]) -> f64 {
        let n = standard.len() as f64;
        let mean = |size: fn(f64) -> f64| standard.iter().copied().map(size).sum::<f64>() / n;
        match self {
            Self::Gaussian => (mean(|x| x * x) - 1.0) / (2.0 / n).sqrt(),
            Self::Laplace => (mean(f64::abs) - 1.0) * n.sqrt(),
        }
    }

    /// Asserts that values, over their declared size, are centred and of that size. The seed of a test is fixed; over seeds each
    /// of the two checks has a false-alarm rate below 1e-6: five standard deviations.
    ///
    /// # Panics
    ///
    /// If they are not.
    #[track_caller]
    pub fn is_that_of(self, standard: &[f64]) {
        let n = standard.len() as f64;
        let mean = standard.iter().sum::<f64>() / n;
        assert!(
            mean.abs() < 5.0 * (self.variance() / n).sqrt(),
            "mean {mean}"
        );
        let off = self.size_off(standard);
        assert!(off.abs() < 5.0, "{off} standard deviations from its size");
    }

    /// Asserts that two draws, over their declared size, do not go together; the false-alarm rate is as above.
    ///
    /// # Panics
    ///
    /// If they do.
    #[track_caller]
    pub fn is_new(self, first: &[f64], second: &[f64]) {
        let n = first.len() as f64;
        let products = first.iter().zip(second).map(|(a, b)| a * b);
        let product = products.sum::<f64>() / n;
        let most = 5.0 * self.variance() / n.sqrt();
        assert!(product.abs() < most, "correlation {product}");
    }

    fn variance(self) -> f64 {
        match self {
            Self::Gaussian => 1.0,
            Self::Laplace => 2.0,
        }
    }
}
