//! Penalties on activations: sliced distances with a proved bound.

mod between;
mod prior;
mod sample;
mod term;

use std::ops::Range;
use std::sync::Arc;

use burn::tensor::{Tensor, TensorData};
use dp_core::per_sample::{JacobianClip, check_norm};
use rand::Rng;
use swd::{Cost, Slices, TargetQuantiles};

pub use between::{Between, Pair};
pub use prior::{Matching, Prior};
pub use sample::ToSample;
pub(crate) use term::Term;

use crate::batch::Fixed;
use crate::error::{same, weight};
use crate::{Batch, Clipping, TrainingError};

/// A penalty on an activation of the network, `[n, d]`: a squared sliced 2-Wasserstein distance, or a sliced distance by another
/// [`Cost`].
///
/// - [`Penalty::to`] compares each stratum's activations with a public distribution, weighted by the sizes of strata;
/// - [`Penalty::between_strata`], [`Penalty::between_classes`] and [`Penalty::between`] compare strata of private records, both
///   of which are trained. Strata may come from two private data sets.
///
/// Activations are projected onto the ball of radius `M` before they are compared, and each record's Jacobian of the activation
/// is bounded by `L` ([`Penalty::clipping`]). The gradient then moves by at most [`SampledPenalty::sensitivity_upper`] if one
/// record is replaced within its stratum. In one dimension the distance is `W_2^2` itself.
///
/// ```
/// use private_training::{Clipping, Penalty, Prior};
/// let latents_in_the_ball = Penalty::to(Prior::UniformBall).clipping(Clipping::new(1.5, 2.4));
/// let parity = Penalty::between_strata().slices(16).weight(0.5);
/// // Nearly W_1, which a few records far away change less.
/// let robust = Penalty::to(Prior::UniformBall).cost(swd::Cost::Huber(0.3));
/// ```
#[derive(Debug, Clone)]
pub struct Penalty {
    kind: Kind,
    cost: Cost,
    slices: Directions,
    pub(crate) term: Term,
}

#[derive(Debug, Clone)]
enum Kind {
    Prior(Prior),
    Strata,
    Classes,
    Pairs(Vec<Pair>),
    Sample { share: f64 },
}

/// How the directions of a step are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directions {
    Tight(usize),
    Independent(usize),
}

