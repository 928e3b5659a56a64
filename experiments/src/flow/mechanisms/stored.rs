//! One release, stored; then any number of steps.

use lab::diagnostic::Failure;
use lab::session::{Released, Session};
use swd::marginals::{Basis, Bins, Cleaning, MarginalQuery};
use swd::smoothed::{NoisyProjections, project};
use swd::{Region, SensitiveVector};

use super::super::plan::{MOMENTS, RELEASE};
use super::super::train::Flow;
use super::Moved;
use crate::particles::Target;
use crate::release::{Values, release_once};

impl Flow {
    /// Private sliced marginals, counted around the private Gaussian of each group where a share of the
    /// budget goes to its moments.
    pub(super) fn marginals(&mut self, session: &mut Session) -> Result<Moved, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::failed)?;
        let around = if self.settings.moments_first() {
            Some(self.moments(session, MOMENTS)?)
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
        let cleaning = if around.is_some() {
            Cleaning::towards_expected()
        } else {
            Cleaning::default()
        };
        let measure = |(query, latents): (&MarginalQuery, &Vec<f32>)| query.measure(latents);
        let released = self.once(session, |groups| {
            queries
                .iter()
                .zip(groups)
                .map(measure)
                .collect::<Result<_, _>>()
                .map_err(Failure::failed)
        })?;
        let mut targets = Vec::new();
        for ((query, values), size) in queries
            .iter()
            .zip(&released.groups)
            .zip(self.groups.sizes())
        {
            let target = query.clean(values, size, released.deviation, cleaning);
            targets.push(Box::new(target.map_err(Failure::failed)?) as Target);
        }
        Ok(Moved::Stored(self.first_particles()?, targets))
    }

    /// DPSWflow: all projections, once.
    pub(super) fn fixed(&mut self, session: &mut Session) -> Result<Moved, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::failed)?;
        let slices = self.slices()?;
        let released = self.once(session, |groups| {
            groups
                .iter()
                .map(|latents| project(latents, &slices, sphere))
                .collect::<Result<_, _>>()
                .map_err(Failure::failed)
        })?;
        let deviation = released.deviation;
        let targets = released
            .groups
            .into_iter()
            .map(|values| {
                let target = NoisyProjections::from_released(values, slices.clone(), deviation);
                Ok(Box::new(target.map_err(Failure::failed)?) as Target)
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        Ok(Moved::Stored(self.first_particles()?, targets))
    }

    /// Makes the one release, or reads it where the run made it before it was killed.
    fn once(
        &mut self,
        session: &mut Session,
        measure: impl FnOnce(&[Vec<f32>]) -> Result<Vec<SensitiveVector>, Failure>,
    ) -> Result<Released, Failure> {
        if let Some(released) = Released::read(&session.folder, RELEASE)? {
            return Ok(released);
        }
        let values = Values::of(&measure(&self.groups.latents)?, self.declared()?);
        let released = release_once(&mut self.releaser, RELEASE, &values, &mut session.ledger)?;
        released.write(&session.folder, RELEASE, session.ledger.releases())?;
        Ok(released)
    }
}
