//! Shuffled batches: a releaser keeps the order of an epoch, and the ledger has a line for each order that was begun.

use dp_core::DpError;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoiseSource, NoiseState, Releaser, SensitiveVector};
use dp_core::plan::{Noise, ReleaseNoise, TrainingPlan};
use dp_core::sampling::CyclicSampler;
use tempfile::TempDir;

const BATCH: usize = 3;
// Four batches of an epoch, and one record left over; the third epoch ends early.
const RECORDS: usize = 13;
const STEPS: u64 = 10;

struct Run {
    releaser: Releaser,
    ledger: Ledger,
    _folder: TempDir,
}

impl Run {
    fn new(seed: u64) -> Self {
        let sampler = CyclicSampler::shuffled(RECORDS, BATCH).unwrap();
        let plan = TrainingPlan::of(Noise::Multiplier(2.0), 1e-2, STEPS, sampler);
        let plan = plan.and("sum", ReleaseNoise::Share(0.5)).check().unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self {
            releaser: plan.releaser(NoiseSource::insecure(seed)),
            ledger: Ledger::create(&folder.path().join("ledger.jsonl")).unwrap(),
            _folder: folder,
        }
    }

    /// The records of a step that is made, with what `between` does after they were sampled, and what it releases.
    fn step_with(&mut self, between: impl FnOnce(&mut Self)) -> (Vec<usize>, Vec<f64>) {
        let draw = self.releaser.draw().unwrap();
        between(self);
        let zeros = SensitiveVector::l2(vec![0.0; 2], 1.0);
        let (releaser, ledger) = (&mut self.releaser, &mut self.ledger);
        let released = releaser.release_step(&zeros, &[BATCH], &draw, ledger);
        (draw.indices(), released.unwrap().values)
    }

    fn step(&mut self) -> Vec<usize> {
        self.step_with(|_| ()).0
    }

    /// Lines of epochs, for two that are one after the other say the same.
    fn lines(&self) -> usize {
        let entries = self.ledger.entries().unwrap().entries;
        let event = self.releaser.plan().step_event();
        entries.iter().filter(|entry| entry.event == *event).count()
    }

    fn state(&mut self) -> NoiseState {
        self.releaser.noise().state()
    }
}

/// How often the record that is in most of these batches is in one.
fn most(batches: &[Vec<usize>]) -> usize {
    let count = |record| {
        batches
            .iter()
            .filter(|batch| batch.contains(&record))
            .count()
    };
    (0..RECORDS).map(count).max().unwrap()
}

/// Whatever is released between a draw and its release, in between steps, or refused: no record is in two batches of an epoch,
/// and each has a line of its own before its first step.
#[test]
fn an_order_lasts_for_an_epoch() {
    let mut run = Run::new(1);
    let mut batches = Vec::new();
    for step in 1..=STEPS {
        let nan = SensitiveVector::l2(vec![f64::NAN], 1.0);
        let draw = run.releaser.draw().unwrap();
        let (releaser, ledger) = (&mut run.releaser, &mut run.ledger);
        let refused = releaser.release_step(&nan, &[BATCH], &draw, ledger);
        assert!(matches!(refused, Err(DpError::NotFinite { .. })));
        assert_eq!(run.lines() as u64, (step - 1).div_ceil(4));
        let (batch, _) = run.step_with(|run| {
            if step == 5 {
                let sum = SensitiveVector::l2(vec![0.0], 1.0);
                let released = run.releaser.release_vector("sum", &sum, &mut run.ledger);
                released.unwrap();
            }
        });
        assert_eq!(run.lines() as u64, step.div_ceil(4));
        batches.push(batch);
    }
    for epoch in batches.chunks(4) {
        assert_eq!(most(epoch), 1);
    }
    // By chance one time in thousands.
    assert_ne!(batches[..4], batches[4..8]);
    assert!(run.releaser.draw().is_err());
    let (plan, entries) = (run.releaser.plan(), run.ledger.entries().unwrap());
    assert_eq!(plan.epsilon_spent(&entries).unwrap(), plan.epsilon_upper());
}

/// With the state that was kept the epoch goes on as it was; whatever else takes its place has a line of its own, and between
/// two lines no record is in two batches.
#[test]
fn an_epoch_that_does_not_go_on_is_counted_again() {
    let mut whole = Run::new(1);
    let expected: Vec<_> = (0..STEPS).map(|_| whole.step_with(|_| ())).collect();
    for stop in 0..STEPS {
        let (mut first, mut other) = (Run::new(1), Run::new(2));
        let before: Vec<_> = (0..stop).map(|_| first.step()).collect();
        let state = first.state();
        // Another process, with the state and without.
        for keeps in [true, false] {
            let mut next = Run::new(3);
            std::fs::copy(first.ledger.path(), next.ledger.path()).unwrap();
            next.ledger = Ledger::open(next.ledger.path()).unwrap();
            next.releaser.at_step(stop).unwrap();
            if keeps {
                *next.releaser.noise() = NoiseSource::resume(&state);
            }
            let lines = next.lines();
            assert_eq!(lines as u64, stop.div_ceil(4));
            let ends = (4 - stop % 4).min(STEPS - stop);
            let after: Vec<_> = (0..ends).map(|_| next.step_with(|_| ())).collect();
            let begins = !keeps || stop % 4 == 0;
            assert_eq!(next.lines(), lines + usize::from(begins), "{stop} {keeps}");
            match keeps {
                true => assert_eq!(after[..], expected[stop as usize..][..ends as usize]),
                false => {
                    let after: Vec<_> = after.into_iter().map(|(batch, _)| batch).collect();
                    assert_eq!(most(&after), 1);
                }
            }
        }
        // Noise that takes the place of what a batch was sampled with.
        other.releaser.at_step(stop).unwrap();
        let (batch, _) = other.step_with(|run| *run.releaser.noise() = NoiseSource::resume(&state));
        assert_eq!(other.lines(), 1);
        let mut rest = vec![batch];
        while other.releaser.step() % 4 != 0 && other.releaser.step() < STEPS {
            rest.push(other.step());
        }
        assert_eq!((other.lines(), most(&rest)), (1, 1), "{before:?} {rest:?}");
    }
    // A ledger without the line, and a step that is made again.
    let mut run = Run::new(1);
    run.step();
    let folder = tempfile::tempdir().unwrap();
    run.ledger = Ledger::create(&folder.path().join("other.jsonl")).unwrap();
    run.step();
    assert_eq!(run.lines(), 1);
    run.releaser.at_step(3).unwrap();
    run.step();
    assert_eq!(run.lines(), 2);
}
