//! One release, stored; then any number of steps.

use lab::diagnostic::Failure;
use lab::session::{Released, Session};
use swd::marginals::{Basis, Bins, Cleaning, LabelledQuery, MarginalQuery};
use swd::smoothed::{NoisyProjections, project};
use swd::{Region, SensitiveVector};

use super::super::groups::apportion;
use super::super::plan::{MOMENTS, RELEASE};
use super::super::train::Flow;
use super::Moved;
use crate::particles::Target;
use crate::release::{Values, release_and_store, stored};

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
        let cleaning = if around.is_some() {
            Cleaning::towards_expected()
        } else {
            Cleaning::default()
        };
        let targets = match self.settings.sizes_released() {
            true => self.labelled(queries, cleaning, session)?,
            false => self.by_group(&queries, cleaning, session)?,
        };
        let particles = self.first_particles(around.as_ref())?;
        Ok(Moved::Stored(particles, targets))
    }

    /// The marginals of all groups and their sizes, as one release in which a record may change its group; the sizes say
    /// how many particles each group gets.
    fn labelled(
        &mut self,
        queries: Vec<MarginalQuery>,
        cleaning: Cleaning,
        session: &mut Session,
    ) -> Result<Vec<Target>, Failure> {
        let query = LabelledQuery::of(queries).map_err(Failure::failed)?;
        let released = self.once(session, |groups| {
            let measured = query.measure_classes(groups).map_err(Failure::failed)?;
            Ok(vec![measured])
        })?;
        let groups = query.clean(&released.groups.concat(), released.deviation, cleaning);
        let groups = groups.map_err(Failure::failed)?;
        let sizes: Vec<f64> = groups.iter().map(|group| group.size).collect();
        self.particles = apportion(&sizes, self.total_particles());
        let target = |group: swd::marginals::ClassMarginals| Box::new(group.marginals) as Target;
        Ok(groups.into_iter().map(target).collect())
    }

    /// The marginals of groups of public sizes, in which every record stays.
    fn by_group(
        &mut self,
        queries: &[MarginalQuery],
        cleaning: Cleaning,
        session: &mut Session,
    ) -> Result<Vec<Target>, Failure> {
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
        Ok(targets)
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
        Ok(Moved::Stored(self.first_particles(None)?, targets))
    }

    /// Makes the one release, or reads it where the run made it before it was killed.
    fn once(
        &mut self,
        session: &mut Session,
        measure: impl FnOnce(&[Vec<f32>]) -> Result<Vec<SensitiveVector>, Failure>,
    ) -> Result<Released, Failure> {
        if let Some(released) = stored(self.releaser.as_mut(), RELEASE, session)? {
            return Ok(released);
        }
        let values = Values::of(&measure(&self.groups.latents)?);
        release_and_store(self.releaser.as_mut(), RELEASE, &values, None, session)
    }
}
