//! The objective of a step, and its sensitivity to one record.

use std::ops::Range;

use burn::tensor::Device;
use dp_core::accounting::Neighbours;
use dp_core::mechanism::{ParameterGradient, Sensitivity};
use dp_core::sampling::Sampler;
use rand::Rng;

use crate::adaptive::COUNT_MOVES;
use crate::engine::{Engine, Pass};
use crate::error::same;
use crate::penalty::{ExactCells, Term};
use crate::ranks::Shared;
use crate::{Batch, Clipped, Loss, Network, Penalty, SampledPenalty, StepLosses, TrainingError};

/// The losses and penalties to minimise: `sum_k w_k (1/n) sum_i l_k(x_i) + sum_p v_p P_p(x_1, ..., x_n)`.
#[derive(Debug, Clone, Default)]
pub struct Objective {
    losses: Vec<Loss>,
    penalties: Vec<Penalty>,
    exact: ExactCells,
}

impl Objective {
    /// Creates an objective of these losses.
    pub fn new(losses: impl IntoIterator<Item = Loss>) -> Self {
        Self {
            losses: losses.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Adds a loss.
    #[must_use]
    pub fn loss(mut self, loss: Loss) -> Self {
        self.losses.push(loss);
        self
    }

    /// Adds a penalty.
    #[must_use]
    pub fn penalty(mut self, penalty: Penalty) -> Self {
        self.penalties.push(penalty);
        self
    }

    /// Returns the losses.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Returns the losses with an adaptive clipping norm.
    pub(crate) fn adaptive(&mut self) -> impl Iterator<Item = &mut Loss> {
        let losses = self.losses.iter_mut();
        losses.filter(|loss| loss.adaptive.is_some())
    }

    /// Returns the penalties.
    pub fn penalties(&self) -> &[Penalty] {
        &self.penalties
    }

    /// Checks that all constants are in range.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] for the first constant that is not.
    pub fn check(&self) -> Result<(), TrainingError> {
        self.losses.iter().try_for_each(Loss::check)?;
        self.penalties.iter().try_for_each(Penalty::check)
    }

    /// Refuses constants out of range, missing strata, and penalties whose sensitivity has no bound with these sizes.
    pub(crate) fn check_for(&self, sizes: &BatchSizes) -> Result<(), TrainingError> {
        self.check()?;
        if self.losses.is_empty() && self.penalties.is_empty() {
            return Err(TrainingError::OutOfRange {
                name: "the number of losses and penalties",
                value: 0.0,
                bound: "at least 1".into(),
            });
        }
        self.losses
            .iter()
            .try_for_each(|loss| loss.check_strata(sizes.count()))?;
        match sizes {
            BatchSizes::ZeroOut(_) | BatchSizes::AddRemove(_) if !self.penalties.is_empty() => {
                Err(TrainingError::Unbounded {
                    what: "a penalty compares strata of fixed, public sizes, and neither Poisson samples nor records \
                           that may be blank are: take a sampler of fixed size whose neighbours replace one record"
                        .into(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Samples the public part of one step: fresh slices for each penalty, and the cells of its distribution.
    ///
    /// - `dims`: the dimension of each activation;
    /// - `sampler`: the sampler of the batch, for the sizes of its strata and the neighbours.
    ///
    /// # Errors
    ///
    /// A penalty that cannot be sampled for these dimensions and sizes.
    pub fn draw(
        &mut self,
        dims: &[usize],
        sampler: &Sampler,
        rng: &mut impl Rng,
    ) -> Result<StepObjective, TrainingError> {
        self.draw_for(dims, sampler.into(), rng)
    }

    pub(crate) fn draw_for(
        &mut self,
        dims: &[usize],
        sizes: BatchSizes,
        rng: &mut impl Rng,
    ) -> Result<StepObjective, TrainingError> {
        self.check_for(&sizes)?;
        let mut penalties = Vec::with_capacity(self.penalties.len());
        for penalty in &self.penalties {
            let dim = dims
                .get(penalty.term.activation)
                .ok_or(TrainingError::OutOfRange {
                    name: "the activation of a penalty",
                    value: penalty.term.activation as f64,
                    bound: format!("below the number of activations, {}", dims.len()),
                })?;
            let fixed = sizes.fixed().unwrap_or_default();
            penalties.push(penalty.draw(*dim, fixed, &mut self.exact, rng)?);
        }
        Ok(StepObjective {
            losses: self.losses.clone(),
            terms: penalties.iter().map(|penalty| penalty.term).collect(),
            penalties,
            sizes,
            counts: false,
        })
    }

    /// The step of a rank other than the root. It compares no activations: the root samples the targets of penalties.
    pub(crate) fn of_rank(&self, sizes: BatchSizes) -> Result<StepObjective, TrainingError> {
        self.check_for(&sizes)?;
        Ok(StepObjective {
            losses: self.losses.clone(),
            terms: self.penalties.iter().map(|penalty| penalty.term).collect(),
            penalties: Vec::new(),
            sizes,
            counts: false,
        })
    }

    /// Uses penalties that you have sampled as the public part of one step.
    ///
    /// # Errors
    ///
    /// The same as for [`Objective::draw`]; a penalty for strata of other sizes.
    pub fn with_penalties(
        &self,
        penalties: Vec<SampledPenalty>,
        sampler: &Sampler,
    ) -> Result<StepObjective, TrainingError> {
        let sizes = BatchSizes::from(sampler);
        self.check_for(&sizes)?;
        for penalty in &penalties {
            penalty.term.clipping.check()?;
            let fixed = sizes.fixed().unwrap_or_default();
            same("strata of a penalty", fixed.len(), penalty.sizes().len())?;
            for (&expected, &found) in fixed.iter().zip(penalty.sizes()) {
                same("records of a stratum of a penalty", expected, found)?;
            }
        }
        Ok(StepObjective {
            losses: self.losses.clone(),
            terms: penalties.iter().map(|penalty| penalty.term).collect(),
            penalties,
            sizes,
            counts: false,
        })
    }
}

impl From<Loss> for Objective {
    fn from(loss: Loss) -> Self {
        Self::new([loss])
    }
}

/// The public sizes that divide the sums over records, with the neighbours that they go with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BatchSizes {
    /// The fixed number of records of each stratum in each batch; a record may be replaced.
    Fixed(Vec<usize>),
    /// The number of records in the mean: expected, by Poisson sampling of a public number of records, or fixed; a record may be
    /// blank.
    ZeroOut(f64),
    /// The public divisor of the sums; batches are Poisson samples of a private number of records, and a record may be added or
    /// removed.
    AddRemove(f64),
}

impl From<&Sampler> for BatchSizes {
    fn from(sampler: &Sampler) -> Self {
        let expected = sampler.expected_sizes();
        match sampler.neighbours() {
            Neighbours::ZeroOut => Self::ZeroOut(expected.iter().sum()),
            Neighbours::AddRemove => Self::AddRemove(expected.iter().sum()),
            _ => Self::Fixed(expected.iter().map(|&size| size as usize).collect()),
        }
    }
}

impl BatchSizes {
    /// The number of strata.
    fn count(&self) -> usize {
        self.fixed().map_or(1, <[usize]>::len)
    }

    fn fixed(&self) -> Option<&[usize]> {
        match self {
            Self::Fixed(sizes) => Some(sizes),
            Self::ZeroOut(_) | Self::AddRemove(_) => None,
        }
    }

    /// The most records that a loss can see in one batch.
    fn most(&self, loss: &Loss) -> f64 {
        match self {
            Self::ZeroOut(mean) | Self::AddRemove(mean) => most_of_poisson(*mean),
            Self::Fixed(_) => self.records(loss),
        }
    }

    /// The most records of a batch.
    fn most_records(&self) -> usize {
        match self {
            Self::ZeroOut(mean) | Self::AddRemove(mean) => most_of_poisson(*mean) as usize,
            Self::Fixed(sizes) => sizes.iter().sum(),
        }
    }

    /// The number of records that a loss takes its mean over.
    pub(crate) fn records(&self, loss: &Loss) -> f64 {
        match self {
            Self::ZeroOut(mean) | Self::AddRemove(mean) => *mean,
            Self::Fixed(sizes) => {
                let own = sizes.iter().enumerate();
                let own = own.filter(|(stratum, _)| loss.covers(*stratum));
                own.map(|(_, &size)| size as f64).sum()
            }
        }
    }
}

/// A size that a Poisson sample of `mean` expected records stays below with probability `1 - 10^-30` (Bernstein).
fn most_of_poisson(mean: f64) -> f64 {
    mean + 12.0 * mean.sqrt() + 60.0
}

/// An objective with the public part of one step sampled, ready for a batch.
#[derive(Debug, Clone)]
pub struct StepObjective {
    pub(crate) losses: Vec<Loss>,
    /// The term of each penalty.
    pub(crate) terms: Vec<Term>,
    /// Empty on a rank that is not the root.
    pub(crate) penalties: Vec<SampledPenalty>,
    pub(crate) sizes: BatchSizes,
    /// Whether to count the records within each adaptive clipping norm.
    pub(crate) counts: bool,
}

impl StepObjective {
    /// Returns the sampled penalties.
    pub fn penalties(&self) -> &[SampledPenalty] {
        &self.penalties
    }

    /// Returns the L2 sensitivity of one step's gradient as `engine` computes it.
    ///
    /// It is `sum_k w_k 2 C_k / n_k + sum_p v_p Delta_p` if one record is replaced by another of its stratum, and
    /// `sum_k w_k C_k / n` if one is added to or removed from a Poisson sample whose sum is divided by `n`. The rounding of the
    /// sums over records, in each of two data sets, adds `2 a 2^-24 T` for at most `a` additions in `f32` of parts whose norms
    /// add up to at most `T`: a partial sum is no larger than `T`, so each addition moves the total by at most `2^-24 T`,
    /// whatever the order of the records. For 600 records on the host that is less than 0.2 % of the whole.
    ///
    /// # Errors
    ///
    /// A bound that is out of range.
    pub fn sensitivity(&self, engine: Engine) -> Result<Sensitivity, TrainingError> {
        self.sensitivity_with(engine, 0)
    }

    /// [`StepObjective::sensitivity`] when each record's part is rounded to `f32` `more` times more.
    fn sensitivity_with(&self, engine: Engine, more: usize) -> Result<Sensitivity, TrainingError> {
        let counts = self.counted().count() as f64;
        let with_counts = (1.0 + counts * COUNT_MOVES * COUNT_MOVES).sqrt();
        Ok(Sensitivity::l2(with_counts * self.moves(engine, more)?)?)
    }

    /// The most that a record moves the gradient, without the counts.
    fn moves(&self, engine: Engine, more: usize) -> Result<f64, TrainingError> {
        let mut total = self.loss_sensitivity();
        for penalty in &self.penalties {
            total += penalty.term.weight * penalty.sensitivity_upper()?;
        }
        Ok(total + self.sums_upper(engine, more))
    }

    /// The indices of the losses that are counted.
    fn counted(&self) -> impl Iterator<Item = usize> {
        let losses = self.losses.iter().enumerate();
        let moving = losses.filter(|(_, loss)| self.counts && loss.adaptive.is_some());
        moving.map(|(place, _)| place)
    }

    /// The most that a record moves a count, with the rounding of two counts in `f32`.
    fn count_moves(&self) -> f64 {
        0.5 * self.differing() + self.sizes.most_records() as f64 * f64::powi(2.0, -24)
    }

    /// The number of records' parts that differ between two neighbours or are in only one of them.
    fn differing(&self) -> f64 {
        match self.sizes {
            BatchSizes::Fixed(_) => 2.0,
            BatchSizes::ZeroOut(_) | BatchSizes::AddRemove(_) => 1.0,
        }
    }

    /// A bound on the rounding of the sums over records in `f32`, in two data sets together. It is divided by the share that is
    /// declared for a record of a private sample: such a record moves all cotangents, and so all roundings. The last hundredth
    /// covers clipping in `f32` and products of roundings.
    fn sums_upper(&self, engine: Engine, more: usize) -> f64 {
        let additions = (engine.additions(self.sizes.most_records()) + more) as f64;
        let parts = self.parts_upper();
        let shares = self.penalties.iter().map(SampledPenalty::declared_share);
        let least = shares.fold(1.0, f64::min);
        1.01 * 2.0 * additions * f64::powi(2.0, -24) * parts / least
    }

    /// Returns an upper bound on the sum over records of the norms of their parts, and so on the norm of a step's clipped
    /// gradient before its noise.
    pub fn parts_upper(&self) -> f64 {
        let losses = self.losses.iter().map(|loss| {
            let whole = self.sizes.most(loss) / self.sizes.records(loss);
            loss.weight * loss.max_grad_norm * whole
        });
        let penalties = self
            .penalties
            .iter()
            .map(|p| p.term.weight * p.parts_upper());
        losses.sum::<f64>() + penalties.sum::<f64>()
    }

    /// Returns the sensitivity with the published bounds of the penalties, for comparison.
    pub fn published_sensitivity_upper(&self) -> f64 {
        let penalties = self.penalties.iter();
        let penalties = penalties.map(|p| p.term.weight * p.published_sensitivity_upper());
        self.loss_sensitivity() + penalties.sum::<f64>()
    }

    fn loss_sensitivity(&self) -> f64 {
        let records = self.differing();
        let losses = self.losses.iter();
        let losses = losses
            .map(|loss| loss.weight * (records * loss.max_grad_norm / self.sizes.records(loss)));
        losses.sum()
    }

    /// Returns the neighbours that [`StepObjective::sensitivity`] holds for.
    pub fn neighbours(&self) -> Neighbours {
        match &self.sizes {
            BatchSizes::ZeroOut(_) => Neighbours::ZeroOut,
            BatchSizes::AddRemove(_) => Neighbours::AddRemove,
            BatchSizes::Fixed(sizes) if sizes.len() > 1 => Neighbours::KEnd,
            BatchSizes::Fixed(_) => Neighbours::ReplaceOne,
        }
    }

    /// The weight of each record of each stratum in each loss: `w_k / n_k`, or 0 if the loss does not cover the stratum.
    pub(crate) fn shares(&self, strata: &[Range<usize>]) -> Vec<Vec<f64>> {
        let share = |loss: &Loss, stratum: usize| {
            if loss.covers(stratum) {
                loss.weight / self.sizes.records(loss)
            } else {
                0.0
            }
        };
        let losses = self.losses.iter();
        losses
            .map(|loss| {
                let strata = strata.iter().enumerate();
                strata
                    .flat_map(|(stratum, range)| vec![share(loss, stratum); range.len()])
                    .collect()
            })
            .collect()
    }

    /// Returns the gradient of a batch, with each record's part bounded, and its sensitivity; and the losses.
    ///
    /// # Formal guarantee
    ///
    /// For two batches that differ in one record ([`StepObjective::neighbours`]), with the same weights and the same public part,
    /// the gradients differ by at most [`StepObjective::sensitivity`] in L2 norm. The losses are **not private**: no ledger
    /// covers them.
    ///
    /// # Errors
    ///
    /// Shapes that do not fit, bounds out of range, and [`TrainingError::Unbounded`] for a Poisson sample of far more records
    /// than expected, which has probability below `10^-30` if the sums are divided by its mean.
    pub fn clipped_gradient<const D: usize>(
        &self,
        network: &impl Network<D>,
        batch: &Batch<D>,
        engine: Engine,
        device: &Device,
    ) -> Result<(Clipped, StepLosses), TrainingError> {
        self.clipped_over(network, batch, engine, device, None)
    }

    /// [`StepObjective::clipped_gradient`] at the root of several ranks.
    pub(crate) fn clipped_over<const D: usize>(
        &self,
        network: &impl Network<D>,
        batch: &Batch<D>,
        engine: Engine,
        device: &Device,
        shared: Option<&Shared>,
    ) -> Result<(Clipped, StepLosses), TrainingError> {
        // Each part is rounded to a grid before it is added.
        let ordered = shared.is_some_and(Shared::ordered);
        let sensitivity = self.sensitivity_with(engine, usize::from(ordered))?;
        let sizes = shared.map_or_else(|| batch.sizes(), |shared| shared.sizes().to_vec());
        // The sensitivity covers the rounding for no more records. The size of a batch is secret, so the error does not name it.
        let records = sizes.iter().sum::<usize>();
        if self.sizes.fixed().is_none() && records > self.sizes.most_records() {
            return Err(TrainingError::Unbounded {
                what: "the batch has more records than what its sum is divided by allows for: nothing was released. \
                       Take a larger divisor, or a smaller rate"
                    .into(),
            });
        }
        let pass = Pass::new(self, batch, true).over(shared);
        let (gradient, losses) = pass.run(network, engine, device)?;
        let mut clipped = Clipped::new(gradient, sensitivity, sizes);
        if self.counted().next().is_some() {
            let more = usize::from(ordered);
            let scale = COUNT_MOVES * self.moves(engine, more)? / self.count_moves();
            let counts = self.counted().map(|place| losses.counts[place]);
            clipped = clipped.with_counts(scale, counts);
        }
        Ok((clipped, losses))
    }

    /// Returns the ordinary gradient of the objective, which is not clipped and **not private**, and the losses.
    ///
    /// # Errors
    ///
    /// The same as for [`StepObjective::clipped_gradient`].
    pub fn gradient_without_privacy<const D: usize>(
        &self,
        network: &impl Network<D>,
        batch: &Batch<D>,
        engine: Engine,
        device: &Device,
    ) -> Result<(ParameterGradient, StepLosses), TrainingError> {
        Pass::new(self, batch, false).run(network, engine, device)
    }
}
