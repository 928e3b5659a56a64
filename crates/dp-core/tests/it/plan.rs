//! What a plan promises, and what its releaser refuses: nothing has left then, and the ledger has no line
//! of it.

use burn::module::ParamId;
use burn::tensor::Device;
use dp_core::DpError;
use dp_core::accounting::{
    Accountant, BatchDistribution, Event, GaussianAccountant, Neighbours, PldAccountant, Stratum,
};
use dp_core::ledger::{Entries, Ledger, LedgerEntry};
use dp_core::mechanism::{
    BoundedGradient, NoiseSource, ParameterGradient, Releaser, SensitiveVector, Sensitivity,
};
use dp_core::per_sample::ParameterSlot;
use dp_core::plan::{Noise, ReleaseNoise, TrainingPlan};
use dp_core::sampling::{Draw, Sampler};
use tempfile::TempDir;

fn gradient() -> ParameterGradient {
    let slot = ParameterSlot {
        id: ParamId::new(),
        shape: vec![3],
    };
    ParameterGradient::from_host(vec![slot], &[1.0, 2.0, 3.0], &Device::flex()).unwrap()
}

fn one() -> Sensitivity {
    Sensitivity::l2(1.0).unwrap()
}

fn gaussian(values: &[f64]) -> SensitiveVector {
    SensitiveVector::l2(values.to_vec(), 1.0)
}

fn laplace(values: &[f64], l1_upper: f64) -> SensitiveVector {
    SensitiveVector::l1(values.to_vec(), l1_upper)
}

fn bounded(sizes: &[usize], draw: Draw) -> Result<BoundedGradient, DpError> {
    BoundedGradient::new(gradient(), one(), sizes, draw)
}

fn fixed() -> Sampler {
    Sampler::fixed_size(5000, 50).unwrap()
}

fn of_groups() -> Sampler {
    Sampler::stratified(vec![(0..600).collect(), (600..1000).collect()], &[30, 20]).unwrap()
}

/// A plan of 2 steps, a Gaussian release and a Laplace release.
fn plan(sampler: Sampler) -> TrainingPlan {
    TrainingPlan::for_epsilon(2.0, 1e-5, 2, sampler)
        .with_release("moments", ReleaseNoise::Share(0.1))
        .with_release("counts", ReleaseNoise::Laplace { epsilon: 0.1 })
}

/// A releaser with its ledger in a folder of its own.
struct Run {
    releaser: Releaser,
    ledger: Ledger,
    _folder: TempDir,
}

impl Run {
    fn of(sampler: Sampler) -> Self {
        Self::planned(plan(sampler))
    }

    fn planned(plan: TrainingPlan) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            releaser: plan.check().unwrap().releaser(NoiseSource::insecure(1)),
            ledger: Ledger::create(&folder.path().join("ledger.jsonl")).unwrap(),
            _folder: folder,
        }
    }

    fn step(&mut self) -> Result<(), DpError> {
        let draw = self.releaser.draw()?;
        let sizes = draw.sizes();
        self.release(bounded(&sizes, draw)?)
    }

    fn release(&mut self, bounded: BoundedGradient) -> Result<(), DpError> {
        self.releaser.release(bounded, &mut self.ledger).map(drop)
    }

    fn vector(&mut self, name: &str, values: &SensitiveVector) -> Result<(), DpError> {
        let released = self.releaser.release_vector(name, values, &mut self.ledger);
        released.map(drop)
    }

    fn numbers(
        &mut self,
        values: &SensitiveVector,
        sizes: &[usize],
        draw: &Draw,
    ) -> Result<(), DpError> {
        let released = self
            .releaser
            .release_step(values, sizes, draw, &mut self.ledger);
        released.map(drop)
    }

    /// Refuses in these words, after which the ledger's file has as many lines as before.
    fn refuses(&mut self, words: &[&str], attempt: impl FnOnce(&mut Self) -> Result<(), DpError>) {
        let before = self.ledger.entries().unwrap();
        let state = self.releaser.step();
        let error = attempt(self).expect_err("a refusal").to_string();
        assert_eq!(self.ledger.entries().unwrap(), before, "{error}");
        assert_eq!(self.ledger.releases(), before.releases());
        assert_eq!(self.releaser.step(), state);
        names(&error, words);
    }
}

fn names(message: &str, needles: &[&str]) {
    for needle in needles {
        assert!(message.contains(needle), "{needle:?} in {message:?}");
    }
}

/// The epsilon at delta 1e-5 of the lines of a ledger alone: no plan is asked. Each line's noise is what it says of it.
fn epsilon_of(entries: &Entries) -> f64 {
    let epsilon = PldAccountant::default().epsilon(&entries.event().unwrap(), 1e-5);
    epsilon.unwrap()
}

