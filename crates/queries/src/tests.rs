//! How far apart what is measured of neighbours is, before any noise.

use dp_core::mechanism::SensitiveVector;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

pub(crate) fn apart(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

pub(crate) fn moved(one: &SensitiveVector, other: &SensitiveVector) -> f64 {
    apart(one.before_noise(), other.before_noise())
}

/// The distance over what is declared.
pub(crate) fn share(one: &SensitiveVector, other: &SensitiveVector) -> f64 {
    moved(one, other) / one.sensitivity_upper()
}

pub(crate) fn seeded(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Rows of groups, by the group of each.
pub(crate) fn grouped<'a>(
    rows: impl IntoIterator<Item = (&'a [f32], usize)>,
    groups: usize,
) -> Vec<Vec<f32>> {
    let mut found = vec![Vec::new(); groups];
    for (row, group) in rows {
        found[group].extend_from_slice(row);
    }
    found
}
