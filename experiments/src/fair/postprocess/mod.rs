//! Fair regression by post-processing, the baseline of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, remark C.4
//! (after Xian et al. 2024).
//!
//! 1. Private histograms `h_a` of the regressor's outputs on the private records of each group: Laplace
//!    noise, one record of a group moves one count out of a bin and one into another, L1 sensitivity 2.
//! 2. The nearest laws `q_a` to the `h_a`, in `sum_a w_a W_2^2(h_a, q_a)`, that lie in a
//!    Kolmogorov-Smirnov ball of radius `beta` around a common one, so `2 beta` from each other.
//! 3. An output in bin `i` becomes one in bin `j` with the probability that the optimal coupling of
//!    `h_a` and `q_a` gives.

mod flow;

use dp_core::ledger::Ledger;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::spent::stored;

use super::metrics::Outputs;
use super::plan::HISTOGRAMS;
use super::run::Run;

/// Bins of the histograms, over the public range of the response.
const BINS: usize = 36;
const RANGE: (f64, f64) = (-1.0, 1.0);
/// The release, kept so that a run that was killed afterwards does not make it again.
const FILE: &str = "histograms.json";

/// The histograms as released.
#[derive(Serialize, Deserialize)]
struct Released {
    /// How many releases the ledger held with this one; 0 without privacy.
    releases: u64,
    /// Each with mass 1.
    histograms: [Vec<f64>; 2],
}

/// Refuses histograms that were released and cannot be read, before any step is made again.
///
/// # Errors
///
/// [`Failure::BadInput`] names the file.
pub fn check(folder: &RunFolder) -> Result<(), Failure> {
    stored::<Released>(&folder.file(FILE)).map(drop)
}

/// The centre of a bin.
fn centre(bin: usize) -> f64 {
    RANGE.0 + (RANGE.1 - RANGE.0) * (bin as f64 + 0.5) / BINS as f64
}

/// The bin of a value; what lies outside goes to the ends.
fn bin(value: f32) -> usize {
    let place = (f64::from(value) - RANGE.0) / (RANGE.1 - RANGE.0) * BINS as f64;
    // A value that is not finite goes to the first bin: what a record counts for is bounded.
    (place.max(0.0) as usize).min(BINS - 1)
}

/// What was said of test records, post-processed.
///
/// # Errors
///
/// [`Failure::Failed`] where the ledger cannot be written.
pub fn fair(
    run: &mut Run,
    folder: &RunFolder,
    ledger: &mut Ledger,
    said: Outputs,
    beta: f64,
) -> Result<Outputs, Failure> {
    let histograms = release(run, folder, ledger)?;
    let sizes = run.tables.train.group_sizes();
    let total = (sizes[0] + sizes[1]) as f64;
    let weights = sizes.map(|n| n as f64 / total);
    let centres: Vec<f64> = (0..BINS).map(centre).collect();
    let couplings = flow::couplings(&histograms, &centres, weights, 2.0 * beta);
    let mut rng = ChaCha20Rng::seed_from_u64(run.settings.seed);
    rng.set_stream(8);
    let outputs: Vec<f32> = said
        .outputs
        .iter()
        .zip(run.tables.test.groups())
        .map(|(&value, &group)| {
            let row = &couplings[usize::from(group)][bin(value) * BINS..][..BINS];
            let mass: f64 = row.iter().sum();
            if mass <= 0.0 {
                return centre(bin(value)) as f32;
            }
            let mut left = rng.random::<f64>() * mass;
            let mut chosen = BINS - 1;
            for (j, share) in row.iter().enumerate() {
                left -= share;
                if left < 0.0 {
                    chosen = j;
                    break;
                }
            }
            centre(chosen) as f32
        })
        .collect();
    Ok(Outputs {
        activations: outputs.clone(),
        outputs,
    })
}

/// The noisy histograms of both groups, each with mass 1.
fn release(
    run: &mut Run,
    folder: &RunFolder,
    ledger: &mut Ledger,
) -> Result<[Vec<f64>; 2], Failure> {
    if let Some(released) = stored::<Released>(&folder.file(FILE))? {
        return Ok(released.histograms);
    }
    let train = &run.tables.train;
    let said = Outputs::of(&run.evaluated()?, train, &run.chosen.device);
    let mut counts = vec![0.0; 2 * BINS];
    for (&value, &group) in said.outputs.iter().zip(train.groups()) {
        counts[usize::from(group) * BINS + bin(value)] += 1.0;
    }
    let noisy = match &mut run.releaser {
        Some(releaser) => releaser
            .release_laplace(HISTOGRAMS, &counts, 2.0, ledger)
            .map_err(Failure::run)?,
        None => counts,
    };
    let (first, second) = noisy.split_at(BINS);
    let histograms = [first, second].map(|counts| {
        let positive: Vec<f64> = counts.iter().map(|c| c.max(0.0)).collect();
        let mass: f64 = positive.iter().sum();
        if mass > 0.0 {
            positive.iter().map(|c| c / mass).collect()
        } else {
            vec![1.0 / BINS as f64; BINS]
        }
    });
    let releases = ledger.releases();
    let released = Released {
        releases,
        histograms,
    };
    folder.write_json(FILE, &released)?;
    Ok(released.histograms)
}
