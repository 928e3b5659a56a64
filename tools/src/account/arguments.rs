//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::mechanism::MechanismFlags;

/// Privacy accounting: what a mechanism, or a run, spends.
#[derive(Debug, Parser)]
#[command(name = "account", version)]
pub struct Arguments {
    /// What to compute.
    #[command(subcommand)]
    pub command: Command,
}

/// What to compute.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Epsilon of a mechanism at a delta.
    Epsilon(EpsilonFlags),
    /// Delta of a mechanism at an epsilon.
    Delta(DeltaFlags),
    /// The least noise that meets a target epsilon.
    Noise(NoiseFlags),
    /// The most steps that a target epsilon allows.
    Steps(BudgetFlags),
    /// The largest batch that a target epsilon allows.
    Batch(BudgetFlags),
    /// All accountants side by side: what each claims, and what is true.
    Compare(CompareFlags),
    /// Epsilon over steps, or the trade-off function, as SVG and CSV.
    Curve(CurveFlags),
    /// What a run has spent, from its ledger.
    Ledger(LedgerFlags),
}

/// The accountants by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AccountantName {
    /// Numerical composition of dominating pairs: rigorous and tight.
    Pld,
    /// The closed form, for Gaussian releases without sampling.
    Gaussian,
    /// Renyi divergences: valid but loose.
    Rdp,
    /// Central limit theorem, batches without replacement: not an upper bound.
    GdpCltUniform,
    /// Central limit theorem, Poisson samples: not an upper bound.
    GdpCltPoisson,
}

/// What every question about an answer shares.
#[derive(Debug, Args)]
pub struct AnswerFlags {
    /// The accountant.
    #[arg(long, value_enum, default_value_t = AccountantName::Pld)]
    pub accountant: AccountantName,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `account epsilon`.
#[derive(Debug, Args)]
pub struct EpsilonFlags {
    #[command(flatten)]
    pub mechanism: MechanismFlags,
    /// Noise scale over sensitivity.
    #[arg(long)]
    pub noise_multiplier: f64,
    /// Number of steps.
    #[arg(long, default_value_t = 1)]
    pub steps: u64,
    /// Delta of the guarantee.
    #[arg(long)]
    pub delta: f64,
    #[command(flatten)]
    pub answer: AnswerFlags,
}

/// `account delta`.
#[derive(Debug, Args)]
pub struct DeltaFlags {
    #[command(flatten)]
    pub mechanism: MechanismFlags,
    /// Noise scale over sensitivity.
    #[arg(long)]
    pub noise_multiplier: f64,
    /// Number of steps.
    #[arg(long, default_value_t = 1)]
    pub steps: u64,
    /// Epsilon of the guarantee.
    #[arg(long)]
    pub epsilon: f64,
    #[command(flatten)]
    pub answer: AnswerFlags,
}

/// `account noise`.
#[derive(Debug, Args)]
pub struct NoiseFlags {
    #[command(flatten)]
    pub mechanism: MechanismFlags,
    /// Number of steps.
    #[arg(long, default_value_t = 1)]
    pub steps: u64,
    /// Epsilon to stay within.
    #[arg(long)]
    pub epsilon: f64,
    /// Delta of the guarantee.
    #[arg(long)]
    pub delta: f64,
    #[command(flatten)]
    pub answer: AnswerFlags,
}

/// `account steps` and `account batch`.
#[derive(Debug, Args)]
pub struct BudgetFlags {
    #[command(flatten)]
    pub mechanism: MechanismFlags,
    /// Noise scale over sensitivity.
    #[arg(long)]
    pub noise_multiplier: f64,
    /// Number of steps; for `steps` the most that are looked at.
    #[arg(long)]
    pub steps: Option<u64>,
    /// Epsilon to stay within.
    #[arg(long)]
    pub epsilon: f64,
    /// Delta of the guarantee.
    #[arg(long)]
    pub delta: f64,
    #[command(flatten)]
    pub answer: AnswerFlags,
}

/// `account compare`.
#[derive(Debug, Args)]
pub struct CompareFlags {
    #[command(flatten)]
    pub mechanism: MechanismFlags,
    /// Noise scale over sensitivity: compare what each accountant claims for it.
    #[arg(long, required_unless_present = "epsilon", conflicts_with = "epsilon")]
    pub noise_multiplier: Option<f64>,
    /// Epsilon to stay within: compare the noise that each accountant would use.
    #[arg(long)]
    pub epsilon: Option<f64>,
    /// Number of steps.
    #[arg(long, default_value_t = 1)]
    pub steps: u64,
    /// Delta of the guarantee.
    #[arg(long)]
    pub delta: f64,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// `account curve`.
#[derive(Debug, Args)]
pub struct CurveFlags {
    #[command(flatten)]
    pub mechanism: MechanismFlags,
    /// Noise scale over sensitivity.
    #[arg(long)]
    pub noise_multiplier: f64,
    /// Number of steps; a curve of epsilon runs up to it.
    #[arg(long, default_value_t = 1)]
    pub steps: u64,
    /// Delta of the guarantee: epsilon over steps at it. Without one, the trade-off function: type II error over type I.
    #[arg(long)]
    pub delta: Option<f64>,
    /// Accountants to draw, by default pld, rdp and gdp-clt-uniform.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub accountant: Vec<AccountantName>,
    /// Points of each curve.
    #[arg(long, default_value_t = 40)]
    pub points: u32,
    /// Where to write it: the picture to a name that ends in .svg, the values to one in .csv; given again, both.
    #[arg(long, value_name = "FILE", required_unless_present = "json")]
    pub out: Vec<PathBuf>,
    /// Print one JSON object with the values.
    #[arg(long)]
    pub json: bool,
}

/// `account ledger`.
#[derive(Debug, Args)]
pub struct LedgerFlags {
    /// A ledger in JSON lines.
    pub file: PathBuf,
    /// Delta of the guarantee.
    #[arg(long)]
    pub delta: f64,
    #[command(flatten)]
    pub answer: AnswerFlags,
}
