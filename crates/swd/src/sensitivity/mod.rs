//! Bounds on how far the transport gradient moves when one record is replaced.
//!
//! For `n` private records with activations `|u_i| <= M` in `R^d` and Jacobians of spectral norm at
//! most `L1`, the gradient of `SW_2^2` in the parameters is `sum_i J_i^T c_i` with the cotangents of
//! [`crate::transport`]. The other side adds a like term, with Jacobians of at most `L2` (0 if that side
//! is not trained). Every function here bounds the L2 distance between the gradients of two data sets that
//! differ in one record. The bound is a sensitivity, to be divided by nothing, in the units of the
//! gradient. Neighbours are "replace one record"; `n` is public.
//!
//! **What the bounds rest on**: ranks with a data-independent tie-break (as in [`crate::sort`]); `M`
//! enforced on every activation and `L1`, `L2` on every Jacobian; slices and cells that are public.
//! [`Norms::prior_bound`] takes the smallest bound for records against public cells.
//!
//! **Other orders**: [`Norms::line_bound`] bounds powers and other costs. No bound exists here for `W_1` or for `p`-th roots:
//! Rodriguez-Vitores et al. 2025, arXiv 2502.01701, appendix F, has a counterexample in which the sensitivity
//! of the gradient does not decrease with `n`.
//!
//! # The theorem
//! `Delta <= (4M/n) max(2 L1, L1 + L2)`, attained for every `n` and `m`. Rodriguez-Vitores et al. (2025) have
//! `4M (3 L1 + L2)/n` ([`Norms::published_bound`]). `docs/theory.md` of the repository has the proof (theorem 1). In one
//! slice it bounds `Delta`, for the values `U >= U~` of the replaced record and its cells `va >= vb`, by
//! `(2/n) max { L1 (|U - va| + |U~ - vb| + va - vb) + L2 (U - U~) }`.
//!
//! # Which bound to use
//! ```
//! use rand::SeedableRng;
//! use rand_chacha::ChaCha20Rng;
//! use swd::sensitivity::Norms;
//! use swd::{Cost, Slices, UniformBall};
//!
//! let mut rng = ChaCha20Rng::seed_from_u64(1);
//! // 600 private records in R^6, clipped to norm 1, with Jacobians of norm at most 1.
//! let (norms, n) = (Norms::new(1.0, 1.0), 600);
//! let slices = Slices::tight(6, 100, &mut rng)?;
//!
//! // Towards anything public in the same ball.
//! let any = norms.theorem_bound(n)?;
//! assert!(any < norms.published_bound(n)?);
//! // Towards these cells, in these slices.
//! let cells = UniformBall::new(6)?.cells(n)?;
//! let known = norms.prior_bound(Cost::Square, &slices, &cells)?;
//! assert!(known.in_f32_upper() < 0.8 * any);
//! // Towards another private group of 400, by the same network.
//! let both = norms.other_jacobian(1.0);
//! let groups = both.both_private_bound(Cost::Square, [n, 400], slices.lambda_max_upper())?;
//! assert!(groups < 8.0 / 400.0);
//! # Ok::<(), swd::SwdError>(())
//! ```

mod convex;
mod convex_sliced;
mod joint;
mod paper;
mod per_slice;
mod spread;

use joint::{JointInput, joint_bound};
pub use spread::CellSpread;

use crate::check::check_bound;
use crate::{Cost, Slices, SwdError, TargetQuantiles};

/// The relative excess that clipping in `f32` can leave over its bound.
///
/// A norm computed in `f32` and the scaling by its inverse err by a few units of 2^-24, so clipped
/// activations and Jacobians exceed `M` and `L` by less than this. If the records were clipped in `f32`,
/// multiply a sensitivity by `1 + F32_CLIP_SLACK`. Only
/// [`PriorMatchingBound::in_f32_upper`] and its weighted form do so by themselves.
pub const F32_CLIP_SLACK: f64 = 1e-5;

/// The relative amount added to every computed bound for the rounding of its own sums in `f64`,
/// which is less for up to 10^6 terms.
const ROUNDING: f64 = 1e-9;

