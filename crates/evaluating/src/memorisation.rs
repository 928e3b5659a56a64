//! An audit, with a statistical test, of whether a generator repeats its training images.
//!
//! **The audit reads private records**, and no accountant covers its results. They are meant for those who hold the
//! data; do not publish them with a release.
//!
//! Each sample has one nearest image in the pool of training and held-out images. Suppose that the samples were made
//! without knowing which images of the pool are which, and that the images are exchangeable (held-out ones are sampled
//! from the same distribution). Then the training images are a uniformly random part of the pool, whatever the samples
//! are. So the number of samples whose nearest image is a training image has a known distribution: assign the images of
//! the pool to the two sides at random, without replacement, and count again. An image that is nearest to many samples
//! counts once for each of them. The test is exact for any number of samples.
//!
//! Two statistics are tested, each at half the level: one counts all samples, the other the twentieth of them whose
//! nearest image is much nearer than the second nearest. Which samples these are does not depend on the sides either.
//! The second statistic detects a generator that repeats a few images among many honest samples.
//!
//! A p-value is `(1 + number of random sides at least as extreme) / (1 + number of random sides)`, so an honest
//! generator gets a p-value of at most `a` with probability at most `a`, for every `a` (Phipson and Smyth 2010).

use data::Records;
use rand::{Rng, RngExt};

use super::EvaluateError;
use super::error::check_count;
use super::neighbours::{Images, Nearest, nearest, nearest_few};
use reporting::interrupt::Interrupt;

/// The level of the test: the probability with which an honest generator is taken for one that memorises.
pub const FALSE_ALARM: f64 = 0.01;
/// The number of random assignments of the pool to its sides.
const TRIALS: u32 = 9999;
/// One sample in this many counts as suspicious.
const SUSPICIOUS: usize = 20;

/// Distances of generated images to their nearest training image, compared with those of real test images, which
/// cannot have been memorised. Distances are Euclidean, with pixels in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Memorisation {
    /// Always true: these numbers depend on private records, and no ledger covers them.
    pub reads_private_records: bool,
    /// The number of generated images that were compared.
    pub generated_records: usize,
    /// The number of held-out test images in the pool.
    pub test_records: usize,
    /// The number of training images in the pool.
    pub training_records: usize,
    /// The median distance of a generated image to its nearest training image.
    pub generated_median: f64,
    /// The median distance of a test image to its nearest training image.
    pub test_median: f64,
    /// `generated_median / test_median`. It is well below 1 if the generator repeats training images, but also if the
    /// generated images are blurred. Absent if `test_median` is 0.
    pub ratio: Option<f64>,
    /// The 1st percentile of the distances of test images.
    pub test_first_percentile: f64,
    /// The share of generated images nearer than `test_first_percentile`; about 0.01 for fresh real images.
    pub share_nearer: f64,
    /// The share of generated images whose nearest image of the pool is a training image.
    pub share_training: f64,
    /// The share expected of a generator that knows no more of training images than of held-out ones.
    pub share_expected: f64,
    /// The share of the suspiciously near images whose nearest image of the pool is a training image.
    pub share_training_suspicious: f64,
    /// An upper bound on the probability of shares this large by chance alone.
    pub p_value: f64,
    /// Whether `p_value` is at most [`FALSE_ALARM`].
    pub found: bool,
}

/// Compares generated and test images, `[n, d]` and `[m, d]` in `[0, 1]`, with private training images of `d` pixels.
/// `held_out` holds images of the same distribution as the training images, which the generator was not trained on.
///
/// The percentile of a share is the smallest distance that at least this share of the distances does not exceed.
///
/// # Errors
///
/// Images that do not fit or are not finite, or an empty set of images; [`EvaluateError::Interrupted`].
pub fn memorisation(
    generated: &[f32],
    test: &[f32],
    held_out: &Records,
    private: &Records,
    rng: &mut impl Rng,
    interrupt: &Interrupt,
) -> Result<Memorisation, EvaluateError> {
    let (training, fresh) = (Images::of(private)?, Images::of(held_out)?);
    check_count("held-out images", fresh.len(), 1)?;
    let pool = Images::Joined(&training, &fresh);
    let found = nearest_few(generated, &pool, 2, interrupt)?;
    check_count("generated images", found.len(), 1)?;
    let sides = Sides {
        training: training.len(),
        held_out: fresh.len(),
    };
    let few = found.len() / (generated.len() / private.image_size());
    let pairs: Vec<&[Nearest]> = found.chunks_exact(few).collect();
    let (all, suspicious) = sides.tests(&pairs, rng);
    let p_value = (2.0 * all.p_value.min(suspicious.p_value)).min(1.0);
    let generated = sorted_distances("generated images", generated, &training, interrupt)?;
    let test = sorted_distances("test images", test, &training, interrupt)?;
    let limit = percentile(&test, 0.01);
    let nearer = generated.iter().filter(|&&x| x < limit).count();
    let (generated_median, test_median) = (percentile(&generated, 0.5), percentile(&test, 0.5));
    Ok(Memorisation {
        reads_private_records: true,
        generated_records: generated.len(),
        test_records: sides.held_out,
        training_records: sides.training,
        generated_median,
        test_median,
        ratio: (test_median > 0.0).then_some(generated_median / test_median),
        test_first_percentile: limit,
        share_nearer: nearer as f64 / generated.len() as f64,
        share_training: all.share,
        share_expected: sides.training as f64 / (sides.training + sides.held_out) as f64,
        share_training_suspicious: suspicious.share,
        p_value,
        found: p_value <= FALSE_ALARM,
    })
}

