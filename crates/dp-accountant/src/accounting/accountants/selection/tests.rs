use super::*;
use crate::accounting::PldAccountant;
use crate::numerics::bisection::{Until, smallest_that_fails};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

fn pld() -> PldAccountant {
    PldAccountant::default()
}

fn gaussian(noise_multiplier: f64) -> Event {
    Event::Gaussian { noise_multiplier }
}

fn negative(shape: f64, mean: f64) -> RepetitionDistribution {
    RepetitionDistribution::negative_binomial(shape, mean).unwrap()
}

fn poisson(mean: f64) -> RepetitionDistribution {
    RepetitionDistribution::poisson(mean).unwrap()
}

fn selection(runs: RepetitionDistribution, events: impl Into<Vec<Event>>) -> PrivateSelection {
    PrivateSelection::new(runs, events.into(), 0.0).unwrap()
}

/// `f(x) = E[x^K]` from its probabilities.
fn generating(runs: RepetitionDistribution, x: f64) -> f64 {
    let (mut sum, mut p, mut power) = (0.0, runs.probability(0), 1.0);
    for k in 0..100_000 {
        sum += p * power;
        power *= x;
        p = match (k, runs) {
            (0, RepetitionDistribution::NegativeBinomial { .. }) => runs.probability(1),
            _ => p * runs.rise(k),
        };
        if p < 1e-18 && k > 10 {
            break;
        }
    }
    sum
}

/// `f'(x)` of the generating function `f(x) = E[x^K]`.
fn slope(runs: RepetitionDistribution, x: f64) -> f64 {
    match runs {
        RepetitionDistribution::NegativeBinomial { shape, gamma } => {
            runs.mean() * (gamma / (1.0 - (1.0 - gamma) * x)).powf(shape + 1.0)
        }
        RepetitionDistribution::Poisson { mean } => mean * (mean * (x - 1.0)).exp(),
    }
}

fn law() -> impl Strategy<Value = RepetitionDistribution> {
    prop_oneof![
        (-0.9..4.0_f64, 1.05..40.0_f64).prop_filter_map(
            "a mean that the law has",
            |(shape, mean)| {
                let runs = RepetitionDistribution::negative_binomial(shape, mean).ok()?;
                // Others have tails that take long to add up.
                let short = matches!(runs, RepetitionDistribution::NegativeBinomial { gamma, .. } if gamma > 0.01);
                short.then_some(runs)
            }
        ),
        (0.1..30.0_f64).prop_map(poisson),
    ]
}

fn distribution(points: usize) -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(0.001..1.0_f64, points).prop_map(|weights| {
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / sum).collect()
    })
}

/// `H_{e^x}(P || Q)` of two distributions on a few points.
fn hockey_stick(p: &[f64], q: &[f64], x: f64) -> f64 {
    let over = |(p, q): (&f64, &f64)| (p - x.exp() * q).max(0.0);
    p.iter().zip(q).map(over).sum()
}

/// The best of a random number of draws, the last point being the best.
fn best(runs: RepetitionDistribution, q: &[f64]) -> Vec<f64> {
    let mut below = 0.0;
    let mut found = vec![generating(runs, 0.0)];
    for p in q {
        let next = (below + p).min(1.0);
        found.push(generating(runs, next) - generating(runs, below));
        below = next;
    }
    found
}

#[test]
fn a_line_that_is_nowhere_least_changes_no_corner() {
    let lines = [(0.0, 0.3), (1.0, 0.05), (2.0, 0.01)];
    let with = [&lines[..], &[(0.5, 0.9), (1.0, 0.2)]].concat();
    assert_eq!(corners(&lines), corners(&with));
    assert_eq!(corners(&[]), [0.0, 1.0]);
}

#[test]
fn the_profile_s_bound_is_below_the_published_one_and_both_above_one_run() {
    let laws = [
        (1.0, 10.0),
        (0.0, 10.0),
        (-0.5, 20.0),
        (1.0, 50.0),
        (0.0, 3.0),
    ];
    for (shape, mean) in laws {
        for z in [0.8, 3.73, 20.0] {
            let run = gaussian(z);
            let selection = selection(negative(shape, mean), [run.clone()]);
            let ours = selection.epsilon_by_profile(&pld(), 1e-5).unwrap();
            let theirs = selection.epsilon_by_renyi(&pld(), 1e-5).unwrap();
            let one = pld().epsilon(&run, 1e-5).unwrap();
            assert!(one < ours && ours < theirs, "{shape} {mean} {z}: {ours}");
        }
    }
}