/// The norms that records are clipped to. Every bound rests on them.
///
/// ```
/// use swd::sensitivity::Norms;
///
/// // 600 records: activations in the unit ball, Jacobians of norm 1, and a public side that is not trained.
/// let norms = Norms::new(1.0, 1.0);
/// assert_eq!(norms.theorem_bound(600)?, 8.0 / 600.0);
/// assert_eq!(norms.published_bound(600)?, 12.0 / 600.0);
/// # Ok::<(), swd::SwdError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Norms {
    m_bound: f64,
    l1: f64,
    l2: f64,
}

impl Norms {
    /// Sets bounds on the activations of both sides (`activation`, `M`) and on the spectral norm of the private side's Jacobians
    /// (`jacobian`, `L1`). The other side is not trained (`L2 = 0`).
    pub fn new(activation: f64, jacobian: f64) -> Self {
        Self {
            m_bound: activation,
            l1: jacobian,
            l2: 0.0,
        }
    }

    /// Sets the bound on the spectral norm of the other side's Jacobians (`jacobian`, `L2`), if that side is trained too.
    #[must_use]
    pub fn other_jacobian(self, jacobian: f64) -> Self {
        Self {
            l2: jacobian,
            ..self
        }
    }

    /// Swaps the two sides.
    fn turned(self) -> Self {
        Self {
            l1: self.l2,
            l2: self.l1,
            ..self
        }
    }

    /// Returns the sensitivity for one private side of `n` records: `(4M/n) max(2 L1, L1 + L2)`.
    ///
    /// It is attained for every `n` and every number of public points.
    ///
    /// # Errors
    /// `n` is zero, or a norm is negative or not finite.
    ///
    /// Source: the module's theorem; Rodriguez-Vitores et al. 2025, arXiv 2502.01701, theorem 4.1 and A.1 with a
    /// larger constant.
    pub fn theorem_bound(&self, n: usize) -> Result<f64, SwdError> {
        self.check(n)?;
        Ok(4.0 * self.m_bound / n as f64 * (2.0 * self.l1).max(self.l1 + self.l2))
    }

    /// Returns the sensitivity if both sides, of `n` and `m` records, are private and a record of either may be replaced.
    ///
    /// For the square it is the smaller of the theorem and the joint bound for known slices. `lambda_max` is an upper bound on
    /// `lambda_max(Theta Theta^T / k)` ([`Slices::lambda_max_upper`]). The cells are private, so the joint bound knows only that
    /// they lie in `[-M, M]`. With tight frames, `n = m` and `L1 = L2 = L`, it is the smaller one from `d = 6` on: `7.40 M L/n`,
    /// and `5.16 M L/n` at `d = 48`.
    ///
    /// For another cost and a record of the first side it is the smaller of [`Norms::line_bound`] and, if `psi = h'` is concave,
    ///
    /// ```text
    /// (L1 (2 sqrt(lambda) psi((1 + sqrt lambda) M) + 2 psi(M) + 2 sqrt(lambda) M B) + L2 2 sqrt(lambda) M B) / n
    /// ```
    ///
    /// with `B` the largest `h''`. For a record of the second side `L1`, `L2` and `n`, `m` change places. The bound holds for the
    /// gradient of the cost itself, [`crate::transport::between::sliced_gradients_and_cost`].
    ///
    /// ```
    /// use swd::Cost;
    /// use swd::sensitivity::Norms;
    ///
    /// // Two groups of 300 records, nearly by W_1, along a tight frame in R^6.
    /// let bound = |cost| Norms::new(1.5, 1.0).other_jacobian(1.0).both_private_bound(cost, [300, 300], 1.0 / 6.0);
    /// assert!(bound(Cost::Huber(1.0))? < bound(Cost::Square)?);
    /// # Ok::<(), swd::SwdError>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`Norms::line_bound`] does, and if `lambda_max` is negative or not finite.
    pub fn both_private_bound(
        &self,
        cost: Cost,
        [n, m]: [usize; 2],
        lambda_max: f64,
    ) -> Result<f64, SwdError> {
        let side = |norms: Self, own: usize, other: usize| match cost {
            Cost::Square => norms.square_side(own, lambda_max),
            cost => norms.one_side(cost, own, Some(other), lambda_max),
        };
        Ok(side(*self, n, m)?.max(side(self.turned(), m, n)?))
    }

