//! The training run: load, plan, loop { sample, gradient, release, update }, evaluate, report.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use burn::module::Module;
use burn::optim::{AdamConfig, ModuleOptimizer};
use data::{Dataset, DatasetKind, FixedSizeSampler, GroupSampler, LoadOptions, split_batch};
use dp_core::accounting::{
    Event, GaussianAccountant, GroupSize, Neighbours, Sampler, noise_multiplier_for,
};
use dp_core::ledger::Ledger;
use dp_core::mechanism::{GaussianMechanism, NoiseSource, Sensitivity};
use dp_core::plan::{CheckedPlan, Noise, TrainingPlan};
use lab::backend::Chosen;
use lab::diagnostic::Failure;
use lab::progress::Progress;
use lab::run_folder::RunFolder;
use model::ema::Ema;
use model::swae::{
    Batch, ClassLatents, Engine, ExactCells, Matching, Swae, SwaeConfig, bounded_gradient,
    class_moments, moment_sensitivity, plain_gradient,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use super::evaluate::Evaluator;
use super::report::{self, Outcome};
use super::{Arguments, Settings};

/// The share of epsilon and of delta that the class moments may take.
const MOMENTS_SHARE: f64 = 0.1;
/// Interim evaluations on public test records during a run.
const EVALUATIONS: u64 = 10;
/// How often the progress bar asks the accountant what has been spent.
const ACCOUNTED_POINTS: u64 = 25;

/// Runs one training from its command line.
///
/// # Errors
///
/// [`Failure::BadInput`] before anything is created; [`Failure::Failed`] afterwards.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let settings = Settings::resolve(&arguments)?;
    let chosen = arguments.backend.choose()?;
    let data = load(&settings, &arguments)?;
    let batches = Batches::new(&settings, &data)?;
    let plan = plan(&settings, &batches)?;
    let out = arguments.out.clone().unwrap_or_else(|| {
        let privacy = settings
            .epsilon
            .map_or("no-privacy".to_string(), |e| format!("eps{e}"));
        let name = format!("{}-{privacy}", settings.dataset);
        RunFolder::unused(&Path::new("runs/swae").join(name))
    });
    let mut run = Run::new(settings, chosen, data, batches, plan)?;
    run.announce()?;
    let folder = RunFolder::create(&out)?;
    let text = toml::to_string_pretty(&run.settings).map_err(Failure::run)?;
    folder.write("config.toml", text.as_bytes())?;
    let mut ledger = Ledger::create(&folder.file("ledger.jsonl")).map_err(Failure::run)?;
    run.train(&folder, &mut ledger)?;
    let classes = run.release_moments(&mut ledger)?;
    let outcome = run.outcome(&ledger, classes)?;
    report::write(&folder, &outcome)?;
    Ok(())
}

fn load(settings: &Settings, arguments: &Arguments) -> Result<Dataset, Failure> {
    let kind = settings.kind()?;
    let options = LoadOptions {
        data_dir: arguments.data_dir.clone(),
        seed: settings.seed,
        train: settings.records,
        // Glyphs are drawn, not read: as many as the evaluation looks at.
        test: (kind == DatasetKind::Glyphs).then_some(2000),
        mirrors: None,
        progress: Some(Arc::new(|progress: &data::Progress| {
            if let data::Progress::MirrorFailed { url, reason } = progress {
                eprintln!("{url}: {reason}");
            }
        })),
    };
    Dataset::load(kind, &options).map_err(|e| {
        Failure::input(
            e.to_string(),
            "check --data-dir, or use --dataset glyphs, which needs no file",
        )
    })
}

/// Where the records of a step come from, and the sampler that the accountant is told of.
struct Batches {
    groups: GroupSampler,
    conditional: bool,
    sizes: Vec<usize>,
    class_sizes: Vec<usize>,
    sampler: Sampler,
}

