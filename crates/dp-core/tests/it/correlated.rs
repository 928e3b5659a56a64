//! Steps whose noise is correlated: what it is, and when the ledger gets a line.

use burn::module::ParamId;
use burn::tensor::Device;
use dp_core::DpError;
use dp_core::accounting::BandedInverse;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{
    BoundedGradient, NoiseSource, ParameterGradient, Releaser, SensitiveVector, Sensitivity,
};
use dp_core::per_sample::ParameterSlot;
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use tempfile::TempDir;

const STEPS: u64 = 7;

struct Run {
    releaser: Releaser,
    ledger: Ledger,
    folder: TempDir,
}

impl Run {
    /// Seven steps on six batches of two of twelve records.
    fn of(bandwidth: u64) -> Self {
        Self::planned(bandwidth, 12, 2)
    }

    fn planned(bandwidth: u64, records: usize, batch: usize) -> Self {
        let sampler = Sampler::cyclic(records, batch).unwrap();
        let plan = TrainingPlan::with_noise_multiplier(1.5, 1e-2, STEPS, sampler);
        let plan = plan.correlated(bandwidth).check().unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self {
            releaser: plan.releaser(NoiseSource::insecure(1)),
            ledger: Ledger::create(&folder.path().join("ledger.jsonl")).unwrap(),
            folder,
        }
    }

    /// What a step makes of these numbers, which are of this sensitivity.
    fn step_of(&mut self, values: &[f32], sensitivity: f64) -> Result<Vec<f32>, DpError> {
        let draw = self.releaser.draw()?;
        let slots = [2, values.len() - 2].map(|length| ParameterSlot {
            id: ParamId::new(),
            shape: vec![length],
        });
        let gradient = ParameterGradient::from_host(slots.into(), values, &Device::flex())?;
        let sizes = draw.sizes();
        let bounded = BoundedGradient::new(gradient, Sensitivity::l2(sensitivity)?, &sizes, draw)?;
        let released = self.releaser.release(bounded, &mut self.ledger)?;
        Ok(released.gradient().to_host())
    }

    fn step(&mut self) -> Vec<f32> {
        self.step_of(&[0.0; 5], 2.0).unwrap()
    }

    fn lines(&self) -> usize {
        let entries = self.ledger.entries().unwrap().entries;
        let event = self.releaser.plan().step_event();
        let own = entries
            .iter()
            .all(|entry| entry.count == 1 && entry.event == *event);
        assert!(own);
        entries.len()
    }
}

/// Gradients and vectors of zeros show the noise, which is the sum of that of the same keys without correlation, all of it in
/// units of the step's own sensitivity: what the proof asks for where sensitivities change from step to step.
#[test]
fn the_noise_of_a_step_is_made_of_that_of_the_steps_before() {
    let (mut alone, mut correlated, mut vectors) = (Run::of(1), Run::of(3), Run::of(3));
    let noise = BandedInverse::new(3, STEPS).unwrap();
    let mut z: Vec<Vec<f32>> = Vec::new();
    for step in 1..=STEPS {
        z.push(alone.step());
        let sensitivity = [2.0, 6.0, 0.5][step as usize % 3];
        let released = correlated.step_of(&[0.0; 5], sensitivity).unwrap();
        let draw = vectors.releaser.draw().unwrap();
        let first = (step as usize - 1) % 6;
        assert_eq!(draw.indices(), [first, first + 6]);
        let zeros = SensitiveVector::l2(vec![0.0; 5], 2.0);
        let (releaser, ledger) = (&mut vectors.releaser, &mut vectors.ledger);
        let noisy = releaser.release_step(&zeros, &[2], &draw, ledger).unwrap();
        assert!((noisy.deviation / 3.0 - 1.0).abs() < 1e-4);
        for i in 0..5 {
            let before = noise.inverse().iter().zip(z.iter().rev());
            let expected: f64 = before.map(|(d, z)| d * f64::from(z[i])).sum();
            let scaled = expected * sensitivity / 2.0;
            let off = (f64::from(released[i]) - scaled).abs();
            assert!(off < 1e-5 * sensitivity, "step {step}: {off} of {scaled}");
            assert!((noisy.values[i] - expected).abs() < 1e-5);
        }
        for run in [&alone, &correlated, &vectors] {
            assert_eq!((run.releaser.step(), run.lines()), (step, 1));
        }
    }
    // No later step has a part of the noise of the last ones: their keys are gone.
    let state = serde_json::to_value(correlated.releaser.noise().state()).unwrap();
    assert_eq!(state["chain"]["keys"], serde_json::json!([]));
    for run in [&mut correlated, &mut vectors] {
        assert!(run.releaser.draw().is_err());
        let plan = run.releaser.plan();
        let spent = plan.epsilon_spent(&run.ledger.entries().unwrap()).unwrap();
        assert_eq!(spent, plan.epsilon_upper());
    }
}

