//! One release, stored; then any number of steps.

use lab::diagnostic::Failure;
use lab::session::Session;
use private_queries::marginals::{Basis, Bins};
use private_queries::{GroupMarginals, LabelledMarginals, MarginalQuery, Projections, Query};
use swd::{FlowTarget, Region};

use super::super::groups::apportion;
use super::super::plan::{MOMENTS, RELEASE};
use super::super::train::Flow;
use super::Moved;
use crate::particles::Target;

impl Flow {
    /// Private sliced marginals, counted around the private Gaussian of each group where a share of the
    /// budget goes to its moments.
    pub(super) fn marginals(&mut self, session: &mut Session) -> Result<Moved, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::failed)?;
        let around = if self.settings.moments_first() {
            Some(self.moments(session, MOMENTS, 1.0)?)
        } else {
            None
        };
        let mut queries = Vec::new();
        for group in 0..self.groups.latents.len() {
            let slices = self.slices()?;
            let gaussian = around.as_ref().and_then(|moments| moments.gaussian(group));
            let query = match gaussian {
                Some((mean, factor)) => {
                    MarginalQuery::around_gaussian(slices, sphere, mean, factor, self.settings.bins)
                }
                None => Bins::uniform(1.0, self.settings.bins)
                    .and_then(|bins| MarginalQuery::new(slices, sphere, bins, Basis::Haar)),
            };
            queries.push(query.map_err(Failure::failed)?);
        }
        let targets = match self.settings.sizes_released() {
            true => {
                let query = LabelledMarginals::of(queries).map_err(Failure::failed)?;
                let (marginals, sizes) = self.once(session, &query)?;
                self.particles = apportion(&sizes, self.total_particles());
                boxed(marginals)
            }
            false => {
                let query = GroupMarginals::new(queries, self.groups.sizes());
                boxed(self.once(session, &query.map_err(Failure::failed)?)?)
            }
        };
        let particles = self.first_particles(around.as_ref())?;
        Ok(Moved::Stored(particles, targets))
    }

    /// DPSWflow: all projections, once.
    pub(super) fn fixed(&mut self, session: &mut Session) -> Result<Moved, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::failed)?;
        let slices = self.slices()?;
        let query = Projections::new(slices, sphere, self.groups.sizes());
        let targets = boxed(self.once(session, &query)?);
        Ok(Moved::Stored(self.first_particles(None)?, targets))
    }

    /// Makes the one release of all groups, or reads it where the run made it before it was killed.
    fn once<Q: Query<Records = [Vec<f32>]>>(
        &mut self,
        session: &mut Session,
        query: &Q,
    ) -> Result<Q::Answer, Failure> {
        session.release(self, RELEASE, query, |run, _| {
            query.measure(&run.groups.latents).map_err(Failure::failed)
        })
    }
}

fn boxed<T: FlowTarget + 'static>(targets: Vec<T>) -> Vec<Target> {
    let boxed = |target| Box::new(target) as Target;
    targets.into_iter().map(boxed).collect()
}
