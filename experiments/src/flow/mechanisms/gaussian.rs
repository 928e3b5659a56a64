//! One private Gaussian, or one a class: the honest simple baseline.

use lab::diagnostic::Failure;
use lab::session::{Released, Session};
use model::swae::{ClassLatents, class_moments, labelled_moments, moment_sensitivity};

use super::super::budget::{self, RELEASE};
use super::super::groups::{Groups, apportion};
use super::super::run::Flow;
use super::{Generated, Labels, Mechanism, Moved, normalise};
use crate::release::{Values, release_and_store, stored};

lab::settings! {
    /// Settings of private Gaussians.
    common {}
    flags {
        /// Whether a neighbour may have another label, in a flow a class: `private` labels leave with the rest, `public`
        /// ones have class sizes that are known.
        #[flag(value_enum)]
        labels: Labels,
    }
}

impl Mechanism for Settings {
    const NAME: &'static str = "gaussian";
    const ABOUT: &'static str = "Sample one private Gaussian, or one a class, of noisy moments";
    const PRESET: &'static str = include_str!("../../../../assets/flow/gaussian.toml");
    type Flags = Flags;
    type Budget = budget::Settings;

    fn labels(&self) -> Labels {
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

/// The moments of groups whose latents lie on a sphere of this radius, with the sizes of the groups where they are released.
pub(crate) fn measured(groups: &Groups, sizes_released: bool, radius: f64) -> Values {
    let (d, longer) = (groups.dim, |x: &f32| x * radius as f32);
    let latents = groups.latents.iter();
    let latents: Vec<Vec<f32>> = latents
        .map(|rows| rows.iter().map(longer).collect())
        .collect();
    let sums: Vec<Vec<f64>> = match sizes_released {
        true => vec![labelled_moments(&latents, d, radius)],
        false => latents
            .iter()
            .map(|rows| class_moments(rows, d, radius))
            .collect(),
    };
    Values::new(&sums, moment_sensitivity(radius))
}

impl Flow {
    /// The Gaussian of each group, from moments that are released once, by the name of the plan.
    ///
    /// - `radius`: of the sphere that latents lie on while their moments are taken; the larger, the more of the noise is in
    ///   first moments.
    pub(super) fn moments(
        &mut self,
        session: &mut Session,
        name: &str,
        radius: f64,
    ) -> Result<ClassLatents, Failure> {
        let released = match stored(self.releaser.as_mut(), name, session)? {
            Some(released) => released,
            None => {
                let values = measured(&self.groups, self.sizes_released, radius);
                release_and_store(self.releaser.as_mut(), name, &values, None, session)?
            }
        };
        self.gaussians(&released, radius)
    }

    /// The Gaussian of each group, and how many particles it gets, of what was released and of public values.
    pub(super) fn gaussians(
        &mut self,
        released: &Released,
        radius: f64,
    ) -> Result<ClassLatents, Failure> {
        let d = self.groups.dim;
        let deviation = released.deviation;
        let values = released.groups.concat();
        if !self.sizes_released {
            let sizes = self.groups.sizes();
            let latents = ClassLatents::from_released(&values, &sizes, d, radius, deviation);
            let latents = latents.map_err(Failure::failed)?;
            return Ok(latents.scaled(1.0 / radius));
        }
        let groups = self.groups.latents.len();
        let latents = ClassLatents::from_labelled(&values, groups, d, radius, deviation);
        let (latents, sizes) = latents.map_err(Failure::failed)?;
        self.particles = apportion(&sizes, self.total_particles());
        Ok(latents.scaled(1.0 / radius))
    }
}
