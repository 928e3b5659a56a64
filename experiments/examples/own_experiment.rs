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

use burn::module::{Initializer, Module};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::Tensor;
use data::{BiasedConfig, biased};
use dp_core::DpError;
use dp_core::per_sample::nn::Chain;
use dp_core::sampling::{CyclicSampler, FixedSizeSampler};
use lab::backend::Chosen;
use lab::diagnostic::Failure;
use lab::report::Better;
use lab::session::{self, Arguments, Predictions, Scores, Session, Start, Tables, TrainingRun};
use private_training::{Forward, Layers, Loss, Network, Objective, Optimizer};
use private_training::{Training, TrainingConfig};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

fn main() -> std::process::ExitCode {
    session::main::<Regression>()
}

// Settings and flags, from the values of a run that gives none; `lab::settings!` makes others.
lab::training_settings! {
    "records = 2000
     epsilon = 3.0
     delta = 1e-5
     steps = 100
     learning-rate = 0.5
     batch = 200
     max-grad-norm = 1.0"
}

/// What is trained: any burn module that says what it computes, and of which layers.
#[derive(Module, Debug)]
pub(crate) struct Model {
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

/// The experiment: its records, private and public, and its training.
pub(crate) struct Regression {
    settings: Settings,
    tables: Tables,
    training: Training<Model>,
}

impl TrainingRun for Regression {
    const NAME: &'static str = "own_experiment";
    const ABOUT: &'static str = "A private logistic regression.";
    type Settings = Settings;
    type Model = Model;
    type Records = Tables;

    fn load(settings: &Settings, _: &Arguments<Flags>, chosen: &Chosen) -> Result<Self, Failure> {
        let config = BiasedConfig {
            records: settings.records,
            ..BiasedConfig::default()
        };
        let table = |seed| {
            let sampled = biased::simulate(&config, &mut ChaCha20Rng::seed_from_u64(seed));
            let table = sampled.and_then(|sampled| sampled.classification());
            table.map_err(|e| Failure::input(e.to_string(), "give more --records"))
        };
        let tables = Tables {
            name: "synthetic records".into(),
            private: table(0)?,
            public: table(1)?,
            used: Vec::new(),
        };
        let loss = Loss::binary_cross_entropy_with_logits().max_grad_norm(settings.max_grad_norm);
        let config = TrainingConfig::new(Objective::of([loss]))
            .optimizer(Optimizer::sgd())
            .learning_rate(settings.learning_rate)
            .average(settings.ema);
        let linear =
            LinearConfig::new(tables.private.width(), 1).with_initializer(Initializer::Zeros);
        let linear = linear.init(&chosen.device);
        // The sampler that draws is the one that is accounted: it is in the plan.
        let (records, batch) = (settings.records, settings.batch);
        let (basics, model) = (lab::basics!(settings), Model { linear });
        let refused = |e: DpError| Failure::input(e.to_string(), "give another --batch");
        let start = match settings.bandwidth {
            None => {
                let sampler = FixedSizeSampler::new(records, batch).map_err(refused)?;
                Start::new(&basics, config, model, sampler)
            }
            Some(bandwidth) => {
                let sampler = CyclicSampler::new(records, batch).map_err(refused)?;
                Start::new(&basics, config, model, sampler).correlated(bandwidth)
            }
        };
        Ok(Self {
            settings: settings.clone(),
            tables,
            training: start.training(chosen)?,
        })
    }

    lab::parts!(settings, tables, training);

    fn scores(&mut self, session: &Session) -> Result<Scores, Failure> {
        let public = &self.tables.public;
        let found = Predictions::of(&self.scored()?, public, &session.chosen.device);
        let (name, found) = ("Accuracy on public records", found.accuracy(0.0, public)?);
        Ok(Scores::default().with("accuracy", name, found, Better::Higher))
    }
}
