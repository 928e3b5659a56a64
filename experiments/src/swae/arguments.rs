//! The command line of `swae`.

use std::path::PathBuf;

use clap::Parser;
use data::DatasetKind;
use lab::backend::{Backend, Choice};

use crate::scores::ScoreFlags;

use super::settings::{Frame, Initialisation, PresetName, Prior};

/// Train a private sliced-Wasserstein autoencoder and look at what it learned.
///
/// The model is that of Rodriguez-Vitores et al. (2025, arXiv 2502.01701).
/// Values come from the preset, and a flag wins over the preset. The run folder holds the resolved
/// configuration, the privacy ledger, metrics, weights, pictures and a report.
#[derive(Debug, Parser)]
#[command(name = "swae", version, allow_negative_numbers = true)]
pub struct Arguments {
    /// Preset to start from. `paper` has the settings of Rodriguez-Vitores et al. and takes an
    /// hour on a CPU, so `quick` is the default for all data sets.
    #[arg(long, value_enum, default_value_t = PresetName::Quick)]
    pub preset: PresetName,
    /// Data set: mnist, fashion-mnist or usps, or glyphs, which needs no file.
    #[arg(long, value_parser = clap::value_parser!(DatasetKind))]
    pub dataset: Option<DatasetKind>,
    /// Private records to train on: the first ones of the data set (default: all; glyphs: the
    /// preset's).
    #[arg(long)]
    pub records: Option<usize>,
    /// Folder with the data files, laid out as `mnist/train-images-idx3-ubyte.gz` and so on.
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Privacy budget of the whole run.
    #[arg(long, conflicts_with = "no_privacy")]
    pub epsilon: Option<f64>,
    /// Delta of the guarantee, below one over the number of records.
    #[arg(long)]
    pub delta: Option<f64>,
    /// Training steps.
    #[arg(long)]
    pub steps: Option<u64>,
    /// Records in a batch, drawn afresh without replacement.
    #[arg(long)]
    pub batch: Option<usize>,
    /// Adam's learning rate.
    #[arg(long)]
    pub learning_rate: Option<f64>,
    /// Weight of the transport term, between 0 and 1.
    #[arg(long)]
    pub alpha: Option<f64>,
    /// Dimension of the latent space.
    #[arg(long)]
    pub latent: Option<usize>,
    /// How record Jacobians are clipped.
    #[arg(long, value_parser = ["rows", "spectral"])]
    pub clip: Option<String>,
    /// M: radius of the ball onto which latents are projected.
    #[arg(long)]
    pub clip_activation: Option<f64>,
    /// L: spectral norm of record Jacobians.
    #[arg(long)]
    pub clip_jacobian: Option<f64>,
    /// C: norm of record reconstruction gradients.
    #[arg(long)]
    pub clip_reconstruction: Option<f64>,
    /// Slices of the transport term.
    #[arg(long)]
    pub slices: Option<usize>,
    /// Slices drawn independently, or as a tight frame (a smaller sensitivity).
    #[arg(long, value_enum)]
    pub frame: Option<Frame>,
    /// The prior by its exact quantiles, or by a sample a step, as Rodriguez-Vitores et al. have it.
    #[arg(long, value_parser = ["exact", "sample"])]
    pub prior: Option<String>,
    /// Show the decoder the label, match each class, sample from private class moments.
    #[arg(long, overrides_with = "unconditional")]
    pub conditional: bool,
    /// The opposite of --conditional: the form of Rodriguez-Vitores et al.
    #[arg(long)]
    pub unconditional: bool,
    /// Sample a conditional model from the prior instead of released class moments.
    #[arg(long)]
    pub prior_samples: bool,
    /// How the weights start.
    #[arg(long, value_enum)]
    pub initialisation: Option<Initialisation>,
    /// Evaluate an exponential moving average of the weights with this decay.
    #[arg(long)]
    pub ema: Option<f64>,
    /// Where to compute: auto, flex, ndarray, wgpu, vulkan, metal, cuda or rocm; a GPU's number or a
    /// part of its name may follow, as in wgpu:1 or cuda:h200 (`just devices` lists them).
    #[arg(long, value_name = "BACKEND[:DEVICE]", default_value_t = Choice::from(Backend::Auto))]
    pub backend: Choice,
    /// Seed of everything public: initial weights, slices, prior samples, glyphs.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Make batches and noise reproducible too: the run is then NOT private, and says so.
    #[arg(long)]
    pub insecure_noise_seed: Option<u64>,
    /// How samples are scored.
    #[command(flatten)]
    pub score: ScoreFlags,
    /// Label samples by their nearest private images, as Rodriguez-Vitores et al. do, where the model is
    /// unconditional: the accuracies are then NOT covered by the guarantee.
    #[arg(long)]
    pub paper_labels: bool,
    /// Train without clipping and without noise; nothing is promised.
    #[arg(long)]
    pub no_privacy: bool,
    /// Go on with the run in this folder from its last checkpoint.
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "preset", "dataset", "records", "epsilon", "delta", "steps", "batch", "learning_rate",
        "alpha", "latent", "clip", "clip_activation", "clip_jacobian", "clip_reconstruction",
        "slices", "frame", "prior", "prior_samples", "initialisation", "conditional", "unconditional", "ema", "seed",
        "insecure_noise_seed", "no_privacy", "out",
    ])]
    pub resume: Option<PathBuf>,
    /// Judge a finished run again: new scores, pictures and page, from its weights.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["resume", "out", "run"])]
    pub rescore: Option<PathBuf>,
    /// Steps from one checkpoint to the next; there is always one at SIGINT, SIGTERM and the end.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_every: u64,
    /// Run folder to create (default: `runs/swae/DATASET-epsEPSILON`).
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Like --out, but a run that was started there goes on, and one that is done stays as it is:
    /// the same command can be given again and again.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["out", "resume"])]
    pub run: Option<PathBuf>,
}

impl Arguments {
    /// `--prior` as a value.
    pub(super) fn prior(&self) -> Option<Prior> {
        self.prior.as_deref().map(|p| match p {
            "sample" => Prior::Sample,
            _ => Prior::Exact,
        })
    }
}
