//! The part of a training that a rank other than the root takes.

use std::sync::Arc;

use burn::module::Module;

use super::shared::Begun;
use super::{RankError, Ranks, Shared, Team};
use crate::weights::{from_host, to_host};
use crate::{Batch, BatchSizes, Network, Training, TrainingError};

impl<M: Module> Training<M> {
    /// Takes the steps of this training together with other processes; this process is the root. Each other process calls
    /// [`Training::serve`] on the same training of its own records: of `R` ranks, rank `r` holds the records `r`, `r + R`,
    /// `r + 2 R` and so on. [`Step::own`](crate::Step::own) says which of the root's records are in a batch.
    ///
    /// The guarantee is that of one process: each rank bounds the effect of its records, with the sizes of the whole batch, and
    /// only this process adds noise, once, to the sum.
    ///
    /// - `ordered`: whether the gradient of a step is the same to the bit for any number of ranks. Every record then goes through
    ///   the network by itself, which takes several times as long.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Unbounded`] for an ordered training without privacy, whose sums have no bound; [`RankError::Carrier`] if
    /// this process is not the root.
    pub fn over(&mut self, ranks: Arc<dyn Ranks>, ordered: bool) -> Result<(), TrainingError> {
        if ranks.rank() > 0 {
            let message = format!("rank {} is not the root", ranks.rank());
            return Err(RankError::Carrier(message).into());
        }
        self.join(Team { ranks, ordered })
    }

    fn join(&mut self, team: Team) -> Result<(), TrainingError> {
        if team.ordered && self.plan().is_none() {
            return Err(TrainingError::Unbounded {
                what: "sums that do not depend on the number of ranks need a bound on what is added up, \
                       and a training without privacy has none"
                    .into(),
            });
        }
        self.team = Some(team);
        Ok(())
    }

    /// Tells the other ranks that there are no more steps, and gives them the network of [`Training::averaged`].
    ///
    /// # Errors
    ///
    /// [`RankError`] if a rank has failed or does not answer.
    pub fn end(&self) -> Result<(), TrainingError> {
        match &self.team {
            Some(team) => Ok(Shared::end(team, &to_host(&self.averaged()?))?),
            None => Ok(()),
        }
    }

    /// Serves the root until it has no more steps: clips and sums the records of each batch that this process holds. `batch`
    /// gathers the sampled records, given by their indices in this process for each stratum. The training's own releaser is not
    /// used.
    ///
    /// # Errors
    ///
    /// The same as for [`Step::update`](crate::Step::update), [`RankError`], and any error of `batch`.
    pub fn serve<const D: usize>(
        &mut self,
        ranks: Arc<dyn Ranks>,
        ordered: bool,
        mut batch: impl FnMut(&M, &[Vec<usize>]) -> Result<Batch<D>, TrainingError>,
    ) -> Result<(), TrainingError>
    where
        M: Network<D>,
    {
        self.join(Team { ranks, ordered })?;
        let team = self.team.clone();
        let Some(team) = team else { return Ok(()) };
        let planned = self.plan().map(|plan| BatchSizes::from(plan.sampler()));
        self.average = None;
        loop {
            let (begun, weights) = Shared::next(&team, self.max_grad_norms().len())?;
            self.network = from_host(self.network.clone(), &weights)?;
            let Some(Begun { shared, norms }) = begun else {
                return Ok(());
            };
            self.gradients.set_max_grad_norms(&norms);
            let batch = batch(&self.network, shared.own())?;
            self.gradients
                .serve(&self.network, &batch, planned.clone(), shared)?;
        }
    }
}