#[test]
fn a_run_as_planned_releases_all_of_it_and_costs_what_was_planned() {
    for sampler in [
        fixed(),
        of_groups(),
        Sampler::poisson_zero_out(5000, 0.01).unwrap(),
        Sampler::all(5000).unwrap(),
    ] {
        let mut run = Run::of(sampler.clone());
        assert!(run.releaser.plan().epsilon_upper() <= 2.0);
        for step in 1..=2 {
            let draw = run.releaser.draw().unwrap();
            assert_eq!(draw.step(), step);
            assert_eq!(draw.indices(), draw.strata().concat());
            assert_eq!(draw.len(), draw.sizes().iter().sum::<usize>());
            assert_eq!(draw.expected_sizes(), sampler.expected_sizes());
            let sizes = draw.sizes();
            run.release(bounded(&sizes, draw).unwrap()).unwrap();
        }
        let Run {
            releaser, ledger, ..
        } = &mut run;
        let moments = releaser.release_vector("moments", &gaussian(&[1.0]), ledger);
        assert_eq!(moments.unwrap().values.len(), 1);
        let counts = releaser.release_vector("counts", &laplace(&[1.0, 2.0], 2.0), ledger);
        assert_eq!(counts.unwrap().values.len(), 2);
        let entries = ledger.entries().unwrap();
        assert_eq!(entries.releases(), releaser.plan().releases_in_all());
        for entry in &entries.entries {
            assert_eq!(entry.neighbours, sampler.neighbours());
            assert!(!entry.secret_noise);
        }
        let (plan, spent) = (releaser.plan(), epsilon_of(&entries));
        let as_planned = |epsilon: f64| (epsilon / plan.epsilon_upper() - 1.0).abs() < 1e-6;
        assert!(spent <= 2.0 && as_planned(spent), "{spent}");
        assert_eq!(plan.epsilon_spent(&entries).unwrap(), plan.epsilon_upper());
        // A ledger that says something else is seen: another noise, a step less, a step more.
        let falsified = |change: fn(&mut Vec<LedgerEntry>)| {
            let mut other = entries.clone();
            change(&mut other.entries);
            assert!(!as_planned(epsilon_of(&other)));
            (epsilon_of(&other), plan.epsilon_spent(&other).unwrap())
        };
        let (lines, reported) = falsified(|lines| weaken(&mut lines[0].event));
        assert!(lines > 2.0 && reported >= lines, "{lines} {reported}");
        let (lines, reported) = falsified(|lines| lines.push(lines[0].clone()));
        assert!(lines > 2.0 && reported >= lines, "{lines} {reported}");
        let (lines, reported) = falsified(|lines| drop(lines.remove(0)));
        assert!(lines < spent && reported >= plan.epsilon_upper());
    }
}

/// Nine tenths of the noise.
fn weaken(event: &mut Event) {
    match event {
        Event::Gaussian { noise_multiplier } => *noise_multiplier *= 0.9,
        Event::Sampled { event, .. } => weaken(event),
        other => panic!("{other:?}"),
    }
}

/// Neither number is told: with Poisson sampling both are secret.
#[test]
fn another_size_is_refused() {
    let mut run = Run::of(fixed());
    let words = "the draw: sum the records of the draw";
    for size in [500, 49] {
        run.refuses(&[words], |run| {
            let draw = run.releaser.draw()?;
            let refused = bounded(&[size], draw)?;
            run.release(refused)
        });
        run.refuses(&[words], |run| {
            let draw = run.releaser.draw()?;
            run.numbers(&gaussian(&[0.0]), &[size], &draw)
        });
    }
}

#[test]
fn other_groups_are_refused() {
    for other in [&[20, 30][..], &[50], &[30, 20, 0]] {
        Run::of(of_groups()).refuses(&["other numbers of records in its strata"], |run| {
            let draw = run.releaser.draw()?;
            let refused = bounded(other, draw)?;
            run.release(refused)
        });
    }
}

#[test]
fn a_draw_of_another_plan_is_refused() {
    let (mut run, mut other) = (Run::of(fixed()), Run::of(fixed()));
    run.releaser.draw().unwrap();
    run.refuses(&["is of releaser", "this is releaser"], |run| {
        let foreign = bounded(&[50], other.releaser.draw()?)?;
        run.release(foreign)
    });
}