#[test]
fn pure_privacy_is_multiplied_as_published() {
    // Papernot and Steinke 2022, corollary 3: (2 + shape) epsilon.
    for shape in [-0.5, 0.0, 1.0, 2.0] {
        let noise_multiplier = 2.0;
        let best = selection(negative(shape, 5.0), [Event::Laplace { noise_multiplier }]);
        let found = best.epsilon(1e-9).unwrap();
        assert!(found <= (2.0 + shape) * 0.5 + 1e-6, "{shape}: {found}");
    }
    // What a test can tell of pure privacy alone: the least gamma has it all.
    let widest = |gamma| {
        let runs = RepetitionDistribution::NegativeBinomial { shape: 1.0, gamma };
        widest_ratio(runs, &[(0.5, 0.0)])
    };
    assert!(widest(0.01) > 0.95 && widest(0.01) < 1.0 && widest(0.5) < 0.5);
}

#[test]
fn published_bounds_by_hand() {
    // e(a) = a / (2 z^2) with z = 4, geometric with gamma 1/10: the sum of theorem 2 at one pair of orders is never
    // below the least one.
    let runs = RepetitionDistribution::NegativeBinomial {
        shape: 1.0,
        gamma: 0.1,
    };
    let selection = selection(runs, [gaussian(4.0)]);
    let found = selection.epsilon_by_renyi(&pld(), 1e-5).unwrap();
    let at = |a: f64, b: f64| {
        let e = |a: f64| a / 32.0;
        let best =
            e(a) + 2.0 * (1.0 - 1.0 / b) * e(b) + 2.0 * 10_f64.ln() / b + 10_f64.ln() / (a - 1.0);
        rdp::epsilon_at(a, best, 1e-5)
    };
    let least = (11..60).flat_map(|a| (2..40).map(move |b| at(f64::from(a), f64::from(b))));
    let least = least.fold(f64::INFINITY, f64::min);
    assert!(
        found <= least + 1e-9 && found > least - 0.01,
        "{found} {least}"
    );
}

#[test]
fn gaussian_scores_agree_with_integration() {
    // The output is the score itself, N(0, z^2) or N(1, z^2), and the largest is released: its distribution function
    // is f(Phi), and its delta an integral, which gives the true epsilon. The bound is loose by design: it adds the
    // largest ratio over all tests to the epsilon at delta / E[K], where one output cannot have both. It is
    // 1.60, 1.28 and 1.82 times the truth here, and a part in a hundred more is allowed.
    for (runs, z, loose) in [
        (negative(1.0, 10.0), 4.0, 1.61),
        (negative(0.0, 5.0), 1.0, 1.29),
        (poisson(8.0), 3.0, 1.83),
    ] {
        let phi = |x: f64| 0.5 * libm::erfc(-x / 2_f64.sqrt());
        let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let law =
            |x: f64, shift: f64| slope(runs, phi((x - shift) / z)) * density((x - shift) / z) / z;
        let delta = 1e-3;
        let epsilon = selection(runs, [gaussian(z)]).epsilon(delta).unwrap();
        let step = 1e-3 * z;
        let laws: Vec<[f64; 2]> = (-12_000..12_000)
            .map(|i| f64::from(i) * step)
            .map(|x| [law(x, 0.0), law(x, 1.0)])
            .collect();
        let true_delta = |epsilon: f64| {
            let over = |p: f64, q: f64| (p - epsilon.exp() * q).max(0.0) * step;
            let one: f64 = laws.iter().map(|[p, q]| over(*p, *q)).sum();
            let other: f64 = laws.iter().map(|[p, q]| over(*q, *p)).sum();
            one.max(other)
        };
        let range = (0.0, epsilon + 1.0);
        let truth = smallest_that_fails(range, Until::Halvings(50), |x| true_delta(x) > delta);
        assert!(truth > 0.5, "{runs:?}: {truth}");
        assert!(
            truth <= epsilon && epsilon <= loose * truth,
            "{truth} {epsilon}"
        );
    }
}

