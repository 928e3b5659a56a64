//! The gradient of a barycentre's loss in its points, for descent by noisy gradients.

use dp_core::mechanism::{Noisy, SensitiveVector};
use swd::cells::quantile_cells;
use swd::sensitivity::points_bound;
use swd::{Region, Slices};

use crate::Query;
use crate::marginals::barycentre_weights;
use crate::query::{QueryError, check_noisy, length};

/// The gradient of `sum_j w_j SW_2^2(x, group j)` in public points `x_1, ..., x_m`: `[m, d]`.
///
/// One record of group `j` moves it by at most `4 w_j lambda M / sqrt(n_j max(n_j, m))` ([`points_bound`]), with records in a region of
/// radius `M`. A step that follows its noisy value needs the next gradient released too; [`crate::marginals::Barycentre`] has one
/// release for all steps, and less noise where groups have more than about `10 z sqrt(k)` records.
///
/// ```
/// use dp_core::ledger::Ledger;
/// use dp_core::mechanism::NoiseSource;
/// use dp_core::plan::TrainingPlan;
/// use dp_core::sampling::GroupSampler;
/// use private_queries::{PointsGradient, Query};
/// use rand::SeedableRng;
/// use swd::{Region, Slices, UniformBall};
///
/// # let folder = tempfile::tempdir()?;
/// let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// let (d, n, m, steps) = (2, 4000, 10, 20);
/// // Two groups: a disc, and one of half its radius.
/// let disc = UniformBall::new(d)?.sample(n, &mut rng);
/// let groups = [disc.iter().map(|x| x / 2.0).collect(), disc];
/// let sampler = GroupSampler::new(vec![(0..n).collect(), (n..2 * n).collect()], &[n; 2])?;
/// let mut releaser = TrainingPlan::within(1.0, 1e-5, steps, sampler).check()?.releaser(NoiseSource::secret()?);
/// let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl"))?;
///
/// let mut points = UniformBall::new(d)?.sample(m, &mut rng);
/// for _ in 0..steps {
///     let draw = releaser.draw()?; // of all records
///     let slices = Slices::tight(d, 16, &mut rng)?;
///     let query = PointsGradient::new(points.clone(), slices, Region::ball(1.0)?, &[n; 2], &[0.5, 0.5])?;
///     let noisy = releaser.release_step(&query.measure(&groups)?, &[n; 2], &draw, &mut ledger)?;
///     let step = 0.2 * (m * d) as f64 / 2.0;
///     points = points.iter().zip(query.read(&noisy)?).map(|(x, g)| x - (step * g) as f32).collect();
/// }
/// // Near a disc of radius 3/4.
/// let mean = points.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / m as f64;
/// assert!((mean - 0.75 * 0.75 / 2.0).abs() < 0.15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PointsGradient {
    points: Vec<f32>,
    slices: Slices,
    region: Region,
    sizes: Vec<usize>,
    weights: Vec<f64>,
    bound: f64,
}

impl PointsGradient {
    /// At `points`, `[m, d]`, towards groups of `sizes` records in `region`, with `weights` that are divided by their sum.
    ///
    /// # Errors
    /// [`QueryError::Empty`] without points or groups, [`QueryError::Length`] for points or weights that do not fit,
    /// [`QueryError::NotFinite`] for a point that is none, and [`QueryError::Transport`] for a group without records and for weights
    /// as of [`crate::marginals::Barycentre::new`].
    pub fn new(
        points: Vec<f32>,
        slices: Slices,
        region: Region,
        sizes: &[usize],
        weights: &[f64],
    ) -> Result<Self, QueryError> {
        let (d, k) = (slices.dim(), slices.count());
        let m = points.len() / d;
        length("points of a barycentre", points.len(), m * d)?;
        if m == 0 {
            let what = "number of points of a barycentre";
            return Err(QueryError::Empty { what });
        }
        let coordinates: Vec<f64> = points.iter().map(|&x| f64::from(x)).collect();
        check_noisy("points of a barycentre", &coordinates, 0.0, points.len())?;
        let weights = barycentre_weights(weights, sizes.len())?;
        let (radius, lambda) = (region.radius(), slices.lambda_max_upper());
        let mut bound = 0.0_f64;
        for (weight, &size) in weights.iter().zip(sizes) {
            bound = bound.max(weight * points_bound(radius, size, m, lambda)?);
        }
        // What sums of k residuals, each of d products and a mean over a cell, may be off by in f64, in two data sets.
        let norms = coordinates
            .chunks_exact(d)
            .map(|x| x.iter().map(|x| x * x).sum::<f64>());
        let far = radius + norms.fold(0.0, f64::max).sqrt();
        let terms = (k + d + sizes.iter().sum::<usize>()) as f64;
        let rounding = f64::powi(2.0, -50) * terms * far * (d as f64 / m as f64).sqrt();
        Ok(Self {
            points,
            slices,
            region,
            sizes: sizes.to_vec(),
            weights,
            bound: bound + rounding,
        })
    }
}

impl Query for PointsGradient {
    /// The rows of each group, `[n_j, d]`, put into the region; a row that is not finite counts as the origin.
    type Records = [Vec<f32>];
    /// The gradient, `[m, d]`.
    type Answer = Vec<f64>;

