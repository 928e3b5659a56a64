//! The run: its files, and the one release.

use std::path::Path;

use data::Rows;
use data::split::{Records, Use};
use dp_core::mechanism::Releaser;
use dp_core::plan::{CheckedPlan, ReleaseNoise, TrainingPlan};
use dp_core::sampling::{AllRecords, BatchSampler, GroupSampler};
use lab::backend::Chosen;
use lab::diagnostic::Failure;
use lab::interrupt::Interrupt;
use lab::report::RunRecord;
use lab::run_folder::RunFolder;
use lab::session::{
    Arguments, DataSummary, Experiment, Fingerprint, Releases, Report, Session, Used, Wording,
    name_of_path, releaser,
};
use private_queries::Query;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::Region;

use super::released::{Directions, Side, Sides};
use super::report;
use super::settings::{Flags, Settings};

/// The one release, by its name in the plan.
const RELEASE: &str = "projections";
/// Rows of a side below which there are no halves.
const LEAST: usize = 4;
/// A radius that holds nothing back, where nothing is private.
const EVERYWHERE: f64 = 1e30;

/// The distance between two files.
pub struct Distance {
    pub(super) settings: Settings,
    files: [Rows; 2],
    private: [bool; 2],
    radius: f64,
    releaser: Option<Releaser>,
    /// Directions first, then the noise of a public side, then halves and labellings.
    pub(super) public: ChaCha20Rng,
    pub(super) directions: Directions,
    pub(super) sides: Vec<Side>,
    pub(super) deviation: f64,
}

fn read(flag: &str, path: &Path, side: usize) -> Result<Rows, Failure> {
    let advice = "give idx images, .csv, .npy or a folder of images";
    let rows = Rows::read(path, side).map_err(|e| Failure::input(e.to_string(), advice))?;
    if rows.count() < LEAST {
        let (path, count) = (path.display(), rows.count());
        return Err(Failure::input(
            format!("--{flag} {path}: {count} rows, at least {LEAST} are needed"),
            "give a file with more rows",
        ));
    }
    Ok(rows)
}

/// All private rows at once: of both files, each a group of its own, or of one.
fn sampler(files: &[Rows; 2], private: [bool; 2]) -> Result<BatchSampler, Failure> {
    let [n, m] = [files[0].count(), files[1].count()];
    let sampler = match private {
        [true, true] => {
            let groups = vec![(0..n).collect(), (n..n + m).collect()];
            GroupSampler::new(groups, &[n, m]).map(Into::into)
        }
        [true, false] => AllRecords::new(n).map(Into::into),
        _ => AllRecords::new(m).map(Into::into),
    };
    sampler.map_err(Failure::failed)
}

/// The public bound on the norm of a row: as it was given, or as the files' format has it.
fn radius(settings: &Settings, files: &[Rows; 2]) -> Result<f64, Failure> {
    let [a, b] = [files[0].norm_upper(), files[1].norm_upper()];
    let of_format = a.zip(b).map(|(a, b)| a.max(b));
    match (settings.radius.or(of_format), settings.epsilon) {
        (Some(radius), _) => Ok(radius),
        (None, None) => Ok(EVERYWHERE),
        (None, Some(_)) => Err(Failure::input(
            "--radius: none was given, and without a public bound on the norm of a row nothing can be private",
            "give --radius, from what is publicly known of such rows and not from these",
        )),
    }
}

impl Distance {
    /// What is released of the private sides, and what the public one becomes by the same noise.
    fn release(&mut self, session: &mut Session) -> Result<(), Failure> {
        let sides = [0, 1].into_iter().filter(|&side| self.private[side]);
        let sides: Vec<usize> = sides.collect();
        let query = Sides {
            slices: self.directions.released.clone(),
            region: Region::ball(self.radius).map_err(Failure::failed)?,
            rows: sides.iter().map(|&side| self.files[side].count()).collect(),
        };
        let (released, deviation) = session.release(self, RELEASE, &query, |run, _| {
            let files = sides.iter().map(|&side| run.files[side].values().to_vec());
            let files: Vec<_> = files.collect();
            query.measure(&files).map_err(Failure::failed)
        })?;
        self.deviation = deviation;
        let mut released = released.into_iter();
        for side in [0, 1] {
            let mut public = || -> Result<Side, Failure> {
                let projected = query
                    .region
                    .project(self.files[side].values(), &query.slices);
                let (projected, k) = (projected.map_err(Failure::failed)?, query.slices.count());
                Ok(Side::public(&projected, k, deviation, &mut self.public))
            };
            let side = match self.private[side] {
                true => released
                    .next()
                    .ok_or_else(|| Failure::failed("a side is missing"))?,
                false => public()?,
            };
            self.sides.push(side);
        }
        Ok(())
    }
}