#[test]
fn numbers_of_runs_follow_their_law() {
    // 20 000 draws; each of the first counts is within 5 deviations: by Hoeffding and a union bound, a false alarm
    // has a probability below 1e-4 over all seeds, and the seed is fixed.
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    for runs in [negative(1.0, 4.0), negative(0.0, 3.0), poisson(2.5)] {
        let n = 20_000;
        let draws: Vec<u64> = (0..n).map(|_| runs.draw(&mut rng)).collect();
        for k in 0..12 {
            let share = draws.iter().filter(|d| **d == k).count() as f64 / f64::from(n);
            let p = runs.probability(k);
            let deviation = (p * (1.0 - p) / f64::from(n)).sqrt();
            assert!((share - p).abs() <= 5.0 * deviation + 1e-9, "{runs:?} {k}");
        }
    }
}

/// `exp(-mean)` is 0 in `f64` from a mean of about 746 on, and `gamma^shape` in the last law.
#[test]
fn large_numbers_of_runs_follow_their_law() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let n = 20_000_u32;
    // Without its truncation, which is of no account here: shape (1 - gamma) / gamma^2.
    let (shape, gamma) = (100.0, 1e-4);
    let runs = RepetitionDistribution::NegativeBinomial { shape, gamma };
    let mut laws = vec![(runs, shape * (1.0 - gamma) / (gamma * gamma))];
    laws.extend([745.0, 746.0, 1000.0, 5000.0].map(|mean| (poisson(mean), mean)));
    for (runs, variance) in laws {
        let n = if variance > 1e6 { 200 } else { n };
        let draws: Vec<u64> = (0..n).map(|_| runs.draw(&mut rng)).collect();
        let from_mean = draws.iter().map(|&k| k as f64 - runs.mean());
        let mean = from_mean.clone().sum::<f64>() / f64::from(n);
        let square = from_mean.map(|x| x * x).sum::<f64>() / f64::from(n);
        // 6 deviations of sums of so many: a false alarm of 2e-9 each by the normal law, the fourth moment being
        // within 4 % of 3 variance^2.
        assert!(
            mean.abs() < 6.0 * (variance / f64::from(n)).sqrt(),
            "{runs:?}"
        );
        let off = (square / variance - 1.0).abs();
        assert!(
            off < 6.0 * (2.1 / f64::from(n)).sqrt(),
            "{runs:?}: {square}"
        );
        // Of each number within 2 deviations, how often it came: binomial, and so within this by Bernstein's
        // inequality but for 2 exp(-24) < 1e-10 each.
        let reach = (2.0 * variance.sqrt()) as u64;
        let middle = runs.mean() as u64;
        let mut counts = std::collections::HashMap::new();
        for &k in &draws {
            *counts.entry(k).or_insert(0_u32) += 1;
        }
        for k in middle - reach..=middle + reach {
            let count = counts.get(&k).copied().unwrap_or(0);
            let expected = f64::from(n) * runs.probability(k);
            let (x, count) = (24.0, f64::from(count));
            let allowed = x / 3.0 + (x * x / 9.0 + 2.0 * x * expected).sqrt();
            assert!((count - expected).abs() <= allowed, "{runs:?} {k}: {count}");
        }
        assert!(counts.len() > 100, "{runs:?}: {counts:?}");
        // The quantiles are those of what is sampled: Dvoretzky, Kiefer and Wolfowitz, 2 exp(-2 n 0.03^2) < 1e-15.
        if n >= 20_000 {
            let median = runs.quantile(0.5);
            let share = draws.iter().filter(|&&k| k <= median).count() as f64 / f64::from(n);
            assert!((0.47..0.56).contains(&share), "{runs:?}: {share}");
        }
    }
}

