//! Whether a generator repeats its training images.
//!
//! **This reads private records**, and no accountant covers what it says: it is for those who hold
//! the data, and does not go beside a release.

use data::LabelledImages;

use super::EvaluateError;
use super::error::check_count;
use super::neighbours::{Images, nearest};
use reporting::interrupt::Interrupt;

/// The distance of generated images to their nearest training image, beside that of real test
/// images, which cannot have been memorised. Distances are Euclidean, with pixels in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Memorisation {
    /// Always true: these numbers depend on private records and are covered by no ledger.
    pub reads_private_records: bool,
    /// Generated images looked at.
    pub generated_records: usize,
    /// Test images looked at.
    pub test_records: usize,
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
}

/// Compares generated and test images, `[n, d]` and `[m, d]` in `[0, 1]`, with private training
/// images of `d` pixels.
///
/// A percentile is the smallest distance that at least that share of distances does not exceed.
///
/// # Errors
///
/// Images that do not fit or are not finite, or none of a kind; [`EvaluateError::Interrupted`].
pub fn memorisation(
    generated: &[f32],
    test: &[f32],
    private: &LabelledImages,
    interrupt: &Interrupt,
) -> Result<Memorisation, EvaluateError> {
    let generated = sorted_distances("generated images", generated, private, interrupt)?;
    let test = sorted_distances("test images", test, private, interrupt)?;
    let limit = percentile(&test, 0.01);
    let nearer = generated.iter().filter(|&&x| x < limit).count();
    let (generated_median, test_median) = (percentile(&generated, 0.5), percentile(&test, 0.5));
    Ok(Memorisation {
        reads_private_records: true,
        generated_records: generated.len(),
        test_records: test.len(),
        generated_median,
        test_median,
        ratio: (test_median > 0.0).then_some(generated_median / test_median),
        test_first_percentile: limit,
        share_nearer: nearer as f64 / generated.len() as f64,
    })
}

fn sorted_distances(
    what: &'static str,
    images: &[f32],
    private: &LabelledImages,
    interrupt: &Interrupt,
) -> Result<Vec<f64>, EvaluateError> {
    let found = nearest(images, &Images::from(private), interrupt)?;
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
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    fn random_bytes(n: usize, seed: u64) -> Vec<u8> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        (0..n).map(|_| rng.random()).collect()
    }

    fn unit(bytes: &[u8]) -> Vec<f32> {
        bytes.iter().map(|&b| f32::from(b) / 255.0).collect()
    }

    #[test]
    fn copies_are_found_and_fresh_images_are_not() {
        let private = LabelledImages::new(random_bytes(400 * 16, 1), vec![0; 400], 4, 4, 1);
        let private = private.unwrap();
        let (test, fresh) = (
            unit(&random_bytes(200 * 16, 2)),
            unit(&random_bytes(200 * 16, 3)),
        );
        let copies = unit(&private.pixels()[..200 * 16]);
        let copied = memorisation(&copies, &test, &private, &Interrupt::default()).unwrap();
        assert_eq!(copied.generated_median, 0.0);
        assert_eq!((copied.ratio, copied.share_nearer), (Some(0.0), 1.0));
        assert!(copied.reads_private_records);
        let honest = memorisation(&fresh, &test, &private, &Interrupt::default()).unwrap();
        let ratio = honest.ratio.unwrap();
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
        assert!(honest.share_nearer < 0.08);
        assert!(honest.test_first_percentile > 0.0);
        assert!(honest.test_first_percentile < honest.test_median);
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
        let private = LabelledImages::new(vec![0; 4], vec![0], 2, 2, 1).unwrap();
        assert!(memorisation(&[], &[0.0; 4], &private, &Interrupt::default()).is_err());
        assert!(memorisation(&[0.0; 4], &[], &private, &Interrupt::default()).is_err());
        assert!(memorisation(&[0.0; 3], &[0.0; 4], &private, &Interrupt::default()).is_err());
        let same = memorisation(&[0.5; 4], &[0.0; 4], &private, &Interrupt::default()).unwrap();
        assert_eq!(same.ratio, None);
    }
}
