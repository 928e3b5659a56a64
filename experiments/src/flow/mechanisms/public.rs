//! Public latents, sampled with replacement: what is reached without a private record.

use lab::diagnostic::Failure;
use lab::session::Session;
use rand::RngExt;

use super::super::train::Flow;
use super::Generated;

impl Flow {
    pub(super) fn public_records(&mut self, session: &Session) -> Result<Generated, Failure> {
        let d = self.groups.dim;
        let public = &self.split.public;
        let latents = match &self.space {
            Some(space) => space.encode_records(public, session)?,
            None => Vec::new(),
        };
        let labels = public.labels();
        let total = self.total_particles();
        let mut rows = Vec::with_capacity(total * d);
        let mut sampled = Vec::with_capacity(total);
        for _ in 0..total {
            let place = self.public.random_range(0..latents.len() / d);
            rows.extend_from_slice(&latents[place * d..(place + 1) * d]);
            sampled.extend(labels.get(place));
        }
        Ok(Generated {
            rows,
            labels: self.groups.classes.is_some().then_some(sampled),
        })
    }
}
