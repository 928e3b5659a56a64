//! The command line of `flow`.

use std::path::PathBuf;

use clap::Parser;
use lab::backend::{Backend, Choice};

use crate::scores::ScoreFlags;

use super::settings::{Frame, Mechanism, Norm};

/// Generate images by a private flow in the latent space of a public autoencoder.
///
/// Values come from the mechanism's preset, and a flag wins over the preset.
#[derive(Debug, Parser)]
#[command(name = "flow", version, allow_negative_numbers = true)]
pub struct Arguments {
    /// How private data is used.
    #[arg(long, value_enum)]
    pub mechanism: Option<Mechanism>,
    /// Private data: glyphs, mnist, fashion-mnist, usps, `images` for a folder of photographs
    /// (--data-dir), or gaussians for the toy in the plane.
    #[arg(long)]
    pub dataset: Option<String>,
    /// What the autoencoder is trained on: `half`, the public half of the data set, or another data
    /// set altogether.
    #[arg(long)]
    pub public: Option<String>,
    /// Private records: the first ones of the private half (default: all of it).
    #[arg(long)]
    pub records: Option<usize>,
    /// Public records: the first ones of the public side (default: all of it).
    #[arg(long)]
    pub public_records: Option<usize>,
    /// Folder with the data files.
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Privacy budget of the whole run.
    #[arg(long, conflicts_with_all = ["no_privacy", "noise_multiplier"])]
    pub epsilon: Option<f64>,
    /// The noise multiplier instead of a budget: the epsilon is computed.
    #[arg(long, conflicts_with = "no_privacy")]
    pub noise_multiplier: Option<f64>,
    /// Noise as Sebag et al. (2023, arXiv 2312.08227) publish it, a multiple of its high-probability norm w(k,
    /// delta): the multiplier over the proved sensitivity follows. 0.67 is what they have for epsilon 10 on MNIST.
    #[arg(long, conflicts_with_all = ["no_privacy", "noise_multiplier", "epsilon"])]
    pub paper_noise: Option<f64>,
    /// Delta of the guarantee, below one over the number of private records.
    #[arg(long)]
    pub delta: Option<f64>,
    /// Add no noise; nothing is promised.
    #[arg(long)]
    pub no_privacy: bool,
    /// One flow a class, with public class sizes: samples come with labels.
    #[arg(long, overrides_with = "unconditional")]
    pub conditional: bool,
    /// One flow for all records.
    #[arg(long)]
    pub unconditional: bool,
    /// Particles over all classes (default: as many as private records).
    #[arg(long)]
    pub particles: Option<usize>,
    /// Flow steps.
    #[arg(long, conflicts_with = "epochs")]
    pub steps: Option<u64>,
    /// Passes over the private records, instead of steps: `resampled` and `generator` alone.
    #[arg(long)]
    pub epochs: Option<u64>,
    /// Private records in a batch: `resampled` and `generator` alone.
    #[arg(long)]
    pub batch: Option<usize>,
    /// Slices of a release.
    #[arg(long)]
    pub slices: Option<usize>,
    /// Slices of one flow step, out of those released: `fixed` and `marginals` alone.
    #[arg(long)]
    pub slices_per_step: Option<usize>,
    /// Bins of a marginal, a power of two.
    #[arg(long)]
    pub bins: Option<usize>,
    /// The share of the budget that `marginals` spends on moments first: bins then lie around each
    /// class's private Gaussian, and noise is drawn towards it. 0 for histograms alone.
    #[arg(long)]
    pub moments_share: Option<f64>,
    /// Slices drawn independently, or as a tight frame.
    #[arg(long, value_enum)]
    pub frame: Option<Frame>,
    /// The sensitivity of noisy projections: the proved one, or one of those published, for comparison.
    #[arg(long, value_enum)]
    pub sensitivity: Option<Norm>,
    /// h: the step of the flow.
    #[arg(long)]
    pub step_size: Option<f64>,
    /// The last step's size as a share of the first; it falls along a line. `fixed` and `marginals`
    /// alone.
    #[arg(long)]
    pub final_step: Option<f64>,
    /// Lambda: the diffusion of the flow.
    #[arg(long)]
    pub diffusion: Option<f64>,
    /// Adam's learning rate of the generator.
    #[arg(long)]
    pub learning_rate: Option<f64>,
    /// Dimension of the latent space.
    #[arg(long)]
    pub latent: Option<usize>,
    /// Channels of the narrowest layer of the autoencoder of photographs.
    #[arg(long)]
    pub width: Option<usize>,
    /// Passes of the autoencoder over the public records.
    #[arg(long)]
    pub public_epochs: Option<usize>,
    /// Where to compute: auto, flex, ndarray, wgpu, vulkan, metal, cuda or rocm; a GPU's number or a
    /// part of its name may follow, as in wgpu:1 or cuda:h200 (`just devices` lists them).
    #[arg(long, value_name = "BACKEND[:DEVICE]", default_value_t = Choice::from(Backend::Auto))]
    pub backend: Choice,
    /// Seed of everything public.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Make batches and noise reproducible too: the run is then NOT private, and says so.
    #[arg(long)]
    pub insecure_noise_seed: Option<u64>,
    /// How samples are scored.
    #[command(flatten)]
    pub score: ScoreFlags,
    /// Run folder to create (default: `runs/flow/DATASET-MECHANISM-epsEPSILON`).
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Like --out, but a run that was started there goes on, and one that is done stays as it is.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["out", "resume"])]
    pub run: Option<PathBuf>,
    /// Go on with the run in this folder.
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "mechanism", "dataset", "public", "records", "public_records", "epsilon",
        "noise_multiplier", "paper_noise", "delta", "no_privacy", "conditional", "unconditional", "particles",
        "steps", "epochs", "batch", "slices", "slices_per_step", "bins", "moments_share", "frame", "sensitivity",
        "step_size", "final_step", "diffusion", "learning_rate", "latent", "width", "public_epochs", "seed",
        "insecure_noise_seed", "out",
    ])]
    pub resume: Option<PathBuf>,
    /// Private steps from one checkpoint to the next.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_every: u64,
}
