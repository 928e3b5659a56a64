//! Whether a generator repeats its training images: an audit with a test.
//!
//! **This reads private records**, and no accountant covers what it says: it is for those who hold
//! the data, and does not go beside a release.
//!
//! Each sample has one nearest image in the pool of training and held-out images. Were the samples made without any
//! knowledge of which image of the pool is which, and are the images of the pool exchangeable (held-out ones sampled from
//! the same law, as by chance), then the training images are a uniformly random part of the pool, whatever the samples
//! are. So the number of samples whose nearest image is a training image has a known law: that of the same number when
//! the images of the pool that are nearest to anything get their sides at random, without replacement. Images that are
//! nearest to many samples weigh as much as they do, and the test is exact at any number of samples.
//!
//! Two statistics are looked at, at half the level each: all samples, and the twentieth of them that is suspiciously
//! near to one image beside its second nearest. Which samples these are does not depend on the sides either. The second
//! finds a generator that repeats a few images among many honest ones.
//!
//! A p-value is `(1 + number of random sides at least as extreme) / (1 + number of random sides)`, so that an honest
//! generator has one of at most `a` with probability at most `a`, for every `a` (Phipson and Smyth 2010).

use data::Records;
use rand::{Rng, RngExt};

use super::EvaluateError;
use super::error::check_count;
use super::neighbours::{Images, Nearest, nearest, nearest_few};
use reporting::interrupt::Interrupt;

/// The probability with which an honest generator is called one that memorises.
pub const FALSE_ALARM: f64 = 0.01;
/// Random sides of the pool.
const TRIALS: u32 = 9999;
/// One sample in so many is among the suspicious ones.
const SUSPICIOUS: usize = 20;

/// The distance of generated images to their nearest training image, beside that of real test
/// images, which cannot have been memorised. Distances are Euclidean, with pixels in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Memorisation {
    /// Always true: these numbers depend on private records and are covered by no ledger.
    pub reads_private_records: bool,
    /// Generated images looked at.
    pub generated_records: usize,
    /// Held-out test images in the pool.
    pub test_records: usize,
    /// Training images in the pool.
    pub training_records: usize,
    /// The median distance of a generated image.
    pub generated_median: f64,
    /// The median distance of a test image.
    pub test_median: f64,
    /// The first median over the second; well below 1 where training images are repeated, but also
    /// where generated images are blurred. Absent where the second is 0.
    pub ratio: Option<f64>,
    /// The 1st percentile of the distances of test images.
    pub test_first_percentile: f64,
    /// The share of generated images that are nearer than that; about 0.01 for fresh real images.
    pub share_nearer: f64,
    /// The share of generated images whose nearest image of the pool is a training image.
    pub share_training: f64,
    /// The share to expect of a generator that knows no more of training images than of held-out ones.
    pub share_expected: f64,
    /// The first of these shares among the suspiciously near images.
    pub share_training_suspicious: f64,
    /// The probability, at most, of shares as large by chance alone.
    pub p_value: f64,
    /// Whether it is at most [`FALSE_ALARM`].
    pub found: bool,
}

/// Compares generated and test images, `[n, d]` and `[m, d]` in `[0, 1]`, with private training
/// images of `d` pixels. `held_out` are images of the law of the training images that the generator was not trained on.
///
/// A percentile is the smallest distance that at least that share of distances does not exceed.
///
/// # Errors
///
/// Images that do not fit or are not finite, or none of a kind; [`EvaluateError::Interrupted`].
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

/// The sizes of the two sides of a pool; training images come first.
#[derive(Debug, Clone, Copy)]
struct Sides {
    training: usize,
    held_out: usize,
}

/// A share of samples with a training image nearest, and how often chance has one as large.
#[derive(Debug, Clone, Copy)]
struct Test {
    share: f64,
    p_value: f64,
}

impl Sides {
    /// The test on all samples and on the suspicious ones, from the nearest images of each, nearest first.
    fn tests(self, pairs: &[&[Nearest]], rng: &mut impl Rng) -> (Test, Test) {
        // How much nearer the nearest is than the second: 0 for a copy, 1 where they are as near.
        let nearness = |pair: &[Nearest]| match pair {
            [first, second] if second.distance > 0.0 => first.distance / second.distance,
            _ => 1.0,
        };
        // Two that are as near, such as copies of each other, tell nothing of either: which comes first is that of the
        // pool, and has to do with sides.
        let tied =
            |pair: &[Nearest]| matches!(pair, [first, second] if first.distance == second.distance);
        let mut order: Vec<(f64, usize)> = pairs
            .iter()
            .filter(|pair| !tied(pair))
            .map(|pair| (nearness(pair), pair[0].index))
            .collect();
        // Ties by nothing that has to do with sides: equal values keep the order of the samples.
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let indices: Vec<usize> = order.into_iter().map(|(_, index)| index).collect();
        let few = indices.len().div_ceil(SUSPICIOUS);
        (self.test(&indices, rng), self.test(&indices[..few], rng))
    }

    /// The permutation test on the images of the pool that are nearest, one index a sample.
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

    /// The statistic where the images get their sides at random, without replacement.
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

/// The smallest of `sorted`, not empty, that a `share` of them does not exceed.
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
