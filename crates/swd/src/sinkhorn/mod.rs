//! Entropic optimal transport in the log domain: Sinkhorn's iterations, and the value, plan and gradient that they find.
//!
//! For points `x_1..x_n` and `y_1..y_m` of equal weights and a cost `c`, [`Cost::Manhattan`] `|x - y|_1` or
//! [`Cost::SquaredEuclidean`] `|x - y|_2^2`,
//!
//! `W_lambda = min_pi <pi, C> + lambda sum_ij pi_ij log(pi_ij / (a_i b_j))`, `a_i = 1/n`, `b_j = 1/m`,
//!
//! over couplings `pi`. The second term is the mutual information of the coupling (Reshetova, Chen and Ozgur 2023,
//! arXiv 2306.09547, equation 7). It is 0 for the independent coupling, so `W_lambda` tends to the mean cost for large
//! `lambda`. POT's entropy `sum_ij pi_ij log pi_ij` is smaller by `log n + log m`. POT's `ot.sinkhorn2` returns
//! [`EntropicTransport::transport_cost`], without either term.
//!
//! # Why it removes noise
//! Let `Y = X + N` with Gaussian `N(0, sigma^2 I)`, squared costs and `lambda = 2 sigma^2`. Then the distribution of `x` that
//! minimises `W_lambda` to that of `Y` is that of `X`, not that of `Y`. The same holds for Laplace noise of scale
//! `sigma`, absolute costs and `lambda = sigma` (the same source, theorem 1). [`Sinkhorn::denoising`] sets either.
//!
//! # Stability
//! Potentials are kept as logarithms, in `f64`, divided by `lambda`. So nothing overflows for any `lambda` whose
//! quotient `C / lambda` is a number. A small `lambda` takes many iterations; [`EntropicTransport::converged`] says
//! whether there were enough.
//!
//! # Example
//! ```
//! use swd::sinkhorn::{Cost, Sinkhorn};
//!
//! let (x, y) = ([0.0_f32, 1.0, 2.0], [0.5_f32, 1.5]);
//! let found = Sinkhorn::new(Cost::SquaredEuclidean, 0.1)?.solve(&x, &y, 1)?;
//! assert!(found.converged());
//! // The plan moves all of the mass, half of the middle point to each side.
//! let plan = found.plan();
//! assert!((plan.iter().sum::<f64>() - 1.0).abs() < 1e-9);
//! assert!((plan[2] - 1.0 / 6.0).abs() < 1e-6);
//! // How the points of x have to move: 2 (x_i / n - sum_j pi_ij y_j).
//! let gradient = found.gradient();
//! assert!(gradient[0] < 0.0 && gradient[2] > 0.0);
//! # Ok::<(), swd::SwdError>(())
//! ```
//!
//! Source: Cuturi 2013, arXiv 1306.0895; Feydy et al. 2019, arXiv 1810.08278, for the divergence; Peyré and Cuturi 2019,
//! arXiv 1803.00567, section 4.4, for the log domain.

mod costs;
mod divergence;
mod iterations;
mod transport;

pub use divergence::Divergence;
pub use transport::EntropicTransport;

use crate::SwdError;
use crate::check::check_points;
use costs::Costs;

/// The cost of moving a unit of mass from `x` to `y`: `|x - y|_p^p`, for `p` 1 or 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// `sum_a |x_a - y_a|`, in units of the points.
    Manhattan,
    /// `sum_a (x_a - y_a)^2`, in squared units of the points.
    SquaredEuclidean,
}

impl Cost {
    /// The order `p`.
    pub fn order(self) -> u32 {
        match self {
            Self::Manhattan => 1,
            Self::SquaredEuclidean => 2,
        }
    }
}

/// Whether the costs of all pairs are kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Keeps twice `n m` numbers of `f64`, which each iteration reads.
    Dense,
    /// Keeps `O(n + m)` numbers, and a row of costs for each thread. Each iteration computes the costs anew, `d` times the
    /// work.
    Lazy,
}

/// The settings of entropic transport: cost, regularisation `lambda`, and when the iterations end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sinkhorn {
    cost: Cost,
    regularisation: f64,
    iterations: usize,
    tolerance: f64,
    memory: Memory,
}

impl Sinkhorn {
    /// Sets at most 1000 iterations, up to a marginal error of 1e-9, with all costs kept.
    ///
    /// - `regularisation`: `lambda`, in units of the cost.
    ///
    /// # Errors
    /// A regularisation that is not positive and finite.
    pub fn new(cost: Cost, regularisation: f64) -> Result<Self, SwdError> {
        if !(regularisation > 0.0 && regularisation.is_finite()) {
            return Err(SwdError::NotPositive {
                what: "regularisation",
                value: regularisation,
            });
        }
        Ok(Self {
            cost,
            regularisation,
            iterations: 1000,
            tolerance: 1e-9,
            memory: Memory::Dense,
        })
    }

    /// Sets `lambda = p sigma^p`, for which the minimiser of the loss is the distribution before the noise.
    ///
    /// - `scale`: `sigma`, the standard deviation of Gaussian noise for [`Cost::SquaredEuclidean`], the scale of
    ///   Laplace noise for [`Cost::Manhattan`].
    ///
    /// # Errors
    /// Fails as [`Sinkhorn::new`] does.
    ///
    /// Source: Reshetova, Chen and Ozgur 2023, arXiv 2306.09547, theorem 1.
    pub fn denoising(cost: Cost, scale: f64) -> Result<Self, SwdError> {
        let p = cost.order();
        let regularisation = f64::from(p) * scale.abs().powi(p as i32);
        Self::new(cost, regularisation.copysign(scale))
    }

    /// Sets the largest number of iterations, each of which fits both marginals in turn.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Sets the marginal error, `sum_i |sum_j pi_ij - 1/n|`, at which the iterations end; at 0 they never end early.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Sets whether costs are kept or computed again.
    #[must_use]
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// The cost.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// The regularisation `lambda`, in units of the cost.
    pub fn regularisation(&self) -> f64 {
        self.regularisation
    }

    /// Transports `x`, `[n, d]`, to `y`, `[m, d]`, on the host, on all threads.
    ///
    /// The result does not depend on the number of threads.
    ///
    /// # Errors
    /// No points, lengths that are no multiple of `dim`, a value that is not finite, or a quotient `C / lambda` beyond
    /// `f64`: the result is never NaN.
    pub fn solve<'a>(
        &self,
        x: &'a [f32],
        y: &'a [f32],
        dim: usize,
    ) -> Result<EntropicTransport<'a>, SwdError> {
        self.check()?;
        check_points("points of x", x, dim)?;
        check_points("points of y", y, dim)?;
        let costs = Costs::new(self, x, y, dim);
        let potentials = iterations::solve(self, &costs);
        EntropicTransport::new(*self, costs, potentials)
    }

    fn check(&self) -> Result<(), SwdError> {
        crate::check::check_bound("tolerance", self.tolerance)?;
        if self.iterations == 0 {
            return Err(SwdError::Empty { what: "iterations" });
        }
        Ok(())
    }
}
