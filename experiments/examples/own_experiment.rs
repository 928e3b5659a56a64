//! A whole experiment on [`lab::session`]: a private logistic regression on synthetic records.
//!
//! What it has for these lines: `--epsilon`, `--steps`, `--seed` and all other common flags, with bad values refused
//! by name; batches that are secret and accounted; a ledger that is written before anything leaves; checkpoints, and
//! runs that resume to the same end; `metrics.jsonl`, `run.json` and a page that states the promise.
//!
//! ```text
//! cargo run --release --locked -p experiments --example own_experiment -- --epsilon 1 --run /tmp/mine
//! just report /tmp/mine
//! ```

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, TensorData};
use data::{BiasedConfig, GroupedTable, biased};
use dp_core::DpError;
use dp_core::per_sample::nn::Chain;
use dp_core::plan::{CheckedPlan, TrainingPlan};
use dp_core::sampling::FixedSizeSampler;
use lab::backend::Chosen;
use lab::diagnostic::Failure;
use lab::report::{Better, Metric};
use lab::session::{
    self, Arguments, DataSummary, Ends, Evaluation, Experiment, Fingerprint, Report, RunState,
    Session, announcement, batches_of, bounded, budget_name, positive, refused_plan, save_weights,
    start, take_step, within,
};
use private_training::{
    Batch, Forward, Layers, Loss, Network, Objective, Optimizer, Training, TrainingConfig,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

fn main() -> std::process::ExitCode {
    session::main::<Regression>()
}

/// The settings of a run that gives no flag.
const PRESET: &str = "
    records = 2000
    epsilon = 3.0
    delta = 1e-5
    steps = 100
    learning-rate = 0.5
    batch = 200
    max-grad-norm = 1.0
";

// Settings and flags are made of one list: `--batch` takes the place of the preset's `batch`.
lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: usize, epsilon: Option<f64>, delta: f64, steps: u64, learning_rate: f64, seed: u64,
        insecure_noise_seed: Option<u64>,
    }
    flags {
        /// Records in a batch, sampled afresh without replacement.
        batch: usize,
        /// The bound on each record's gradient.
        max_grad_norm: f64,
    }
    optional {
        /// Score, and keep, a moving average of the weights with this decay.
        ema: f64,
    }
}

impl session::Settings for Settings {
    type Flags = Flags;

    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        arguments.over(PRESET)
    }

    fn check(&self) -> Result<(), Failure> {
        positive("epsilon", self.epsilon.unwrap_or(1.0))?;
        positive("learning-rate", self.learning_rate)?;
        positive("max-grad-norm", self.max_grad_norm)?;
        within("delta", self.delta, 0.0, 1.0, Ends::NEITHER)?;
        within("ema", self.ema.unwrap_or(0.0), 0.0, 1.0, Ends::FIRST)?;
        bounded("steps", self.steps, self.steps > 0, "at least 1")?;
        let (batch, most) = (self.batch, self.records);
        let bound = format!("between 1 and {most}, the records");
        bounded("batch", batch, (1..=most).contains(&batch), &bound)
    }

    fn name(&self) -> String {
        budget_name(self.epsilon)
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.insecure_noise_seed
    }
}

/// What is trained: any burn module that says what it computes, and of which layers.
#[derive(Module, Debug)]
struct Model {
    linear: Linear,
}

impl Network<2> for Model {
    fn forward(&self, rows: Tensor<2>) -> Forward {
        Forward::of(self.linear.forward(rows))
    }

    fn layers(&self) -> Result<Option<Layers<'_>>, DpError> {
        let [inputs, _] = self.linear.weight.dims();
        Layers::chain(Chain::features(inputs).linear(&self.linear))
    }
}

/// The experiment: its records, and its training.
pub(crate) struct Regression {
    settings: Settings,
    private: GroupedTable,
    public: GroupedTable,
    training: Training<Model>,
}

/// Features and labels of some records as tensors.
fn rows(table: &GroupedTable, indices: &[usize], device: &Device) -> Option<[Tensor<2>; 2]> {
    let labels = table.gather_classes(indices)?;
    let labels = labels.into_iter().map(|label| label as f32).collect();
    let tensor =
        |values, width| Tensor::from_data(TensorData::new(values, [indices.len(), width]), device);
    Some([
        tensor(table.gather(indices)?, table.width()),
        tensor(labels, 1),
    ])
}

