//! The bounds as Rodriguez-Vitores et al. (2025, arXiv 2502.01701) state them, for comparison: valid, and larger than
//! needed.
//!
//! ```
//! use swd::sensitivity::{paper::paper_bound, theorem_bound};
//!
//! // 600 private records against a public side that is not trained.
//! let (paper, ours) = (paper_bound(1.0, 1.0, 0.0, 600)?, theorem_bound(1.0, 1.0, 0.0, 600)?);
//! assert!((paper / ours - 1.5).abs() < 1e-6);
//! # Ok::<(), swd::SwdError>(())
//! ```

use super::check_all;
use crate::SwdError;

/// The published sensitivity for one private sample: `4M (3 L1 + L2)/n`.
///
/// Arguments as [`super::theorem_bound`], which is smaller by a factor of 1.5 for `L2 = 0` and 2
/// for `L2 = L1`.
///
/// # Errors
/// `n` is zero, or a bound is negative or not finite.
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, theorem 4.1, equation 2, and theorem A.1.
pub fn paper_bound(m_bound: f64, l1: f64, l2: f64, n: usize) -> Result<f64, SwdError> {
    check_all(m_bound, l1, l2, n)?;
    Ok(4.0 * m_bound * (3.0 * l1 + l2) / n as f64)
}

/// The published sensitivity where both samples are private:
/// `4M max { (3 L1 + L2)/n, (L1 + 3 L2)/m }`.
///
/// Arguments as [`super::theorem_bound_both_private`].
///
/// # Errors
/// `n` or `m` is zero, or a bound is negative or not finite.
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, theorem 4.1, equation 3, and theorem A.1.
pub fn paper_bound_both_private(
    m_bound: f64,
    l1: f64,
    l2: f64,
    n: usize,
    m: usize,
) -> Result<f64, SwdError> {
    Ok(paper_bound(m_bound, l1, l2, n)?.max(paper_bound(m_bound, l2, l1, m)?))
}