/// The numbers of training and of held-out images in a pool; training images come first.
#[derive(Debug, Clone, Copy)]
struct Sides {
    training: usize,
    held_out: usize,
}

/// The share of samples whose nearest image is a training image, and its p-value.
#[derive(Debug, Clone, Copy)]
struct Test {
    share: f64,
    p_value: f64,
}

impl Sides {
    /// Tests all samples and the suspicious ones; `pairs` holds the nearest images of each sample, nearest first.
    fn tests(self, pairs: &[&[Nearest]], rng: &mut impl Rng) -> (Test, Test) {
        // The ratio of the nearest distance to the second: 0 for a copy, 1 if both are as near.
        let nearness = |pair: &[Nearest]| match pair {
            [first, second] if second.distance > 0.0 => first.distance / second.distance,
            _ => 1.0,
        };
        // Two images at the same distance, such as copies of each other, say nothing: their order is that of the pool, which
        // depends on the sides.
        let tied =
            |pair: &[Nearest]| matches!(pair, [first, second] if first.distance == second.distance);
        let mut order: Vec<(f64, usize)> = pairs
            .iter()
            .filter(|pair| !tied(pair))
            .map(|pair| (nearness(pair), pair[0].index))
            .collect();
        // The sort keeps equal values in the order of the samples, which does not depend on the sides.
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let indices: Vec<usize> = order.into_iter().map(|(_, index)| index).collect();
        let few = indices.len().div_ceil(SUSPICIOUS);
        (self.test(&indices, rng), self.test(&indices[..few], rng))
    }

    /// Makes the permutation test on the nearest images, given by one index in the pool for each sample.
    fn test(self, nearest: &[usize], rng: &mut impl Rng) -> Test {
        let mut sorted = nearest.to_vec();
        sorted.sort_unstable();
        let weights: Vec<(usize, usize)> = sorted
            .chunk_by(|a, b| a == b)
            .map(|same| (same[0], same.len()))
            .collect();
        let seen: usize = weights
            .iter()
            .filter(|(index, _)| *index < self.training)
            .map(|(_, weight)| weight)
            .sum();
        if nearest.is_empty() {
            let share = self.training as f64 / (self.training + self.held_out) as f64;
            return Test {
                share,
                p_value: 1.0,
            };
        }
        let extreme = (0..TRIALS)
            .filter(|_| self.random(&weights, rng) >= seen)
            .count();
        Test {
            share: seen as f64 / nearest.len() as f64,
            p_value: (1.0 + extreme as f64) / (1.0 + f64::from(TRIALS)),
        }
    }

    /// Returns the statistic after the images were assigned to their sides at random, without replacement.
    fn random(self, weights: &[(usize, usize)], rng: &mut impl Rng) -> usize {
        let (mut training, mut left) = (self.training, self.training + self.held_out);
        let mut sum = 0;
        for &(_, weight) in weights {
            if rng.random_range(0..left) < training {
                training -= 1;
                sum += weight;
            }
            left -= 1;
        }
        sum
    }
}

fn sorted_distances(
    what: &'static str,
    images: &[f32],
    private: &Images<'_>,
    interrupt: &Interrupt,
) -> Result<Vec<f64>, EvaluateError> {
    let found = nearest(images, private, interrupt)?;
    check_count(what, found.len(), 1)?;
    let mut distances: Vec<f64> = found.into_iter().map(|f| f.distance).collect();
    distances.sort_unstable_by(f64::total_cmp);
    Ok(distances)
}

