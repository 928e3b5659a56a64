//! What is asked for of an export.

use std::path::PathBuf;

use data::Arrays;
use data::export::{Format, Layout};
use lab::prelude::*;
use model::latent::ImageShape;

use super::destination::Destination;

/// As many as MNIST has.
const DEFAULT_COUNT: usize = 60_000;

/// Samples to take away at the end of a run.
#[derive(Debug, Clone, clap::Args)]
pub struct ExportFlags {
    /// Write samples of the finished run to this new folder, with a card: MNIST's files, NumPy's, PNG.
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
    /// What is written.
    #[command(flatten)]
    pub request: ExportRequest,
}

/// Write samples of a finished run of synth or swae to a new folder
///
/// A card says what is promised of them. No data is read but what the run's folder keeps, and nothing is spent.
#[derive(Debug, clap::Parser)]
#[command(name = "export")]
pub(crate) struct Arguments {
    /// The folder of the run.
    run: PathBuf,
    /// The folder to create.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    request: ExportRequest,
}

/// The export of a finished run from its folder alone.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let folder = RunFolder::open(&arguments.run)?;
    super::export(&folder, &arguments.out, &arguments.request, &interrupt)
}

/// What an export writes.
#[derive(Debug, Clone, clap::Args)]
pub struct ExportRequest {
    /// Number of samples (default: as many as a copy has, otherwise 60000, or as many as there are).
    #[arg(long, value_name = "N")]
    pub count: Option<usize>,
    /// Files to export: idx, npz, png (default: all that can hold the images).
    #[arg(long, value_delimiter = ',', value_parser = by_name::<Format>)]
    pub format: Vec<Format>,
    /// Seed of the exported samples (default: the run's).
    #[arg(long, value_name = "SEED")]
    pub sample_seed: Option<u64>,
    /// Overwrite an earlier export.
    #[arg(long)]
    pub force: bool,
}

impl ExportFlags {
    /// Refuses before a run what [`super::export`] would refuse after it.
    pub fn check(
        &self,
        shape: ImageShape,
        labelled: bool,
        most: Option<usize>,
    ) -> Result<(), Failure> {
        let request = &self.request;
        let Some(to) = &self.export else {
            return self.nothing();
        };
        let layout = request.layout(shape, labelled, most)?;
        Destination::check(to, request.force, layout.bytes_upper())
    }

    /// The export of a run that is done, if one is asked for.
    pub fn of(&self, folder: &RunFolder, interrupt: &Interrupt) -> Result<(), Failure> {
        match &self.export {
            Some(to) => super::export(folder, to, &self.request, interrupt),
            None => self.nothing(),
        }
    }

    /// Refuses flags of an export if none is asked for.
    fn nothing(&self) -> Result<(), Failure> {
        let request = &self.request;
        let given = [
            ("count", request.count.is_some()),
            ("format", !request.format.is_empty()),
            ("sample-seed", request.sample_seed.is_some()),
            ("force", request.force),
        ];
        match given.into_iter().find(|&(_, given)| given) {
            Some((flag, _)) => Err(Failure::input(
                format!("--{flag}: nothing is exported"),
                "name a folder with --export",
            )),
            None => Ok(()),
        }
    }
}

impl ExportRequest {
    /// The same with this count and these formats if no others are asked for.
    pub fn or(&self, count: usize, formats: &[Format]) -> Self {
        let mut request = self.clone();
        request.count.get_or_insert(count);
        if request.format.is_empty() {
            request.format = formats.to_vec();
        }
        request
    }

    /// The files of images of `shape`, of which there are `most`.
    pub fn layout(
        &self,
        shape: ImageShape,
        labels: bool,
        most: Option<usize>,
    ) -> Result<Layout, Failure> {
        let most = most.unwrap_or(usize::MAX);
        let count = self.count.unwrap_or(DEFAULT_COUNT.min(most));
        if count > most {
            return Err(Failure::input(
                format!("--count {count}: the run has {most} samples"),
                format!("ask for at most {most}, or run it again with --particles {count}"),
            ));
        }
        let formats = match (&self.format[..], shape.channels) {
            ([], 1) => vec![Format::Idx, Format::Npz, Format::Png],
            ([], _) => vec![Format::Npz, Format::Png],
            (asked, _) => asked.to_vec(),
        };
        let layout = Layout {
            count,
            sides: [shape.side; 2],
            channels: shape.channels,
            labels,
            classes: Vec::new(),
            formats,
            arrays: Arrays::default(),
        };
        layout.check().map_err(|e| {
            Failure::input(
                format!("--count {count}: {e}"),
                "choose another --count, or --format",
            )
        })?;
        Ok(layout)
    }
}
