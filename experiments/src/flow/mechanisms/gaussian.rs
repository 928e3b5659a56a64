//! One private Gaussian, or one a class: the honest simple baseline.

use lab::diagnostic::Failure;
use model::swae::{ClassLatents, class_moments, moment_sensitivity};

use super::super::plan::RELEASE;
use super::super::release::Values;
use super::once::{FILE, stored};
use super::{Flow, Generated};

/// Latents lie on the unit sphere.
const RADIUS: f64 = 1.0;

impl Flow<'_> {
    pub(super) fn gaussian(&mut self) -> Result<Generated, Failure> {
        let d = self.groups.dim;
        let latents = self.moments(FILE, RELEASE)?;
        let mut rows = Vec::new();
        for (group, &n) in self.particles.iter().enumerate() {
            rows.extend(latents.sample(group, n, &mut self.public));
        }
        // Onto the sphere, where the decoder knows its way.
        for row in rows.chunks_exact_mut(d) {
            let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
            row.iter_mut().for_each(|x| *x /= norm);
        }
        Ok(Generated {
            rows,
            labels: self.labels(),
            strip: Vec::new(),
            distances: Vec::new(),
        })
    }

    /// The Gaussian of each group, from moments that are released once, by the name of the plan.
    pub(super) fn moments(&mut self, file: &str, name: &str) -> Result<ClassLatents, Failure> {
        let d = self.groups.dim;
        let released = match stored(&self.folder.file(file))? {
            Some(released) => released,
            None => {
                let sums: Vec<Vec<f64>> = self
                    .groups
                    .latents
                    .iter()
                    .map(|latents| class_moments(latents, d, RADIUS))
                    .collect();
                let values = Values::new(&sums, moment_sensitivity(RADIUS));
                let released = self.out.once(name, values)?;
                self.store(file, &released)?;
                released
            }
        };
        ClassLatents::from_released(&released.groups.concat(), &self.groups.sizes(), d, RADIUS)
            .map_err(Failure::run)
    }
}