/// All weights of a draw against probabilities from logarithms, which are coarser than what is proved of the draw.
#[test]
fn weights_are_probabilities() {
    for runs in [
        poisson(0.3),
        poisson(8.0),
        poisson(1000.0),
        poisson(1e6),
        negative(-0.9, 3.0),
        negative(0.0, 5.0),
        negative(1.0, 1e4),
        negative(100.0, 1e5),
    ] {
        let all = || runs.downwards().chain(runs.upwards());
        let total: u128 = all().map(|(_, weight)| weight).sum();
        let (mut apart, mut lost) = (0.0, 1e-14);
        for (k, weight) in all() {
            let p = runs.probability(k);
            apart += 0.5 * (weight as f64 / total as f64 - p).abs();
            // What logarithms of this size lose, on the average.
            lost += p * 1e-15 * k as f64 * (k.max(1) as f64).ln();
        }
        assert!(apart < lost + runs.draw_error(), "{runs:?}: {apart} {lost}");
        assert!(runs.draw_error() < 1e-9, "{runs:?}: {}", runs.draw_error());
    }
}

/// A release within `tv` of an `(epsilon, delta)` one is `(epsilon, delta + (1 + e^epsilon) tv)`.
#[test]
fn delta_pays_for_the_draw() {
    let run = gaussian(1.0);
    for runs in [negative(1.0, 10.0), negative(1.0, 1e5), poisson(8.0)] {
        let selection = selection(runs, [run.clone()]);
        for delta in [1e-3, 1e-6] {
            let epsilon = selection.epsilon_by_profile(&pld(), delta).unwrap();
            let needed = (1.0 + epsilon.exp()) * runs.draw_error();
            if needed >= delta {
                assert!(epsilon.is_infinite(), "{runs:?} {delta}: {epsilon}");
                continue;
            }
            let of_law = selection.exact_by_profile(&pld(), delta - needed).unwrap();
            let about = format!("{runs:?} {delta}: {epsilon} {of_law}");
            assert!(epsilon >= of_law && epsilon < of_law * 1.01, "{about}");
        }
        assert!(selection.epsilon(runs.draw_error()).unwrap().is_infinite());
    }
}

#[test]
fn several_mechanisms_cost_as_the_worst_and_failures_add() {
    let runs = negative(1.0, 10.0);
    let (weak, strong) = (gaussian(2.0), gaussian(5.0));
    let epsilon = |events: Vec<Event>, failure| {
        let selection = PrivateSelection::new(runs, events, failure).unwrap();
        selection.epsilon(1e-5).unwrap()
    };
    let alone = epsilon(vec![weak.clone()], 0.0);
    let both = epsilon(vec![strong, weak.clone()], 0.0);
    assert!(
        both >= alone - 1e-9 && both < alone + 1e-3,
        "{alone} {both}"
    );
    assert!(epsilon(vec![weak.clone()], 5e-7) > alone);
    assert!(epsilon(vec![weak], 1e-6).is_infinite());
    assert!(epsilon(vec![Event::NonPrivate], 0.0).is_infinite());
}

#[test]
fn runs_may_fail_or_be_known_by_their_rho() {
    let runs = negative(1.0, 10.0);
    let best = |event| selection(runs, [event]);
    // No Renyi divergence is finite where a run may fail, and the profile has it.
    let failing = |delta: f64| {
        let events = vec![gaussian(5.0), Event::Failure { delta }];
        best(Event::Composed { events })
    };
    assert!(
        failing(1e-7)
            .epsilon_by_renyi(&pld(), 1e-5)
            .unwrap()
            .is_infinite()
    );
    let [with, without] =
        [1e-7, 0.0].map(|delta| failing(delta).epsilon_by_profile(&pld(), 1e-5).unwrap());
    assert!(with > without && with < 1.2 * without, "{with} {without}");
    let [zcdp, noise] = [Event::Zcdp { rho: 0.02 }, gaussian(5.0)]
        .map(|event| best(event).epsilon_by_renyi(&pld(), 1e-6).unwrap());
    assert!(zcdp >= noise && zcdp - noise < 1e-9);
}

