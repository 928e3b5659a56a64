//! A mixture of private Gaussians: one of each class first, and then one of each cell that it is cut into.

use lab::diagnostic::Failure;
use lab::session::{Ends, Session};
use private_queries::Mixture;

use super::super::budget::{MOMENTS, RELEASE};
use super::super::groups::apportion;
use super::super::run::Flow;
use super::super::shared::{self, Encoder};
use super::{Generated, LabelPrivacy, Moved, ReleaseMethod, normalise};
use crate::records::{SHAPES, synthetic};

lab::settings! {
    /// Settings of a mixture of private Gaussians.
    common {}
    flags {
        /// Whether a neighbour may have another label (`private`), or class sizes are known (`public`).
        #[flag(value_enum)]
        labels: LabelPrivacy,
        /// Cells of each class, each with moments of its own (default: as many as records and budget bear).
        #[setting(default)]
        #[bound(between(1, 64))]
        cells: usize,
        /// The share of the budget (of `1/z^2`) that goes to moments of classes first; the cells are cut in them.
        #[bound(within(0.0, 1.0, Ends::NEITHER))]
        moments_share: f64,
    }
}

impl ReleaseMethod for Settings {
    const NAME: &'static str = "mixture";
    const ABOUT: &'static str =
        "Sample a private Gaussian of each cell of each class, of noisy moments";
    const PRESET: &'static str = include_str!("../../../../assets/flow/mixture.toml");
    const FOLLOWS: bool = true;
    const ADDS_UP: bool = true;

    fn suit(shared: &mut shared::Settings, flags: &shared::Flags) {
        let shapes = shared.public == SHAPES && !shared.photographs();
        if flags.encoder.is_none() && shapes {
            shared.encoder = Encoder::Cosines;
        }
        let tone = synthetic(&shared.public).map(|_| 1.0);
        shared.vary_tone = shared.vary_tone.or(tone);
    }

    /// The cells of a class that records and budget bear: 4 at epsilon 1, 32 at 10; no more than there are particles for.
    fn fill(&mut self, flags: &Flags, shared: &shared::Settings, signal: f64) {
        let particles = shared.particles.map_or(32, |n| n / shared.groups());
        let cells = (4.0 * signal.powf(0.9)).round().max(1.0) as usize;
        self.cells = flags.cells.unwrap_or(cells.min(particles.clamp(1, 32)));
    }

    fn labels(&self) -> LabelPrivacy {
        self.labels
    }

    fn cells(&self) -> usize {
        self.cells
    }

    fn shares(&self) -> Vec<(&'static str, f64)> {
        let share = self.moments_share;
        vec![(MOMENTS, share), (RELEASE, 1.0 - share)]
    }

    fn start(&self, flow: &mut Flow, session: &mut Session) -> Result<Moved, Failure> {
        flow.mixture(self.cells, session).map(Moved::Rows)
    }
}

impl Flow {
    /// Latents of the Gaussians of all cells, which are made of the first release, of one Gaussian a class.
    fn mixture(&mut self, each: usize, session: &mut Session) -> Result<Generated, Failure> {
        let d = self.groups.dim;
        let classes = self.moments(session, MOMENTS, Mixture::RADIUS)?;
        let count = self.groups.latents.len();
        let query = Mixture::on_the_sphere(&classes, count, each, &mut self.public);
        let (mixture, sizes) = session.release(self, RELEASE, &query, |run, _| {
            run.groups.latents.measured(&query)
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
