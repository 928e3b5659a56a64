//! Gaussians in the plane: where they are, and that samples follow them.

use data::{DataError, Gaussians};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

fn generator(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

#[test]
fn five_lie_on_a_circle() {
    let five = Gaussians::five();
    assert_eq!((five.centres().len(), five.deviation()), (5, 0.5));
    assert!(
        five.centres()
            .iter()
            .all(|c| (c[0].hypot(c[1]) - 3.0).abs() < 1e-12)
    );
    let top = five.centres()[0];
    assert!(top[0].abs() < 1e-12 && (top[1] - 3.0).abs() < 1e-12);
    // A regular pentagon in a circle of radius 3 has sides of 6 sin(36 degrees).
    for k in 0..5 {
        let (a, b) = (five.centres()[k], five.centres()[(k + 1) % 5]);
        assert!(((a[0] - b[0]).hypot(a[1] - b[1]) - 3.526_711_513_754_839).abs() < 1e-9);
    }
}

#[test]
fn samples_come_from_the_generator() {
    let five = Gaussians::five();
    let long = five.sample(100, &mut generator(1)).unwrap();
    let short = five.sample(10, &mut generator(1)).unwrap();
    assert_eq!(short.values, long.values[..20]);
    assert_eq!(short.components, long.components[..10]);
    assert_ne!(short, five.sample(10, &mut generator(2)).unwrap());
    for count in [0, Gaussians::MAX_COUNT + 1] {
        let error = five.sample(count, &mut generator(1)).unwrap_err();
        assert!(matches!(error, DataError::Request(_)), "{error}");
    }
}

/// 20 000 points. Five counts at 5 sd, ten means at 5 sd, ten variances and five covariances at 5 sd
/// of the normal approximation: false alarm below 30 * 6e-7 = 2e-5.
#[test]
fn samples_have_the_moments_of_their_gaussian() {
    let five = Gaussians::five();
    let count = 20_000;
    let points = five.sample(count, &mut generator(3)).unwrap();
    for (component, centre) in five.centres().iter().enumerate() {
        let own: Vec<[f64; 2]> = points
            .values
            .chunks(2)
            .zip(&points.components)
            .filter(|&(_, &c)| c == component)
            .map(|(point, _)| [0, 1].map(|axis| f64::from(point[axis]) - centre[axis]))
            .collect();
        let n = own.len() as f64;
        assert!(
            (n - 4000.0).abs() < 5.0 * (count as f64 * 0.16).sqrt(),
            "{n}"
        );
        let mean = |f: &dyn Fn(&[f64; 2]) -> f64| own.iter().map(f).sum::<f64>() / n;
        for axis in 0..2 {
            assert!(mean(&|p| p[axis]).abs() < 5.0 * 0.5 / n.sqrt());
            assert!((mean(&|p| p[axis] * p[axis]) - 0.25).abs() < 5.0 * 0.25 * (2.0 / n).sqrt());
        }
        assert!(mean(&|p| p[0] * p[1]).abs() < 5.0 * 0.25 / n.sqrt());
    }
}

#[test]
fn the_density_is_one() {
    let five = Gaussians::five();
    let step = 0.05;
    let mut total = 0.0;
    for i in -140..140 {
        for j in -140..140 {
            total += five.density([f64::from(i) * step, f64::from(j) * step]) * step * step;
        }
    }
    assert!((total - 1.0).abs() < 1e-6, "{total}");
    // In the middle of one, 1 / (5 * 2 pi / 4), the others being e^-24 and less.
    let top = five.density([0.0, 3.0]);
    assert!((top - 0.127_323_954_473_516_3).abs() < 1e-9, "{top}");
}

#[test]
fn others_can_be_made() {
    let two = Gaussians::new(vec![[0.0, 0.0], [1.0, 0.0]], 1e-3).unwrap();
    let points = two.sample(50, &mut generator(5)).unwrap();
    for (point, &component) in points.values.chunks(2).zip(&points.components) {
        assert!((point[0] - component as f32).abs() < 0.01 && point[1].abs() < 0.01);
    }
    assert!(matches!(
        Gaussians::new(vec![], 1.0).unwrap_err(),
        DataError::Request(_)
    ));
    for deviation in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Gaussians::new(vec![[0.0; 2]], deviation).unwrap_err();
        assert!(
            error.to_string().contains(&deviation.to_string()),
            "{error}"
        );
    }
    assert!(Gaussians::new(vec![[0.0, f64::NAN]], 1.0).is_err());
}