impl Batches {
    fn new(settings: &Settings, data: &Dataset) -> Result<Self, Failure> {
        let records = data.train.len();
        let bad = |e: data::DataError| {
            Failure::input(
                format!("--batch {}: {e}", settings.batch),
                format!("choose --batch between 1 and {records}"),
            )
        };
        // One check for both forms, so that the message speaks of the whole data.
        FixedSizeSampler::new(records, settings.batch).map_err(bad)?;
        let class_sizes = data.train.class_sizes();
        let (groups, sizes) = if settings.conditional {
            let mut groups = data.train.indices_by_class();
            let mut sizes = split_batch(settings.batch, &class_sizes).map_err(bad)?;
            if let Some(class) = (0..sizes.len()).find(|&c| sizes[c] == 0 && class_sizes[c] > 0) {
                return Err(Failure::input(
                    format!(
                        "--batch {}: class {class} with {} of {records} records gets no place in it",
                        settings.batch, class_sizes[class]
                    ),
                    "choose a larger --batch, or --unconditional",
                ));
            }
            groups.retain(|g| !g.is_empty());
            let present: Vec<usize> = sizes.iter().copied().filter(|&s| s > 0).collect();
            let sampler = GroupSampler::new(groups, &present).map_err(bad)?;
            sizes.truncate(class_sizes.len());
            (sampler, sizes)
        } else {
            let all = (0..records).collect();
            let sampler = GroupSampler::new(vec![all], &[settings.batch]).map_err(bad)?;
            (sampler, vec![settings.batch])
        };
        let sampler = if settings.conditional {
            Sampler::KEndGroups {
                groups: groups
                    .groups()
                    .iter()
                    .zip(groups.batches())
                    .map(|(group, batch)| GroupSize {
                        records: group.len() as u64,
                        batch: batch as u64,
                    })
                    .collect(),
            }
        } else {
            Sampler::WithoutReplacement {
                records: records as u64,
                batch: settings.batch as u64,
            }
        };
        Ok(Self {
            groups,
            conditional: settings.conditional,
            sizes,
            class_sizes,
            sampler,
        })
    }

    fn draw(&self, data: &Dataset, rng: &mut ChaCha20Rng) -> Result<Batch, Failure> {
        let indices: Vec<usize> = self.groups.sample(rng).into_iter().flatten().collect();
        let features = data.train.image_size();
        let pixels = data
            .train
            .gather(&indices)
            .ok_or_else(|| Failure::run("a sampled index lies outside the data"))?;
        if self.conditional {
            Batch::by_class(pixels, features, &self.sizes)
        } else {
            Batch::single(pixels, features)
        }
        .map_err(Failure::run)
    }

    /// The sizes of the groups that are matched, without empty ones.
    fn matched(&self) -> Vec<usize> {
        self.groups.batches()
    }
}

fn plan(settings: &Settings, batches: &Batches) -> Result<Option<CheckedPlan>, Failure> {
    let Some(epsilon) = settings.epsilon else {
        return Ok(None);
    };
    let refuse = |e: &dyn std::fmt::Display| {
        Failure::input(
            format!("the privacy plan is refused: {e}"),
            "change --epsilon, --delta, --batch or --steps, or say --no-privacy",
        )
    };
    let besides = if settings.conditional {
        let z = noise_multiplier_for(
            &GaussianAccountant,
            MOMENTS_SHARE * epsilon,
            MOMENTS_SHARE * settings.delta,
            |z| Event::Gaussian {
                noise_multiplier: z,
            },
        )
        .map_err(|e| refuse(&e))?;
        vec![Event::Gaussian {
            noise_multiplier: z,
        }]
    } else {
        Vec::new()
    };
    TrainingPlan {
        sampler: batches.sampler.clone(),
        steps: settings.steps,
        delta: settings.delta,
        noise: Noise::TargetEpsilon(epsilon),
        besides,
    }
    .check()
    .map(Some)
    .map_err(|e| refuse(&e))
}

/// A run between its start and its report.
struct Run {
    settings: Settings,
    chosen: Chosen,
    data: Arc<Dataset>,
    batches: Batches,
    plan: Option<CheckedPlan>,
    model: Swae,
    ema: Option<Ema>,
    engine: Engine,
    public: ChaCha20Rng,
    exact: ExactCells,
    mechanism: Option<GaussianMechanism>,
    seconds: f64,
}

impl Run {
    fn new(
        settings: Settings,
        chosen: Chosen,
        data: Dataset,
        batches: Batches,
        plan: Option<CheckedPlan>,
    ) -> Result<Self, Failure> {
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        let config = SwaeConfig {
            latent: settings.latent,
            classes: if settings.conditional {
                data.train.classes()
            } else {
                0
            },
        };
        // burn's optimizers want parameters that autodiff tracks; the private step reads the plain
        // ones behind them.
        let model = config.init(&mut public, &chosen.device.clone().autodiff());
        let ema = settings
            .ema
            .map(Ema::new)
            .transpose()
            .map_err(Failure::run)?;
        let mechanism = plan
            .as_ref()
            .map(|plan| {
                GaussianMechanism::new(
                    plan.noise_multiplier(),
                    plan.step_event().clone(),
                    plan.neighbours(),
                    noise(&settings)?,
                )
                .map_err(Failure::run)
            })
            .transpose()?;
        Ok(Self {
            engine: Engine::for_device(&chosen.device),
            exact: ExactCells::default(),
            settings,
            chosen,
            data: Arc::new(data),
            batches,
            plan,
            model,
            ema,
            public,
            mechanism,
            seconds: 0.0,
        })
    }

