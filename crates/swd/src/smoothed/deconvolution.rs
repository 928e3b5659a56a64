//! The sliced distance from points, with Gaussian noise that is integrated instead of sampled, to a noisy sample.

use rayon::prelude::*;
use wide::f64x4;

use crate::check::check_points;
use crate::region::{add_projection, columns};
use crate::transport::host::average;
use crate::{Slices, SwdError, TargetQuantiles};

/// Grid points of the quadrature per standard deviation.
const PLACES: f64 = 8.0;
/// The standard deviations that the grid reaches beyond the outermost points.
const REACH: f64 = 6.0;
/// The most grid points of a slice.
const MOST: usize = 1 << 16;
const LANES: usize = 4;

/// Computes the squared sliced distance from the points `x`, each convolved with `N(0, deviation^2)` in every slice, to a
/// sample, and its gradient in the points, `[n, d]`.
///
/// `D = (1/k) sum_l W_2^2(mu_l * N(0, sigma^2), nu_l)`, with `mu_l` the projected points and `nu_l` the cells of the sample,
/// whose quantiles are joined by lines. `W_2^2 = int (t - Q(F(t)))^2 rho(t) dt` for the density `rho` and the
/// distribution `F` of the convolved points, by the trapezoidal rule. Its gradient in `x_i` is
/// `(2/n) int (t - Q(F(t))) phi_sigma(t - <x_i, theta>) dt theta`.
///
/// If the sample is `Y = X + N` with Gaussian noise `N(0, sigma^2 I)`, its projections are those of `X` with Gaussian
/// noise of the same deviation. So the points that minimise this distance have the law of `X`: a deconvolution in each
/// slice. Unlike [`smoothed_distance_and_gradient`](super::smoothed_distance_and_gradient) it samples no noise.
///
/// - `points`: `[n, d]`;
/// - `deviation`: `sigma`, in units of the points;
/// - `cells`: the cells of the noisy sample, in any number ([`TargetQuantiles::of_sample`]).
///
/// ```
/// use swd::smoothed::deconvolved_distance_and_gradient;
/// use swd::{TargetQuantiles, Slices, StandardGaussian};
///
/// // A sample of deviation 1, of which 0.8 is noise: points of deviation 0.6 are as near as there are any.
/// let slices = Slices::from_directions(1, &[1.0])?;
/// let noisy = StandardGaussian::new(1)?.cells(2000)?;
/// let law = StandardGaussian::new(1)?.cells(200)?;
/// let at = |scale: f64| {
///     let points: Vec<f32> = law.row(0).iter().map(|x| (scale * x) as f32).collect();
///     deconvolved_distance_and_gradient(&points, &slices, 0.8, &noisy)
/// };
/// assert!(at(0.6)?.1 < 1e-4);
/// assert!(at(0.6)?.1 < at(0.5)?.1 && at(0.6)?.1 < at(0.7)?.1);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// No points, a length that is no multiple of `d`, a value that is not finite, a deviation that is not positive and
/// finite, or points so far apart that more than 65536 eighths of a deviation lie between them.
pub fn deconvolved_distance_and_gradient(
    points: &[f32],
    slices: &Slices,
    deviation: f64,
    cells: &TargetQuantiles,
) -> Result<(Vec<f32>, f64), SwdError> {
    let d = slices.dim();
    check_points("points", points, d)?;
    cells.check_slices(slices.count())?;
    if !(deviation > 0.0 && deviation.is_finite()) {
        return Err(SwdError::NotPositive {
            what: "deviation",
            value: deviation,
        });
    }
    let n = points.len() / d;
    let columns = columns(points, d);
    let mut residuals = vec![0.0; slices.count() * n];
    let rows = residuals.par_chunks_mut(n).enumerate();
    let distances = rows.map(|(l, residuals)| {
        residuals.fill(0.0);
        add_projection(&columns, slices.direction(l), residuals);
        slice(residuals, deviation, cells.row(l))
    });
    let distances: Vec<f64> = distances.collect::<Result<_, _>>()?;
    let distance = distances.iter().sum::<f64>() / slices.count() as f64;
    Ok((average(&residuals, slices, n), distance))
}

/// Returns the distance in a slice, and replaces each projection by the mean residual of its noisy copies.
fn slice(projected: &mut [f64], sigma: f64, cells: &[f64]) -> Result<f64, SwdError> {
    let n = projected.len() as f64;
    let outermost =
        |pick: fn(f64, f64) -> f64| projected.iter().copied().reduce(pick).unwrap_or(0.0);
    let (low, high) = (outermost(f64::min), outermost(f64::max));
    let step = sigma / PLACES;
    // The grid does not depend on where the points are, so the error of the rule moves with no point.
    let start = ((low - REACH * sigma) / step).floor() * step;
    let places = ((high + REACH * sigma - start) / step).ceil() + 1.0;
    if places > MOST as f64 {
        return Err(SwdError::NotPositive {
            what: "deviation over the 65536th part of the distance between points",
            value: sigma,
        });
    }
    let groups = (places as usize).div_ceil(LANES);
    let at = |group: usize| {
        let first = start + step * (LANES * group) as f64;
        f64x4::from([first, first + step, first + 2.0 * step, first + 3.0 * step])
    };
    let kernel = |group: usize, point: f64| {
        let z = (at(group) - f64x4::splat(point)) / f64x4::splat(sigma);
        (z * z * f64x4::splat(-0.5)).exp()
    };
    let mut density = vec![f64x4::ZERO; groups];
    for &point in &*projected {
        for (group, sum) in density.iter_mut().enumerate() {
            *sum += kernel(group, point);
        }
    }
    // The kernel's mass on the grid, so that all weights of a point add up to 1.
    let mass = sigma / step * (2.0 * std::f64::consts::PI).sqrt();
    let density: Vec<f64> = density.iter().flat_map(|sums| sums.to_array()).collect();
    let (mut below, mut distance) = (0.0, 0.0);
    let mut moved = vec![0.0; density.len()];
    for (k, (moved, rho)) in moved.iter_mut().zip(density).enumerate() {
        let weight = rho / (mass * n);
        let t = start + step * k as f64;
        *moved = t - quantile(cells, below + weight / 2.0);
        distance += weight * *moved * *moved;
        below += weight;
    }
    let moved: Vec<f64x4> = moved
        .chunks_exact(LANES)
        .map(|part| f64x4::from([part[0], part[1], part[2], part[3]]))
        .collect();
    for point in projected {
        let parts = moved.iter().enumerate();
        let sum = parts.fold(f64x4::ZERO, |sum, (group, moved)| {
            sum + kernel(group, *point) * *moved
        });
        *point = sum.reduce_add() / mass;
    }
    Ok(distance)
}

