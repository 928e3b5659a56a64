//! Values of published tables, and of the formulas in another implementation (SciPy 1.17).

use crate::{CanaryGuesses, Scores, gaussian_law};
use dp_accountant::accounting::binomial::{proportion_lower, proportion_upper};

use super::within;

#[track_caller]
fn close(value: f64, expected: f64, tolerance: f64) {
    let off = tolerance * expected.abs();
    within(value, expected - off, expected + off);
}

#[test]
fn clopper_pearson() {
    // As printed in tables of 95 % intervals: 0.0025 to 0.4450, 0.1871 to 0.8129, 0 to 0.1684.
    let cases = [
        (
            (1, 10),
            0.025,
            0.002_528_578_544_461_785,
            0.445_016_117_028_195_4,
        ),
        (
            (5, 10),
            0.025,
            0.187_086_028_447_398_55,
            0.812_913_971_552_601_5,
        ),
        ((0, 20), 0.025, 0.0, 0.168_433_470_983_085_3),
        (
            (19, 20),
            0.025,
            0.751_267_237_227_972_2,
            0.998_734_910_502_050_2,
        ),
        (
            (263, 1_000),
            0.005,
            0.227_845_488_830_182_38,
            0.300_446_986_811_375_3,
        ),
        (
            (31, 1_000_000),
            0.025,
            2.106_309_010_022_074e-5,
            4.400_173_944_465_634_5e-5,
        ),
        (
            (999_000, 1_000_000),
            1e-6,
            0.998_841_438_909_991,
            0.999_143_124_417_294_8,
        ),
        (
            (123_456, 100_000_000),
            1e-3,
            0.001_223_737_179_507_057_4,
            0.001_245_449_695_800_835,
        ),
    ];
    for ((hits, runs), alarm_rate, lower, upper) in cases {
        close(proportion_lower(hits, runs, alarm_rate), lower, 1e-8);
        close(proportion_upper(hits, runs, alarm_rate), upper, 1e-8);
    }
}

/// Where the probability of so many right guesses is the alarm rate, epsilon is the bound.
#[test]
fn one_run_by_its_theorem() {
    let cases = [
        (1_000, 1_000, 600, 0.2, 1e-5, 0.001_023_241_215_225_459_9),
        (10_000, 500, 490, 2.5, 1e-6, 0.000_512_758_916_769_724_7),
        (100, 100, 75, 1.0, 1e-4, 0.384_505_131_974_977_65),
    ];
    for (canaries, guesses, right, epsilon, delta, probability) in cases {
        let found = CanaryGuesses::new(canaries, guesses, right).unwrap();
        let bound = found.lower_bound(delta, 1.0 - probability).unwrap();
        close(bound.epsilon, epsilon, 1e-6);
    }
}

#[test]
fn one_run_by_its_recursion() {
    let cases = [
        (
            [10_000, 1_000, 905],
            0.05,
            0.693_470_715_668_809_1,
            3.236_579_245_021_800_5,
        ),
        (
            [10_000, 300, 290],
            0.05,
            0.868_675_409_692_514_2,
            4.166_148_001_787_709,
        ),
        (
            [1_000, 1_000, 700],
            0.01,
            0.286_515_989_719_151_57,
            1.228_999_110_447_069,
        ),
        (
            [1_000, 200, 200],
            0.05,
            1.536_398_020_034_539_5,
            8.029_848_308_456_272,
        ),
    ];
    for ([canaries, guesses, right], alarm_rate, mu, epsilon) in cases {
        let found = CanaryGuesses::new(canaries, guesses, right).unwrap();
        let bound = found.gaussian_lower_bound(1e-6, 1.0 - alarm_rate).unwrap();
        close(bound.mu.unwrap(), mu, 1e-6);
        close(bound.epsilon, epsilon, 1e-6);
    }
}

/// Two scores of each kind, 2 apart, deviation 1: t is 2 with two degrees of freedom, or 20.
#[test]
fn a_shift_by_student_s_t() {
    let bound = |shift: f64| {
        let step = 0.5_f64.sqrt();
        let (with, without) = ([shift - step, shift + step], [-step, step]);
        let scores = Scores::new(&with, &without).unwrap();
        gaussian_law(&scores, 1e-5, 0.95).unwrap().mu.unwrap()
    };
    // 2 is below 2.92, the 95 % point of Student's t.
    assert_eq!(bound(2.0), 0.0);
    assert!(bound(2.93) > 0.0);
}
