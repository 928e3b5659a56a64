//! How far the transport gradient can move when one record is replaced.
//!
//! For `n` private records with activations `|u_i| <= M` in `R^d` and Jacobians of spectral norm at
//! most `L1`, the gradient of `SW_2^2` in the parameters is `sum_i J_i^T c_i` with the cotangents of
//! [`crate::transport`], plus the same for the other side, with Jacobians at most `L2` (0 where that
//! side is not trained). Every function here bounds the L2 distance of this gradient on two data
//! sets that differ in one record: it is a sensitivity, to be divided by nothing, in the units of
//! the gradient. Neighbours are "replace one record"; `n` is public.
//!
//! **What the bounds rest on**: ranks by a data-independent tie-break (as [`crate::sort`]); `M`
//! enforced on every activation and `L1`, `L2` on every Jacobian; slices and cells that are public.
//! [`prior_matching_bound`] takes the smallest bound for records against public cells.
//!
//! **Other orders**: [`cost_bound`] is for powers and other costs. For `W_1`, and for `p`-th roots, there is nothing here,
//! because there is nothing to offer. Rodriguez-Vitores et al. 2025, arXiv 2502.01701, appendix F, has a counterexample in
//! which the sensitivity of the gradient does not decrease with `n`.
//!
//! # The theorem
//! `Delta <= (4M/n) max(2 L1, L1 + L2)`, attained for every `n` and `m`; Rodriguez-Vitores et al. (2025) have
//! `4M (3 L1 + L2)/n` ([`paper`]). *Proof, one slice.* The part of the private side is
//! `(2/n) sum_i rho_i grad_i`. Take away the replaced record: the others keep their relative order,
//! and exactly one of them moves by one rank for each rank between the old place and the new, so
//! their coefficients change by amounts of one sign that telescope to `va - vb >= 0`, the cells of
//! the two places, where the larger value `U` has the larger cell `va`. The record itself gives
//! `|U - va|` and `|U~ - vb|`. The other side gives at most `(2 L2/n) |U - U~|`, because order
//! statistics are monotone. So `Delta <= (2/n) max { L1 (|U - va| + |U~ - vb| + va - vb) +
//! L2 (U - U~) }`, convex over `{U >= U~} x {va >= vb}`: the maximum is at one of nine vertices.
//! Slices only average. It is attained at `U = U~ = M`, all cells `-M`, opposite gradients.
//! # Which one
//! ```
//! use rand::SeedableRng;
//! use rand_chacha::ChaCha20Rng;
//! use swd::sensitivity::{both_private_bound, prior_matching_bound, theorem_bound};
//! use swd::sensitivity::paper::paper_bound;
//! use swd::{Slices, UniformBall};
//!
//! let mut rng = ChaCha20Rng::seed_from_u64(1);
//! // 600 private records in R^6, clipped to norm 1, with Jacobians of norm at most 1.
//! let (m, l, n) = (1.0, 1.0, 600);
//! let slices = Slices::tight(6, 100, &mut rng)?;
//!
//! // Towards anything public in the same ball.
//! let any = theorem_bound(m, l, 0.0, n)?;
//! assert!(any < paper_bound(m, l, 0.0, n)?);
//! // Towards these cells, in these slices.
//! let cells = UniformBall::new(6)?.cells(n)?;
//! let known = prior_matching_bound(m, l, 0.0, &slices, &cells)?;
//! assert!(known.in_f32_upper() < 0.8 * any);
//! // Towards another private group of 400, by the same network.
//! let groups = both_private_bound(m, l, l, n, 400, slices.lambda_max_upper())?;
//! assert!(groups < 8.0 / 400.0);
//! # Ok::<(), swd::SwdError>(())
//! ```

mod convex;
mod convex_sliced;
mod joint;
pub mod paper;
mod per_slice;
mod spread;

