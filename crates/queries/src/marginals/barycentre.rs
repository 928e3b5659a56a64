//! Barycentres of groups, from their released marginals.

use rayon::prelude::*;
use swd::{FlowTarget, Slices, SwdError};

use super::SlicedMarginals;
use crate::query::{QueryError, length, whole};

/// The Wasserstein barycentre of groups on every slice: its quantile function is the weighted mean of theirs.
///
/// On a line the minimiser of `sum_j w_j W_2^2(mu, mu_j)` has the quantile function `sum_j w_j F_j^-1` (Agueh and Carlier 2011).
/// Particles that flow towards these quantiles in all slices descend `sum_j w_j SW_2^2(x, mu_j)`, up to a constant: in each slice
/// `sum_j w_j (u - q_j)^2 = (u - sum_j w_j q_j)^2 + constant`. This objective is not convex in the particles; its minimiser is
/// the sliced barycentre of Bonneel et al. (2015).
///
/// # Privacy
/// A barycentre is post-processing of one release of the marginals of all groups ([`crate::GroupMarginals`]; neighbours replace
/// one record by one of its group, sizes are public). So weights, particles, steps and further barycentres cost no budget.
/// The noise is averaged too: by the triangle inequality the barycentre's quantile functions are off by at most
/// `sum_j w_j W_2(noisy_j, exact_j)` in each slice.
///
/// ```
/// use dp_core::ledger::Ledger;
/// use dp_core::mechanism::NoiseSource;
/// use dp_core::plan::{ReleaseNoise, TrainingPlan};
/// use dp_core::sampling::Sampler;
/// use private_queries::marginals::{Barycentre, Bins};
/// use private_queries::{GroupMarginals, MarginalQuery, Query};
/// use rand::SeedableRng;
/// use swd::flow::StepSize;
/// use swd::{Particles, NormBound, Slices, UniformBall};
///
/// # let folder = tempfile::tempdir()?;
/// let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// let (d, n) = (2, 4000);
/// // Two groups: a disc, and one of half its radius.
/// let disc = UniformBall::new(d)?.sample(n, &mut rng);
/// let small = disc.iter().map(|x| x / 2.0).collect();
/// let slices = Slices::tight(d, 16, &mut rng)?;
/// let counts = MarginalQuery::new(slices, NormBound::ball(1.0)?, Bins::uniform(1.0, 32)?)?;
/// let query = GroupMarginals::new(vec![counts; 2], vec![n; 2])?;
///
/// let groups = Sampler::stratified(vec![(0..n).collect(), (n..2 * n).collect()], &[n; 2])?;
/// let plan = TrainingPlan::for_epsilon(1.0, 1e-5, 0, groups);
/// let plan = plan.with_release("marginals", ReleaseNoise::Share(1.0)).check()?;
/// let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl"))?;
/// let mut releaser = plan.releaser(NoiseSource::secret()?);
/// let noisy = releaser.release_vector("marginals", &query.measure(&[disc, small])?, &mut ledger)?;
/// let released = query.read(&noisy)?;
///
/// let middle = Barycentre::new(&released, &[0.5, 0.5])?;
/// let mut particles = Particles::gaussian(200, d, 1.0, &mut rng)?;
/// let size = StepSize { step: d as f64, diffusion: 0.0 };
/// for _ in 0..50 {
///     particles.step(&middle, &(0..16).collect::<Vec<_>>(), size, &mut rng)?;
/// }
/// // A disc of radius 3/4.
/// let square = |x: &f32| f64::from(*x).powi(2);
/// let mean = particles.rows().iter().map(square).sum::<f64>() / 200.0;
/// assert!((mean - 0.75 * 0.75 / 2.0).abs() < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Barycentre<'a> {
    groups: &'a [SlicedMarginals],
    weights: Vec<f64>,
}

impl<'a> Barycentre<'a> {
    /// Creates the barycentre of groups on the same slices; `weights` are divided by their sum.
    ///
    /// # Errors
    /// Returns [`QueryError::Empty`] without groups, [`QueryError::Length`] for a wrong number of weights,
    /// [`QueryError::OtherSlices`], and [`QueryError::Transport`] if a weight is negative or not finite, or if none is positive.
    pub fn new(groups: &'a [SlicedMarginals], weights: &[f64]) -> Result<Self, QueryError> {
        let Some(first) = groups.first() else {
            return Err(QueryError::Empty {
                what: "number of groups of a barycentre",
            });
        };
        let weights = barycentre_weights(weights, groups.len())?;
        match groups.iter().position(|g| g.slices() != first.slices()) {
            Some(group) => Err(QueryError::OtherSlices { group }),
            None => Ok(Self { groups, weights }),
        }
    }

