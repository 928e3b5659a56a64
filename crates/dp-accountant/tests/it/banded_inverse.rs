//! Correlated noise: its sensitivity against all patterns and directions, its error against dense matrices, its cost
//! against Gaussian releases.

use dp_accountant::accounting::{
    Accountant, BandedInverse, Event, GaussianAccountant, Neighbours, RdpAccountant, zcdp_of,
};
use dp_accountant::ledger::Entries;
use dp_accountant::plan::{ReleaseNoise, TrainingPlan};
use dp_accountant::sampling::Sampler;
use proptest::prelude::*;

use crate::common::{gaussian, pld, within};

/// `C`, by forward substitution in the dense `D` of the binomial coefficients of `(1 - x)^{1/2}`: `C[row][column]`.
fn dense(bandwidth: usize, steps: usize) -> Vec<Vec<f64>> {
    let mut coefficient = 1.0;
    let coefficients: Vec<f64> = (0..bandwidth)
        .map(|j| {
            let this = coefficient;
            coefficient *= -(0.5 - j as f64) / (j as f64 + 1.0);
            this
        })
        .collect();
    let mut inverse: Vec<Vec<f64>> = Vec::new();
    for row in 0..steps {
        let entry = |column| {
            let before = 1..bandwidth.min(row + 1);
            let known: f64 = before
                .map(|j| coefficients[j] * inverse[row - j][column])
                .sum();
            f64::from(u8::from(row == column)) - known
        };
        let next = (0..steps).map(entry).collect();
        inverse.push(next);
    }
    inverse
}

/// `||C U||_F` for the rows of `U` at these steps.
fn moved(c: &[Vec<f64>], at: &[usize], rows: &[[f64; 3]]) -> f64 {
    let mut squares = 0.0;
    for row in c {
        for axis in 0..3 {
            let sum: f64 = at.iter().zip(rows).map(|(&s, u)| row[s] * u[axis]).sum();
            squares += sum * sum;
        }
    }
    squares.sqrt()
}

/// All sets of at most `most` of `steps` steps, any two of them at least `apart` apart.
fn patterns(steps: usize, apart: usize, most: usize) -> Vec<Vec<usize>> {
    let all = 0..1_u32 << steps;
    let steps_of = |set: u32| -> Vec<usize> { (0..steps).filter(|s| set >> s & 1 == 1).collect() };
    all.map(steps_of)
        .filter(|at| at.len() <= most && at.windows(2).all(|two| two[1] - two[0] >= apart))
        .collect()
}

/// The bound is the largest over all patterns, but for 1e-9 of it: it is never below, and no looser.
#[test]
fn the_sensitivity_is_the_worst_of_all_patterns() {
    let ones = [[1.0, 0.0, 0.0]; 12];
    for (steps, bandwidths) in [(1, vec![1]), (7, vec![1, 2, 7]), (11, vec![1, 2, 3, 5, 11])] {
        for bandwidth in bandwidths {
            let c = dense(bandwidth, steps);
            let noise = BandedInverse::new(bandwidth as u64, steps as u64).unwrap();
            for apart in 1..=steps {
                for most in 1..=steps {
                    let all = patterns(steps, apart, most);
                    let worst = all.iter().map(|at| moved(&c, at, &ones));
                    let worst = worst.fold(0.0, f64::max);
                    let upper = noise.sensitivity_upper(apart as u64, most as u64).unwrap();
                    let case = (steps, bandwidth, apart, most, upper, worst);
                    assert!(upper >= worst && upper <= worst * (1.0 + 1e-9), "{case:?}");
                }
            }
        }
    }
}

