//! Public latents, drawn with replacement: what is reached without a private record.

use lab::diagnostic::Failure;
use rand::RngExt;

use super::{Flow, Generated};

impl Flow<'_> {
    pub(super) fn public_records(
        &mut self,
        latents: &[f32],
        labels: &[usize],
    ) -> Result<Generated, Failure> {
        let d = self.groups.dim;
        let total: usize = self.particles.iter().sum();
        let mut rows = Vec::with_capacity(total * d);
        let mut drawn = Vec::with_capacity(total);
        for _ in 0..total {
            let place = self.public.random_range(0..latents.len() / d);
            rows.extend_from_slice(&latents[place * d..(place + 1) * d]);
            drawn.extend(labels.get(place));
        }
        Ok(Generated {
            rows,
            labels: self.groups.classes.is_some().then_some(drawn),
            strip: Vec::new(),
            distances: Vec::new(),
        })
    }
}