pub use convex::cost_bound;
pub use convex_sliced::{both_private_cost_bound, prior_cost_bound, private_sample_cost_bounds};
pub use joint::{JointInput, joint_bound};
use per_slice::per_slice_bound;
pub use spread::CellSpread;

use crate::check::check_bound;
use crate::{Slices, SwdError, TargetQuantiles};

/// The relative excess that clipping in `f32` can leave over its bound.
///
/// A norm computed in `f32` and the scaling by its inverse err by a few units of 2^-24, so clipped
/// activations and Jacobians exceed `M` and `L` by less than this: multiply a sensitivity by
/// `1 + F32_CLIP_SLACK` where the records were clipped in `f32`. No bound here does so by itself;
/// [`PriorMatchingBound::in_f32_upper`] does.
pub const F32_CLIP_SLACK: f64 = 1e-5;

/// The relative amount added to every computed bound for the rounding of its own sums in `f64`,
/// which for up to 10^6 terms is less.
const ROUNDING: f64 = 1e-9;

/// The sensitivity for one private side: `(4M/n) max(2 L1, L1 + L2)`.
///
/// `m_bound`: both sides' activations are at most `M` in norm; `l1`, `l2`: Jacobian bounds of the
/// private and the other side; `n`: private records. Attained for every `n` and every number of
/// public points.
///
/// # Errors
/// `n` is zero, or a bound is negative or not finite.
///
/// Source: the module's theorem; Rodriguez-Vitores et al. 2025, arXiv 2502.01701, theorem 4.1 and A.1 with a
/// larger constant.
pub fn theorem_bound(m_bound: f64, l1: f64, l2: f64, n: usize) -> Result<f64, SwdError> {
    check_all(m_bound, l1, l2, n)?;
    Ok(4.0 * m_bound / n as f64 * (2.0 * l1).max(l1 + l2))
}

/// The sensitivity where both sides are private and a record of either may be replaced:
/// `4M max { max(2 L1, L1 + L2)/n, max(2 L2, L1 + L2)/m }`.
///
/// Arguments as [`theorem_bound`], with `m` records on the other side.
///
/// # Errors
/// `n` or `m` is zero, or a bound is negative or not finite.
///
/// Source: the module's theorem; Rodriguez-Vitores et al. 2025, arXiv 2502.01701, theorem 4.1 and A.1 with a
/// larger constant.
pub fn theorem_bound_both_private(
    m_bound: f64,
    l1: f64,
    l2: f64,
    n: usize,
    m: usize,
) -> Result<f64, SwdError> {
    Ok(theorem_bound(m_bound, l1, l2, n)?.max(theorem_bound(m_bound, l2, l1, m)?))
}

/// The sensitivity where both sides are private, for known slices: the smaller of the theorem and
/// the joint bound, for a record of either side.
///
/// As [`theorem_bound_both_private`], with `lambda_max` an upper bound on
/// `lambda_max(Theta Theta^T / k)` ([`Slices::lambda_max_upper`]). The cells are private here, so
/// the joint bound knows only that they lie in `[-M, M]`. With tight frames, `n = m` and
/// `L1 = L2 = L`, it is the smaller one from `d = 6` on: `7.40 M L/n`; `5.16 M L/n` at `d = 48`.
///
/// # Errors
/// As [`theorem_bound_both_private`]; or `lambda_max` is not a bound.
pub fn both_private_bound(
    m_bound: f64,
    l1: f64,
    l2: f64,
    n: usize,
    m: usize,
    lambda_max: f64,
) -> Result<f64, SwdError> {
    let side = |own: f64, other: f64, records: usize| -> Result<f64, SwdError> {
        let joint = joint_bound(&JointInput {
            m_bound,
            l1: own,
            l2: other,
            n: records,
            lambda_max,
            q_rms: m_bound,
            shift: 2.0 * m_bound,
        })?;
        Ok(theorem_bound(m_bound, own, other, records)?.min(joint))
    };
    Ok(side(l1, l2, n)?.max(side(l2, l1, m)?))
}