#[test]
fn an_event_of_a_selection_composes_by_adding() {
    let run = gaussian(4.0);
    let runs = negative(1.0, 10.0);
    let selected = Event::Selected {
        runs,
        events: vec![run.clone()],
    };
    let accountant = pld();
    let of = |delta| selection(runs, [run.clone()]).epsilon(delta).unwrap();
    let composed = |events: Vec<Event>| accountant.epsilon(&Event::Composed { events }, 1e-5);
    // As a ledger has it, with releases that cost nothing.
    let nothing = Event::Composed { events: vec![] }.repeated(7);
    let alone = composed(vec![selected.clone().repeated(1), nothing]);
    assert_eq!(alone.unwrap(), of(1e-5));
    let with = composed(vec![selected.clone(), run.clone()]).unwrap();
    let sum = of(5e-6) + accountant.epsilon(&run, 5e-6).unwrap();
    assert!((with - sum).abs() < 1e-12);
    let twice = composed(vec![selected.clone().repeated(2)]).unwrap();
    assert!((twice - 2.0 * of(5e-6)).abs() < 1e-12);
    // No pair, no profile, no sample, and no other accountant.
    assert!(accountant.delta(&selected, 1.0).is_err());
    assert!(
        crate::accounting::RdpAccountant
            .epsilon(&selected, 1e-5)
            .is_err()
    );
    let sampled = crate::accounting::BatchDistribution::Poisson { rate: 0.1 };
    let sampled = selected.clone().sampled(sampled);
    assert!(accountant.epsilon(&sampled, 1e-5).is_err());
    let text = serde_json::to_string(&selected).unwrap();
    assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), selected);
}

#[test]
fn what_is_refused() {
    assert!(RepetitionDistribution::negative_binomial(1.0, 1.0).is_err());
    assert!(RepetitionDistribution::negative_binomial(-1.0, 5.0).is_err());
    assert!(RepetitionDistribution::negative_binomial(f64::NAN, 5.0).is_err());
    assert!(RepetitionDistribution::poisson(0.0).is_err());
    let runs = poisson(3.0);
    assert!(PrivateSelection::new(runs, vec![], 0.0).is_err());
    assert!(PrivateSelection::new(runs, vec![Event::NonPrivate], -0.1).is_err());
    let (shape, gamma) = (1.0, 0.0);
    let read = RepetitionDistribution::NegativeBinomial { shape, gamma };
    assert!(PrivateSelection::new(read, vec![Event::NonPrivate], 0.0).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_law_is_a_law(runs in law(), x in 0.0..1.0_f64) {
        prop_assert!((generating(runs, 1.0) - 1.0).abs() < 1e-9);
        let step = 1e-6;
        let slope = (generating(runs, x + step * (1.0 - x)) - generating(runs, x)) / (step * (1.0 - x));
        let formula = self::slope(runs, x);
        prop_assert!((slope - formula).abs() < 1e-3 * runs.mean(), "{} {}", slope, formula);
        let mean: f64 = (1..5000).map(|k| k as f64 * runs.probability(k)).sum();
        prop_assert!((mean - runs.mean()).abs() < 1e-4 * runs.mean(), "{} {}", mean, runs.mean());
    }

    #[test]
    fn the_bound_is_never_below_the_truth(
        runs in law(),
        (p, q) in (2..7_usize).prop_flat_map(|n| (distribution(n), distribution(n))),
        x in 0.0..2.0_f64,
    ) {
        let widest = (0..p.len()).map(|i| (p[i] / q[i]).ln().abs()).fold(0.0, f64::max);
        let lines: Vec<(f64, f64)> = (0..=40)
            .map(|k| widest * f64::from(k) / 40.0)
            .map(|x| (x, hockey_stick(&p, &q, x).max(hockey_stick(&q, &p, x))))
            .collect();
        let c = widest_ratio(runs, &lines);
        let (of_p, of_q) = (best(runs, &p), best(runs, &q));
        for (one, other, first, second) in [(&of_p, &of_q, &p, &q), (&of_q, &of_p, &q, &p)] {
            let truth = hockey_stick(one, other, x + c);
            let bound = runs.mean() * hockey_stick(first, second, x);
            prop_assert!(truth <= bound + 1e-9, "{} {}", truth, bound);
        }
    }

    #[test]
    fn more_runs_cost_more(shape in -0.5..2.0_f64, mean in 1.2..20.0_f64, x in 0.05..1.0_f64) {
        let ratio = |mean| {
            let runs = RepetitionDistribution::negative_binomial(shape, mean).ok()?;
            Some(widest_ratio(runs, &[(0.0, x / 3.0), (x, 1e-3)]))
        };
        if let (Some(few), Some(many)) = (ratio(mean), ratio(mean * 1.5)) {
            prop_assert!(few <= many + 1e-9);
        }
    }
}