impl Penalty {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            cost: Cost::Square,
            slices: Directions::Tight(50),
            term: Term {
                weight: 1.0,
                clipping: Clipping::published(JacobianClip::Spectral),
                activation: 0,
                second: None,
            },
        }
    }

    /// Penalises the distance of each stratum's activations to a public distribution.
    pub fn to(prior: Prior) -> Self {
        Self::of(Kind::Prior(prior))
    }

    /// Penalises the distance between the two strata of a batch: statistical parity (Rodriguez-Vitores, Lalanne and Loubes 2025,
    /// equation 8).
    pub fn between_strata() -> Self {
        Self::of(Kind::Strata)
    }

    /// Penalises the mean over classes of the distance between their two sensitive groups: equality of odds (the same
    /// source, equation 9). The strata are `(class 0, group 0), (class 0, group 1), (class 1, group 0), ...`.
    pub fn between_classes() -> Self {
        Self::of(Kind::Classes)
    }

    /// Penalises the weighted distances between any disjoint pairs of strata.
    pub fn between(pairs: Vec<Pair>) -> Self {
        Self::of(Kind::Pairs(pairs))
    }

    /// Penalises the distance of all activations to a private sample that does not go through the network, the last stratum of a
    /// batch ([`Batch::with_private_sample`]). In data generation, both the inputs of the map and the sample that it should
    /// produce may be private (Rodriguez-Vitores, Lalanne and Loubes 2025, theorem A.1 with `L_2 = 0`).
    ///
    /// A record of the inputs moves the gradient by up to `8 M L / n`, one of the sample by `4 sqrt(lambda) M L / m`, less than
    /// half of that. So the sample gets more privacy than the inputs:
    ///
    /// - `share`: the declared sensitivity is at least a sample record's divided by `share`, so such a record may be accounted
    ///   with `1/share` times the noise multiplier of the step. Pass 1 if you do not; [`ToSample::share`] is the smallest
    ///   share that costs nothing with a tight frame.
    pub fn to_private_sample(share: f64) -> Self {
        Self::of(Kind::Sample { share })
    }

    /// Sets the cost of moving a projected activation, the square by default. Another cost has another sensitivity
    /// ([`swd::sensitivity::Norms::prior_bound`], [`swd::sensitivity::Norms::both_private_bound`],
    /// [`swd::sensitivity::Norms::private_sample_bounds`]).
    #[must_use]
    pub fn cost(mut self, cost: Cost) -> Self {
        self.cost = cost;
        self
    }

    /// Sets the weight of this penalty in the objective, 1 by default.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.term.weight = weight;
        self
    }

    /// Sets the number of directions of a step, sampled afresh as a tight frame: 50 by default, at least `d`.
    #[must_use]
    pub fn slices(mut self, count: usize) -> Self {
        self.slices = Directions::Tight(count);
        self
    }

    /// Sets the number of directions of a step, sampled independently of each other.
    #[must_use]
    pub fn independent_slices(mut self, count: usize) -> Self {
        self.slices = Directions::Independent(count);
        self
    }

    /// Sets the bounds `M` and `L`; those of [`Clipping::published`] by default.
    #[must_use]
    pub fn clipping(mut self, clipping: Clipping) -> Self {
        self.term.clipping = clipping;
        self
    }

    /// Compares two maps between strata: the first stratum of each pair is mapped by `g(x)`, the second by `h(x)`, and both maps
    /// are trained (Rodriguez-Vitores, Lalanne and Loubes 2025, equation 1). The activation is `[g(x), h(x)]`, `2d` values for
    /// each record ([`dp_core::per_sample::nn::Chain::concat`]), and only the half of a record's own map is used. `M` bounds both
    /// maps, `L1` of [`Penalty::clipping`] bounds `g`, and `jacobian` is `L2`, which bounds `h`. Other penalties refuse two maps.
    ///
    /// ```text
    /// Delta = 4 M max { max(2 L1, L1 + L2) / n, max(2 L2, L1 + L2) / m }
    /// ```
    ///
    /// for strata of `n` and `m` records, or the joint bound of [`swd::sensitivity::Norms::both_private_bound`] if that is
    /// smaller. It holds whatever parameters the two maps share.
    ///
    /// A public side is a stratum of the batch too. It costs nothing if it is sampled at no higher rate than the private one (its
    /// records may be repeated) and `m >= n max(2 L2, L1 + L2) / max(2 L1, L1 + L2)`.
    ///
    /// ```
    /// use private_training::{Clipping, Penalty};
    /// let alike = Penalty::between_strata().clipping(Clipping::new(1.0, 0.5)).two_maps(0.3);
    /// ```
    #[must_use]
    pub fn two_maps(mut self, jacobian: f64) -> Self {
        self.term.second = Some(jacobian);
        self
    }

    /// Selects one of the network's activations ([`crate::Forward::activations`]) by index; the first by default.
    #[must_use]
    pub fn at(mut self, activation: usize) -> Self {
        self.term.activation = activation;
        self
    }

    pub(crate) fn check(&self) -> Result<(), TrainingError> {
        weight("the weight of a penalty", self.term.weight)?;
        self.cost.check()?;
        if let Some(second) = self.term.second {
            check_norm("the bound L2 of Jacobians", second)?;
        }
        self.term.clipping.check()
    }

    /// Samples the public part of one step for strata of `sizes` records and activations of `width` values, of both maps together
    /// if there are two.
    ///
    /// # Errors
    ///
    /// Fewer slices than dimensions, two maps in an activation of odd width or in a penalty not between strata, strata that do
    /// not pair, or a public sample of another dimension.
    pub(crate) fn draw(
        &self,
        width: usize,
        sizes: &[usize],
        exact: &mut ExactCells,
        rng: &mut impl Rng,
    ) -> Result<SampledPenalty, TrainingError> {
        let maps = self.term.maps();
        let dim = width / maps;
        same("the width of an activation of two maps", maps * dim, width)?;
        let slices = match self.slices {
            Directions::Tight(count) => Slices::tight(dim, count, rng)?,
            Directions::Independent(count) => Slices::iid(dim, count, rng)?,
        };
        let target = match &self.kind {
            Kind::Prior(prior) => Target::Prior(prior.draw(sizes, slices, exact, rng)?),
            Kind::Strata => Target::Between(Between::strata(sizes, slices)?),
            Kind::Classes => Target::Between(Between::classes(sizes, slices)?),
            Kind::Pairs(pairs) => {
                Target::Between(Between::new(sizes.to_vec(), pairs.clone(), slices)?)
            }
            Kind::Sample { share } => Target::Sample(ToSample::new(sizes, slices, *share)?),
        };
        let sampled = self.sampled(target);
        sampled.check()?;
        Ok(sampled)
    }

    /// Returns this penalty for one step with your own public part.
    pub fn with_target(&self, target: impl Into<Target>) -> SampledPenalty {
        self.sampled(target.into())
    }

    fn sampled(&self, target: Target) -> SampledPenalty {
        SampledPenalty {
            target,
            cost: self.cost,
            term: self.term,
        }
    }
}

