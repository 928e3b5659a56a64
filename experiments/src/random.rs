//! Public randomness.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// One of the generators of a seed: what each is used for depends on no other.
pub(crate) fn stream(seed: u64, number: u64) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}
