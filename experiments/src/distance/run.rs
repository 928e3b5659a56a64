//! The run: its files, and the one release.

use std::path::Path;

use data::split::Use;
use data::{Asked, Classes, Records};
use dp_core::delta::default_delta;
use dp_core::mechanism::Releaser;
use lab::prelude::*;
use private_queries::Query;
use private_queries::distance::{Directions, LEAST_ROWS, RELEASE, Side, Sides};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::{NormBound, RADII};

use super::report;
use super::settings::{Flags, Settings};
use crate::records::of_path;

/// A radius that holds nothing back, for runs in which nothing is private.
const EVERYWHERE: f64 = *RADII.end();

pub struct Distance {
    pub(super) settings: Settings,
    files: [Records; 2],

    radius: f64,
    releaser: Option<Releaser>,
    /// Directions first, then the noise of a public side, then halves and labellings.
    pub(super) public: ChaCha20Rng,
    pub(super) directions: Directions,
    pub(super) sides: Vec<Side>,
    pub(super) deviation: f64,
}

fn read(flag: &str, path: &Path, side: usize) -> Result<Records, Failure> {
    let advice = "give idx images, .csv, .npy or a folder of images";
    let images = !data::is_array(path);
    let asked = Asked {
        side: images.then_some(side),
        channels: images.then_some(3),
        classes: Classes::Unread,
        levels: images.then_some([0, u16::MAX.into()]),
        ..Asked::default()
    };
    let found = data::read(path, &asked, &|_| {});
    let rows = found.map_err(|e| private::refused_of(flag, &e, advice))?;
    let rows = rows.records;
    if rows.len() < LEAST_ROWS {
        let (path, count) = (path.display(), rows.len());
        return Err(Failure::input(
            format!("--{flag} {path}: {count} rows, at least {LEAST_ROWS} are needed"),
            "give a file with more rows",
        ));
    }
    Ok(rows)
}

/// The public bound on the norm of a row: as it was given, or as the files' format has it.
fn radius(settings: &Settings, files: &[Records; 2]) -> Result<f64, Failure> {
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
    fn private(&self) -> &'static [usize] {
        self.settings.protect.sides()
    }

    /// Rows of each private side.
    fn private_rows(&self) -> Vec<usize> {
        let files = self.private().iter().map(|&side| &self.files[side]);
        files.map(Records::len).collect()
    }

    /// What is released of the private sides, and what the public one becomes by the same noise.
    fn release(&mut self, session: &mut Session) -> Result<(), Failure> {
        let query = Sides {
            slices: self.directions.released.clone(),
            region: NormBound::ball(self.radius).or_failed()?,
            rows: self.private_rows(),
        };
        let (mut sides, deviation) = session.release(self, RELEASE, &query, |run, _| {
            let files = run.private().iter().map(|&side| run.files[side].values());
            let files = files.collect::<Result<Vec<_>, _>>().or_failed()?;
            query.measure(&files).or_failed()
        })?;
        if let Some(side) = [0, 1]
            .into_iter()
            .find(|side| !self.private().contains(side))
        {
            let values = self.files[side].values().or_failed()?;
            let projected = query.region.project(&values, &query.slices);
            let (projected, k) = (projected.or_failed()?, query.slices.count());
            let public = Side::public(&projected, k, deviation, &mut self.public);
            sides.insert(side, public);
        }
        (self.sides, self.deviation) = (sides, deviation);
        Ok(())
    }
}

impl Experiment for Distance {
    const NAME: &'static str = "distance";
    const ABOUT: &'static str = "The private smoothed sliced distance between the rows of two files, with its error, \
                                 and a two-sample test on it.";
    const STORED: &'static [&'static str] = &[RELEASE];
    type Settings = Settings;

    fn load(settings: &Settings, _: &Arguments<Flags>, _: &Chosen) -> Result<Self, Failure> {
        let (a, b, side) = (&settings.source, &settings.target, settings.side);
        let files = [read("source", a, side)?, read("target", b, side)?];
        let [width, other] = [files[0].image_size(), files[1].image_size()];
        if width != other {
            return Err(Failure::input(
                format!(
                    "{} has rows of {width} values and {} of {other}: a distance needs one width",
                    a.display(),
                    b.display()
                ),
                "give files of one width",
            ));
        }
        let private = settings.protect.sides();
        let rows: Vec<usize> = private.iter().map(|&side| files[side].len()).collect();
        let few = default_delta(rows.iter().sum::<usize>() as f64);
        let delta = settings.delta.unwrap_or(few);
        let plan = settings.epsilon;
        let plan = plan.map(|epsilon| Sides::plan(&rows, epsilon, delta));
        let plan = plan.transpose().or_failed()?;
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        Ok(Self {
            settings: settings.clone(),
            radius: radius(settings, &files)?,
            releaser: releaser(plan, settings.insecure_noise_seed)?,
            directions: Directions::draw(width, settings.slices, &mut public).or_failed()?,
            public,
            files,
            sides: Vec::new(),
            deviation: 0.0,
        })
    }

    fn data(&mut self) -> DataSummary {
        let paths = [&self.settings.source, &self.settings.target];
        let sides = paths.into_iter().zip(&self.files);
        let names = sides
            .clone()
            .map(|(path, rows)| format!("{} ({} rows)", path.display(), rows.len()));
        let names = names.collect::<Vec<_>>().join(" and ");
        let used = sides.enumerate().filter_map(|(side, (path, rows))| {
            let used = match self.private().contains(&side) {
                true => Use::AllPrivate,
                false => Use::AllPublic,
            };
            Some(of_path("rows", path, &rows.sha256_of_rows().ok()?, used))
        });
        DataSummary {
            name: format!("{names} of {} values", self.files[0].width()),
            private: self.private_rows().iter().sum(),
            test: 0,
            used: used.collect(),
        }
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }

    fn wording(&self) -> Wording {
        let public = match self.private() {
            [0, 1] => "the numbers of rows and their width",
            [0] => "the target, the number of rows of the source and their width",
            _ => "the source, the number of rows of the target and their width",
        };
        Wording {
            groups: "the rows of the source, and those of the target",
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

    fn report(&mut self, _: &mut Session) -> Result<Report, Failure> {
        report::report(self)
    }
}
