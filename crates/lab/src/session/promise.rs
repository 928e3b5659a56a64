//! What a run promises, in the words that every experiment uses: first lines, page, `run.json`.

use dp_core::DpError;
use dp_core::accounting::{BatchDistribution, Event, Neighbours};
use dp_core::decimal::{nearest, upper};
use dp_core::delta::loose_delta;
use dp_core::ledger::Ledger;
use dp_core::plan::CheckedPlan;
use serde_json::{Value, json};

use crate::diagnostic::{Failure, OrFailed};
use crate::report::{Plan, neighbours};

/// An epsilon above this one is said to be large.
const WEAK: f64 = 10.0;
/// Fewer records than these are said to be few.
const FEW: usize = 500;

/// What an experiment adds to the words that all share.
#[derive(Debug, Clone)]
pub struct Wording {
    /// What a group of records is, if neighbours replace a record by one of its group.
    pub groups: &'static str,
    /// What neighbours replace if that is no single record, such as `all images of one person`.
    pub unit: Option<String>,
    /// What the releases are of, such as `the training gradients`.
    pub releases: String,
    /// What is public, other than group sizes, such as `the test records`.
    pub public: String,
    /// The sentence of a run that adds no noise.
    pub without_noise: String,
    /// Whether such a run reads no private record.
    pub reads_nothing: bool,
    /// What else is said of the run before it starts and on its page.
    pub cautions: Vec<String>,
}

impl Default for Wording {
    fn default() -> Self {
        Self {
            groups: "classes",
            unit: None,
            releases: "the training gradients".into(),
            public: "the test records".into(),
            without_noise: "Not private: --no-privacy trains without clipping and without noise."
                .into(),
            reads_nothing: false,
            cautions: Vec::new(),
        }
    }
}

impl Wording {
    /// What is counted as private.
    pub(super) fn each(&self) -> &'static str {
        match self.unit {
            Some(_) => "units",
            None => "records",
        }
    }
}

/// The plan of a run in words.
pub struct Promise<'a> {
    /// The plan; none without privacy.
    pub plan: Option<&'a CheckedPlan>,
    pub records: usize,
    /// The seed that its noise comes from, if it is known.
    pub insecure_noise_seed: Option<u64>,
    /// The experiment's own words.
    pub wording: Wording,
    /// Which of its records other runs use otherwise.
    pub elsewhere: &'a [String],
}

