//! Images of another size: padded, and interpolated.

use data::{DataError, Records};
use proptest::prelude::*;

fn one(pixels: &[u8], height: usize, width: usize) -> Records {
    Records::new(pixels.to_vec(), vec![3], height, width, 10).unwrap()
}

#[test]
fn padding_adds_a_background() {
    let set = Records::new((1..=12).collect(), vec![0, 1], 2, 3, 2).unwrap();
    let padded = set.pad(1).unwrap();
    assert_eq!((padded.height(), padded.width(), padded.len()), (4, 5, 2));
    #[rustfmt::skip]
    assert_eq!(
        *padded.image_bytes(1).unwrap(),
        [
            0, 0, 0, 0, 0,
            0, 7, 8, 9, 0,
            0, 10, 11, 12, 0,
            0, 0, 0, 0, 0,
        ]
    );
    assert_eq!((padded.labels(), padded.classes()), (&[0, 1][..], 2));
    assert_eq!(set.pad(0).unwrap(), set);
    let digit = one(&[255; 784], 28, 28).pad(2).unwrap();
    assert_eq!((digit.height(), digit.width()), (32, 32));
    assert_eq!(
        digit
            .pixels()
            .unwrap()
            .iter()
            .filter(|&&pixel| pixel == 255)
            .count(),
        784
    );
    for border in [2048, usize::MAX / 2, usize::MAX] {
        assert!(matches!(
            set.pad(border).unwrap_err(),
            DataError::Request(_)
        ));
    }
}

/// Golden: torch.nn.functional.interpolate(mode="bilinear", align_corners=False) has this rule; the
/// numbers are the rule worked by hand.
#[test]
fn interpolation_takes_pixels_as_squares() {
    let wide = one(&[0, 100], 1, 2).resize(1, 4).unwrap();
    assert_eq!(*wide.pixels().unwrap(), [0, 25, 75, 100]);
    let tall = one(&[0, 100], 2, 1).resize(4, 1).unwrap();
    assert_eq!(*tall.pixels().unwrap(), [0, 25, 75, 100]);
    // Places -1/6, 1/2, 7/6.
    let three = one(&[0, 90], 1, 2).resize(1, 3).unwrap();
    assert_eq!(*three.pixels().unwrap(), [0, 45, 90]);
    // Both axes: weights 3/4 and 1/4 of 25 above and 160 below.
    let square = one(&[0, 100, 200, 40], 2, 2).resize(4, 4).unwrap();
    assert_eq!(square.image_bytes(0).unwrap()[5], 59);
    // Halved: the mean of the pair.
    assert_eq!(
        *one(&[10, 20, 30, 50], 1, 4)
            .resize(1, 2)
            .unwrap()
            .pixels()
            .unwrap(),
        [15, 40]
    );
    for (height, width) in [(0, 1), (1, 0), (4097, 1)] {
        let error = square.resize(height, width).unwrap_err();
        assert!(matches!(error, DataError::Request(_)));
    }
}

proptest! {
    #[test]
    fn interpolation_stays_between_the_extremes(
        (height, width) in (1_usize..9, 1_usize..9),
        (new_height, new_width) in (1_usize..20, 1_usize..20),
        seed in any::<u64>(),
    ) {
        let pixels: Vec<u8> = (0..(height * width) as u64)
            .map(|i| (seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i * i * 7919) >> 32) as u8)
            .collect();
        let set = one(&pixels, height, width);
        let new = set.resize(new_height, new_width).unwrap();
        prop_assert_eq!((new.height(), new.width()), (new_height, new_width));
        let (least, most) = (*pixels.iter().min().unwrap(), *pixels.iter().max().unwrap());
        prop_assert!(new.pixels().unwrap().iter().all(|pixel| (least..=most).contains(pixel)));
        prop_assert_eq!(&set.resize(height, width).unwrap(), &set);
        // Rows and columns are treated alike.
        let turned = |set: &Records| {
            let (h, w) = (set.height(), set.width());
            let pixels: Vec<u8> = (0..h * w).map(|i| set.pixels().unwrap()[i % h * w + i / h]).collect();
            one(&pixels, w, h)
        };
        // A tie may be rounded either way.
        let again = turned(&set).resize(new_width, new_height).unwrap();
        for (pixel, again) in turned(&new).pixels().unwrap().iter().zip(again.pixels().unwrap().iter()) {
            prop_assert!(pixel.abs_diff(*again) <= 1);
        }
    }
}