    fn matching(&mut self) -> Result<Matching, Failure> {
        let slices = self
            .settings
            .frame
            .draw(self.settings.latent, self.settings.slices, &mut self.public)
            .map_err(Failure::run)?;
        Matching::draw(
            self.settings.prior,
            &self.batches.matched(),
            slices,
            &mut self.exact,
            &mut self.public,
        )
        .map_err(Failure::run)
    }

    /// Says what will be done and what it promises, before anything is done.
    fn announce(&mut self) -> Result<(), Failure> {
        println!(
            "data      {}: {} private records, {} test records (public)",
            self.data.name,
            self.data.train.len(),
            self.data.test.len()
        );
        println!("device    {}", self.chosen.description);
        println!(
            "steps     {} on batches of {}",
            self.settings.steps, self.settings.batch
        );
        let Some(plan) = &self.plan else {
            println!("privacy   NONE: --no-privacy trains without clipping and without noise");
            return Ok(());
        };
        println!(
            "privacy   epsilon {:.4} at delta {:e}; neighbours: {}; accountant: {}",
            plan.epsilon_upper(),
            plan.delta(),
            neighbours(plan.neighbours()),
            plan.accountant()
        );
        if self.settings.insecure_noise_seed.is_some() {
            println!(
                "WARNING   --insecure-noise-seed: the noise is known, this run is NOT private"
            );
        }
        println!("noise     multiplier {:.3}", plan.noise_multiplier());
        // A draw of its own, so that the public stream of the run does not depend on a message.
        let public = self.public.clone();
        let matching = self.matching()?;
        self.public = public;
        let objective = self.settings.objective()?;
        let n = self.settings.batch as f64;
        let ours = objective
            .sensitivity(&matching)
            .map_err(Failure::run)?
            .l2_upper()
            * n;
        let paper = objective.paper_sensitivity(self.settings.batch) * n;
        println!(
            "step      batch times sensitivity {ours:.3} (the paper's bound: {paper:.3}, ratio {:.3})",
            ours / paper
        );
        Ok(())
    }

    fn train(&mut self, folder: &RunFolder, ledger: &mut Ledger) -> Result<(), Failure> {
        let objective = self.settings.objective()?;
        let device = self.chosen.device.clone();
        let mut optimizer: ModuleOptimizer = AdamConfig::new().init();
        let evaluator = Evaluator::new(self.data.clone(), self.settings.latent, &device)?;
        let progress = Progress::new(self.settings.steps);
        let steps = self.settings.steps;
        let start = Instant::now();
        let mut plain = ChaCha20Rng::seed_from_u64(self.settings.seed);
        plain.set_stream(1);
        for step in 1..=steps {
            let matching = self.matching()?;
            let rng = match &mut self.mechanism {
                Some(mechanism) => mechanism.noise().rng(),
                None => &mut plain,
            };
            let batch = self.batches.draw(&self.data, rng)?;
            let model = self.model.valid();
            let (released, losses) = match &mut self.mechanism {
                Some(mechanism) => {
                    let (bounded, _) = bounded_gradient(
                        &model,
                        &batch,
                        &matching,
                        &objective,
                        self.engine,
                        &device,
                    )
                    .map_err(Failure::run)?;
                    let released = mechanism.release(bounded, ledger).map_err(Failure::run)?;
                    (released.into_params(), None)
                }
                None => {
                    let (gradient, losses) =
                        plain_gradient(&model, &batch, &matching, &objective, self.engine, &device)
                            .map_err(Failure::run)?;
                    (gradient.into_params_without_privacy(), Some(losses))
                }
            };
            self.model = optimizer.step(self.settings.learning_rate, self.model.clone(), released);
            if let Some(ema) = &mut self.ema {
                ema.update(&self.model);
            }
            progress.step();
            if step % (steps / ACCOUNTED_POINTS).max(1) == 0 || step == steps {
                let message = match &self.plan {
                    Some(plan) => format!(
                        "epsilon {:.3}",
                        plan.epsilon_after(step).map_err(Failure::run)?
                    ),
                    None => "not private".to_string(),
                };
                progress.message(message);
            }
            if step % (steps / EVALUATIONS).max(1) == 0 || step == steps {
                let scores = evaluator.scores(&self.evaluated()?, step == steps)?;
                progress.line(&format!(
                    "step {step:>6}: test reconstruction {:.2} nats, sliced distance to prior {:.4}",
                    scores.reconstruction, scores.sliced
                ));
                folder.append_json(
                    "metrics.jsonl",
                    &json!({
                        "step": step,
                        "test_reconstruction_bce": scores.reconstruction,
                        "test_sliced_w2_squared": scores.sliced,
                        "training_loss_not_private": losses.map(|l| {
                            json!({"reconstruction": l.reconstruction, "sliced": l.sliced})
                        }),
                    }),
                )?;
            }
        }
        self.seconds = start.elapsed().as_secs_f64();
        progress.finish();
        report::save_weights(folder, &self.evaluated()?)?;
        Ok(())
    }