impl Releases for Distance {
    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }
}

impl Experiment for Distance {
    const NAME: &'static str = "distance";
    const KIND: Option<&'static str> = Some("measure");
    const ABOUT: &'static str = "The private smoothed sliced distance between the rows of two files, with its error, \
                                 and a two-sample test on it.";
    const STORED: &'static [&'static str] = &[RELEASE];
    type Settings = Settings;

    fn load(settings: &Settings, _: &Arguments<Flags>, _: &Chosen) -> Result<Self, Failure> {
        let [a, b] = [("a", &settings.a), ("b", &settings.b)];
        let files = [
            read(a.0, a.1, settings.side)?,
            read(b.0, b.1, settings.side)?,
        ];
        let [width, other] = [files[0].width(), files[1].width()];
        if width != other {
            return Err(Failure::input(
                format!(
                    "{} has rows of {width} values and {} of {other}: a distance needs one width",
                    settings.a.display(),
                    settings.b.display()
                ),
                "give files of one width",
            ));
        }
        let private = settings.protect.sides();
        let records: usize = files
            .iter()
            .zip(private)
            .map(|(f, p)| if p { f.count() } else { 0 })
            .sum();
        let (sampler, delta) = (sampler(&files, private)?, settings.delta_for(records));
        let plan = settings.epsilon.map(|epsilon| {
            TrainingPlan::within(epsilon, delta, 0, sampler).and(RELEASE, ReleaseNoise::Share(1.0))
        });
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        Ok(Self {
            settings: settings.clone(),
            private,
            radius: radius(settings, &files)?,
            releaser: releaser(plan, settings.insecure_noise_seed)?,
            directions: Directions::draw(width, settings.slices, &mut public)?,
            public,
            files,
            sides: Vec::new(),
            deviation: 0.0,
        })
    }

    fn data(&self) -> DataSummary {
        let paths = [&self.settings.a, &self.settings.b];
        let counts = [0, 1].map(|side| self.files[side].count());
        let private = counts
            .iter()
            .zip(self.private)
            .map(|(n, p)| if p { *n } else { 0 });
        let used = paths.iter().zip(&self.files).zip(self.private).filter_map(
            |((path, rows), private)| {
                Some(Used {
                    what: path.display().to_string(),
                    name: name_of_path("rows", path),
                    sha256: rows.sha256().ok()?,
                    used: if private {
                        Use::AllPrivate
                    } else {
                        Use::AllPublic
                    },
                })
            },
        );
        DataSummary {
            name: format!(
                "{} ({} rows) and {} ({} rows) of {} values",
                paths[0].display(),
                counts[0],
                paths[1].display(),
                counts[1],
                self.files[0].width()
            ),
            private: private.sum(),
            test: 0,
            used: used.collect(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    fn wording(&self) -> Wording {
        let public = match self.private {
            [true, true] => "the numbers of rows and their width",
            [true, false] => "B, the number of rows of A and their width",
            _ => "A, the number of rows of B and their width",
        };
        Wording {
            groups: "the rows of A, and those of B",
            releases: "all that is read of private rows".into(),
            public: public.into(),
            without_noise: "Not private: --no-privacy adds no noise.".into(),
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let (released, seen) = (self.directions.released.count(), self.directions.count());
        let radius = self.radius;
        Ok(vec![format!(
            "slices    {seen}, from a release of {released} orthonormal ones; rows of norm at most {radius}"
        )])
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.release(session)
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let sums = self
            .files
            .iter()
            .map(Records::sha256)
            .collect::<Result<Vec<_>, _>>();
        Ok(Fingerprint::of(
            sums.map_err(Failure::failed)?.concat().as_bytes(),
        ))
    }

    fn report(&mut self, _: &mut Session) -> Result<Report, Failure> {
        report::report(self)
    }

    fn afterwards(
        arguments: &Arguments<Flags>,
        folder: &RunFolder,
        _: &Interrupt,
    ) -> Result<(), Failure> {
        // For a program that reads what this one found.
        if let (true, Some(run)) = (arguments.own.json, RunRecord::read(folder.path())?.run) {
            let line = serde_json::to_string(&run.test).map_err(Failure::failed)?;
            println!("{line}");
        }
        Ok(())
    }
}
