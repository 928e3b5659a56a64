//! Points of a circle by private gradients, or by one private release (Rodriguez-Vitores, Lalanne and Loubes 2025, arXiv
//! 2502.01701, appendix D.2): `just run-circle`, `cargo run --release -p private-training --example circle -- --help`.
//!
//! A network maps standard Gaussian points of the plane to the circle of radius 3/4. By `gradients` those of the sliced
//! distance are private: both the points that it is fed and those of the circle are. By `smoothed` (Rakotomamonjy and Ralaivola
//! 2021; Greenewald et al. 2024) one sub-sample of the circle leaves once as noisy projections, and the generated points get the
//! same noise. All points are simulated: a run that was killed begins again, and its ledger with it.

mod figures;
mod run;
mod smoothed;

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use run::{Method, Run, Settings, Side};

type Failed = Box<dyn std::error::Error>;

/// Map Gaussian points to a circle, privately.
#[derive(Debug, Parser)]
struct Arguments {
    /// The method; `figures` makes the runs of figures 22 and 23 that are not in --out yet, three seeds each.
    #[arg(value_enum, default_value = "gradients")]
    what: What,
    /// The budget: 1 unless given, 10 with `smoothed`.
    #[arg(long)]
    epsilon: Option<f64>,
    /// Clip nothing and add no noise.
    #[arg(long, conflicts_with = "epsilon")]
    no_privacy: bool,
    #[arg(long, default_value_t = 1e-6)]
    delta: f64,
    /// Whose budget --epsilon is with gradients: the circle's points, or those that the network is fed, which costs more than
    /// twice as much.
    #[arg(long, value_enum, default_value = "target")]
    protect: Side,
    /// Points of each side.
    #[arg(long, default_value_t = 100_000)]
    records: usize,
    /// Points of each side in a batch, or of the circle in the one sub-sample.
    #[arg(long, default_value_t = 10_000)]
    batch: usize,
    #[arg(long, default_value_t = 400)]
    steps: u64,
    /// Seeds of the network and the slices, a run each: 0 unless given, 0, 1 and 2 with `figures`.
    #[arg(long, num_args = 1..)]
    seed: Vec<u64>,
    /// Where runs and figures go.
    #[arg(long, default_value = "runs/circle")]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum What {
    /// Private gradients by our constants.
    Gradients,
    /// Private gradients by the constants of the paper.
    Paper,
    /// The smoothed distance to one private release.
    Smoothed,
    Figures,
}

impl Arguments {
    /// The runs that are asked for.
    fn runs(&self) -> Vec<Settings> {
        use Method::{Gradients, Paper, Smoothed};
        let one = |method, usual| {
            let epsilon = self.epsilon.unwrap_or(usual);
            vec![(method, (!self.no_privacy).then_some(epsilon))]
        };
        let cases = match self.what {
            What::Gradients => one(Gradients, 1.0),
            What::Paper => one(Paper, 1.0),
            What::Smoothed => one(Smoothed, 10.0),
            What::Figures => {
                let budgets = [0.5, 1.0, 3.0, 10.0].map(|epsilon| (Gradients, Some(epsilon)));
                let paper = [1.0, 10.0].map(|epsilon| (Paper, Some(epsilon)));
                let baseline = [1.0, 3.0, 10.0, 30.0].map(|epsilon| (Smoothed, Some(epsilon)));
                let without = [Gradients, Smoothed].map(|method| (method, None));
                [&budgets[..], &paper, &baseline, &without].concat()
            }
        };
        let usual: &[u64] = match self.what {
            What::Figures => &[0, 1, 2],
            _ => &[0],
        };
        let given = Some(&self.seed[..]).filter(|seeds| !seeds.is_empty());
        let seeds = given.unwrap_or(usual);
        let with = |(method, epsilon)| {
            seeds.iter().map(move |&seed| Settings {
                method,
                epsilon,
                delta: self.delta,
                protect: self.protect,
                records: self.records,
                batch: self.batch,
                steps: self.steps,
                seed,
            })
        };
        cases.into_iter().flat_map(with).collect()
    }
}

fn make(arguments: &Arguments) -> Result<Vec<Run>, Failed> {
    let mut done = Vec::new();
    for settings in arguments.runs() {
        let folder = arguments.out.join(settings.name());
        let file = folder.join("run.json");
        if file.exists() {
            let run: Run = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
            if run.settings != settings {
                return Err(format!("{}: a run of other settings", folder.display()).into());
            }
            done.push(run);
            continue;
        }
        eprintln!("run       {}", folder.display());
        std::fs::create_dir_all(&folder)?;
        let run = settings.run(&folder)?;
        std::fs::write(&file, serde_json::to_string(&run)?)?;
        done.push(run);
    }
    figures::write(&done, &arguments.out)?;
    Ok(done)
}

fn main() -> Result<(), Failed> {
    make(&Arguments::parse()).map(drop)
}

#[cfg(test)]
mod tests;