    /// The weights that are evaluated and kept.
    fn evaluated(&self) -> Result<Swae, Failure> {
        match &self.ema {
            Some(ema) => ema.apply(self.model.valid()).map_err(Failure::run),
            None => Ok(self.model.valid()),
        }
    }

    /// Releases the latent moments of each class, once, over all private records.
    fn release_moments(&mut self, ledger: &mut Ledger) -> Result<Option<ClassLatents>, Failure> {
        if !self.settings.conditional {
            return Ok(None);
        }
        let model = self.evaluated()?;
        let radius = self.settings.clip_activation;
        let mut sums = Vec::new();
        for class in self.data.train.indices_by_class() {
            let mut latents = Vec::with_capacity(class.len() * self.settings.latent);
            for part in class.chunks(500) {
                let pixels = self.data.train.gather(part).unwrap_or_default();
                latents.extend(report::encode(&model, pixels, &self.chosen.device));
            }
            sums.extend(class_moments(&latents, self.settings.latent, radius));
        }
        let released = match (self.mechanism.take(), &self.plan) {
            (Some(steps), Some(plan)) => {
                let [event @ Event::Gaussian { noise_multiplier }] = plan.besides() else {
                    return Err(Failure::run("the plan holds no release of class moments"));
                };
                let sensitivity =
                    Sensitivity::l2(moment_sensitivity(radius)).map_err(Failure::run)?;
                steps
                    .next_phase(*noise_multiplier, event.clone())
                    .and_then(|mut moments| moments.release_vector(&sums, sensitivity, ledger))
                    .map_err(Failure::run)?
            }
            _ => sums,
        };
        ClassLatents::from_released(
            &released,
            &self.batches.class_sizes,
            self.settings.latent,
            radius,
        )
        .map(Some)
        .map_err(Failure::run)
    }

    fn outcome(
        &mut self,
        ledger: &Ledger,
        classes: Option<ClassLatents>,
    ) -> Result<Outcome, Failure> {
        let model = self.evaluated()?;
        let evaluator =
            Evaluator::new(self.data.clone(), self.settings.latent, &self.chosen.device)?;
        let scores = evaluator.scores(&model, true)?;
        let mut generator = ChaCha20Rng::seed_from_u64(self.settings.seed);
        generator.set_stream(2);
        let pictures = evaluator.pictures(&model, classes.as_ref(), &mut generator)?;
        Ok(Outcome {
            settings: self.settings.clone(),
            device: self.chosen.description.clone(),
            records: self.data.train.len(),
            plan: self.plan.clone(),
            releases: ledger.entries(),
            seconds: self.seconds,
            scores,
            pictures,
        })
    }
}

fn noise(settings: &Settings) -> Result<NoiseSource, Failure> {
    match settings.insecure_noise_seed {
        Some(seed) => Ok(NoiseSource::insecure(seed)),
        None => NoiseSource::secret().map_err(Failure::run),
    }
}

/// A neighbour relation in words.
pub(super) fn neighbours(relation: Neighbours) -> &'static str {
    match relation {
        Neighbours::ReplaceOne => "replace one record",
        Neighbours::KEnd => "replace one record by one of its class, class sizes public",
        Neighbours::AddRemove => "add or remove one record",
    }
}
