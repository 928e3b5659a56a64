//! A mixture of private Gaussians: one of each class first, and then one of each cell that it is cut into.

use lab::diagnostic::Failure;
use lab::session::Session;
use private_queries::{Mixture, Query};

use super::super::groups::apportion;
use super::super::plan::{MOMENTS, RELEASE};
use super::super::train::Flow;
use super::{Generated, normalise};

impl Flow {
    /// Latents of the Gaussians of all cells, which are made of the first release, of one Gaussian a class.
    pub(super) fn mixture(&mut self, session: &mut Session) -> Result<Generated, Failure> {
        let (d, each) = (self.groups.dim, self.settings.cells);
        let classes = self.moments(session, MOMENTS, Mixture::RADIUS)?;
        let count = self.groups.latents.len();
        let query = Mixture::on_the_sphere(&classes, count, each, &mut self.public);
        let (mixture, sizes) = session.release(self, RELEASE, &query, |run, _| {
            query.measure(&run.groups.latents).map_err(Failure::failed)
        })?;
        // A cell that tells of no record has no sample; where all of them are such, the classes have.
        let (from, each, sizes) = match mixture.present().is_empty() {
            true => (&classes, 1, vec![1.0; count]),
            false => (&mixture, each, sizes),
        };
        let present = match from.present() {
            none if none.is_empty() => (0..count).collect(),
            some => some,
        };
        let sizes: Vec<f64> = present.iter().map(|&cell| sizes[cell]).collect();
        let particles = apportion(&sizes, self.total_particles());
        let (mut rows, mut labels) = (Vec::new(), Vec::new());
        for (&cell, n) in present.iter().zip(particles) {
            rows.extend(from.sample(cell, n, &mut self.public));
            labels.extend(std::iter::repeat_n(self.groups.class(cell / each), n));
        }
        normalise(&mut rows, d);
        Ok(Generated {
            rows,
            labels: self.groups.classes.as_ref().map(|_| labels),
        })
    }
}