#[test]
fn a_draw_of_another_step_is_refused() {
    let mut run = Run::of(fixed());
    let kept = run.releaser.draw().unwrap();
    run.step().unwrap();
    run.releaser.draw().unwrap();
    let words = ["number 1", "for step 1", "number 3"];
    run.refuses(&words, |run| run.release(bounded(&[50], kept)?));
    // A draw that was sampled over in the same step.
    let kept = run.releaser.draw().unwrap();
    run.releaser.draw().unwrap();
    let words = ["number 4", "for step 2", "number 5"];
    run.refuses(&words, |run| run.release(bounded(&[50], kept)?));
}

#[test]
fn a_step_beyond_the_plan_is_refused() {
    let mut run = Run::of(fixed());
    run.step().unwrap();
    run.step().unwrap();
    run.refuses(&["step 3", "2 steps"], Run::step);
    // A run that goes on counts the steps before.
    let mut run = Run::of(fixed());
    run.releaser.at_step(1).unwrap();
    run.step().unwrap();
    run.refuses(&["step 3", "2 steps"], Run::step);
    run.refuses(&["step 3", "2 steps"], |run| run.releaser.at_step(3));
    run.refuses(&["= 1", "the 2 steps"], |run| run.releaser.at_step(1));
}

#[test]
fn a_draw_of_numbers_is_released_once_and_by_its_own_releaser() {
    let mut run = Run::of(fixed());
    let draw = run.releaser.draw().unwrap();
    let sizes = draw.sizes();
    let words = ["a step", "Gaussian", "Laplace"];
    run.refuses(&words, |run| {
        run.numbers(&laplace(&[1.0], 1.0), &sizes, &draw)
    });
    let release = |run: &mut Run| run.numbers(&gaussian(&[1.0]), &sizes, &draw);
    let mut other = Run::of(fixed());
    other.releaser.draw().unwrap();
    other.refuses(&[], release);
    release(&mut run).unwrap();
    run.refuses(&[], release);
    run.releaser.draw().unwrap();
    run.refuses(&[], release);
    assert_eq!(run.ledger.releases(), 1);
}

#[test]
fn a_release_that_is_not_planned_is_refused() {
    let mut run = Run::of(fixed());
    for values in [gaussian(&[1.0]), laplace(&[1.0], 1.0)] {
        let words = ["variances", "moments", "counts"];
        run.refuses(&words, |run| run.vector("variances", &values));
    }
}

#[test]
fn a_release_with_other_noise_is_refused() {
    let mut run = Run::of(fixed());
    for (name, values) in [
        ("moments", laplace(&[1.0], 1.0)),
        ("counts", gaussian(&[1.0])),
    ] {
        run.refuses(&[name, "Gaussian", "Laplace"], |run| {
            run.vector(name, &values)
        });
    }
}

#[test]
fn a_release_made_before_is_refused() {
    let mut run = Run::of(fixed());
    for (name, values) in [
        ("moments", gaussian(&[1.0])),
        ("counts", laplace(&[1.0], 1.0)),
    ] {
        run.vector(name, &values).unwrap();
        run.refuses(&[name, "once"], |run| run.vector(name, &values));
    }
}

#[test]
fn values_that_are_not_finite_are_refused_and_may_be_made_again() {
    let mut run = Run::of(fixed());
    for bad in [f64::NAN, f64::INFINITY] {
        run.refuses(&[], |run| {
            let draw = run.releaser.draw()?;
            run.numbers(&gaussian(&[1.0, bad]), &[50], &draw)
        });
        run.refuses(&[], |run| run.vector("moments", &gaussian(&[bad])));
        run.refuses(&[], |run| run.vector("counts", &laplace(&[bad], 1.0)));
    }
    run.refuses(&[], |run| run.vector("counts", &laplace(&[1.0], 0.0)));
    run.step().unwrap();
    run.vector("counts", &laplace(&[1.0], 1.0)).unwrap();
    assert_eq!(run.ledger.releases(), 2);
}

#[test]
fn shares_add_up_to_the_budget() {
    let records = || Sampler::all(1000).unwrap();
    for share in [0.01, 0.3, 0.5] {
        let one = TrainingPlan::for_epsilon(1.5, 1e-5, 0, records())
            .with_release("all", ReleaseNoise::Share(1.0));
        let two = TrainingPlan::for_epsilon(1.5, 1e-5, 0, records())
            .with_release("moments", ReleaseNoise::Share(share))
            .with_release("counts", ReleaseNoise::Share(1.0 - share));
        let (one, two) = (one.check().unwrap(), two.check().unwrap());
        assert_eq!(one.accountant(), "gaussian");
        let z = one.noise_multiplier();
        assert!((z / two.noise_multiplier() - 1.0).abs() < 1e-4);
        let single = Event::Gaussian {
            noise_multiplier: z,
        };
        let cost = GaussianAccountant.epsilon(&single, 1e-5).unwrap();
        for plan in [&one, &two] {
            assert!((plan.epsilon_upper() / cost - 1.0).abs() < 1e-4);
            assert!(plan.epsilon_upper() <= 1.5);
        }
        assert_eq!((two.steps(), two.releases_in_all()), (0, 2));
        // Beside ten steps, a release with the budget of four more.
        let many = TrainingPlan::for_epsilon(1.5, 1e-5, 10, records())
            .with_release("large", ReleaseNoise::Share(4.0));
        let ratio = many.check().unwrap().noise_multiplier() / z;
        assert!((ratio / 14.0_f64.sqrt() - 1.0).abs() < 1e-4, "{ratio}");
    }
}

