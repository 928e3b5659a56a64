//! One private Gaussian, or one a class: the honest simple baseline.

use lab::diagnostic::Failure;
use lab::session::Session;
use private_queries::{Gaussians, Moments, Query};

use super::super::groups::{Groups, apportion};
use super::super::plan::RELEASE;
use super::super::train::Flow;
use super::{Generated, normalise};

/// Latents lie on the unit sphere.
const RADIUS: f64 = 1.0;

/// The moments of groups, with the sizes of the groups where they are released.
///
/// - `radius`: of the sphere that latents lie on while their moments are taken; the larger, the more of the noise is in
///   first moments.
pub(crate) fn moments(groups: &Groups, sizes_released: bool, radius: f64) -> Moments {
    let query = match sizes_released {
        true => Moments::labelled(groups.latents.len(), groups.dim, radius),
        false => Moments::of_groups(groups.sizes(), groups.dim, radius),
    };
    query.on_the_sphere()
}

impl Flow {
    pub(super) fn gaussian(&mut self, session: &mut Session) -> Result<Generated, Failure> {
        let latents = self.moments(session, RELEASE, RADIUS)?;
        let mut rows = Vec::new();
        for (group, &n) in self.particles.iter().enumerate() {
            rows.extend(latents.sample(group, n, &mut self.public));
        }
        normalise(&mut rows, self.groups.dim);
        Ok(Generated {
            rows,
            labels: self.labels(),
        })
    }

    /// The Gaussian of each group, from moments that are released once, by the name of the plan.
    pub(super) fn moments(
        &mut self,
        session: &mut Session,
        name: &str,
        radius: f64,
    ) -> Result<Gaussians, Failure> {
        let released = self.settings.sizes_released();
        let query = moments(&self.groups, released, radius);
        let (gaussians, sizes) = session.release(self, name, &query, |run, _| {
            query.measure(&run.groups.latents).map_err(Failure::failed)
        })?;
        if released {
            self.particles = apportion(&sizes, self.total_particles());
        }
        Ok(gaussians)
    }
}