/// What is refused is not released, moves no noise and writes no line, and the same step is made after it.
#[test]
fn a_refused_step_leaves_the_mechanism_as_it_was() {
    let (mut smooth, mut rough) = (Run::of(3), Run::of(3));
    for step in 0..4 {
        let refused = rough.step_of(&[0.0, f32::NAN, 0.0, 0.0, 0.0], 2.0);
        let refused = refused.unwrap_err();
        assert!(matches!(refused, DpError::NotFinite { .. }), "{refused}");
        assert_eq!(rough.lines(), step.min(1));
        assert_eq!(rough.step(), smooth.step());
    }
    // Nor is a step released whose ledger cannot be read for the mechanism's line.
    let mut lost = Run::of(3);
    let gone = std::mem::replace(&mut lost.folder, tempfile::tempdir().unwrap());
    drop(gone);
    // The first step writes to the file that is open; what is left of the others reads it again.
    lost.step();
    assert!(lost.step_of(&[0.0; 5], 2.0).is_err());
}

/// A run goes on by its own line: that of another run of the same plan, in a file that both write, does not stand for its
/// steps.
#[test]
fn two_runs_of_one_plan_have_a_line_each() {
    let (mut one, mut other) = (Run::of(3), Run::of(3));
    *other.releaser.noise() = NoiseSource::insecure(2);
    one.step();
    other.step();
    other.ledger = Ledger::open(one.ledger.path()).unwrap();
    for lines in [2, 2] {
        other.step();
        assert_eq!(other.lines(), lines);
        one.ledger = Ledger::open(one.ledger.path()).unwrap();
        one.step();
        assert_eq!(one.lines(), lines);
    }
    let entries = one.ledger.entries().unwrap();
    let plan = one.releaser.plan();
    assert!(plan.epsilon_spent(&entries).unwrap() > 1.3 * plan.epsilon_upper());
}

/// A step that goes on does not read the lines before it, but sees where some are gone.
#[test]
fn a_step_does_not_read_the_ledger() {
    let mut run = Run::of(3);
    run.step();
    let path = run.ledger.path().to_path_buf();
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, vec![b'x'; whole.len()]).unwrap();
    run.step();
    std::fs::write(&path, &whole[1..]).unwrap();
    assert!(run.step_of(&[0.0; 5], 2.0).is_err());
    std::fs::write(&path, &whole).unwrap();
    run.step();
    assert_eq!(run.lines(), 1);
}

/// Where steps do not go on from the last one and its noise, the mechanism begins anew: its noise is independent of that
/// before, and the ledger has its line once more.
#[test]
fn what_does_not_go_on_is_counted_again() {
    // Without interruption, and with a state that was kept.
    let (mut whole, mut stopped) = (Run::of(3), Run::of(3));
    let first: Vec<_> = (0..3).map(|_| (whole.step(), stopped.step())).collect();
    let state = stopped.releaser.noise().state();
    let goes_on = |mut run: Run, ledger: Ledger, step: u64| {
        *run.releaser.noise() = NoiseSource::resume(&state);
        run.releaser.at_step(step).unwrap();
        run.ledger = ledger;
        run
    };
    let open = |run: &Run| Ledger::open(run.ledger.path()).unwrap();
    let mut resumed = goes_on(Run::of(3), open(&stopped), 3);
    let fourth = resumed.step();
    assert_eq!((fourth.clone(), resumed.lines()), (whole.step(), 1));
    assert!(first.iter().all(|(one, other)| one == other));

    // Another place in the order, another bandwidth, other batches, another ledger: a line more each time.
    let independent = {
        let mut run = Run::of(1);
        *run.releaser.noise() = NoiseSource::resume(&state);
        run.step()
    };
    assert_ne!(independent, fourth);
    for (mut run, lines) in [
        (goes_on(Run::of(3), open(&stopped), 2), 2),
        (goes_on(Run::of(3), open(&stopped), 4), 3),
    ] {
        assert_eq!((run.step(), run.lines()), (independent.clone(), lines));
        run.step();
        assert_eq!(run.lines(), lines);
        let plan = run.releaser.plan();
        let spent = plan.epsilon_so_far(&run.ledger.entries().unwrap()).unwrap();
        assert!(spent > 1.3 * plan.epsilon_upper(), "{spent}");
    }
    for other in [Run::of(2), Run::planned(3, 14, 2), Run::planned(3, 24, 4)] {
        let ledger = Ledger::create(&other.folder.path().join("other.jsonl")).unwrap();
        let mut run = goes_on(other, ledger, 3);
        assert_eq!((run.step(), run.lines()), (independent.clone(), 1));
    }
    let empty = Run::of(3);
    let ledger = Ledger::create(&empty.folder.path().join("other.jsonl")).unwrap();
    let mut run = goes_on(empty, ledger, 3);
    assert_eq!((run.step(), run.lines()), (fourth, 1));
    // New noise in the middle of a run.
    *run.releaser.noise() = NoiseSource::insecure(9);
    run.step();
    assert_eq!(run.lines(), 2);
    run.step();
    assert_eq!(run.lines(), 2);
}
