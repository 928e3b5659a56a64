//! The bounds as Rodriguez-Vitores et al. (2025, arXiv 2502.01701) state them, for comparison: they hold, but are larger
//! than needed.

use super::Norms;
use crate::SwdError;

impl Norms {
    /// Returns the published sensitivity for one private sample: `4M (3 L1 + L2)/n`.
    ///
    /// [`Norms::theorem_bound`] is smaller by a factor of 1.5 for `L2 = 0` and 2 for `L2 = L1`.
    ///
    /// # Errors
    /// `n` is zero, or a norm is negative or not finite.
    ///
    /// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, theorem 4.1, equation 2, and theorem A.1.
    pub fn published_bound(&self, n: usize) -> Result<f64, SwdError> {
        self.check(n)?;
        Ok(4.0 * self.m_bound * (3.0 * self.l1 + self.l2) / n as f64)
    }

    /// Returns the published sensitivity if both samples, of `n` and `m` records, are private:
    /// `4M max { (3 L1 + L2)/n, (L1 + 3 L2)/m }`.
    ///
    /// # Errors
    /// `n` or `m` is zero, or a norm is negative or not finite.
    ///
    /// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, theorem 4.1, equation 3, and theorem A.1.
    pub fn published_bound_both_private(&self, [n, m]: [usize; 2]) -> Result<f64, SwdError> {
        Ok(self
            .published_bound(n)?
            .max(self.turned().published_bound(m)?))
    }
}