    /// Moves rows of a group, `[n, d]`, to the barycentre: each by the mean over slices of its displacement under the optimal map
    /// from the group's marginal to the barycentre's, divided by the largest eigenvalue of the slices' second moments.
    ///
    /// With a tight frame the means of all groups become equal, and with one orthonormal basis so do all their marginals in it;
    /// other marginals may still differ. The map depends on the release alone, so it also moves new rows whose group is known.
    ///
    /// # Errors
    /// Returns [`QueryError::NotThere`] for a group that does not exist, and [`QueryError::Ragged`].
    pub fn moved(&self, group: usize, rows: &[f32]) -> Result<Vec<f32>, QueryError> {
        let (what, count) = ("group", self.groups.len());
        let own = self.groups.get(group);
        let own = own.ok_or(QueryError::NotThere { what, count })?;
        let slices = self.slices();
        let (d, k) = (slices.dim(), slices.count());
        whole("rows to be moved", rows.len(), d)?;
        let scale = 1.0 / (k as f64 * slices.lambda_max_upper());
        let mut moved = rows.to_vec();
        moved.par_chunks_mut(d).for_each(|row| {
            let mut by = vec![0.0; d];
            for l in 0..k {
                let theta = slices.direction(l);
                let along: f64 = row.iter().zip(theta).map(|(&x, t)| f64::from(x) * t).sum();
                let share = own.below(l, along);
                let parts = self.groups.iter().zip(&self.weights);
                let to: f64 = parts.map(|(g, weight)| weight * g.quantile(l, share)).sum();
                // Values beyond the bins move as far as the ends of the bins do.
                let far = scale * (to - own.quantile(l, share));
                by.iter_mut().zip(theta).for_each(|(by, t)| *by += far * t);
            }
            row.iter_mut().zip(&by).for_each(|(x, by)| *x += *by as f32);
        });
        Ok(moved)
    }
}

/// Returns the weights of `groups` groups, divided by their sum.
fn barycentre_weights(weights: &[f64], groups: usize) -> Result<Vec<f64>, QueryError> {
    length("weights of a barycentre", weights.len(), groups)?;
    let (what, sum) = ("weight of a barycentre", weights.iter().sum::<f64>());
    let bad = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0));
    match bad {
        Some(&value) => Err(SwdError::NotABound { what, value }.into()),
        None if !(sum > 0.0 && sum.is_finite()) => {
            let what = "sum of the weights of a barycentre";
            Err(SwdError::NotPositive { what, value: sum }.into())
        }
        None => Ok(weights.iter().map(|w| w / sum).collect()),
    }
}

