//! What `privatise` can be asked.

use std::path::{Path, PathBuf};

use clap::{Args, Parser};
use data::DatasetKind;
use data::privatised::{Calibration, NoiseKind, Wanted};
use data::transform::Dct;
use dp_core::DpError;
use dp_core::local::LocalMechanism;
use lab::prelude::*;

use super::{Form, Preprocessing, calibrated};

/// Add noise to each record of a data set alone, once, and write the noisy records with their promise.
#[derive(Debug, Parser)]
#[command(name = "privatise")]
pub struct Arguments {
    #[command(flatten)]
    pub(super) source: Source,
    #[command(flatten)]
    pub(super) noise: Noise,
    /// The file to write: NPY if its name ends in .npy, with its header beside it in NAME.npy.json, else safetensors.
    #[arg(long, required_unless_present = "show")]
    pub(super) out: Option<PathBuf>,
    /// Replace a file of this name.
    #[arg(long)]
    pub(super) force: bool,
    /// Add a line to this PRIVATE log: how many records were scaled into the ball, and how many were not finite.
    #[arg(long)]
    pub(super) log: Option<PathBuf>,
    /// Instead: check a privatised file, against the other flags if they are given, and say what it promises.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "out", "log", "force"])]
    pub(super) show: Option<PathBuf>,
    /// Stop as on a SIGINT after so many records, for tests.
    #[arg(long, hide = true)]
    pub(super) stop_after_record: Option<u64>,
}

#[derive(Debug, Args)]
pub(super) struct Source {
    /// Idx images (gzip or not), .npy, .csv with --schema, a folder of images, or mnist, fashion-mnist, usps, glyphs.
    #[arg(long, required_unless_present = "show")]
    pub input: Option<PathBuf>,
    /// A folder of published data files.
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Seed of glyphs.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Privatise this number of records: the first ones, or a random sample of a folder's.
    #[arg(long)]
    pub records: Option<usize>,
    /// What the columns of a CSV file are (docs/schemas.md). The sensitive column is left out.
    #[arg(long)]
    pub schema: Option<PathBuf>,
    /// The labels of idx images (an idx file) or of an NPY array (an NPY file).
    #[arg(long, requires = "label_weight")]
    pub label_file: Option<PathBuf>,
    /// The number of classes of an NPY file of labels.
    #[arg(long)]
    pub classes: Option<usize>,
    /// Pixels along a side of the images of a folder.
    #[arg(long, default_value_t = 64)]
    pub side: usize,
    /// Write records in the order of the input, so that the place of each is public (default: in a secret order, but for data sets
    /// by name, whose order is published).
    #[arg(long)]
    pub keep_order: bool,
    /// Shape of the images, CHANNELSxHEIGHTxWIDTH: --keep needs it for NPY, and other inputs are held against it.
    #[arg(long, value_parser = shape)]
    pub shape: Option<[usize; 3]>,
}

#[derive(Debug, Args)]
pub(super) struct Noise {
    /// Laplace noise on records of an l1 ball, or Gaussian noise on records of an l2 ball.
    #[arg(long, value_name = "laplace|gaussian", value_parser = by_name::<NoiseKind>)]
    mechanism: Option<NoiseKind>,
    /// The least Gaussian noise, or that of equation 4 of Reshetova et al. (2023).
    #[arg(long, value_name = "exact|paper", value_parser = by_name::<Calibration>)]
    calibration: Option<Calibration>,
    /// Epsilon of each record.
    #[arg(long)]
    epsilon: Option<f64>,
    /// Delta of each record; Laplace noise has none.
    #[arg(long)]
    delta: Option<f64>,
    /// The public bound on the norm of a record, transform and label included; it must not be fitted to the records.
    #[arg(long)]
    radius: Option<f64>,
    /// Keep so many coefficients of lowest frequency of each channel's cosine transform, and privatise those.
    #[arg(long)]
    keep: Option<usize>,
    /// Put the one-hot label into the record, under its promise, times this, in units of the record (default: labels are
    /// left out).
    #[arg(long)]
    pub(super) label_weight: Option<f64>,
    /// NOT PRIVATE: noise from a known seed, to repeat an experiment.
    #[arg(long, value_name = "SEED")]
    pub(super) insecure_noise_seed: Option<u64>,
}

