//! The privatised records, from the file that `privatise` wrote.

use std::path::Path;

use data::DataError;
use data::privatised::Privatised;
use lab::diagnostic::Failure;
use rand::seq::index::sample;
use rand_chacha::ChaCha20Rng;

pub(super) fn load(path: &Path) -> Result<Privatised, Failure> {
    let advice = "give a file that `sliver privatise` wrote";
    Privatised::load(path).map_err(|e: DataError| Failure::input(e.to_string(), advice))
}

/// Some of the records, without one twice while there are enough.
pub(super) fn batch(file: &Privatised, size: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
    let (records, width) = (file.header.records as usize, file.header.width);
    let chosen = sample(rng, records, size.min(records)).into_vec();
    let row = |place: usize| &file.values[place * width..][..width];
    let chosen = chosen.into_iter().cycle().take(size);
    chosen.flat_map(row).copied().collect()
}
