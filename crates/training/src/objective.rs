//! What a step minimises, and how far one record can move its gradient.

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

/// Losses and penalties: `sum_k w_k (1/n) sum_i l_k(x_i) + sum_p v_p P_p(x_1, ..., x_n)`.
#[derive(Debug, Clone, Default)]
pub struct Objective {
    losses: Vec<Loss>,
    penalties: Vec<Penalty>,
    exact: ExactCells,
}

impl Objective {
    /// An objective of some losses.
    pub fn new(losses: impl IntoIterator<Item = Loss>) -> Self {
        Self {
            losses: losses.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The same with one more loss.
    #[must_use]
    pub fn loss(mut self, loss: Loss) -> Self {
        self.losses.push(loss);
        self
    }

    /// The same with one more penalty.
    #[must_use]
    pub fn penalty(mut self, penalty: Penalty) -> Self {
        self.penalties.push(penalty);
        self
    }

    /// The losses.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Those whose clipping norm moves.
    pub(crate) fn adaptive(&mut self) -> impl Iterator<Item = &mut Loss> {
        let losses = self.losses.iter_mut();
        losses.filter(|loss| loss.adaptive.is_some())
    }

    /// The penalties.
    pub fn penalties(&self) -> &[Penalty] {
        &self.penalties
    }

    /// Refuses constants out of range.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] names the first.
    pub fn check(&self) -> Result<(), TrainingError> {
        self.losses.iter().try_for_each(Loss::check)?;
        self.penalties.iter().try_for_each(Penalty::check)
    }

    /// Refuses constants out of range, groups that are not there, and what cannot be bounded together.
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
            .try_for_each(|loss| loss.check_groups(sizes.count()))?;
        match sizes {
            BatchSizes::ZeroOut(_) | BatchSizes::AddRemove(_) if !self.penalties.is_empty() => {
                Err(TrainingError::Unbounded {
                    what: "a penalty compares groups of fixed, public sizes, and neither Poisson samples nor records \
                           that may be blank are: take a sampler of fixed size whose neighbours replace one record"
                        .into(),
                })
            }
            _ => Ok(()),
        }
    }

    /// The public side of one step: fresh slices for each penalty, and the cells of its distribution.
    ///
    /// - `dims`: the dimension of each activation;
    /// - `sampler`: of the batch, for the sizes of its groups and the neighbours.
    ///
    /// # Errors
    ///
    /// What a penalty refuses.
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

    /// A step of a rank other than the root, which compares no activations: the root samples what they are compared with.
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

    /// The public side of one step with penalties that the caller has sampled.
    ///
    /// # Errors
    ///
    /// As [`Objective::draw`]; penalties for groups of other sizes.
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
            same("groups of a penalty", fixed.len(), penalty.sizes().len())?;
            for (&expected, &found) in fixed.iter().zip(penalty.sizes()) {
                same("records of a group of a penalty", expected, found)?;
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

/// The public sizes that a mean over records is divided by, and the neighbours that go with them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BatchSizes {
    /// Just so many records of each group in each batch; a record may be replaced.
    Fixed(Vec<usize>),
    /// So many in the mean, by Poisson sampling of a public number of records, or just so many; a record may be blank.
    ZeroOut(f64),
    /// Sums are divided by so many, a public number, and batches are Poisson samples of a private number of records; a
    /// record may be added or removed.
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
    /// The number of groups.
    fn count(&self) -> usize {
        self.fixed().map_or(1, <[usize]>::len)
    }

    fn fixed(&self) -> Option<&[usize]> {
        match self {
            Self::Fixed(sizes) => Some(sizes),
            Self::ZeroOut(_) | Self::AddRemove(_) => None,
        }
    }

    /// The most records that a loss can meet in one batch.
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

    /// Records that a loss takes its mean over.
    pub(crate) fn records(&self, loss: &Loss) -> f64 {
        match self {
            Self::ZeroOut(mean) | Self::AddRemove(mean) => *mean,
            Self::Fixed(sizes) => {
                let own = sizes.iter().enumerate();
                let own = own.filter(|(group, _)| loss.covers(*group));
                own.map(|(_, &size)| size as f64).sum()
            }
        }
    }
}

/// More records than a Poisson sample of `mean` expected ones has with probability `1 - 10^-30` (Bernstein).
fn most_of_poisson(mean: f64) -> f64 {
    mean + 12.0 * mean.sqrt() + 60.0
}

/// An objective with the public side of one step: ready for a batch.
#[derive(Debug, Clone)]
pub struct StepObjective {
    pub(crate) losses: Vec<Loss>,
    /// Of each penalty.
    pub(crate) terms: Vec<Term>,
    /// None on a rank that is not the root.
    pub(crate) penalties: Vec<SampledPenalty>,
    pub(crate) sizes: BatchSizes,
    /// Whether the records within clipping norms that move are counted.
    pub(crate) counts: bool,
}

impl StepObjective {
    /// The penalties as sampled.
    pub fn penalties(&self) -> &[SampledPenalty] {
        &self.penalties
    }

    /// The L2 sensitivity of one step's gradient as `engine` computes it:
    /// `sum_k w_k 2 C_k / n_k + sum_p v_p Delta_p` where a record is replaced by one of its group, and
    /// `sum_k w_k C_k / n` where one is added to a Poisson sample, or removed from it, whose sum is divided by `n`; and what
    /// the sums over records may be off by in each of two data sets, `2 a 2^-24 T` for at most `a` additions in `f32`
    /// of parts whose norms add up to at most `T`.
    ///
    /// A partial sum is no larger than `T`, so that each addition moves the total by at most `2^-24 T`, whatever the
    /// order of the records. For 600 records on the host that is less than 0.2 % of the whole.
    ///
    /// # Errors
    ///
    /// Bounds that are refused.
    pub fn sensitivity(&self, engine: Engine) -> Result<Sensitivity, TrainingError> {
        self.sensitivity_with(engine, 0)
    }

    /// The same where the part of a record goes through so many `more` roundings to `f32`.
    fn sensitivity_with(&self, engine: Engine, more: usize) -> Result<Sensitivity, TrainingError> {
        let counts = self.counted().count() as f64;
        let with_counts = (1.0 + counts * COUNT_MOVES * COUNT_MOVES).sqrt();
        Ok(Sensitivity::l2(with_counts * self.moves(engine, more)?)?)
    }

    /// How far a record moves the gradient alone.
    fn moves(&self, engine: Engine, more: usize) -> Result<f64, TrainingError> {
        let mut total = self.loss_sensitivity();
        for penalty in &self.penalties {
            total += penalty.term.weight * penalty.sensitivity_upper()?;
        }
        Ok(total + self.sums_upper(engine, more))
    }

    /// The places of the losses that are counted.
    fn counted(&self) -> impl Iterator<Item = usize> {
        let losses = self.losses.iter().enumerate();
        let moving = losses.filter(|(_, loss)| self.counts && loss.adaptive.is_some());
        moving.map(|(place, _)| place)
    }

    /// How far a record moves a count, with what two of them may be off by in `f32`.
    fn count_moves(&self) -> f64 {
        0.5 * self.differing() + self.sizes.most_records() as f64 * f64::powi(2.0, -24)
    }

    /// How many records' parts are in one of two neighbours alone, or differ.
    fn differing(&self) -> f64 {
        match self.sizes {
            BatchSizes::Fixed(_) => 2.0,
            BatchSizes::ZeroOut(_) | BatchSizes::AddRemove(_) => 1.0,
        }
    }

    /// What the sums over records in `f32` may be off by, in two data sets together, and over the share that is declared
    /// of it for a record of a private sample: that record moves all cotangents, and so all roundings. The last hundredth
    /// is for what is clipped in `f32`, and for products of roundings.
    fn sums_upper(&self, engine: Engine, more: usize) -> f64 {
        let additions = (engine.additions(self.sizes.most_records()) + more) as f64;
        let parts = self.parts_upper();
        let shares = self.penalties.iter().map(SampledPenalty::declared_share);
        let least = shares.fold(1.0, f64::min);
        1.01 * 2.0 * additions * f64::powi(2.0, -24) * parts / least
    }

    /// An upper bound on the sum over records of the norms of their parts, and so on the norm of a step's clipped gradient before
    /// its noise.
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

    /// The same with the published bounds of the penalties, for comparison.
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

    /// The neighbours that [`StepObjective::sensitivity`] holds for.
    pub fn neighbours(&self) -> Neighbours {
        match &self.sizes {
            BatchSizes::ZeroOut(_) => Neighbours::ZeroOut,
            BatchSizes::AddRemove(_) => Neighbours::AddRemove,
            BatchSizes::Fixed(sizes) if sizes.len() > 1 => Neighbours::KEnd,
            BatchSizes::Fixed(_) => Neighbours::ReplaceOne,
        }
    }

    /// What each record of each group weighs in each loss, `w_k / n_k` or nothing.
    pub(crate) fn shares(&self, groups: &[Range<usize>]) -> Vec<Vec<f64>> {
        let share = |loss: &Loss, group: usize| {
            if loss.covers(group) {
                loss.weight / self.sizes.records(loss)
            } else {
                0.0
            }
        };
        let losses = self.losses.iter();
        losses
            .map(|loss| {
                let groups = groups.iter().enumerate();
                groups
                    .flat_map(|(group, range)| vec![share(loss, group); range.len()])
                    .collect()
            })
            .collect()
    }

    /// The gradient of a batch, every record's part bounded, with its sensitivity.
    ///
    /// # Formal guarantee
    ///
    /// For two batches that differ in one record ([`StepObjective::neighbours`]), the same weights and the
    /// same public side, the results differ by at most [`StepObjective::sensitivity`] in L2 norm. The
    /// losses are **not private**: no ledger covers them.
    ///
    /// # Errors
    ///
    /// Shapes that do not fit, bounds that are refused, and [`TrainingError::Unbounded`] for a Poisson sample of far more
    /// records than it should have: by less than `10^-30` of chance where the sums are divided by its mean.
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
        // Rounded to a grid before they are added.
        let ordered = shared.is_some_and(Shared::ordered);
        let sensitivity = self.sensitivity_with(engine, usize::from(ordered))?;
        let sizes = shared.map_or_else(|| batch.sizes(), |shared| shared.sizes().to_vec());
        // The sensitivity counts rounding of sums for no more records. The size of a batch is secret, so the error names none.
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

    /// The ordinary gradient of the objective: nothing is clipped and **nothing is private**.
    ///
    /// # Errors
    ///
    /// As [`StepObjective::clipped_gradient`].
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
