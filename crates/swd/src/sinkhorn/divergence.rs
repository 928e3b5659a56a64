//! The Sinkhorn divergence: entropic transport without its bias.

use super::Sinkhorn;
use crate::SwdError;

/// The Sinkhorn divergence `S = W_lambda(x, y) - W_lambda(x, x) / 2 - W_lambda(y, y) / 2`, and its gradient in `x`.
#[derive(Clone, PartialEq)]
pub struct Divergence {
    /// `S`: 0 for equal samples, and never negative but for an error of convergence.
    pub value: f64,
    /// The gradient in the points of `x`, `[n, d]`.
    pub gradient: Vec<f32>,
    /// Whether all three transports converged.
    pub converged: bool,
}

impl std::fmt::Debug for Divergence {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Divergence");
        shown.field("converged", &self.converged);
        shown.finish_non_exhaustive()
    }
}

impl Sinkhorn {
    /// Computes the Sinkhorn divergence between `x`, `[n, d]`, and `y`, `[m, d]`.
    ///
    /// Its minimum over `x` is `y` itself: if `y` has noise, so has the minimiser.
    ///
    /// # Errors
    /// Fails as [`Sinkhorn::solve`] does.
    ///
    /// Source: Feydy et al. 2019, arXiv 1810.08278, equation 3.
    pub fn divergence(&self, x: &[f32], y: &[f32], dim: usize) -> Result<Divergence, SwdError> {
        let between = self.solve(x, y, dim)?;
        let (within_x, within_y) = (self.solve(x, x, dim)?, self.solve(y, y, dim)?);
        let value = between.value() - (within_x.value() + within_y.value()) / 2.0;
        // A point of x is on both sides of the transport from x to itself.
        let own = within_x.gradient().into_iter().zip(within_x.gradient_y());
        let own = own.map(|(first, second)| (first + second) / 2.0);
        let gradient = between.gradient().into_iter().zip(own);
        Ok(Divergence {
            value,
            gradient: gradient.map(|(between, own)| between - own).collect(),
            converged: between.converged() && within_x.converged() && within_y.converged(),
        })
    }
}
