//! The command line of `fair`.

use std::path::PathBuf;

use clap::Parser;
use lab::backend::{Backend, Choice};

use super::settings::{Clip, Notion, Optimizer, Preset, Task};

/// Train a model whose outputs or inner layer should not tell a sensitive attribute, privately.
///
/// Values come from the task's preset, and a flag wins over the preset. The penalty is that of
/// Rodriguez-Vitores et al. (2025, arXiv 2502.01701).
#[derive(Debug, Parser)]
#[command(name = "fair", version, allow_negative_numbers = true)]
pub struct Arguments {
    /// What is learned.
    #[arg(long, value_enum)]
    pub task: Option<Task>,
    /// Where the values of `regression1d` and `representation` come from: their own presets, or
    /// `paper`, those of Rodriguez-Vitores et al.
    #[arg(long, value_enum, default_value_t = Preset::Tuned)]
    pub preset: Preset,
    /// Statistical parity, or equality of odds.
    #[arg(long, value_enum)]
    pub notion: Option<Notion>,
    /// Weight of the penalty, between 0 and 1.
    #[arg(long)]
    pub alpha: Option<f64>,
    /// Privacy budget of the whole run.
    #[arg(long, conflicts_with = "no_privacy")]
    pub epsilon: Option<f64>,
    /// Delta of the guarantee (default: 0.1/n for n private records; 1/n by the preset `paper` of regression1d).
    #[arg(long)]
    pub delta: Option<f64>,
    /// Train without clipping and without noise; nothing is promised.
    #[arg(long)]
    pub no_privacy: bool,
    /// Simulated private records.
    #[arg(long)]
    pub records: Option<usize>,
    /// A table of one's own, for `classification`: a CSV file that --schema describes.
    #[arg(long, requires = "schema")]
    pub csv: Option<PathBuf>,
    /// Test records for --csv (default: about one in five of its rows, by their number alone, which
    /// count as public).
    #[arg(long, requires = "csv")]
    pub test_csv: Option<PathBuf>,
    /// What the columns of --csv are: a TOML file, see `docs/schemas.md`.
    #[arg(long, requires = "csv")]
    pub schema: Option<PathBuf>,
    /// Folder with the data files of Adult.
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Folder that notes which records are public and which private (default: in the user's cache
    /// folder, the one of `swae` and `flow`).
    #[arg(long)]
    pub cache_dir: Option<PathBuf>,
    /// Sensitive attribute of Adult: sex or race.
    #[arg(long)]
    pub sensitive: Option<String>,
    /// Training steps.
    #[arg(long)]
    pub steps: Option<u64>,
    /// The share of each group that is in a batch.
    #[arg(long, conflicts_with = "batches")]
    pub batch_share: Option<f64>,
    /// Records of each group in a batch instead: n'_0,n'_1 for statistical parity; for equality of odds
    /// class after class, n'_00,n'_10,n'_01,n'_11 with the group first.
    #[arg(long, value_delimiter = ',')]
    pub batches: Option<Vec<usize>>,
    /// The rule of a step.
    #[arg(long, value_enum)]
    pub optimizer: Option<Optimizer>,
    /// Learning rate of the first step.
    #[arg(long)]
    pub learning_rate: Option<f64>,
    /// The share of the learning rate that is left at the last step; it falls along a line.
    #[arg(long)]
    pub final_rate: Option<f64>,
    /// Score, and keep, an exponential moving average of the weights with this decay: free of budget.
    #[arg(long)]
    pub ema: Option<f64>,
    /// How Jacobians are clipped: by rows, as Rodriguez-Vitores et al. do, or by singular values.
    #[arg(long, value_enum)]
    pub clip: Option<Clip>,
    /// C: the bound on each record's gradient of the loss.
    #[arg(long)]
    pub clip_loss: Option<f64>,
    /// M: the bound on activations under the penalty.
    #[arg(long)]
    pub clip_activation: Option<f64>,
    /// L: the bound on Jacobians under the penalty.
    #[arg(long)]
    pub clip_jacobian: Option<f64>,
    /// Slices of a step; a tight frame of at least the dimension.
    #[arg(long)]
    pub slices: Option<usize>,
    /// Units of the hidden layer, 0 for none.
    #[arg(long)]
    pub hidden: Option<usize>,
    /// Declare the sensitivity of Rodriguez-Vitores et al., 16 M L / min(n_0, n_1), twice the proved one.
    #[arg(long)]
    pub paper_sensitivity: bool,
    /// Post-process to this Kolmogorov-Smirnov distance (Xian et al. 2024): `regression1d` alone, and
    /// instead of the penalty unless --alpha is given too.
    #[arg(long, value_name = "BETA")]
    pub post_process: Option<f64>,
    /// The share of epsilon that the post-processing's histograms spend (default: 0.5).
    #[arg(long)]
    pub post_share: Option<f64>,
    /// Where to compute: auto, flex, ndarray, wgpu, vulkan, metal, cuda or rocm; a GPU's number or a
    /// part of its name may follow, as in wgpu:1 or cuda:h200 (`just devices` lists them).
    #[arg(long, value_name = "BACKEND[:DEVICE]", default_value_t = Choice::from(Backend::Auto))]
    pub backend: Choice,
    /// Seed of initial weights and slices.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Make batches and noise reproducible too: the run is then NOT private, and says so. Runs of one
    /// seed then share batches and standard noise, whatever alpha and epsilon (Rodriguez-Vitores et al. 2025,
    /// arXiv 2502.01701, C.6).
    #[arg(long)]
    pub insecure_noise_seed: Option<u64>,
    /// Run folder to create (default: `runs/fair/TASK-alphaALPHA-epsEPSILON`).
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Like --out, but a run that was started there goes on, and one that is done stays as it is.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["out", "resume"])]
    pub run: Option<PathBuf>,
    /// Go on with the run in this folder.
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "task", "preset", "notion", "alpha", "epsilon", "delta", "no_privacy", "records", "csv", "sensitive",
        "steps", "batch_share", "batches", "optimizer", "learning_rate", "final_rate", "ema", "clip",
        "clip_loss", "clip_activation", "clip_jacobian", "slices", "hidden", "paper_sensitivity", "post_process", "post_share",
        "seed", "insecure_noise_seed", "out",
    ])]
    pub resume: Option<PathBuf>,
    /// Steps from one checkpoint to the next.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_every: u64,
}
