//! The Gaussian of each group, from moments that are released once.

use lab::diagnostic::Failure;
use lab::session::Session;
use private_queries::{Gaussians, Moments};

use private_synth::images::apportion;

use super::super::groups::Groups;
use super::super::run::Flow;
use crate::in_run;

/// The moments of groups, with the sizes of the groups if they are released.
///
/// - `radius`: of the sphere that latents lie on while their moments are taken; the larger, the more of the noise is in
///   first moments.
pub(crate) fn moments(groups: &Groups, sizes_released: bool, radius: f64) -> Moments {
    let query = match sizes_released {
        true => Moments::labelled(groups.latents.groups(), groups.dim, radius),
        false => Moments::of_groups(groups.sizes(), groups.dim, radius),
    };
    query.on_the_sphere()
}

impl Flow {
    /// Releases the moments of all groups, and gives each its share of the particles if sizes are released too.
    pub(super) fn moments(
        &mut self,
        session: &mut Session,
        name: &str,
        radius: f64,
    ) -> Result<Gaussians, Failure> {
        let query = moments(&self.groups, self.sizes_released, radius);
        let (gaussians, sizes) = session.release(self, name, &query, |run, _| {
            let measured = run.groups.latents.measured(&query);
            measured.map_err(in_run::refused)
        })?;
        if self.sizes_released {
            self.particles = apportion(&sizes, self.total_particles());
        }
        Ok(gaussians)
    }
}