impl Source {
    /// Whether records are written in the order of the input, whose places are public then.
    pub(super) fn keeps_order(&self) -> bool {
        let name = self.input.as_deref().and_then(Path::to_str);
        self.keep_order || name.is_some_and(|name| name.parse::<DatasetKind>().is_ok())
    }
}

fn shape(text: &str) -> Result<[usize; 3], String> {
    let numbers: Option<Vec<usize>> = text.split('x').map(|n| n.parse().ok()).collect();
    let shape = numbers.and_then(|numbers| numbers.try_into().ok());
    let shape = shape.filter(|shape: &[usize; 3]| shape.iter().all(|&n| n > 0));
    shape.ok_or_else(|| "expected CHANNELSxHEIGHTxWIDTH, such as 1x28x28".into())
}

impl Noise {
    pub(super) fn mechanism(&self) -> Result<LocalMechanism, Failure> {
        let given = |flag: &str, value: Option<f64>| {
            let none = format!("--{flag}: no value was given");
            let value = value.ok_or_else(|| Failure::input(none, "say what is promised"))?;
            positive(flag, value).map(|()| value)
        };
        let epsilon = given("epsilon", self.epsilon)?;
        let radius = given("radius", self.radius)?;
        let refuse = |e: DpError| Failure::input(e.to_string(), "change the flag");
        let Some(kind) = self.mechanism else {
            return Err(Failure::input(
                "--mechanism: none was given",
                "say --mechanism laplace, or --mechanism gaussian with --delta",
            ));
        };
        let calibration = self.calibration.unwrap_or(Calibration::Exact);
        let delta = match kind {
            NoiseKind::Gaussian => {
                let delta = given("delta", self.delta)?;
                within("delta", delta, (Excluded(0.0), Excluded(1.0)))?;
                delta
            }
            NoiseKind::Laplace => {
                let paper = calibration == Calibration::Paper;
                if paper || self.delta.is_some_and(|delta| delta != 0.0) {
                    return Err(Failure::input(
                        "--mechanism laplace: its delta is 0, and its calibration exact",
                        "leave out --delta and --calibration, or say --mechanism gaussian",
                    ));
                }
                0.0
            }
        };
        calibrated((kind, calibration), [epsilon, delta, radius]).map_err(refuse)
    }

    pub(super) fn preprocessing(
        &self,
        mechanism: LocalMechanism,
        form: &Form,
    ) -> Result<Preprocessing, Failure> {
        let calibration = self.calibration.unwrap_or(Calibration::Exact);
        let dct = self.dct(form)?;
        let preprocessing = Preprocessing::new(mechanism, calibration, dct, self.label_weight);
        preprocessing.check(form)?;
        Ok(preprocessing)
    }

    fn dct(&self, form: &Form) -> Result<Option<Dct>, Failure> {
        let Some(keep) = self.keep else {
            return Ok(None);
        };
        let Some([channels, height, width]) = form.shape else {
            return Err(Failure::input(
                format!(
                    "--keep {keep}: records of {} values, of no known shape",
                    form.width
                ),
                "say --shape CHANNELSxHEIGHTxWIDTH",
            ));
        };
        if height != width {
            return Err(Failure::input(
                format!("--keep {keep}: images of {height} x {width} pixels"),
                "give square images",
            ));
        }
        let refuse =
            |e: data::DataError| Failure::input(format!("--keep {keep}: {e}"), "change it");
        Dct::new(channels, height, keep).map(Some).map_err(refuse)
    }

    /// What is asked of a file that is there.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            mechanism: self.mechanism,
            calibration: self.calibration,
            epsilon: self.epsilon,
            delta: self.delta,
            radius: self.radius,
            keep: self.keep,
            label_weight: self.label_weight,
            ..Wanted::default()
        }
    }
}
