//! Where particles start.

use lab::diagnostic::{Failure, OrFailed};
use private_queries::Gaussians;
use rand::RngExt;
use rand::seq::index::sample;
use swd::{Particles, Region};

use super::super::run::Flow;
use super::marginals::Start;

impl Flow {
    /// Where the particles of each group start, on the sphere: anywhere, or where the released moments are, in the
    /// distribution that the settings say.
    pub(super) fn first_particles(
        &mut self,
        around: Option<(&Gaussians, Start)>,
    ) -> Result<Vec<Particles>, Failure> {
        let sphere = Region::sphere(1.0).or_failed()?;
        let dim = self.groups.dim;
        let mut starts = Vec::new();
        for (group, &n) in self.particles.clone().iter().enumerate() {
            let around = around.filter(|(latents, _)| latents.gaussian(group).is_some());
            let particles = match around {
                Some((latents, Start::Gaussian)) => {
                    Particles::new(&latents.sample(group, n, &mut self.public), dim)
                }
                Some((latents, Start::Public)) => {
                    let mut rows = self.public_rows(group, n);
                    latents.carry(group, &mut rows);
                    Particles::new(&rows, dim)
                }
                _ => Particles::gaussian(n, dim, 1.0, &mut self.public),
            };
            let mut particles = particles.or_failed()?;
            particles.project_onto(sphere);
            starts.push(particles);
        }
        Ok(starts)
    }

    /// Public latents for the `n` particles of a group: of its class where there are enough, else of all. Each once as long as there are some, and none on another.
    fn public_rows(&mut self, group: usize, n: usize) -> Vec<f32> {
        const ENOUGH: usize = 100;
        const APART: f32 = 0.01;
        let d = self.groups.dim;
        let class = match self.public_groups.len() {
            1 => 0,
            _ => self.groups.class(group),
        };
        let rows = match &self.public_groups[class] {
            rows if rows.len() >= ENOUGH * d => rows.clone(),
            _ => self.public_groups.concat(),
        };
        let count = rows.len() / d;
        let mut places = sample(&mut self.public, count, n.min(count)).into_vec();
        places.extend((count..n).map(|_| self.public.random_range(0..count)));
        let mut chosen: Vec<f32> = Vec::with_capacity(n * d);
        for place in places {
            chosen.extend_from_slice(&rows[place * d..(place + 1) * d]);
        }
        for x in &mut chosen {
            *x += self.public.random_range(-APART..APART);
        }
        chosen
    }
}
