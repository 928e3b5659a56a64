//! What attacks on this workspace's own mechanism prove of it, beside what is claimed.
//!
//! The mechanism is the one that every training goes through: a plan's `Releaser`, its noise and its ledger. The
//! attacker knows all but the noise and one record, whose gradient is as long as the declared sensitivity allows, and
//! sees every release. See `dp_core::audit` for the estimators.

mod target;

use clap::{Parser, ValueEnum};
use dp_core::audit::{
    Claim, Guesses, LowerBound, Scores, Sequential, Verdict, best_guesses, gaussian_law,
};
use dp_core::decimal::{lower, nearest, upper};
use lab::diagnostic::Failure;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use target::Target;
pub use target::{Mechanism, Sabotage};

/// How many estimators share the probability of a false alarm.
const ESTIMATORS: f64 = 6.0;

/// Attack a mechanism of this workspace, and hold what is proved against what is claimed.
#[derive(Debug, Parser)]
#[command(name = "audit", version)]
pub struct Arguments {
    /// What is attacked.
    #[arg(long, value_enum, default_value_t = Mechanism::Gaussian)]
    pub mechanism: Mechanism,
    /// The epsilon that is claimed.
    #[arg(long, default_value_t = 4.0)]
    pub epsilon: f64,
    /// The delta that it is claimed at.
    #[arg(long, default_value_t = 1e-5)]
    pub delta: f64,
    /// Releases of a run, all of which see the record.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub steps: u64,
    /// Runs with the record, and as many without, of the attack in many runs. Their noise is drawn at once, each run
    /// being one coordinate of one release.
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(100..=20_000_000))]
    pub runs: u64,
    /// Canaries of the attack in one run.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    pub canaries: u64,
    /// Pairs of whole runs, each with its plan, its ledger and its noise, after which the sequential test gives up.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(8..=100_000))]
    pub pairs: u64,
    /// The probability with which a true claim is called violated, by all attacks together.
    #[arg(long, default_value_t = 0.01)]
    pub false_alarm: f64,
    /// Plant a bug, which is to be found.
    #[arg(long, value_enum)]
    pub sabotage: Option<Sabotage>,
    /// The seed of the coins of the canaries; the noise is secret.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Noise of a known seed, for an audit that repeats itself.
    #[arg(long)]
    pub insecure_noise_seed: Option<u64>,
}

/// Attacks, prints what was found, and fails where the claim is violated.
///
/// # Errors
///
/// [`Failure::BadInput`] for a budget that cannot be; [`Failure::Failed`] for a claim that is violated.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let refuse = |flag: &str, value: f64, bound: &str| {
        Failure::input(
            format!("--{flag} is {value}, but must be {bound}"),
            "see --help",
        )
    };
    let (epsilon, delta) = (arguments.epsilon, arguments.delta);
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(refuse("epsilon", epsilon, "positive and finite"));
    }
    if !(delta > 0.0 && delta < 0.5) {
        return Err(refuse("delta", delta, "above 0 and below 0.5"));
    }
    let alarm = arguments.false_alarm;
    if !(alarm > 0.0 && alarm < 1.0) {
        return Err(refuse("false-alarm", alarm, "above 0 and below 1"));
    }
    let mut target = Target::new(arguments)?;
    let mu = target.claimed_mu();
    println!(
        "claim      epsilon {} at delta {} for {} release{}: noise multiplier {}, mu {}",
        upper(epsilon),
        nearest(delta, 5),
        arguments.steps,
        if arguments.steps == 1 { "" } else { "s" },
        nearest(target.noise_multiplier(), 5),
        nearest(mu, 5),
    );
    if let Some(sabotage) = arguments.sabotage {
        let name = sabotage.to_possible_value();
        println!(
            "sabotaged  {}",
            name.as_ref().map_or("", |value| value.get_name())
        );
    }
    let confidence = 1.0 - alarm / ESTIMATORS;
    let mut violated = Vec::new();
    let mut show = |name: &'static str, bound: LowerBound, how: String| {
        let verdict = bound.against(epsilon);
        let share = 100.0 * bound.epsilon / epsilon;
        println!("\n{name}: {how}\n  {bound}");
        println!("  {} % of the claim: {verdict}", lower(share));
        if verdict == Verdict::Violated {
            violated.push(name);
        }
    };

    let runs = arguments.runs as usize;
    let mut canaries = vec![0.0; 2 * runs];
    canaries[..runs].fill(1.0);
    let scores = target.scores(&canaries).map_err(Failure::failed)?;
    let scores = Scores::new(&scores[..runs], &scores[runs..]).map_err(Failure::failed)?;
    let how = format!("{runs} runs with the record, {runs} without");
    let counts = scores
        .held_out(delta, confidence)
        .map_err(Failure::failed)?;
    let bound = counts
        .lower_bound(delta, confidence)
        .map_err(Failure::failed)?;
    show("many runs, counts", bound, how.clone());
    let counts = scores
        .held_out_gaussian(delta, confidence)
        .map_err(Failure::failed)?;
    let bound = counts
        .gaussian_lower_bound(delta, confidence)
        .map_err(Failure::failed)?;
    show("many runs, counts and a Gaussian curve", bound, how.clone());
    let bound = gaussian_law(&scores, delta, confidence).map_err(Failure::failed)?;
    show("many runs, law of the scores", bound, how);

    let mut generator = ChaCha20Rng::seed_from_u64(arguments.seed);
    let coins: Vec<bool> = (0..arguments.canaries)
        .map(|_| generator.random())
        .collect();
    let included: Vec<f32> = coins
        .iter()
        .map(|there| f32::from(u8::from(*there)))
        .collect();
    let scores = target.scores(&included).map_err(Failure::failed)?;
    let guesses =
        best_guesses(arguments.canaries, mu, delta, confidence).map_err(Failure::failed)?;
    let found = Guesses::by_scores(&scores, &coins, guesses).map_err(Failure::failed)?;
    let how = format!(
        "{} canaries, {guesses} guesses, {} right",
        arguments.canaries,
        found.right()
    );
    let bound = found
        .lower_bound(delta, confidence)
        .map_err(Failure::failed)?;
    show("one run, guesses", bound, how.clone());
    let bound = found
        .gaussian_lower_bound(delta, confidence)
        .map_err(Failure::failed)?;
    show("one run, guesses and a Gaussian curve", bound, how);

    let claim = Claim::gaussian(mu).map_err(Failure::failed)?;
    let mut test = Sequential::new(vec![claim], alarm / ESTIMATORS).map_err(Failure::failed)?;
    while test.pairs() < arguments.pairs as usize && !test.all_refuted() {
        let with = target.scores(&[1.0]).map_err(Failure::failed)?;
        let without = target.scores(&[0.0]).map_err(Failure::failed)?;
        test.observe(with[0], without[0]).map_err(Failure::failed)?;
    }
    let refuted = test.all_refuted();
    println!(
        "\npairs of runs, one after the other: {} pairs",
        test.pairs()
    );
    let verdict = if refuted {
        violated.push("pairs of runs, one after the other");
        Verdict::Violated
    } else {
        Verdict::NotViolated
    };
    println!("  p-value at most {}: {verdict}", upper(test.p_value()));

    println!(
        "\nverdict    at a false-alarm rate of at most {}",
        upper(alarm)
    );
    if violated.is_empty() {
        println!("           no attack violates the claim");
        return Ok(());
    }
    println!("           violated by {}", violated.join("; "));
    Err(Failure::failed(format!(
        "the claim of epsilon {} at delta {} is violated",
        upper(epsilon),
        nearest(delta, 5)
    )))
}