/// The exact cells of public distributions for each dimension and size, computed once for a whole run.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExactCells(
    std::collections::BTreeMap<(&'static str, usize, usize), Arc<TargetQuantiles>>,
);

impl ExactCells {
    pub(crate) fn get(
        &mut self,
        distribution: (&'static str, usize, usize),
        cells: impl FnOnce() -> Result<TargetQuantiles, swd::SwdError>,
    ) -> Result<Arc<TargetQuantiles>, TrainingError> {
        if let Some(cells) = self.0.get(&distribution) {
            return Ok(cells.clone());
        }
        let cells = Arc::new(cells()?);
        self.0.insert(distribution, cells.clone());
        Ok(cells)
    }
}

/// The target that activations are compared with in one step. It is public: a private sample is kept in the batch.
#[derive(Debug, Clone)]
pub enum Target {
    /// A public distribution.
    Prior(Matching),
    /// Each other.
    Between(Between),
    /// A private sample.
    Sample(ToSample),
}

impl From<Matching> for Target {
    fn from(matching: Matching) -> Self {
        Self::Prior(matching)
    }
}

impl From<Between> for Target {
    fn from(between: Between) -> Self {
        Self::Between(between)
    }
}

/// A penalty with the slices and cells of one step.
#[derive(Debug, Clone)]
pub struct SampledPenalty {
    target: Target,
    cost: Cost,
    pub(crate) term: Term,
}

impl SampledPenalty {
    /// Refuses an invalid cost, and a second map if no bound is known for this target.
    fn check(&self) -> Result<(), TrainingError> {
        let between = matches!(self.target, Target::Between(_));
        if self.term.second.is_some() && !between {
            return Err(TrainingError::Unbounded {
                what: "two maps of a penalty that is not between strata: make the second side a stratum of the batch"
                    .into(),
            });
        }
        self.cost.check()?;
        Ok(())
    }

    /// The number of values of a record that are compared, of both maps together if there are two.
    pub(crate) fn width(&self) -> usize {
        self.term.maps() * self.slices().dim()
    }

    /// Returns the directions of this step.
    pub fn slices(&self) -> &Slices {
        match &self.target {
            Target::Prior(matching) => matching.slices(),
            Target::Between(between) => between.slices(),
            Target::Sample(sample) => sample.slices(),
        }
    }

    /// Returns the number of records of each stratum.
    pub fn sizes(&self) -> &[usize] {
        match &self.target {
            Target::Prior(matching) => matching.sizes(),
            Target::Between(between) => between.sizes(),
            Target::Sample(sample) => sample.sizes(),
        }
    }

    /// Returns an upper bound on how far the gradient of the distance, before its weight, moves if one record is replaced by one
    /// of its stratum. Activations have norm at most `M`, and Jacobians spectral norm at most `L`.
    ///
    /// # Errors
    ///
    /// A bound that is out of range.
    pub fn sensitivity_upper(&self) -> Result<f64, TrainingError> {
        self.check()?;
        match &self.target {
            Target::Prior(matching) => matching.sensitivity_upper(self.cost, &self.term.clipping),
            Target::Between(between) => between.sensitivity_upper(self.cost, &self.term),
            Target::Sample(sample) => sample.sensitivity_upper(self.cost, &self.term.clipping),
        }
    }