    /// Returns the sensitivity for a record of the first side, of `n`, with the square; the other side is private too.
    fn square_side(&self, n: usize, lambda_max: f64) -> Result<f64, SwdError> {
        let joint = joint_bound(&JointInput {
            norms: *self,
            n,
            lambda_max,
            q_rms: self.m_bound,
            shift: 2.0 * self.m_bound,
        })?;
        Ok(self.theorem_bound(n)?.min(joint))
    }

    /// Returns the two sensitivities if both sides are private and only the first is trained.
    ///
    /// The first is for one of the `n` records that the map is fed: [`Norms::both_private_bound`] for `L2 = 0`. The second is
    /// for one of the `m` target records, which the map is not fed: [`Norms::public_noise_bound`], which only needs the map's
    /// inputs to stay the same. For another cost it is `2 sqrt(lambda) M B L / m`, `B` the largest `h''`: a target record moves
    /// the cells of a slice by amounts that sum to `n/m` times its own move, and each coefficient by `B` times that.
    ///
    /// # Errors
    /// Fails as [`Norms::both_private_bound`] does, and with [`SwdError::Cost`] for a power below 2, whose `B` is infinite.
    pub fn private_sample_bounds(
        &self,
        cost: Cost,
        [n, m]: [usize; 2],
        lambda_max: f64,
    ) -> Result<[f64; 2], SwdError> {
        let fed = Self { l2: 0.0, ..*self };
        Ok(match cost {
            Cost::Square => [
                fed.square_side(n, lambda_max)?,
                fed.public_noise_bound(m, lambda_max)?,
            ],
            cost => {
                let sample = fed.sample_bound(cost, m, lambda_max);
                [fed.one_side(cost, n, None, lambda_max)?, sample?]
            }
        })
    }

    /// Returns the sensitivity if the trained map is fed public noise and the target of `m` points is private.
    ///
    /// It is `4 sqrt(lambda) M L1 / m`, with `lambda_max` as in [`Norms::both_private_bound`]. The replaced point moves the cells
    /// by amounts of one sign that sum to `|v_l - v~_l|` in each slice, and
    /// `mean_l |v_l - v~_l| <= sqrt(lambda) |V - V~| <= 2 sqrt(lambda) M`.
    ///
    /// ```
    /// use swd::sensitivity::Norms;
    ///
    /// // A generator of Jacobian norm 1 towards 5000 private points of the unit ball, by a tight frame in R^6.
    /// let sensitivity = Norms::new(1.0, 1.0).public_noise_bound(5000, 1.0 / 6.0)?;
    /// assert!((sensitivity - 4.0 / (5000.0 * 6.0_f64.sqrt())).abs() < 1e-9);
    /// # Ok::<(), swd::SwdError>(())
    /// ```
    ///
    /// # Errors
    /// `m` is zero, or a bound is negative or not finite.
    pub fn public_noise_bound(&self, m: usize, lambda_max: f64) -> Result<f64, SwdError> {
        self.check_with(lambda_max, m)?;
        Ok(4.0 * lambda_max.sqrt() * self.m_bound * self.l1 / m as f64 * (1.0 + ROUNDING))
    }