/// The sensitivities where both sides are private and only one of them is trained: for a record of the `n`
/// that the map is fed, and for one of the `m` that it should be like, which it does not touch.
///
/// The first is `8 M L / n`, or the joint bound with `L2 = 0` where that is smaller; the second
/// [`public_noise_bound`], which asks of the map's inputs only that they stay as they are.
///
/// # Errors
/// As [`both_private_bound`].
pub fn private_sample_bounds(
    m_bound: f64,
    l: f64,
    n: usize,
    m: usize,
    lambda_max: f64,
) -> Result<[f64; 2], SwdError> {
    let joint = joint_bound(&JointInput {
        m_bound,
        l1: l,
        l2: 0.0,
        n,
        lambda_max,
        q_rms: m_bound,
        shift: 2.0 * m_bound,
    })?;
    let inputs = theorem_bound(m_bound, l, 0.0, n)?.min(joint);
    Ok([inputs, public_noise_bound(m_bound, l, m, lambda_max)?])
}

/// The sensitivity where the trained map is fed public noise and the target is private:
/// `4 sqrt(lambda) M L / m`.
///
/// `m_bound`: target points are at most `M` in norm; `l`: Jacobian bound of the trained map; `m`:
/// target points, one of which may be replaced; `lambda_max` as in [`both_private_bound`]. The
/// replaced point moves the cells by amounts of one sign that sum to `|v_l - v~_l|` in each slice,
/// and `mean_l |v_l - v~_l| <= sqrt(lambda) |V - V~| <= 2 sqrt(lambda) M`.
///
/// ```
/// use swd::sensitivity::public_noise_bound;
///
/// // A generator of Jacobian norm 1 towards 5000 private points of the unit ball, by a tight frame in R^6.
/// let sensitivity = public_noise_bound(1.0, 1.0, 5000, 1.0 / 6.0)?;
/// assert!((sensitivity - 4.0 / (5000.0 * 6.0_f64.sqrt())).abs() < 1e-9);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// `m` is zero, or a bound is negative or not finite.
pub fn public_noise_bound(
    m_bound: f64,
    l: f64,
    m: usize,
    lambda_max: f64,
) -> Result<f64, SwdError> {
    check_all(m_bound, l, lambda_max, m)?;
    Ok(4.0 * lambda_max.sqrt() * m_bound * l / m as f64 * (1.0 + ROUNDING))
}

/// The sensitivity of the gradient of `SW_2^2` in `m` free, public points towards `n` private ones, one of which may be replaced:
/// `4 lambda M / sqrt(n max(n, m))`. Of a sum over groups with weights, a barycentre's, take the largest weighted one.
///
/// Arguments as [`public_noise_bound`], which has `sqrt(lambda)` in place of `lambda`, and fits Jacobians of a generator: a tight
/// frame gains `d` here. It is attained for `m <= n`: all points on the top axis, and a private one that changes its sign there.
///
/// *Proof.* In slice `l` a replaced point moves the `m` cells by amounts `d_r` of one sign that sum to `(m/n) e_l`, each at most
/// `min(1, m/n) e_l`, where `e_l` is what its projection moves by: `sum_r d_r^2 <= (m/n) min(1, m/n) e_l^2`. Ranks of the points are
/// public, so that the gradient moves by `2/m` times `mean_l theta_l d_l` for each of them, whose square is at most
/// `lambda mean_l d_l^2`; and `mean_l e_l^2 <= 4 lambda M^2`.
///
/// ```
/// use swd::sensitivity::points_bound;
///
/// // 20 points towards 5000 private ones of the unit ball, by a tight frame in R^6.
/// let sensitivity = points_bound(1.0, 5000, 20, 1.0 / 6.0)?;
/// assert!((sensitivity - 4.0 / (5000.0 * 6.0)).abs() < 1e-9);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// `n` or `m` is zero, or a bound is negative or not finite.
pub fn points_bound(m_bound: f64, n: usize, m: usize, lambda_max: f64) -> Result<f64, SwdError> {
    check_all(m_bound, lambda_max, 0.0, n)?;
    check_all(m_bound, lambda_max, 0.0, m)?;
    let spread = (n as f64 * n.max(m) as f64).sqrt();
    Ok(4.0 * lambda_max * m_bound / spread * (1.0 + ROUNDING))
}

