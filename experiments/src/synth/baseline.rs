//! The baseline of the scores of a copy: what the public images teach by themselves.

use data::Records;
use lab::evaluate::ImageScores;
use lab::evaluate::field::{Accuracies, Protocol};
use lab::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::run::Synth;
use crate::scores::{ScoreFlags, Scored, score};

/// Scores of public records that show the classes of the private ones, varied as the samples are.
///
/// What samples score above it is what the private records added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Baseline {
    /// The scores that samples have too.
    pub images: ImageScores,
    /// Accuracies by the field's protocol, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<Accuracies>,
}

/// The baseline of a run, from the cache if it is there; none unless public records show the classes of the private ones.
///
/// It reads public records alone, so that its name in the cache may be their checksum.
pub(crate) fn baseline(
    run: &Synth,
    test: &Records,
    session: &Session,
) -> Result<Option<Baseline>, Failure> {
    let public = &run.public.records;
    let shape = public.shape();
    if !run.public_shows_classes() {
        return Ok(None);
    }
    let flags = ScoreFlags {
        memorisation: false,
        ceilings: false,
        ..run.score.clone()
    };
    let count = public.count.min(flags.count());
    let chosen: Vec<usize> = (0..count).collect();
    let variation = run.settings.variation(shape);
    let key = json!({
        "format": 1,
        "public": public.first(count).fingerprint()?,
        "test": test.sha256().or_failed()?,
        "variation": [variation.pose, variation.texture, variation.tone],
        "protocol": format!("{:?} {:?}", flags.protocol, Protocol::default()),
        "convolutional": flags.convolutional,
    });
    let folder = session.running.cache()?.join("baselines");
    let path = folder.join(format!("{}.json", &hex(key.to_string().as_bytes())[..24]));
    let kept = std::fs::read(&path).ok();
    if let Some(kept) = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        println!(
            "baseline  the public records alone, from {}",
            path.display()
        );
        return Ok(Some(kept));
    }
    println!("baseline  {count} public records alone, varied as the samples are");
    let mut pixels = public.gather(&chosen)?;
    variation.apply(&mut pixels, shape, &mut ChaCha20Rng::seed_from_u64(0));
    let labels = public.labels();
    // No private record: neither of the two scores that read some was asked for.
    let scored = score(test, &pixels, Some(&labels[..count]), None, &flags, session)?;
    let Some(Scored { images, field, .. }) = scored else {
        return Ok(None);
    };
    let baseline = Baseline { images, field };
    let bytes = serde_json::to_vec_pretty(&baseline).or_failed()?;
    write_file(&path, &bytes)?;
    Ok(Some(baseline))
}