impl FlowTarget for Barycentre<'_> {
    fn slices(&self) -> &Slices {
        self.groups[0].slices()
    }

    fn deviation(&self) -> f64 {
        0.0
    }

    fn write_cells(&self, l: usize, cells: &mut [f32]) {
        let mut sum = vec![0.0; cells.len()];
        let mut own = vec![0.0; cells.len()];
        for (group, weight) in self.groups.iter().zip(&self.weights) {
            own.fill(0.0_f64);
            group.add_cells(l, &mut own);
            for (sum, own) in sum.iter_mut().zip(&own) {
                *sum += weight * own;
            }
        }
        for (cell, sum) in cells.iter_mut().zip(sum) {
            *cell = sum as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use dp_core::mechanism::NoisyVector;
    use proptest::prelude::*;
    use rand::{Rng, RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};
    use swd::flow::StepSize;
    use swd::{NormBound, Particles};

    use super::super::Bins;
    use super::*;
    use crate::{GroupMarginals, MarginalQuery, Query};

    fn marginals(
        groups: &[Vec<f32>],
        slices: &Slices,
        radius: f64,
        bins: usize,
    ) -> Vec<SlicedMarginals> {
        let ball = NormBound::ball(radius).unwrap();
        let bins = Bins::uniform(radius, bins).unwrap();
        let query = MarginalQuery::new(slices.clone(), ball, bins).unwrap();
        let sizes = groups
            .iter()
            .map(|rows| rows.len() / slices.dim())
            .collect();
        let query = GroupMarginals::new(vec![query; groups.len()], sizes).unwrap();
        let counted = query.measure(groups).unwrap();
        query.read(&NoisyVector::without_privacy(counted)).unwrap()
    }

    proptest! {
        /// On a line, without noise: the mean of the groups' sorted records, up to the width of a bin.
        #[test]
        fn quantiles_on_a_line_are_averaged(
            seed: u64, n in 1_usize..30, weights in prop::collection::vec(0.1_f64..2.0, 1..5),
        ) {
            let rng = &mut ChaCha20Rng::seed_from_u64(seed);
            let line = Slices::from_directions(1, &[1.0]).unwrap();
            let group = |_: &f64| -> Vec<f32> { (0..n).map(|_| rng.random_range(-1.0..1.0)).collect() };
            let mut groups: Vec<Vec<f32>> = weights.iter().map(group).collect();
            let released = marginals(&groups, &line, 1.0, 256);
            let mut cells = vec![f32::NAN; n];
            Barycentre::new(&released, &weights).unwrap().write_cells(0, &mut cells);
            groups.iter_mut().for_each(|rows| rows.sort_by(f32::total_cmp));
            let sum: f64 = weights.iter().sum();
            for (r, &cell) in cells.iter().enumerate() {
                let parts = groups.iter().zip(&weights);
                let exact: f64 = parts.map(|(rows, w)| w / sum * f64::from(rows[r])).sum();
                prop_assert!((f64::from(cell) - exact).abs() <= 2.0 / 256.0 + 1e-6, "{} {}", cell, exact);
            }
        }
    }

    fn gaussian(n: usize, centre: [f32; 2], deviation: f32, rng: &mut impl Rng) -> Vec<f32> {
        let mut normal = || -> f32 { StandardNormal.sample(rng) };
        let row = |_| centre.map(|at| at + deviation * normal());
        (0..n).flat_map(row).collect()
    }

    /// `N(m_j, s_j^2 I)` have the barycentre `N(sum w_j m_j, (sum w_j s_j)^2 I)`, and not the mixture, whose deviation along the
    /// first axis is 1.5. Their weighted mean is within 0.02 of the truth but for 1e-4 of seeds; this one is fixed.
    #[test]
    fn isotropic_gaussians_have_the_known_barycentre() {
        let rng = &mut ChaCha20Rng::seed_from_u64(7);
        let groups = [
            gaussian(20_000, [-2.0, 0.0], 0.4, rng),
            gaussian(20_000, [1.0, 1.0], 0.8, rng),
        ];
        let slices = Slices::tight(2, 24, rng).unwrap();
        let released = marginals(&groups, &slices, 6.0, 128);
        let target = Barycentre::new(&released, &[1.0, 3.0]).unwrap();
        let n = 1500;
        let mut particles = Particles::gaussian(n, 2, 1.0, rng).unwrap();
        let (all, mut left) = ((0..24).collect::<Vec<_>>(), f64::INFINITY);
        let (step, diffusion) = (2.0, 0.0);
        let size = StepSize { step, diffusion };
        for _ in 0..150 {
            left = particles.step(&target, &all, size, rng).unwrap();
        }
        assert!(left < 1e-3, "{left}");
        let moved = |group: usize| target.moved(group, &groups[group]).unwrap();
        for rows in [particles.rows(), moved(0), moved(1)] {
            let moment = |of: &dyn Fn(f64, f64) -> f64| {
                let pairs = rows.chunks_exact(2);
                let sum: f64 = pairs.map(|p| of(p[0].into(), p[1].into())).sum();
                sum / (rows.len() / 2) as f64
            };
            let (x, y) = (moment(&|x, _| x), moment(&|_, y| y));
            let xx = moment(&|a, _| (a - x).powi(2)).sqrt();
            let yy = moment(&|_, b| (b - y).powi(2)).sqrt();
            let xy = moment(&|a, b| (a - x) * (b - y));
            for (found, known) in [(x, 0.25), (y, 0.75), (xx, 0.7), (yy, 0.7), (xy, 0.0)] {
                assert!((found - known).abs() < 0.03, "{found} of {known}");
            }
        }
        assert!(target.moved(2, &groups[0]).is_err());
        assert!(target.moved(0, &[0.0; 3]).is_err());
    }

    #[test]
    fn what_has_no_barycentre_is_refused() {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let slices = [(); 2].map(|()| Slices::tight(2, 4, rng).unwrap());
        let rows = [gaussian(10, [0.0; 2], 0.3, rng)];
        let mut released = marginals(&rows, &slices[0], 1.0, 8);
        assert!(Barycentre::new(&[], &[]).is_err());
        assert!(Barycentre::new(&released, &[1.0, 1.0]).is_err());
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Barycentre::new(&released, &[weight]).is_err(), "{weight}");
        }
        assert!(Barycentre::new(&released, &[2.0]).is_ok());
        released.extend(marginals(&rows, &slices[1], 1.0, 8));
        let other = Barycentre::new(&released, &[1.0, 1.0]).unwrap_err();
        assert!(other.to_string().contains("group 1"), "{other}");
    }
}
