//! A mixture of private Gaussians: one of each class first, and then one of each cell that it is cut into.

use std::path::Path;

use lab::diagnostic::Failure;
use lab::session::{Ends, Released, Session, bounded, within};
use model::swae::{Cell, ClassLatents, labelled_moments, moment_sensitivity};

use super::super::budget::{self, MOMENTS, RELEASE};
use super::super::cells::Cells;
use super::super::groups::apportion;
use super::super::run::Flow;
use super::super::shared::{self, Encoder};
use super::{Generated, Labels, Mechanism, Moved, normalise};
use crate::records::{SHAPES, synthetic};
use crate::release::{Values, release_and_store, stored};

lab::settings! {
    /// Settings of a mixture of private Gaussians.
    common {}
    flags {
        /// Whether a neighbour may have another label, in a flow a class: `private` labels leave with the rest, `public`
        /// ones have class sizes that are known.
        #[flag(value_enum)]
        labels: Labels,
        /// Cells of each class, by the nearest of so many centres that are found in the Gaussian of the class: each has
        /// moments of its own, at the same noise (default: as many as records and budget bear).
        #[setting(default)]
        cells: usize,
        /// The share of the budget (of `1/z^2`) that goes to moments of classes first; the cells are cut in them.
        moments_share: f64,
    }
}

impl Mechanism for Settings {
    const NAME: &'static str = "mixture";
    const ABOUT: &'static str =
        "Sample a private Gaussian of each cell of each class, of noisy moments";
    const PRESET: &'static str = include_str!("../../../../assets/flow/mixture.toml");
    const FOLLOWS: bool = true;
    type Flags = Flags;
    type Budget = budget::Settings;

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

    fn check(&self, _: &shared::Settings) -> Result<(), Failure> {
        let holds = (1..=64).contains(&self.cells);
        bounded("cells", self.cells, holds, "between 1 and 64")?;
        let share = self.moments_share;
        within("moments-share", share, 0.0, 1.0, Ends::NEITHER)
    }