    /// An upper bound on the sum over records of the norms of their parts of the gradient of the distance, before its weight. It
    /// is `2 L sqrt(lambda) (sqrt(lambda) M + R)` for activations of norm at most `M` that are compared along directions of
    /// largest eigenvalue `lambda` with values of size at most `R`; for another cost it is `L sqrt(lambda) h'(M + R)`.
    pub(crate) fn parts_upper(&self) -> f64 {
        let Clipping {
            activation: m,
            jacobian: l,
            ..
        } = self.term.clipping;
        let root = self.slices().lambda_max_upper().sqrt();
        let one_side = |r: f64| 2.0 * l * root * (root * m + r);
        match &self.target {
            Target::Prior(matching) => match self.cost {
                Cost::Square => one_side(matching.largest_cell()),
                cost => l * root * cost.slope(m + matching.largest_cell()),
            },
            Target::Between(between) => {
                let both = self.term.jacobians().iter().sum::<f64>();
                match self.cost {
                    Cost::Square => between.weights() * 2.0 * both * root * (root + 1.0) * m,
                    cost => between.weights() * both * root * cost.slope(2.0 * m),
                }
            }
            Target::Sample(_) => match self.cost {
                Cost::Square => one_side(m),
                cost => l * root * cost.slope(2.0 * m),
            },
        }
    }

    /// The share of the declared sensitivity that bounds a record of a private sample; 1 without such a sample.
    pub(crate) fn declared_share(&self) -> f64 {
        match &self.target {
            Target::Sample(sample) => sample.declared_share(),
            _ => 1.0,
        }
    }

    /// Returns the published bound for the gradient of [`SampledPenalty::sensitivity_upper`]: `12 M L / n` towards a public
    /// distribution (Rodriguez-Vitores, Lalanne and Loubes 2025, section 6.2), `16 M L / min(n_0, n_1)` between strata (corollary
    /// C.1; theorem A.1 for two maps), and `4 M L max(3/n, 1/m)` towards a private sample of `m` records (theorem A.1). It is
    /// infinite for other costs than the square, for which none is published.
    pub fn published_sensitivity_upper(&self) -> f64 {
        match &self.target {
            _ if self.cost != Cost::Square => f64::INFINITY,
            Target::Prior(matching) => {
                let clipping = &self.term.clipping;
                12.0 * clipping.activation * clipping.jacobian / matching.records() as f64
            }
            Target::Between(between) => between.published_sensitivity_upper(&self.term),
            Target::Sample(sample) => sample.published_sensitivity_upper(&self.term.clipping),
        }
    }

    /// The cotangents of the distance at `activations`, and its value; activations and cotangents are `[n, d]`, or `[n, 2d]` with
    /// two maps. `strata` gives the rows of each stratum.
    pub(crate) fn cotangents(
        &self,
        strata: &[Range<usize>],
        fixed: Option<&Fixed>,
        activations: &[f32],
    ) -> Result<(Vec<f32>, f64), TrainingError> {
        self.check()?;
        match &self.target {
            Target::Prior(matching) => matching.cotangents(self.cost, strata, activations),
            Target::Between(between) => {
                between.cotangents(self.cost, &self.term, strata, activations)
            }
            Target::Sample(sample) => {
                let radius = self.term.clipping.activation;
                sample.cotangents(self.cost, fixed, activations, radius)
            }
        }
    }

    /// [`SampledPenalty::cotangents`] on the device of the activations. With `bounded` they are scaled down by the rounding of
    /// their sums there, so that the declared sensitivity holds.
    pub(crate) fn device_cotangents<const D: usize>(
        &self,
        batch: &Batch<D>,
        activations: Tensor<2>,
        bounded: bool,
    ) -> Result<(Tensor<2>, Tensor<1>), TrainingError> {
        let strata = batch.strata();
        if self.cost != Cost::Square {
            // These are few values against those of the network, so they are compared on the host.
            let (shape, device) = (activations.dims(), activations.device());
            let rows: Vec<f32> = activations.into_data().iter::<f32>().collect();
            let (cotangents, value) = self.cotangents(strata, batch.fixed(), &rows)?;
            let cotangents = Tensor::from_data(TensorData::new(cotangents, shape), &device);
            return Ok((cotangents, Tensor::from_data([value as f32], &device)));
        }
        let clipping = bounded.then_some(&self.term.clipping);
        match &self.target {
            Target::Prior(matching) => matching.device_cotangents(strata, activations, clipping),
            Target::Between(between) => {
                between.device_cotangents(&self.term, strata, activations, bounded)
            }
            Target::Sample(sample) => {
                let radius = self.term.clipping.activation;
                sample.device_cotangents(batch.fixed(), activations, radius, clipping)
            }
        }
    }
}