/// Returns the quantile at `level`: linear between the middles of cells, constant beyond the outermost.
fn quantile(cells: &[f64], level: f64) -> f64 {
    let place = (level * cells.len() as f64 - 0.5).clamp(0.0, cells.len() as f64 - 1.0);
    let below = place as usize;
    let above = (below + 1).min(cells.len() - 1);
    let share = place - below as f64;
    cells[below] + share * (cells[above] - cells[below])
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    fn case(n: usize) -> (Vec<f32>, Slices, TargetQuantiles) {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let points: Vec<f32> = (0..3 * n).map(|_| rng.random_range(-1.0..1.0)).collect();
        let slices = Slices::iid(3, 7, &mut rng).unwrap();
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let sample: Vec<f32> = (0..3 * 500)
            .map(|_| (1.3 * normal() + 0.4) as f32)
            .collect();
        let cells = TargetQuantiles::of_sample(&sample, &slices, 100).unwrap();
        (points, slices, cells)
    }

    /// How far the gradient is from the slope of the distance, over its norm.
    fn off(points: &[f32], slices: &Slices, cells: &TargetQuantiles) -> f64 {
        let of =
            |points: &[f32]| deconvolved_distance_and_gradient(points, slices, 0.7, cells).unwrap();
        let (gradient, _) = of(points);
        let h = 1.0 / 256.0;
        let slope = |place: usize| {
            let moved = |by: f32| {
                let mut moved = points.to_vec();
                moved[place] += by;
                of(&moved).1
            };
            (moved(h) - moved(-h)) / f64::from(2.0 * h)
        };
        let (mut off, mut all) = (0.0, 0.0);
        for (place, found) in gradient.iter().enumerate() {
            off += (f64::from(*found) - slope(place)).powi(2);
            all += f64::from(*found).powi(2);
        }
        (off / all).sqrt()
    }

    /// The gradient is the slope of the distance, but for what the rule is off by: the kinks of the quantiles, which
    /// are small where the cells are a law's, and 6 % here where they are a sample's.
    #[test]
    fn the_gradient_is_the_slope() {
        let (points, slices, cells) = case(11);
        let law = crate::StandardGaussian::new(3).unwrap().cells(100).unwrap();
        let (sample, law) = (off(&points, &slices, &cells), off(&points, &slices, &law));
        assert!(sample < 0.1 && law < 0.02, "{sample} {law}");
    }

    /// It is what many draws of the noise tend to. The seed is fixed; the bound is about ten standard
    /// errors of the mean.
    #[test]
    fn noise_that_is_drawn_tends_to_it() {
        let (points, slices, cells) = case(20);
        let (gradient, _) =
            deconvolved_distance_and_gradient(&points, &slices, 0.7, &cells).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let copies = 3000;
        let mut many = Vec::new();
        for _ in 0..copies {
            many.extend(points.iter().map(|x| {
                let noise: f64 = StandardNormal.sample(&mut rng);
                x + (0.7 * noise) as f32
            }));
        }
        let sorted = |l: usize| {
            let along = |x: &[f32]| -> f64 {
                let pairs = x.iter().zip(slices.direction(l));
                pairs.map(|(x, t)| f64::from(*x) * t).sum()
            };
            let rows = many.chunks_exact(3).enumerate();
            let mut all: Vec<(f64, usize)> = rows.map(|(i, x)| (along(x), i % 20)).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            all
        };
        let mut expected = [0.0; 60];
        for l in 0..7 {
            let all = sorted(l);
            let count = all.len() as f64;
            for (rank, (value, i)) in all.into_iter().enumerate() {
                let moved = value - quantile(cells.row(l), (rank as f64 + 0.5) / count);
                for (a, t) in slices.direction(l).iter().enumerate() {
                    expected[3 * i + a] += 2.0 * moved * t / (7.0 * count);
                }
            }
        }
        for (found, expected) in gradient.iter().zip(expected) {
            let off = (f64::from(*found) - expected).abs();
            assert!(off < 0.002, "{found} {expected}");
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let (points, slices, cells) = case(4);
        for deviation in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9] {
            let refused = deconvolved_distance_and_gradient(&points, &slices, deviation, &cells);
            assert!(refused.is_err(), "{deviation}");
        }
    }
}
