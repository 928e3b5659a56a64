//! The sensitivity bounds against reference values and the numbers that the documentation quotes.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::Value;
use swd::sensitivity::{CellSpread, Norms};
use swd::{Cost, Slices, TargetQuantiles, UniformBall};

fn close(value: f64, expected: f64, relative: f64) -> bool {
    (value - expected).abs() <= relative * expected.abs()
}

fn matrix(value: &Value) -> Vec<Vec<f64>> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn reference_cases() {
    let text = include_str!("../data/sensitivity.json");
    let reference: Value = serde_json::from_str(text).unwrap();
    let cases = reference["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 5);
    for case in cases {
        let number = |name: &str| case[name].as_f64().unwrap();
        let theta = matrix(&case["theta"]);
        let (d, k, n) = (theta.len(), theta[0].len(), number("n") as usize);
        let columns: Vec<f64> = (0..k)
            .flat_map(|l| theta.iter().map(move |row| row[l]))
            .collect();
        let slices = Slices::from_directions(d, &columns).unwrap();
        let q = matrix(&case["q"]).concat();
        let cells = TargetQuantiles::from_rows(n, q, vec![0.0; k]).unwrap();

        let lambda = slices.lambda_max_upper();
        assert!(close(lambda, number("lambda_max"), 1e-6));
        let spread = CellSpread::new(&cells, lambda).unwrap();
        assert!(close(spread.q_rms, number("Q_rms"), 1e-9));
        assert!(close(spread.shift_trivial, number("shift_trivial"), 1e-9));
        assert!(close(spread.shift_spread, number("shift_spread"), 1e-3));

        let (m_bound, l1, l2) = (number("M"), number("L1"), number("L2"));
        let bound = Norms::new(m_bound, l1)
            .other_jacobian(l2)
            .prior_bound(Cost::Square, &slices, &cells)
            .unwrap();
        let n = n as f64;
        let expected = number("n_times_delta_joint");
        assert!(close(n * bound.joint, expected, 1e-3));
        assert!(n * bound.sensitivity() <= expected * (1.0 + 1e-3));
        let smallest = bound.joint.min(bound.per_slice).min(bound.theorem);
        assert_eq!(bound.sensitivity(), smallest);
        assert!(bound.in_f32_upper() > bound.sensitivity());
        assert!(close(bound.in_f32_upper(), bound.sensitivity(), 3e-5));
        let paper = Norms::new(m_bound, l1)
            .other_jacobian(l2)
            .published_bound(n as usize)
            .unwrap();
        assert!(close(n * paper, number("paper_n_times_delta"), 1e-12));
    }
}

/// The autoencoder step of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, section 6: `alpha = 0.1`, `C = 1`,
/// `L = sqrt 6`, 600 records.
#[test]
fn a_private_step_of_the_autoencoder() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let slices = Slices::tight(6, 100, &mut rng).unwrap();
    let ball = UniformBall::new(6).unwrap();
    let (n, l, m_bound) = (600, 6.0_f64.sqrt(), 1.5);
    let step = |delta: f64| 600.0 * (0.9 * 2.0 / 600.0 + 0.1 * delta);
    let of_paper = step(Norms::new(m_bound, l).published_bound(n).unwrap());
    let of_theorem = step(Norms::new(m_bound, l).theorem_bound(n).unwrap());
    assert!(close(of_paper, 6.21, 1e-3) && close(of_theorem, 4.74, 1e-3));
    let points = ball.sample(600, &mut rng);
    for cells in [
        TargetQuantiles::of_sample(&points, &slices, n).unwrap(),
        ball.cells(n).unwrap(),
    ] {
        let bound = Norms::new(m_bound, l)
            .prior_bound(Cost::Square, &slices, &cells)
            .unwrap();
        println!("n' Delta = {}", step(bound.sensitivity()));
        assert!(step(bound.sensitivity()) < 2.95);
    }
}