/// What the bound rests on is needed: steps closer than the separation, or one more of them, move more than it says.
#[test]
fn closer_or_more_steps_move_more() {
    let ones = [[1.0, 0.0, 0.0]; 12];
    for bandwidth in [1, 3, 12] {
        let c = dense(bandwidth, 12);
        let noise = BandedInverse::new(bandwidth as u64, 12).unwrap();
        let upper = noise.sensitivity_upper(4, 2).unwrap();
        assert!(moved(&c, &[0, 4], &ones) > 0.999_999 * upper);
        assert!(moved(&c, &[0, 4, 8], &ones) > 1.1 * upper);
        if bandwidth > 1 {
            assert!(moved(&c, &[0, 3], &ones) > 1.01 * upper);
            // As independent noise would have it.
            assert!(upper > 1.1 * 2.0_f64.sqrt());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Differences in any directions, of norms up to 1, move no more than equal ones.
    #[test]
    fn vectors_move_no_more(
        bandwidth in 1_usize..9,
        apart in 1_usize..5,
        start in 0_usize..3,
        gaps in prop::collection::vec(0_usize..3, 5),
        rows in prop::collection::vec(prop::array::uniform3(-1.0_f64..1.0), 5),
    ) {
        let steps = 24;
        let c = dense(bandwidth, steps);
        let mut at = vec![start];
        for gap in gaps {
            at.push(at[at.len() - 1] + apart + gap);
        }
        at.retain(|&step| step < steps);
        at.truncate(5);
        let unit = |u: &[f64; 3]| {
            let norm = u.iter().map(|x| x * x).sum::<f64>().sqrt().max(1.0);
            u.map(|x| x / norm)
        };
        let rows: Vec<[f64; 3]> = rows.iter().map(unit).collect();
        let noise = BandedInverse::new(bandwidth as u64, steps as u64).unwrap();
        let upper = noise.sensitivity_upper(apart as u64, at.len() as u64).unwrap();
        prop_assert!(moved(&c, &at, &rows) <= upper);
    }

}

/// `(bandwidth, steps, separation, participations)` to sensitivity and error of sums, by dense matrices of fractions, over
/// all offsets of equally spaced steps.
const GOLDEN: &[([u64; 4], f64, f64)] = &[
    ([1, 60, 6, 10], 3.1622776601683795, 5.522680508593631),
    ([2, 60, 6, 10], 3.7031443266167865, 2.8939592256975564),
    ([8, 60, 6, 10], 6.178035966035439, 1.6407779961349607),
    ([60, 60, 6, 10], 8.632510900710429, 1.4356543712996215),
    ([60, 60, 60, 1], 1.5389029373779333, 1.4356543712996215),
    ([5, 50, 7, 3], 2.5601487061916974, 1.7573509810800816),
    ([16, 100, 100, 1], 1.4531578555227456, 1.6259325310564576),
    ([4, 60, 1, 60], 23.768691462040543, 2.0179694053263875),
];

#[test]
fn sensitivity_and_error_are_those_of_fractions() {
    for &([bandwidth, steps, apart, most], sensitivity, error) in GOLDEN {
        let noise = BandedInverse::new(bandwidth, steps).unwrap();
        let upper = noise.sensitivity_upper(apart, most).unwrap();
        within(
            upper,
            sensitivity * (1.0 - 1e-15),
            sensitivity * (1.0 + 1e-11),
        );
        within(noise.error_of_sums() / error, 1.0 - 1e-12, 1.0 + 1e-12);
    }
}

/// The full square root, a record in one step: the squared sensitivity is the Landau constant `G_{T - 1}`, the sum of
/// `(binom(2 j, j) / 4^j)^2`, which lies within `1 + ln(T) / pi` and 0.0663 more (Brutman 1982, *A sharp estimate of the Landau
/// constants*); and the squared error of sums is the mean of these constants.
#[test]
fn the_full_square_root_has_the_constants_of_landau() {
    let (mut squared_binomial, mut constant, mut all) = (1.0, 0.0, 0.0);
    for steps in 1_u64..=1024 {
        constant += squared_binomial;
        all += constant;
        squared_binomial *= (1.0 - 0.5 / steps as f64).powi(2);
        if !steps.is_power_of_two() {
            continue;
        }
        let noise = BandedInverse::new(steps, steps).unwrap();
        let squared = noise.sensitivity_upper(steps, 1).unwrap().powi(2);
        let least = 1.0 + (steps as f64).ln() / std::f64::consts::PI;
        within(squared, least, least + 0.0663);
        within(squared / constant, 1.0 - 1e-9, 1.0 + 1e-9);
        let error = noise.error_of_sums().powi(2) / (all / steps as f64);
        within(error, 1.0 - 1e-11, 1.0 + 1e-11);
    }
}

/// No factorisation of the matrix `A` of sums has a smaller error at the same sensitivity than its nuclear norm tells,
/// `sqrt(k) / T` of it (a record in one step of each of `k` cycles at random moves `||C||_F^2 / b` at least, and
/// `||B||_F ||C||_F` is at least the nuclear norm of `A = B C`), and this one is within a third of that for one cycle.
#[test]
fn the_error_is_near_the_least_of_any() {
    let steps = 512;
    let singular = |j: u32| {
        let angle = f64::from(2 * j + 1) * std::f64::consts::PI / f64::from(4 * steps + 2);
        0.5 / angle.sin()
    };
    let nuclear: f64 = (0..steps).map(singular).sum();
    for cycles in [1_u32, 4, 16] {
        let least = f64::from(cycles).sqrt() * nuclear / f64::from(steps);
        for bandwidth in [1, 8, 64, 512] {
            let noise = BandedInverse::new(bandwidth, steps.into()).unwrap();
            let (apart, most) = ((steps / cycles).into(), cycles.into());
            let sensitivity = noise.sensitivity_upper(apart, most).unwrap();
            let error = sensitivity * noise.error_of_sums();
            assert!(error > least, "{cycles} {bandwidth}: {error} {least}");
            if cycles == 1 && bandwidth == 512 {
                assert!(error < 1.34 * least, "{error} {least}");
            }
        }
    }
}

fn correlated(bandwidth: u64, steps: u64, separation: u64) -> Event {
    Event::CorrelatedGaussian {
        noise_multiplier: 20.0,
        bandwidth,
        steps,
        separation,
        participations: steps.div_ceil(separation),
    }
}

/// Each accountant takes it as the one Gaussian release that it is, alone, composed and of groups.
#[test]
fn it_costs_one_gaussian_release() {
    for (event, bandwidth) in [(correlated(1, 60, 6), 1), (correlated(8, 60, 6), 8)] {
        let noise = BandedInverse::new(bandwidth, 60).unwrap();
        let sensitivity = noise.sensitivity_upper(6, 10).unwrap();
        let one = gaussian(20.0 / sensitivity);
        let accountants: [&dyn Accountant; 3] = [&GaussianAccountant, &pld(), &RdpAccountant];
        for with in [
            |e: Event| e,
            |e: Event| e.repeated(3),
            |e: Event| e.of_groups(4),
        ] {
            for accountant in accountants {
                let epsilon = |event: &Event| accountant.epsilon(event, 1e-6).unwrap();
                let expected = epsilon(&with(one.clone()));
                let found = epsilon(&with(event.clone()));
                within(found, expected * (1.0 - 1e-15), expected * (1.0 + 1e-9));
            }
        }
        assert!((zcdp_of(&event).unwrap() - zcdp_of(&one).unwrap()).abs() < 1e-9);
        assert_eq!(event.neighbours().unwrap(), None);
    }
}

#[test]
fn a_plan_of_fixed_batches_is_one_release_and_others_have_independent_noise() {
    let cyclic = cyclic(1200, 60);
    let plan =
        |bandwidth| TrainingPlan::for_epsilon(2.0, 1e-5, 50, cyclic.clone()).correlated(bandwidth);
    let (one, eight) = (plan(1).check().unwrap(), plan(8).check().unwrap());
    for (plan, bandwidth) in [(&one, 1), (&eight, 8)] {
        assert!((1.999..=2.0).contains(&plan.epsilon_upper()));
        assert_eq!((plan.steps(), plan.releases_in_all()), (50, 1));
        assert_eq!(plan.accountant(), "gaussian");
        assert_eq!(
            plan.step_event(),
            &Event::CorrelatedGaussian {
                noise_multiplier: plan.noise_multiplier(),
                bandwidth,
                steps: 50,
                separation: 20,
                participations: 3,
            }
        );
        // The one line that the ledger of a run holds.
        let line = format!(
            r#"{{"event":{},"neighbours":"replace_one"}}"#,
            serde_json::to_string(plan.step_event()).unwrap()
        );
        let entries = Entries::parse(&line).unwrap();
        assert_eq!(plan.epsilon_spent(&entries).unwrap(), plan.epsilon_upper());
        let twice = Entries::parse(&format!("{line}\n{line}")).unwrap();
        assert!(plan.epsilon_spent(&twice).unwrap() > 1.4 * plan.epsilon_upper());
    }
    // z of independent noise is that of three releases of all records.
    let all = Sampler::all(1200).unwrap();
    let three = TrainingPlan::for_epsilon(2.0, 1e-5, 3, all)
        .check()
        .unwrap();
    assert!((three.noise_multiplier() / one.noise_multiplier() - 1.0).abs() < 1e-4);
    assert!(eight.noise_multiplier() > 1.1 * one.noise_multiplier());
    let with = plan(8).with_release("counts", ReleaseNoise::Laplace { epsilon: 0.5 });
    let with = with.check().unwrap();
    assert_eq!((with.accountant(), with.releases_in_all()), ("pld", 2));
    assert!((1.99..=2.0).contains(&with.epsilon_upper()));
    // Of no other sampler, and within the steps.
    for sampler in [
        Sampler::fixed_size(1200, 60).unwrap(),
        Sampler::poisson_zero_out(1200, 0.05).unwrap(),
        Sampler::all(1200).unwrap(),
    ] {
        let of = |bandwidth| {
            TrainingPlan::for_epsilon(2.0, 1e-5, 50, sampler.clone()).correlated(bandwidth)
        };
        assert!(of(1).check().is_ok());
        for bandwidth in [0, 2] {
            let refused = of(bandwidth).check().unwrap_err().to_string();
            assert!(refused.contains("Sampler::cyclic"), "{refused}");
        }
    }
    assert!(plan(0).check().is_err() && plan(51).check().is_err());
    let nothing = TrainingPlan::with_noise_multiplier(1.0, 1e-5, 0, cyclic.clone()).correlated(2);
    let nothing = nothing.with_release("counts", ReleaseNoise::Share(1.0));
    assert!(nothing.check().is_err());
}

fn cyclic(records: usize, batch: usize) -> Sampler {
    Sampler::cyclic(records, batch).unwrap()
}

/// Every record is in one batch of each cycle, at the same place, in each process.
#[test]
fn a_cycle_has_every_record_once() {
    for (records, batch) in [(1, 1), (12, 3), (12, 12), (15, 1)] {
        let sampler = cyclic(records, batch);
        let (period, rng) = ((records / batch) as u64, &mut rand::rng());
        for first in [1, 4, 1 << 40] {
            let cycle = first..first + period;
            let mut seen: Vec<usize> = cycle
                .flat_map(|step| sampler.sample(step, rng).concat())
                .collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..records).collect::<Vec<_>>());
            let same = sampler.sample(first + period, rng).concat();
            assert_eq!(sampler.sample(first, rng), [&same[..]]);
            assert_eq!(same.len(), batch);
        }
    }
    let (replaced, blank) = (cyclic(12, 3), Sampler::cyclic_zero_out(12, 3).unwrap());
    assert_eq!(replaced.neighbours(), Neighbours::ReplaceOne);
    assert_eq!(blank.neighbours(), Neighbours::ZeroOut);
    let rng = &mut rand::rng();
    assert_eq!(blank.sample(3, rng), replaced.sample(3, rng));
    for (records, batch) in [(0, 0), (0, 1), (4, 0), (4, 5), (10, 4)] {
        let refused = Sampler::cyclic(records, batch).unwrap_err().to_string();
        assert!(refused.contains(&format!("batch of {batch}")), "{refused}");
    }
}
