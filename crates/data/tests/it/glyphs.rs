//! Glyphs: reproducible, balanced, like MNIST in their pixels, recognisable and varied.

use data::{DataError, Dataset, DatasetKind, Glyphs, LoadOptions, Records};
use proptest::prelude::*;

fn nearest<'a>(known: &'a Records, image: &[u8]) -> (u64, &'a u8) {
    let distance = |other: &[u8]| -> u64 {
        let square = |(a, b): (&u8, &u8)| u64::from(a.abs_diff(*b)).pow(2);
        other.iter().zip(image).map(square).sum()
    };
    known
        .pixels()
        .unwrap()
        .chunks_exact(known.image_size())
        .zip(known.labels())
        .map(|(other, label)| (distance(other), label))
        .min()
        .unwrap()
}

/// The nearest of 4000 images shows the same digit for most of 600 fresh ones, but not for all.
#[test]
fn digits_are_recognisable_and_not_trivial() {
    let known = Glyphs::generate(4000, 5).unwrap();
    let fresh = Glyphs::test(5).draw(600, &|_| ()).unwrap();
    let right = (0..fresh.len())
        .filter(|&i| *nearest(&known, &fresh.image_bytes(i).unwrap()).1 == fresh.labels()[i])
        .count();
    let accuracy = right as f64 / fresh.len() as f64;
    assert!((0.88..0.99).contains(&accuracy), "{accuracy}");
}

/// MNIST has mean 0.131, standard deviation 0.308 and 81 % zeros.
#[test]
fn pixels_are_like_those_of_mnist() {
    let set = Glyphs::generate(4000, 1).unwrap();
    let pixels = set.pixels().unwrap();
    let count = pixels.len() as f64;
    let values = || pixels.iter().map(|&p| f64::from(p) / 255.0);
    let mean = values().sum::<f64>() / count;
    let deviation = (values().map(|v| v * v).sum::<f64>() / count - mean * mean).sqrt();
    let zeros = values().filter(|&v| v == 0.0).count() as f64 / count;
    assert!((mean - 0.131).abs() < 0.015, "{mean}");
    assert!((deviation - 0.308).abs() < 0.03, "{deviation}");
    assert!((zeros - 0.81).abs() < 0.03, "{zeros}");
}

#[test]
fn every_image_has_ink_and_a_dark_border() {
    let set = Glyphs::generate(4000, 2).unwrap();
    let mut touching = 0;
    for i in 0..set.len() {
        let image = set.image_bytes(i).unwrap();
        let ink: u64 = image.iter().map(|&p| u64::from(p)).sum();
        assert!(ink > 255 * 15, "image {i} is nearly empty");
        assert!(ink < 255 * 392, "image {i} is half full");
        let on_border = |p: &usize| [p % 28, p / 28].iter().any(|place| [0, 27].contains(place));
        touching += usize::from((0..784).filter(on_border).any(|p| image[p] > 127));
    }
    assert!(touching < 80, "{touching} of 4000 reach the border");
}

#[test]
fn classes_are_balanced_and_in_no_fixed_order() {
    let set = Glyphs::generate(1000, 3).unwrap();
    assert_eq!(set.class_sizes(), [100; 10]);
    for ten in set.labels().chunks(10) {
        let mut sorted = ten.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
    let mut orders: Vec<_> = set.labels().chunks(10).collect();
    orders.sort_unstable();
    orders.dedup();
    assert!(orders.len() > 95);
}

#[test]
fn splits_and_seeds_share_no_image() {
    let sets = [Glyphs::train(1), Glyphs::test(1), Glyphs::train(2)];
    let mut images: Vec<_> = sets
        .iter()
        .flat_map(|set| (0..200).map(|i| set.image(i)))
        .collect();
    images.sort_unstable();
    images.dedup();
    assert_eq!(images.len(), 600);
}

/// Split files hold the sum of those that are split as a whole.
#[test]
fn the_images_stay_what_they_are() {
    let images = Glyphs::generate(60_000, 0).unwrap();
    let sum = "db75e9042408ef9fdeba209b6882272be08e091f5140f7a52567dc31adac95d1";
    assert_eq!(images.sha256().unwrap(), sum);
}

#[test]
fn bad_counts_are_refused() {
    for count in [0, Glyphs::MAX_COUNT + 1, usize::MAX] {
        let error = Glyphs::generate(count, 0).unwrap_err();
        assert!(matches!(error, DataError::Request(_)), "{error}");
        for options in [
            LoadOptions {
                train: Some(count),
                ..Default::default()
            },
            LoadOptions {
                train: Some(10),
                test: Some(count),
                ..Default::default()
            },
        ] {
            let error = Dataset::load(DatasetKind::Glyphs, &options).unwrap_err();
            assert!(error.to_string().contains(&count.to_string()), "{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Image i is the same however many are sampled.
    #[test]
    fn an_image_depends_on_its_seed_and_index_only(seed in any::<u64>(), count in 1_usize..60, more in 0_usize..60) {
        let few = Glyphs::generate(count, seed).unwrap();
        let many = Glyphs::generate(count + more, seed).unwrap();
        let pixels = few.pixels().unwrap();
        prop_assert_eq!(&*pixels, &many.pixels().unwrap()[..pixels.len()]);
        prop_assert_eq!(few.labels(), &many.labels()[..count]);
        let last = (count - 1) as u64;
        prop_assert_eq!(&*few.image_bytes(count - 1).unwrap(), &Glyphs::train(seed).image(last)[..]);
        prop_assert_eq!(few.labels()[count - 1], Glyphs::train(seed).label(last));
        let places = [count - 1, 0];
        prop_assert_eq!(Glyphs::train(seed).at(&places).unwrap(), few.select(&places).unwrap());
    }

    /// Indices far out work as well.
    #[test]
    fn any_index_can_be_drawn(seed in any::<u64>(), index in any::<u64>()) {
        prop_assert!(Glyphs::test(seed).label(index) < 10);
        prop_assert!(Glyphs::test(seed).image(index).iter().any(|&p| p > 100));
    }
}