    fn len(&self) -> usize {
        self.points.len()
    }

    fn measure(&self, groups: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        let (d, k) = (self.slices.dim(), self.slices.count());
        let m = self.points.len() / d;
        length("groups of rows", groups.len(), self.sizes.len())?;
        // What each rank is moved to, in each slice.
        let mut cells = vec![0.0; k * m];
        for ((rows, &size), weight) in groups.iter().zip(&self.sizes).zip(&self.weights) {
            length("rows of a group", rows.len(), size * d)?;
            let mut projected = self.region.project(rows, &self.slices)?;
            for (values, cells) in projected
                .chunks_exact_mut(size)
                .zip(cells.chunks_exact_mut(m))
            {
                values.sort_unstable_by(f64::total_cmp);
                let own = quantile_cells(values, m)?;
                let both = cells.iter_mut().zip(own);
                both.for_each(|(cell, own)| *cell += weight * own);
            }
        }
        let mut gradient = vec![0.0; m * d];
        let mut order: Vec<usize> = (0..m).collect();
        for (l, cells) in cells.chunks_exact(m).enumerate() {
            let theta = self.slices.direction(l);
            let along =
                |x: &[f32]| -> f64 { x.iter().zip(theta).map(|(&x, t)| f64::from(x) * t).sum() };
            let projected: Vec<f64> = self.points.chunks_exact(d).map(along).collect();
            // Of public numbers alone, so that any order of equals will do.
            order.sort_by(|&a, &b| projected[a].total_cmp(&projected[b]));
            for (&point, cell) in order.iter().zip(cells) {
                let residual = 2.0 / (m * k) as f64 * (projected[point] - cell);
                let own = gradient[point * d..(point + 1) * d].iter_mut().zip(theta);
                own.for_each(|(sum, t)| *sum += residual * t);
            }
        }
        Ok(SensitiveVector::l2(gradient, self.bound))
    }

    fn read(&self, noisy: &Noisy) -> Result<Vec<f64>, QueryError> {
        let what = "released gradient of points";
        check_noisy(what, &noisy.values, noisy.deviation, self.len())?;
        Ok(noisy.values.clone())
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use swd::UniformBall;
    use swd::transport::host::sliced_gradient_and_distance;

    use super::*;

    #[test]
    fn the_gradient_is_that_of_the_weighted_distances() {
        let rng = &mut ChaCha20Rng::seed_from_u64(3);
        let (d, m, sizes) = (3, 7, [5, 40]);
        let slices = Slices::tight(d, 9, rng).unwrap();
        let ball = Region::ball(1.0).unwrap();
        let mut sample = |n| UniformBall::new(d).unwrap().sample(n, rng);
        let (points, groups) = (sample(m), sizes.map(&mut sample));
        let query = PointsGradient::new(points.clone(), slices.clone(), ball, &sizes, &[1.0, 3.0]);
        let query = query.unwrap();
        let measured = query.measure(&groups).unwrap();
        let found = query.read(&Noisy::without_privacy(measured)).unwrap();
        let towards = |rows| {
            let found = sliced_gradient_and_distance(&points, rows, &slices);
            found.unwrap().0
        };
        let [one, two] = [0, 1].map(|group: usize| towards(&groups[group]));
        for ((found, one), two) in found.iter().zip(one).zip(two) {
            let known = 0.25 * f64::from(one) + 0.75 * f64::from(two);
            assert!((found - known).abs() < 1e-6, "{found} of {known}");
        }
        // The heavier group is the larger one here, and the lighter still moves it further.
        let lambda = slices.lambda_max_upper();
        let bound = |(weight, n)| weight * points_bound(1.0, n, m, lambda).unwrap();
        let bounds = [(0.25, 5), (0.75, 40)].map(bound);
        let declared = query.measure(&groups).unwrap().sensitivity_upper();
        assert!(bounds[0] > bounds[1] && (declared / bounds[0] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_has_no_gradient_is_refused() {
        let rng = &mut ChaCha20Rng::seed_from_u64(4);
        let slices = Slices::tight(2, 4, rng).unwrap();
        let ball = Region::ball(1.0).unwrap();
        let of = |points: &[f32], sizes: &[usize], weights: &[f64]| {
            PointsGradient::new(points.to_vec(), slices.clone(), ball, sizes, weights)
        };
        let query = of(&[0.5, 0.5], &[1], &[1.0]).unwrap();
        assert!(query.measure(&[vec![0.0; 4]]).is_err());
        assert!(query.measure(&[vec![0.0; 2], vec![0.0; 2]]).is_err());
        for (points, sizes, weights) in [
            (&[][..], &[1][..], &[1.0][..]),
            (&[0.5], &[1], &[1.0]),
            (&[0.5, f32::NAN], &[1], &[1.0]),
            (&[0.5, 0.5], &[0], &[1.0]),
            (&[0.5, 0.5], &[1], &[1.0, 1.0]),
            (&[0.5, 0.5], &[1], &[-1.0]),
            (&[0.5, 0.5], &[], &[]),
        ] {
            assert!(of(points, sizes, weights).is_err(), "{points:?} {sizes:?}");
        }
    }
}
