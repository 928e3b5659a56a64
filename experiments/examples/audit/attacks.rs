//! The attacks, each with all estimators that its scores allow.

use dp_audit::{CanaryGuesses, Claim, Scores, Sequential, best_guesses, gaussian_law};
use dp_core::accounting::{PldAccountant, Result as Accounted};
use lab::diagnostic::{Failure, OrFailed};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::Arguments;
use super::findings::Findings;
use super::target::AuditedMechanism;

/// How much more noise than claimed is looked at, at most.
const MOST_NOISE: f64 = 64.0;

/// What the accountant promises of the plan, at another noise multiplier.
fn claim(target: &AuditedMechanism, noise_multiplier: f64) -> Accounted<Claim> {
    Claim::promised_by(&PldAccountant::default(), &target.claimed(noise_multiplier))
}

/// One record, in many runs.
pub(super) fn many_runs(
    target: &mut AuditedMechanism,
    arguments: &Arguments,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let (delta, confidence) = (arguments.delta, 1.0 - findings.alarm_rate());
    let runs = arguments.runs() as usize;
    let coins: Vec<bool> = (0..2 * runs).map(|run| run < runs).collect();
    let scores = target.scores(&coins)?;
    let scores = Scores::new(&scores[..runs], &scores[runs..]).or_failed()?;
    let how = format!("{runs} runs with the record, {runs} without");
    let counts = scores.held_out(delta, confidence).or_failed()?;
    let bound = counts.lower_bound(delta, confidence).or_failed()?;
    findings.bound("many runs, counts", &how, &bound);
    let counts = scores.held_out_gaussian(delta, confidence).or_failed()?;
    if target.mu().is_none() {
        // Batches are sampled: scores are a mixture, and the curve is the plan's.
        let refuted = |z: f64| -> Result<bool, Failure> {
            let claim = claim(target, z).or_failed()?;
            counts.refute(&claim, confidence).or_failed()
        };
        let claimed = target.noise_multiplier();
        let p_value = if refuted(claimed)? {
            findings.alarm_rate()
        } else {
            1.0
        };
        let epsilon = proved(target, delta, refuted)?;
        findings.among(
            "many runs, counts and the curve of the plan",
            &how,
            epsilon,
            p_value,
        );
        return Ok(());
    }
    let bound = counts.gaussian_lower_bound(delta, confidence).or_failed()?;
    findings.bound("many runs, counts and a Gaussian curve", &how, &bound);
    if !target.normal() {
        return Ok(());
    }
    let bound = gaussian_law(&scores, delta, confidence).or_failed()?;
    findings.bound("many runs, law of the scores", &how, &bound);
    Ok(())
}

/// Many records, in one run.
///
/// - `mu`: a shift from which the number of guesses is taken.
pub(super) fn one_run(
    target: &mut AuditedMechanism,
    arguments: &Arguments,
    mu: f64,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let (delta, confidence) = (arguments.delta, 1.0 - findings.alarm_rate());
    let mut generator = ChaCha20Rng::seed_from_u64(arguments.seed);
    let coins: Vec<bool> = (0..arguments.canaries)
        .map(|_| generator.random())
        .collect();
    let guesses = best_guesses(arguments.canaries, mu, delta, confidence).or_failed()?;
    let scores = target.scores(&coins)?;
    let found = CanaryGuesses::by_likelihood(&scores, &coins, guesses).or_failed()?;
    let (all, right) = (arguments.canaries, found.right());
    let how = format!("{all} canaries, {guesses} guesses, {right} right");
    let bound = found.lower_bound(delta, confidence).or_failed()?;
    findings.bound("one run, guesses", &how, &bound);
    if target.mu().is_some() {
        let bound = found.gaussian_lower_bound(delta, confidence).or_failed()?;
        findings.bound("one run, guesses and a Gaussian curve", &how, &bound);
        return Ok(());
    }
    let p_value = |z: f64| -> Result<f64, Failure> {
        let claim = claim(target, z).or_failed()?;
        Ok(found.p_value(&claim))
    };
    let claimed = p_value(target.noise_multiplier())?;
    let refuted = |z: f64| -> Result<bool, Failure> { Ok(p_value(z)? <= findings.alarm_rate()) };
    let epsilon = proved(target, delta, refuted)?;
    findings.among(
        "one run, guesses and the curve of the plan",
        &how,
        epsilon,
        claimed,
    );
    Ok(())
}

/// The epsilon of the plan with the least noise that is refuted; 0 where none is.
fn proved(
    target: &AuditedMechanism,
    delta: f64,
    refuted: impl Fn(f64) -> Result<bool, Failure>,
) -> Result<f64, Failure> {
    let epsilon = match least_refuted(target.noise_multiplier(), refuted)? {
        Some(z) => PldAccountant::default().epsilon_lower(&target.claimed(z), delta),
        None => Ok(0.0),
    };
    epsilon.or_failed()
}

/// The least noise multiplier that is refuted, within 1 %; none where even much more noise is not.
fn least_refuted(
    claimed: f64,
    refuted: impl Fn(f64) -> Result<bool, Failure>,
) -> Result<Option<f64>, Failure> {
    let mut high = claimed;
    while !refuted(high)? {
        high *= 2.0;
        if high > MOST_NOISE * claimed {
            return Ok(None);
        }
    }
    let mut low = 0.5 * high;
    while low > 0.05 * claimed && refuted(low)? {
        (low, high) = (0.5 * low, low);
    }
    while high > 1.01 * low {
        let middle = (low * high).sqrt();
        if refuted(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(Some(high))
}

/// One record, in pairs of whole runs, until the claim is refuted or patience ends.
pub(super) fn pairs(
    target: &mut AuditedMechanism,
    arguments: &Arguments,
    findings: &mut Findings,
) -> Result<(), Failure> {
    if arguments.pairs == 0 {
        return Ok(());
    }
    let claim = match target.mu() {
        Some(mu) => Claim::gaussian(mu),
        None => claim(target, target.noise_multiplier()),
    };
    let claim = claim.or_failed()?;
    let mut test = Sequential::new(vec![claim], findings.alarm_rate()).or_failed()?;
    while test.pairs() < arguments.pairs as usize && !test.all_refuted() {
        let (with, without) = (target.scores(&[true])?, target.scores(&[false])?);
        test.observe(with[0], without[0]).or_failed()?;
    }
    let how = format!("{} pairs", test.pairs());
    findings.test("pairs of runs, one after the other", &how, test.p_value());
    Ok(())
}
