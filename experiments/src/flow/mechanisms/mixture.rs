//! A mixture of private Gaussians: one of each class first, and then one of each cell that it is cut into.

use lab::diagnostic::Failure;
use lab::session::Session;
use private_synth::images::{Mixing, Signal};

use super::super::budget::{MOMENTS, RELEASE};
use super::super::run::Flow;
use super::super::shared::{self, Encoder};
use super::{Generated, LabelPrivacy, Moved, ReleaseMethod};
use crate::in_run::InRun;
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
    fn fill(&mut self, flags: &Flags, shared: &shared::Settings, signal: Signal) {
        let particles = shared.particles.map_or(32, |n| n / shared.groups());
        let cells = signal.cells(particles.clamp(1, 32));
        self.cells = flags.cells.unwrap_or(cells);
    }

    fn labels(&self) -> LabelPrivacy {
        self.labels
    }

    fn cells(&self) -> usize {
        self.cells
    }

    fn shares(&self) -> Vec<(&'static str, f64)> {
        self.mixing(0, 0).releases()
    }

    fn start(&self, flow: &mut Flow, session: &mut Session) -> Result<Moved, Failure> {
        let mixing = self.mixing(flow.groups.latents.groups(), flow.groups.dim);
        flow.mixture(mixing, session).map(Moved::Rows)
    }
}

impl Settings {
    /// How the mixture of so many groups is made.
    fn mixing(&self, groups: usize, dim: usize) -> Mixing {
        let names = match self.cells {
            1 => [RELEASE, RELEASE],
            _ => [MOMENTS, RELEASE],
        };
        Mixing::new(groups, dim, self.cells).named(names)
    }
}

impl Flow {
    /// Latents of the Gaussians of all cells, which are made of the first release, of one Gaussian a class.
    fn mixture(&mut self, mixing: Mixing, session: &mut Session) -> Result<Generated, Failure> {
        let mixing = match self.sizes_released {
            true => mixing,
            false => mixing.of_sizes(self.groups.sizes()),
        };
        let by = &mut InRun::new(session, self.releaser.as_mut());
        let mixed = mixing.release(&self.groups.latents, &mut self.public, by)?;
        let (rows, groups) = mixed.sample(self.total_particles(), &mut self.public);
        let classes = self.groups.classes.as_ref();
        let labels = |classes: &Vec<usize>| groups.iter().map(|&group| classes[group]).collect();
        let labels = classes.map(labels);
        Ok(Generated { rows, labels })
    }
}
