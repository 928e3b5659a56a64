//! Fair learning by a private Wasserstein penalty (paper 004, section 7 and appendix C).
//!
//! `L_alpha = (1 - alpha) (1/n) sum_i l(g(x_i), y_i) + alpha P(phi(x_1), ..., phi(x_n))` with `P` the
//! squared sliced distance between two groups (statistical parity, equation 8), or its mean over
//! classes (equality of odds, equation 9), at the output or at an inner layer `phi`.
//!
//! Both sides of each distance are private and trained. Neighbours replace one record by one of its
//! group, and, for equality of odds, of its class; the sizes of groups are public.

mod batch;
mod gradient;
mod loss;
mod parity;

pub use batch::GroupedBatch;
pub use gradient::{bounded_gradient, paper_sensitivity, plain_gradient, sensitivity};
pub use loss::TaskLoss;
pub use parity::{Pair, Parity};

pub use crate::penalised::{Clipped, Clipping, Engine, Objective, Stages, StepLosses};
