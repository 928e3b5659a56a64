//! One private Gaussian, or one a class: the honest simple baseline.

use lab::diagnostic::Failure;
use lab::session::Session;
use private_queries::{Gaussians, Moments};

use super::super::budget::{self, RELEASE};
use super::super::groups::{Groups, apportion};
use super::super::run::Flow;
use super::{Generated, LabelPrivacy, Moved, ReleaseMethod, normalise};

lab::settings! {
    /// Settings of private Gaussians.
    common {}
    flags {
        /// Whether a neighbour may have another label (`private`), or class sizes are known (`public`).
        #[flag(value_enum)]
        labels: LabelPrivacy,
    }
}

impl ReleaseMethod for Settings {
    const NAME: &'static str = "gaussian";
    const ABOUT: &'static str = "Sample one private Gaussian, or one a class, of noisy moments";
    const PRESET: &'static str = include_str!("../../../../assets/flow/gaussian.toml");
    const ADDS_UP: bool = true;
    type Budget = budget::Settings;

    fn labels(&self) -> LabelPrivacy {
        self.labels
    }

    fn start(&self, flow: &mut Flow, session: &mut Session) -> Result<Moved, Failure> {
        let latents = flow.moments(session, RELEASE, RADIUS)?;
        let mut rows = Vec::new();
        for (group, &n) in flow.particles.iter().enumerate() {
            rows.extend(latents.sample(group, n, &mut flow.public));
        }
        normalise(&mut rows, flow.groups.dim);
        let labels = flow.labels();
        Ok(Moved::Rows(Generated { rows, labels }))
    }
}

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
    /// The Gaussian of each group, from moments that are released once, by the name of the plan.
    pub(super) fn moments(
        &mut self,
        session: &mut Session,
        name: &str,
        radius: f64,
    ) -> Result<Gaussians, Failure> {
        let query = moments(&self.groups, self.sizes_released, radius);
        let (gaussians, sizes) = session.release(self, name, &query, |run, _| {
            run.groups.latents.measured(&query)
        })?;
        if self.sizes_released {
            self.particles = apportion(&sizes, self.total_particles());
        }
        Ok(gaussians)
    }
}