/// The bounds for private records against public cells; each of them holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorMatchingBound {
    /// [`theorem_bound`], with `M` raised to the largest cell where cells are larger.
    pub theorem: f64,
    /// [`joint_bound`].
    pub joint: f64,
    /// The mean over the slices of the theorem's maximum with each slice's own cells.
    pub per_slice: f64,
    /// What rounding the cotangents to `f32` can add.
    rounding: f64,
}

impl PriorMatchingBound {
    /// The smallest of the three bounds, for exact arithmetic.
    pub fn sensitivity(&self) -> f64 {
        self.theorem.min(self.joint).min(self.per_slice)
    }

    /// The sensitivity for records clipped in `f32` and cotangents rounded to `f32`.
    ///
    /// `sensitivity * (1 + F32_CLIP_SLACK) + 2^-22 L1 sqrt(lambda) (sqrt(lambda) M + Q)`: a
    /// replaced record may move every other one by a rank, and then each cotangent of both data
    /// sets is rounded by up to `2^-24` of its norm, on its own. That is 2e-5 of the bound for 600
    /// records and 3e-3 for 100 000. What later `f32` operations add is not in here.
    pub fn in_f32_upper(&self) -> f64 {
        self.sensitivity() * (1.0 + F32_CLIP_SLACK) + self.rounding
    }

    /// [`PriorMatchingBound::in_f32_upper`] where a weight of at most 1 is multiplied to the cotangents
    /// and they are rounded to `f32` once more.
    pub fn weighted_in_f32_upper(&self) -> f64 {
        self.in_f32_upper() + self.rounding
    }
}

/// The sensitivity of the sliced gradient for private records against public cells.
///
/// `m_bound`: private activations are at most `M` in norm; `l1`: Jacobian bound of the private
/// side; `l2`: of the public side, 0 where it is not trained; `slices` and `cells` as they are
/// passed to [`crate::transport::host::sliced_cotangents`]. The number of records is that of the
/// cells. Where cells are shared and frames tight the result does not change from step to step.
///
/// # Errors
/// Cells that do not fit the slices, or a bound that is negative or not finite.
pub fn prior_matching_bound(
    m_bound: f64,
    l1: f64,
    l2: f64,
    slices: &Slices,
    cells: &TargetQuantiles,
) -> Result<PriorMatchingBound, SwdError> {
    let n = cells.n();
    check_all(m_bound, l1, l2, n)?;
    cells.check_slices(slices.count())?;
    let lambda_max = slices.lambda_max_upper();
    let spread = CellSpread::new(cells, lambda_max)?;
    let joint = joint_bound(&JointInput {
        m_bound,
        l1,
        l2,
        n,
        lambda_max,
        q_rms: spread.q_rms,
        shift: spread.shift_upper(),
    })?;
    let root = lambda_max.sqrt();
    Ok(PriorMatchingBound {
        theorem: theorem_bound(m_bound.max(spread.q_max), l1, l2, n)?,
        joint,
        per_slice: per_slice_bound(m_bound, l1, l2, cells)?,
        rounding: f64::powi(2.0, -22) * l1 * root * (root * m_bound + spread.q_rms),
    })
}

fn check_all(m_bound: f64, l1: f64, l2: f64, n: usize) -> Result<(), SwdError> {
    if n == 0 {
        return Err(SwdError::Empty {
            what: "number of records",
        });
    }
    check_bound("activation bound", m_bound)?;
    check_bound("Jacobian bound", l1)?;
    check_bound("Jacobian bound of the other side", l2)
}