impl Regression {
    /// The share of public records whose label is found.
    fn accuracy(&self) -> Result<f64, Failure> {
        let model = self.training.averaged().map_err(Failure::failed)?;
        let all: Vec<usize> = (0..self.public.len()).collect();
        let [inputs, labels] = rows(&self.public, &all, &self.training.device())
            .ok_or_else(|| Failure::failed("a record without a label"))?;
        let found = model.linear.forward(inputs).greater_elem(0.0);
        let right = found.equal(labels.greater_elem(0.5)).float().mean();
        Ok(right.into_scalar::<f32>().into())
    }
}

impl Experiment for Regression {
    const NAME: &'static str = "own_experiment";
    const ABOUT: &'static str = "A private logistic regression.";
    type Settings = Settings;

    fn load(settings: &Settings, _: &Arguments<Flags>, chosen: &Chosen) -> Result<Self, Failure> {
        let config = BiasedConfig {
            records: settings.records,
            ..BiasedConfig::default()
        };
        let table = |stream| {
            let mut rng = ChaCha20Rng::seed_from_u64(0);
            rng.set_stream(stream);
            let sampled = biased::simulate(&config, &mut rng);
            sampled.and_then(|sampled| sampled.classification())
        };
        let refuse = |e: data::DataError| Failure::input(e.to_string(), "give more --records");
        let (private, public) = (table(0).map_err(refuse)?, table(1).map_err(refuse)?);

        // The sampler that draws is the one that is accounted: it is in the plan.
        let sampler = FixedSizeSampler::new(settings.records, settings.batch);
        let sampler = sampler.map_err(Failure::failed)?;
        let plan = settings.epsilon.map(|epsilon| {
            let (delta, steps) = (settings.delta, settings.steps);
            TrainingPlan::within(epsilon, delta, steps, sampler).check()
        });
        let plan = plan.transpose().map_err(refused_plan)?;

        let loss = Loss::binary_cross_entropy_with_logits().max_grad_norm(settings.max_grad_norm);
        let config = TrainingConfig::new(Objective::of([loss]))
            .optimizer(Optimizer::sgd())
            .learning_rate(settings.learning_rate)
            .average(settings.ema);
        // One layer from zero needs no seed.
        let mut model = Model {
            linear: LinearConfig::new(private.width(), 1).init(&chosen.device),
        };
        model.linear.weight = model.linear.weight.map(|weight| weight.zeros_like());
        model.linear.bias = model.linear.bias.map(|bias| bias.map(|b| b.zeros_like()));
        let known = settings.insecure_noise_seed;
        let batches = batches_of(settings.seed);
        Ok(Self {
            settings: settings.clone(),
            private,
            public,
            training: start(config, model, sampler, plan, known, batches, chosen)?,
        })
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: "synthetic records".into(),
            private: self.private.len(),
            test: self.public.len(),
            // Files of somebody's records are named here, so that no other run takes them for public.
            used: Vec::new(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.training.plan()
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        announcement(&mut self.training, self.settings.steps, &[])
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        // All that the gradient sees of a record: noise is never used again for other values.
        let all: Vec<usize> = (0..self.private.len()).collect();
        let classes = self.private.gather_classes(&all);
        let classes = classes.ok_or_else(|| Failure::failed("a record without a label"))?;
        let features = self.private.features().iter();
        let mut bytes: Vec<u8> = features.flat_map(|x| x.to_le_bytes()).collect();
        bytes.extend(classes.iter().flat_map(|class| class.to_le_bytes()));
        Ok(Fingerprint::of(&bytes))
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        Some(&mut self.training)
    }

    fn steps(&self) -> u64 {
        self.settings.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let (table, device) = (&self.private, &session.chosen.device);
        let batch = |_: &Model, sampled: &[Vec<usize>]| {
            let indices = sampled.concat();
            let [inputs, labels] = rows(table, &indices, device)
                .ok_or_else(|| Failure::failed("a sampled index lies outside the data"))?;
            Batch::new(inputs, labels, &[indices.len()]).map_err(Failure::failed)
        };
        take_step(&mut self.training, &mut session.ledger, batch).map(drop)
    }

    fn evaluate(&mut self, _: &Session) -> Result<Evaluation, Failure> {
        let accuracy = self.accuracy()?;
        Ok(Evaluation {
            scores: json!({"accuracy": accuracy}),
            message: format!("accuracy {accuracy:.3}"),
            accounted: true,
        })
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        save_weights(&self.training, &session.folder)?;
        let accuracy = Metric::new("Accuracy on public records", self.accuracy()?);
        Ok(Report {
            metrics: vec![accuracy.better(Better::Higher)],
            ..Report::default()
        })
    }
}