    /// Returns the sensitivity of the sliced gradient for private records against public cells, with the given cost.
    ///
    /// `slices` and `cells` are those passed to [`crate::transport::host::sliced_cotangents_and_cost`]. There are as many records
    /// as cells. If cells are shared and frames tight, the result does not change from step to step. For a cost other than
    /// the square the gradient is that of the *quantised* cost `(1/n) sum_r h(u_(r) - q_r)`. It is at most `B/2` times the mean
    /// variance within the cells below the cost itself, `B` the largest `h''`.
    ///
    /// For the Huber cost with `L2 = 0`, `M` may be infinite: `(2 sqrt(lambda) + S) L1 / n` holds for any activations, with `S` a
    /// bound on the sum of a record's jumps from cell to cell. Then nothing needs to be projected onto a ball.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use swd::sensitivity::Norms;
    /// use swd::{Cost, Slices, UniformBall};
    ///
    /// let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
    /// let slices = Slices::tight(6, 96, &mut rng)?;
    /// let ball = UniformBall::new(6)?.cells(600)?;
    /// let bound = |m_bound| Norms::new(m_bound, 1.0).prior_bound(Cost::Huber(0.5), &slices, &ball);
    /// assert_eq!(bound(1.5)?.sensitivity(), bound(f64::INFINITY)?.sensitivity());
    /// assert!(600.0 * bound(f64::INFINITY)?.sensitivity() < 4.0);
    /// # Ok::<(), swd::SwdError>(())
    /// ```
    ///
    /// # Errors
    /// Cells that do not fit the slices, a norm that is negative or not finite, or an error of [`Cost::check`].
    pub fn prior_bound(
        &self,
        cost: Cost,
        slices: &Slices,
        cells: &TargetQuantiles,
    ) -> Result<PriorMatchingBound, SwdError> {
        if cost != Cost::Square {
            return self.prior_cost_bound(cost, slices, cells);
        }
        let n = cells.n();
        self.check(n)?;
        cells.check_slices(slices.count())?;
        let lambda_max = slices.lambda_max_upper();
        let spread = CellSpread::new(cells, lambda_max)?;
        let joint = joint_bound(&JointInput {
            norms: *self,
            n,
            lambda_max,
            q_rms: spread.q_rms,
            shift: spread.shift_upper(),
        })?;
        let root = lambda_max.sqrt();
        let within = Self {
            m_bound: self.m_bound.max(spread.q_max),
            ..*self
        };
        Ok(PriorMatchingBound {
            theorem: within.theorem_bound(n)?,
            joint,
            per_slice: self.per_slice_bound(cells)?,
            rounding: f64::powi(2.0, -22) * self.l1 * root * (root * self.m_bound + spread.q_rms),
        })
    }

    fn check(&self, n: usize) -> Result<(), SwdError> {
        if n == 0 {
            return Err(SwdError::Empty {
                what: "number of records",
            });
        }
        check_bound("activation bound", self.m_bound)?;
        check_bound("Jacobian bound", self.l1)?;
        check_bound("Jacobian bound of the other side", self.l2)
    }

    fn check_with(&self, lambda_max: f64, n: usize) -> Result<(), SwdError> {
        self.check(n)?;
        check_bound("largest eigenvalue of the slices", lambda_max)
    }
}

/// Several bounds for private records against public cells, each of which holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorMatchingBound {
    /// [`Norms::theorem_bound`], with `M` raised to the largest cell if a cell is larger.
    pub theorem: f64,
    /// The joint bound over all slices.
    pub joint: f64,
    /// The mean over the slices of the theorem's maximum with the cells of each slice.
    pub per_slice: f64,
    /// The amount that rounding the cotangents to `f32` can add.
    rounding: f64,
}

impl PriorMatchingBound {
    /// Returns the smallest of the three bounds, for exact arithmetic.
    pub fn sensitivity(&self) -> f64 {
        self.theorem.min(self.joint).min(self.per_slice)
    }

    /// Returns the sensitivity for records clipped in `f32` and cotangents rounded to `f32`.
    ///
    /// `sensitivity * (1 + F32_CLIP_SLACK) + 2^-22 L1 sqrt(lambda) (sqrt(lambda) M + Q)`: a
    /// replaced record may move every other one by a rank, and then each cotangent of both data
    /// sets is rounded separately, by up to `2^-24` of its norm. That is 2e-5 of the bound for 600
    /// records and 3e-3 for 100 000. The rounding of later `f32` operations is not included.
    pub fn in_f32_upper(&self) -> f64 {
        self.sensitivity() * (1.0 + F32_CLIP_SLACK) + self.rounding
    }

    /// Returns [`PriorMatchingBound::in_f32_upper`] for cotangents that are multiplied by a weight of at most 1 and rounded to
    /// `f32` once more.
    pub fn weighted_in_f32_upper(&self) -> f64 {
        self.in_f32_upper() + self.rounding
    }
}