    fn labels(&self) -> Labels {
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

/// Samples of a class's Gaussian, which its cells are made of.
const SAMPLES: usize = 20_000;
/// The ball of local rows, and of latents whose classes' moments are taken.
const RADIUS: f64 = Cell::BALL;

/// What two processors may make of the same centre.
const ROUNDING: f64 = 1e-4;

/// The cells of all classes: a function of what was released of these, and of public randomness.
pub(in super::super) struct Partition {
    cells: Cells,
    /// Class after class, as many each.
    known: Vec<Cell>,
}

impl Partition {
    /// `each` cells of each class, around the centres of samples of its Gaussian on the sphere.
    pub(in super::super) fn of(
        classes: &ClassLatents,
        count: usize,
        each: usize,
        dim: usize,
        rng: &mut impl rand::Rng,
    ) -> Self {
        let samples = |class| {
            let mut rows = classes.sample(class, SAMPLES, rng);
            normalise(&mut rows, dim);
            rows
        };
        let samples: Vec<Vec<f32>> = (0..count).map(samples).collect();
        let cells = Cells::around(&samples, each, dim, rng);
        let mut known = Vec::with_capacity(count * each);
        for (class, rows) in samples.iter().enumerate() {
            let mut parts = vec![Vec::new(); each];
            for row in rows.chunks_exact(dim) {
                parts[cells.place(class, row)].extend_from_slice(row);
            }
            known.extend(parts.iter().map(|rows| Cell::of(rows, dim)));
        }
        Self { cells, known }
    }

    /// Private rows by class and cell, as each cell sees them.
    pub(in super::super) fn local(&self, classes: &[Vec<f32>], dim: usize) -> Vec<Vec<f32>> {
        let each = self.cells.count();
        let mut local = vec![Vec::new(); self.known.len()];
        for (class, rows) in classes.iter().enumerate() {
            for row in rows.chunks_exact(dim) {
                let group = class * each + self.cells.place(class, row);
                local[group].extend(self.known[group].local(row));
            }
        }
        local
    }

    /// What is released of private rows by class: moments of each cell, and how many rows it has.
    fn measure(&self, classes: &[Vec<f32>], dim: usize) -> Values {
        let sums = labelled_moments(&self.local(classes, dim), dim, RADIUS);
        Values::new(&[sums], moment_sensitivity(RADIUS))
    }

    /// The centres of all cells, one behind the other: stored with what is released of them.
    fn centres(&self) -> Vec<f64> {
        self.known.iter().flat_map(Cell::centre).copied().collect()
    }

    /// A release that was stored in `path`, if it is of these cells.
    fn own(&self, released: Released, path: &Path) -> Result<Released, Failure> {
        let same = match &released.groups[..] {
            [_, theirs] => {
                let own = self.centres();
                let near = |(a, b): (&f64, &f64)| (a - b).abs() < ROUNDING;
                own.len() == theirs.len() && own.iter().zip(theirs).all(near)
            }
            _ => false,
        };
        same.then_some(released).ok_or_else(|| {
            Failure::input(
                format!("{}: it is of other cells than those that are cut here", path.display()),
                "resume with the program that started the run: what was released with noise is in the ledger and is spent",
            )
        })
    }
}

impl Flow {
    /// Latents of the Gaussians of all cells. The cells are made of the first release, of one Gaussian a class; so which
    /// of them a record is in is known from the record and from what was released, and the second release is of moments
    /// of groups, as the first one was.
    fn mixture(&mut self, each: usize, session: &mut Session) -> Result<Generated, Failure> {
        let d = self.groups.dim;
        let classes = self.moments(session, MOMENTS, RADIUS)?;
        let count = self.groups.latents.len();
        let partition = self.partition(&classes, each);
        let released = match stored(self.releaser.as_mut(), RELEASE, session)? {
            Some(released) => {
                partition.own(released, &session.folder.file(&format!("{RELEASE}.bin")))?
            }
            None => {
                let values = partition.measure(&self.groups.latents, d);
                let centres = Some(partition.centres());
                release_and_store(self.releaser.as_mut(), RELEASE, &values, centres, session)?
            }
        };
        let (values, noise) = (&released.groups[0], released.deviation);
        let mixture = ClassLatents::from_cells(values, &partition.known, d, 1.0, noise);
        let (mixture, sizes) = mixture.map_err(Failure::failed)?;
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

    /// So many cells of each class, in the Gaussians that were released.
    fn partition(&mut self, classes: &ClassLatents, each: usize) -> Partition {
        let (count, dim) = (self.groups.latents.len(), self.groups.dim);
        Partition::of(classes, count, each, dim, &mut self.public)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use lab::backend::Backend;
    use lab::session::{Arguments, Experiment, Settings as _};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::super::super::groups::Groups;
    use super::super::super::run::Run;
    use super::super::super::settings;
    use super::*;

    const DIM: usize = 2;
    const CLASSES: usize = 2;
    const EACH: usize = 3;

    /// Cells of two classes, as a release of their moments tells.
    fn partition(rng: &mut ChaCha20Rng) -> Partition {
        let mut rows = |at: [f32; 2]| -> Vec<f32> {
            (0..400)
                .flat_map(|_| at.map(|at| at + rng.random_range(-0.3..0.3)))
                .collect()
        };
        let sums = labelled_moments(&[rows([0.6, 0.2]), rows([-0.2, 0.5])], DIM, RADIUS);
        let classes = ClassLatents::from_labelled(&sums, CLASSES, DIM, RADIUS, 3.0);
        Partition::of(&classes.unwrap().0, CLASSES, EACH, DIM, rng)
    }

    fn moved(a: &[f64], b: &[f64]) -> f64 {
        let pairs = a.iter().zip(b);
        pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    /// Neighbours replace a record with its label: near, far, not finite, of another class or cell. What is released of
    /// them is within what is declared, and comes near to it; without the ball that local rows are put into it is not.
    #[test]
    fn moments_of_cells_of_neighbours_are_within_what_is_declared() {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let (mut largest, mut loose, mut declared) = (0.0_f64, 0.0_f64, 0.0_f64);
        for _ in 0..40 {
            let partition = partition(rng);
            for _ in 0..100 {
                let mut record = || {
                    let length = [0.1, 1.0, 1e3, f32::NAN][rng.random_range(0..4)];
                    let row = [0; DIM].map(|_| length * rng.random_range(-1.0..1.0_f32));
                    (row, rng.random_range(0..CLASSES))
                };
                let others = [record(), record(), record()];
                let (one, two) = (record(), record());
                let [one, two] = [one, two].map(|last| {
                    let mut classes = vec![Vec::new(); CLASSES];
                    for (row, class) in others.into_iter().chain([last]) {
                        classes[class].extend_from_slice(&row);
                    }
                    classes
                });
                let measured = partition.measure(&one, DIM);
                declared = measured.declared();
                largest = largest.max(measured.distance(&partition.measure(&two, DIM)));
                let sums = |rows| labelled_moments(&partition.local(rows, DIM), DIM, 10.0 * RADIUS);
                loose = loose.max(moved(&sums(&one), &sums(&two)));
            }
        }
        assert!(
            largest <= declared * (1.0 + 1e-6),
            "{largest} of {declared}"
        );
        assert!(
            largest > 0.95 * declared && loose > declared,
            "{largest} {loose}"
        );
    }

    /// What was released of other cells is refused by the name of its file.
    #[test]
    fn a_stored_release_is_of_its_own_cells() {
        let partition = |seed| partition(&mut ChaCha20Rng::seed_from_u64(seed));
        let stored = |groups| Released {
            groups,
            deviation: 1.0,
        };
        let here = Path::new("run/release.bin");
        let own = stored(vec![vec![0.5], partition(2).centres()]);
        assert!(partition(2).own(own, here).is_ok());
        for others in [vec![vec![0.5]], vec![vec![0.5], partition(3).centres()]] {
            let refused = partition(2).own(stored(others), here).unwrap_err();
            assert!(refused.to_string().contains("run/release.bin"), "{refused}");
        }
    }

    /// Cells are cut in what was released: a flow of other private records, a neighbour or all others, with noise that
    /// makes the same release of them, has the same cells and as many particles of each class; with the same noise, so that
    /// the release of a neighbour is another one, it has other cells.
    #[test]
    fn cells_are_cut_in_what_was_released_and_in_no_record() {
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path().to_string_lossy();
        let line = [
            "flow", "--public", "cosines", "--latent", "2", "--cells", "3",
        ];
        let line = [&line[..], &["--records", "300", "--cache-dir", &cache]].concat();
        let arguments: Arguments<settings::Flags<Settings>> = Arguments::parse_from(line);
        let settings = settings::Settings::resolve(&arguments).unwrap();
        let device = Backend::Flex.choose().unwrap();
        let mut flow = Run::load(&settings, &arguments, &device).unwrap().flow;
        let (dim, each, classes) = (settings.shared.latent, 3, flow.split.classes);

        let rng = &mut ChaCha20Rng::seed_from_u64(2);
        let mut records = || -> Vec<Vec<f32>> {
            let mut class = |_| {
                let values = 0..30 * dim;
                let mut rows: Vec<f32> = values.map(|_| rng.random_range(-1.0..1.0)).collect();
                normalise(&mut rows, dim);
                rows.iter().map(|x| x * RADIUS as f32).collect()
            };
            (0..classes).map(&mut class).collect()
        };
        let (one, others) = (records(), records());
        // The first record of the first class is of the second one, and elsewhere.
        let mut neighbour = one.clone();
        neighbour[0].drain(..dim);
        neighbour[1].extend_from_slice(&others[0][..dim]);

        let moments = |latents: &[Vec<f32>]| labelled_moments(latents, dim, RADIUS);
        let noise: Vec<f64> = moments(&one)
            .iter()
            .map(|_| rng.random_range(-3.0..3.0))
            .collect();
        let with = |latents: &[Vec<f32>], noise: &[f64]| -> Vec<f64> {
            let pairs = moments(latents).into_iter().zip(noise);
            pairs.map(|(value, noise)| value + noise).collect()
        };
        let mut cells = |latents: &Vec<Vec<f32>>, values: Vec<f64>| {
            flow.groups = Groups {
                latents: latents.clone(),
                classes: Some((0..classes).collect()),
                dim,
            };
            flow.public = ChaCha20Rng::seed_from_u64(3);
            let released = Released {
                groups: vec![values],
                deviation: 3.0_f64.sqrt(),
            };
            let gaussians = flow.gaussians(&released, RADIUS).unwrap();
            let partition = flow.partition(&gaussians, each);
            (partition.centres(), flow.particles.clone())
        };
        let release = with(&one, &noise);
        let first = cells(&one, release.clone());
        assert_eq!(first.0.len(), classes * each * dim);
        for private in [&neighbour, &others] {
            assert_ne!(moments(private), moments(&one));
            assert_eq!(cells(private, release.clone()), first);
            assert_ne!(cells(private, with(private, &noise)).0, first.0);
        }
    }
}