impl Promise<'_> {
    /// The first lines of a run: what it promises, before anything is done.
    pub fn announcement(&self) -> Vec<String> {
        let Some(plan) = self.plan else {
            return vec![format!("privacy   {}", self.wording.without_noise)];
        };
        let releases = plan.releases_in_all();
        let mut lines = vec![
            format!(
                "privacy   {}epsilon {} at delta {}; neighbours: {}; accountant: {}",
                self.no_promise().unwrap_or_default(),
                upper(plan.epsilon_upper()),
                upper(plan.delta()),
                self.neighbours(plan),
                plan.accountant()
            ),
            format!(
                "noise     multiplier {}; {releases} releases",
                nearest(plan.noise_multiplier(), 4)
            ),
        ];
        let cautions = self.cautions(plan).into_iter();
        lines.extend(cautions.map(|note| format!("note      {note}")));
        lines
    }

    /// The promise in a sentence, with what is not covered, by a ledger that cost `spent`.
    pub fn sentence(&self, ledger: &Ledger, spent: Option<f64>) -> String {
        let Some((plan, spent)) = self.plan.zip(spent) else {
            return self.wording.without_noise.clone();
        };
        let elsewhere: String = self.elsewhere.iter().map(|w| format!(" {w}")).collect();
        format!(
            "{}({}, {})-differentially private; neighbours: {}; {}; accountant: {} (upper \
             bound); {} releases in the ledger, which cover {}. Public: {}. Not covered: the choice of \
             hyperparameters.{elsewhere}",
            self.no_promise().unwrap_or_default(),
            upper(spent),
            upper(plan.delta()),
            self.neighbours(plan),
            sampled(plan),
            plan.accountant(),
            ledger.releases(),
            self.wording.releases,
            self.wording.public,
        )
    }

    pub fn promises(&self) -> bool {
        match self.plan {
            Some(_) => self.no_promise().is_none(),
            None => self.wording.reads_nothing,
        }
    }

    /// The plan, for `run.json`.
    pub fn in_run_file(&self) -> Option<Plan> {
        let plan = self.plan?;
        let step = match plan.steps() {
            0 => json!(Event::Gaussian {
                noise_multiplier: plan.noise_multiplier(),
            }),
            _ => json!(plan.step_event()),
        };
        let others: Value = plan.releases().map(|(_, event)| json!(event)).collect();
        let steps = match plan.steps() {
            0 => plan.releases_in_all(),
            steps => steps,
        };
        Some(Plan {
            epsilon_upper: Some(plan.epsilon_upper()),
            delta: Some(plan.delta()),
            accountant: Some(plan.accountant().to_string()),
            neighbours: Some(self.neighbours(plan)),
            unit: self.wording.unit.clone(),
            noise_multiplier: Some(plan.noise_multiplier()),
            steps: Some(steps),
            more: [
                ("step".to_string(), step),
                ("other_releases".to_string(), others),
            ]
            .into_iter()
            .collect(),
        })
    }

    /// What a reader must know of the promise.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.elsewhere.to_vec();
        warnings.extend_from_slice(&self.wording.cautions);
        warnings.extend(
            self.plan
                .map(|plan| self.cautions(plan))
                .unwrap_or_default(),
        );
        warnings
    }

    /// How a sentence about epsilon starts that must not be taken for a promise; nothing if it is one.
    pub(super) fn no_promise(&self) -> Option<String> {
        self.insecure_noise_seed.map(|_| {
            "NOT PRIVATE, because the noise comes from a known seed. Without that it would be: "
                .into()
        })
    }

    /// What to know of a claim that says little, or that few records make.
    fn cautions(&self, plan: &CheckedPlan) -> Vec<String> {
        let epsilon = plan.epsilon_upper();
        let weak = (epsilon > WEAK).then(|| {
            format!(
                "Epsilon {} is above {WEAK}: the bound alone keeps little from an attacker.",
                upper(epsilon)
            )
        });
        let few = (self.records < FEW).then(|| {
            format!(
                "{} private records are fewer than {FEW}: noise that hides one of them hides much of what the others say.",
                self.records
            )
        });
        let loose = loose_delta(plan.delta(), self.records as f64);
        loose.into_iter().chain(weak).chain(few).collect()
    }

    /// The neighbour relation in words.
    pub(super) fn neighbours(&self, plan: &CheckedPlan) -> String {
        let words = neighbours(plan.neighbours(), self.wording.unit.as_deref());
        match plan.neighbours() {
            Neighbours::KEnd => format!("{words} (groups: {})", self.wording.groups),
            _ => words,
        }
    }
}

/// A plan that cannot be had.
pub fn refused_plan(why: DpError) -> Failure {
    Failure::input(
        format!("the privacy plan is refused: {why}"),
        "change --epsilon, --delta, --steps or the size of batches, or say --no-privacy",
    )
}

/// An upper bound on the epsilon of a finished run, by its ledger: more than planned if a killed run made steps
/// again, and never less; none without privacy.
pub fn spent(plan: Option<&CheckedPlan>, ledger: &Ledger) -> Result<Option<f64>, Failure> {
    let spent = |plan: &CheckedPlan| plan.epsilon_spent(&ledger.entries()?);
    plan.map(spent).transpose().or_failed()
}

/// How private records come into a release.
fn sampled(plan: &CheckedPlan) -> &'static str {
    let sampler = plan.sampler();
    let all = || sampler.records().map(|all| vec![all as f64]) == Some(sampler.expected_sizes());
    match sampler.distribution() {
        _ if plan.steps() == 0 => "each release is of all private records",
        Some(BatchDistribution::WithoutReplacement { .. }) => {
            "each batch of fixed size sampled afresh without replacement"
        }
        Some(BatchDistribution::Stratified { .. }) => {
            "each batch of a fixed size of each group, sampled afresh without replacement"
        }
        Some(_) => "each record in each batch by a draw of its own",
        None if all() => "each step is of all private records",
        None => "fixed batches that come in a cycle",
    }
}
