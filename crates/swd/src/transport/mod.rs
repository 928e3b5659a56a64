//! Transport along slices: residuals, cotangents and squared distances.
//!
//! For one slice with values `u_1..u_n` and the target's cells `q_1 <= ... <= q_n`
//! ([`crate::cells`]), record `i` is transported to the cell of its rank: `rho_i = u_i - q_rank(i)`
//! and `grad_u W_2^2 = (2/n) rho`. [`host`] works on plain slices of numbers, for private steps; [`between`] takes any cost
//! between two samples that are both trained; [`mod@line`] finds the plan of one slice; [`tensor`] has differentiable
//! distances on any device. All rank as [`crate::sort`] does. Distances are squared, as their names say.
//!
//! ```
//! use swd::transport::line;
//!
//! // Two points of mass a half each to one: the plan of a slice, and its cost.
//! let (x, y) = ([0.0, 2.0], [1.0]);
//! let moves = line::plan(&x, None, &y, None)?;
//! assert_eq!(line::wp_power(&moves, &x, &y, 2.0)?, 1.0);
//! # Ok::<(), swd::SwdError>(())
//! ```

pub mod between;
pub mod host;
pub mod line;
pub mod tensor;