/// Returns the smallest value of `sorted`, which is not empty, that a `share` of its values does not exceed.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    fn random_bytes(n: usize, seed: u64) -> Vec<u8> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        (0..n).map(|_| rng.random()).collect()
    }

    fn unit(bytes: &[u8]) -> Vec<f32> {
        bytes.iter().map(|&b| f32::from(b) / 255.0).collect()
    }

    fn images(n: usize, seed: u64) -> Records {
        Records::new(random_bytes(n * 16, seed), vec![0; n], 4, 4, 1).unwrap()
    }

    fn audit(generated: &[f32], test: &Records, private: &Records) -> Memorisation {
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        let (held_out, unasked) = (unit(&test.pixels().unwrap()), Interrupt::default());
        memorisation(generated, &held_out, test, private, &mut rng, &unasked).unwrap()
    }

    #[test]
    fn copies_are_found_and_fresh_images_are_not() {
        let (private, held_out) = (images(400, 1), images(200, 2));
        let fresh = unit(&random_bytes(200 * 16, 3));
        let copies = unit(&private.pixels().unwrap()[..200 * 16]);
        let copied = audit(&copies, &held_out, &private);
        assert_eq!(copied.generated_median, 0.0);
        assert_eq!((copied.ratio, copied.share_nearer), (Some(0.0), 1.0));
        assert_eq!((copied.share_training, copied.found), (1.0, true));
        assert!(copied.p_value <= 2e-4 && copied.reads_private_records);
        let honest = audit(&fresh, &held_out, &private);
        let ratio = honest.ratio.unwrap();
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
        assert!(honest.share_nearer < 0.08);
        assert!(honest.test_first_percentile > 0.0);
        assert!(honest.test_first_percentile < honest.test_median);
        assert!(!honest.found, "{honest:?}");
        assert!((honest.share_expected - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_few_noisy_copies_among_many_honest_samples_are_found() {
        // One sample in twenty is a training image with some noise.
        let (private, held_out) = (images(1000, 1), images(1000, 2));
        let mut samples = unit(&random_bytes(1000 * 16, 3));
        let noise = unit(&random_bytes(50 * 16, 4));
        let copies = unit(&private.pixels().unwrap()).into_iter().zip(&noise);
        for (sample, (copy, noise)) in samples.iter_mut().zip(copies) {
            *sample = copy + 0.1 * (noise - 0.5);
        }
        let found = audit(&samples, &held_out, &private);
        assert!(found.found && found.share_training_suspicious > 0.9);
        // All of them count too little to show it.
        assert!(found.share_training < 0.6);
    }

    #[test]
    fn false_alarms_are_as_rare_as_stated() {
        // 400 honest generators, some of whose samples crowd around one image of the pool: at a level of 0.05, which the
        // test keeps, more than 40 alarms have a probability below 1e-4 (binomial). The seeds are fixed.
        let (training, held_out) = (30, 20);
        let sides = Sides { training, held_out };
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let mut alarms = 0;
        for _ in 0..400 {
            let crowd = rng.random_range(0..50);
            let near = |i| {
                if i < 8 {
                    crowd
                } else {
                    rng.random_range(0..50)
                }
            };
            let mut nearest: Vec<usize> = (0..25).map(near).collect();
            nearest.sort_unstable();
            let same = nearest.chunk_by(|a, b| a == b);
            let weights: Vec<_> = same.map(|same| (same[0], same.len())).collect();
            let seen = nearest.iter().filter(|&&i| i < training).count();
            let draws = (0..199).filter(|_| sides.random(&weights, &mut rng) >= seen);
            let extreme = draws.count();
            alarms += usize::from((1 + extreme) as f64 / 200.0 <= 0.05);
        }
        assert!(alarms <= 40, "{alarms}");
    }

    #[test]
    fn percentiles_are_order_statistics() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(percentile(&sorted, 0.5), 2.0);
        assert_eq!(percentile(&sorted, 0.01), 1.0);
        assert_eq!(percentile(&sorted, 1.0), 4.0);
        assert_eq!(percentile(&[5.0], 0.5), 5.0);
    }

    #[test]
    fn none_of_a_kind_is_refused() {
        let private = Records::new(vec![0; 4], vec![0], 2, 2, 1).unwrap();
        let run = |generated: &[f32], test: &[f32]| {
            let mut rng = ChaCha20Rng::seed_from_u64(0);
            let (unasked, both) = (Interrupt::default(), &private);
            memorisation(generated, test, both, both, &mut rng, &unasked)
        };
        assert!(run(&[], &[0.0; 4]).is_err());
        assert!(run(&[0.0; 4], &[]).is_err());
        assert!(run(&[0.0; 3], &[0.0; 4]).is_err());
        assert_eq!(run(&[0.5; 4], &[0.0; 4]).unwrap().ratio, None);
    }
}