#[test]
fn a_budget_of_its_own_is_taken_from_the_plan() {
    let (epsilon, delta) = (0.1, 1e-6);
    let own = ReleaseNoise::GaussianWithin { epsilon, delta };
    let alone = TrainingPlan::for_epsilon(1.0, 1e-5, 100, fixed()).check();
    let both = TrainingPlan::for_epsilon(1.0, 1e-5, 100, fixed())
        .with_release("moments", own)
        .check()
        .unwrap();
    assert!(both.noise_multiplier() > alone.unwrap().noise_multiplier());
    assert!(both.epsilon_upper() <= 1.0);
    let (name, event) = both.releases().next().unwrap();
    assert_eq!(name, "moments");
    let epsilon = GaussianAccountant.epsilon(event, 1e-6).unwrap();
    assert!((0.0999..=0.1).contains(&epsilon), "{epsilon}");
}

#[test]
fn plans_that_cannot_be_kept_are_refused() {
    let plan = || TrainingPlan::for_epsilon(1.0, 1e-5, 10, fixed());
    let refused = |plan: TrainingPlan| plan.check().unwrap_err().to_string();
    let message = refused(TrainingPlan::for_epsilon(1.0, 1e-5, 0, fixed()));
    names(&message, &["steps = 0"]);
    let message = refused(TrainingPlan::for_epsilon(1.0, 1.0 / 5000.0, 10, fixed()));
    names(&message, &["delta", "n = 5000"]);
    let message = refused(TrainingPlan::for_epsilon(1.0, 1e-3, 10, of_groups()));
    names(&message, &["delta", "n = 1000"]);
    let share = ReleaseNoise::Share(0.1);
    names(
        &refused(plan().with_release("a", share).with_release("a", share)),
        &["\"a\""],
    );
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for noise in [Noise::TargetEpsilon(bad), Noise::Multiplier(bad)] {
            names(&refused(TrainingPlan { noise, ..plan() }), &["positive"]);
        }
        let (epsilon, delta, noise_multiplier) = (bad, 1e-6, bad);
        for noise in [
            ReleaseNoise::Share(bad),
            ReleaseNoise::Laplace { epsilon },
            ReleaseNoise::Gaussian { noise_multiplier },
            ReleaseNoise::GaussianWithin { epsilon, delta },
        ] {
            assert!(
                plan().with_release("a", noise).check().is_err(),
                "{noise:?}"
            );
        }
    }
    // A release that costs more than the budget leaves nothing for the steps.
    let all = ReleaseNoise::Laplace { epsilon: 1.5 };
    names(
        &refused(plan().with_release("counts", all)),
        &["epsilon at most 1"],
    );
}

#[test]
fn samplers_tell_the_accountant_what_they_do() {
    let strata = [(600, 30), (400, 20)].map(|(records, batch)| Stratum { records, batch });
    let strata = BatchDistribution::Stratified {
        strata: strata.into(),
    };
    let (records, batch, rate) = (5000, 50, 0.1);
    let fixed_batches = BatchDistribution::WithoutReplacement { records, batch };
    let poisson = Sampler::poisson_zero_out(500, rate).unwrap();
    let private = Sampler::poisson_add_remove(499, rate, 50.0).unwrap();
    let all = Sampler::all(500).unwrap();
    use Neighbours::{AddRemove, KEnd, ReplaceOne, ZeroOut};
    let cases = [
        (fixed(), Some(fixed_batches), ReplaceOne, Some(5000)),
        (of_groups(), Some(strata), KEnd, Some(1000)),
        (
            poisson,
            Some(BatchDistribution::PoissonZeroOut { rate }),
            ZeroOut,
            Some(500),
        ),
        (
            private,
            Some(BatchDistribution::Poisson { rate }),
            AddRemove,
            None,
        ),
        (all, None, ReplaceOne, Some(500)),
    ];
    for (sampler, distribution, neighbours, records) in cases {
        assert_eq!(sampler.distribution(), distribution);
        assert_eq!(
            (sampler.neighbours(), sampler.records()),
            (neighbours, records)
        );
    }
}