/// The ratio to the published bound for 600 points of the unit ball and `M = 1.5`.
#[test]
fn gains_over_the_paper() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    for (d, tight, expected) in [
        (2, true, 0.47),
        (6, true, 0.25),
        (6, false, 0.29),
        (8, true, 0.21),
        (48, true, 0.055),
    ] {
        let k = 144;
        let slices = match tight {
            true => Slices::tight(d, k, &mut rng).unwrap(),
            false => Slices::iid(d, 100, &mut rng).unwrap(),
        };
        let points = UniformBall::new(d).unwrap().sample(600, &mut rng);
        let cells = TargetQuantiles::of_sample(&points, &slices, 600).unwrap();
        let bound = Norms::new(1.5, 1.0)
            .prior_bound(Cost::Square, &slices, &cells)
            .unwrap();
        let ratio = bound.sensitivity() / Norms::new(1.5, 1.0).published_bound(600).unwrap();
        println!("d = {d}, tight = {tight}: {ratio:.4}");
        assert!(close(ratio, expected, 0.05), "d = {d}: {ratio}");
    }
}

#[test]
fn both_sides_private() {
    let bound = |d: f64| {
        Norms::new(1.0, 1.0)
            .other_jacobian(1.0)
            .both_private_bound(Cost::Square, [10, 10], 1.0 / d)
            .unwrap()
            * 10.0
    };
    assert_eq!(bound(2.0), 8.0);
    assert!(close(bound(6.0), 7.40, 1e-3));
    assert!(close(bound(48.0), 5.16, 1e-3));
    // The smaller side decides, and each side its own Jacobian bound.
    let found = [
        Norms::new(1.0, 1.0)
            .other_jacobian(3.0)
            .both_private_bound(Cost::Square, [10, 20], 1.0),
        Norms::new(1.0, 1.0)
            .other_jacobian(1.0)
            .both_private_bound(Cost::Square, [100, 10], 1.0),
        Norms::new(1.5, 1.0)
            .other_jacobian(1.0)
            .published_bound_both_private([10, 20]),
    ];
    assert_eq!(found.map(Result::unwrap), [1.6, 0.8, 2.4]);
}

#[test]
fn bounds_refuse_what_is_no_bound() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let slices = Slices::tight(2, 4, &mut rng).unwrap();
    let cells = UniformBall::new(2).unwrap().cells(5).unwrap();
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        for (m, l1, l2) in [(bad, 1.0, 1.0), (1.0, bad, 1.0), (1.0, 1.0, bad)] {
            assert!(
                Norms::new(m, l1)
                    .other_jacobian(l2)
                    .theorem_bound(5)
                    .is_err()
            );
            assert!(
                Norms::new(m, l1)
                    .other_jacobian(l2)
                    .published_bound(5)
                    .is_err()
            );
            assert!(
                Norms::new(m, l1)
                    .other_jacobian(l2)
                    .prior_bound(Cost::Square, &slices, &cells)
                    .is_err()
            );
        }
        assert!(Norms::new(1.0, 1.0).public_noise_bound(5, bad).is_err());
        assert!(
            Norms::new(1.0, 1.0)
                .other_jacobian(1.0)
                .both_private_bound(Cost::Square, [5, 5], bad)
                .is_err()
        );
    }
    assert!(
        Norms::new(1.0, 1.0)
            .other_jacobian(1.0)
            .theorem_bound(0)
            .is_err()
    );
    assert!(Norms::new(1.0, 1.0).public_noise_bound(0, 0.5).is_err());
    let three = TargetQuantiles::from_rows(1, vec![0.0; 3], vec![0.0; 3]).unwrap();
    assert!(
        Norms::new(1.0, 1.0)
            .prior_bound(Cost::Square, &slices, &three)
            .is_err()
    );
}

/// Cells outside the ball of radius `M`: the theorem alone, with the records' `M`, would be wrong.
#[test]
fn cells_may_exceed_the_activation_bound() {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let slices = Slices::tight(1, 1, &mut rng).unwrap();
    let cells = TargetQuantiles::shared(vec![-3.0, 3.0], 0.0).unwrap();
    let bound = Norms::new(1.0, 1.0)
        .prior_bound(Cost::Square, &slices, &cells)
        .unwrap();
    assert_eq!(
        bound.theorem,
        Norms::new(3.0, 1.0).theorem_bound(2).unwrap()
    );
    // u = 1 and u~ = -1 at the ranks 2 and 1: (2/n)(|1 - 3| + |-1 + 3| + 6) = 10.
    assert!(bound.sensitivity() >= 10.0);
    assert!(bound.sensitivity() > Norms::new(1.0, 1.0).theorem_bound(2).unwrap());
}
