//! Fair regression by post-processing ([`model::postprocess`]), from private histograms of the outputs on the
//! private records of each group: one record of a group moves one count out of a bin and one into another.

use lab::diagnostic::Failure;
use lab::session::{Released, Session};
use model::postprocess::{Bins, FairMap};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::metrics::Predictions;
use super::plan::HISTOGRAMS;
use super::train::Fair;

/// Over the public range of the response.
const BINS: Bins = Bins {
    range: -1.0..1.0,
    count: 36,
};
/// How much one record moves the counts, in `L1`.
const SENSITIVITY: f64 = 2.0;

/// Predictions of test records, post-processed into a ball of radius `beta`.
pub(crate) fn fair(
    run: &mut Fair,
    session: &mut Session,
    predicted: &Predictions,
    beta: f64,
) -> Result<Predictions, Failure> {
    let counts = counts(run, session)?.groups.concat();
    let histograms = [0, 1].map(|group| {
        let counts = counts.chunks(BINS.count).nth(group);
        BINS.histogram(counts.unwrap_or_default())
    });
    let sizes = run.tables.train.group_sizes();
    let total = (sizes[0] + sizes[1]) as f64;
    let map = FairMap::new(BINS, &histograms, sizes.map(|n| n as f64 / total), beta);
    let mut rng = ChaCha20Rng::seed_from_u64(run.settings.seed);
    rng.set_stream(8);
    let records = predicted.outputs.iter().zip(run.tables.test.groups());
    let outputs = records.map(|(&value, &group)| map.apply(value, group, &mut rng));
    let outputs: Vec<f32> = outputs.collect();
    Ok(Predictions {
        activations: outputs.clone(),
        outputs,
    })
}

/// The noisy counts of both groups, released once.
fn counts(run: &mut Fair, session: &mut Session) -> Result<Released, Failure> {
    if let Some(released) = Released::read(&session.folder, HISTOGRAMS)? {
        return Ok(released);
    }
    let train = &run.tables.train;
    let network = run.training.averaged().map_err(Failure::failed)?;
    let predicted = Predictions::of(&network, train, &session.chosen.device);
    let mut counts = vec![0.0; 2 * BINS.count];
    for (&value, &group) in predicted.outputs.iter().zip(train.groups()) {
        counts[usize::from(group) * BINS.count + BINS.bin(value)] += 1.0;
    }
    if let Some(releaser) = run.training.releaser() {
        let ledger = &mut session.ledger;
        let noisy = releaser.release_laplace(HISTOGRAMS, &counts, SENSITIVITY, ledger);
        counts = noisy.map_err(Failure::failed)?;
    }
    let deviation = |epsilon| std::f64::consts::SQRT_2 * SENSITIVITY / epsilon;
    let released = Released {
        groups: vec![counts],
        deviation: run.settings.histograms().map_or(0.0, deviation),
    };
    released.write(&session.folder, HISTOGRAMS, session.ledger.releases())?;
    Ok(released)
}
