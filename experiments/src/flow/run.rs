//! A flow from data to report: load, encode, promise, generate, judge, report.

use std::path::{Path, PathBuf};
use std::time::Instant;

use dp_core::mechanism::NoiseSource;
use dp_core::plan::CheckedPlan;
use lab::checkpoint::{Checkpoints, Identity};
use lab::diagnostic::Failure;
use lab::interrupt::Interrupt;
use lab::report::upper;
use lab::resume::{begin, create, ledger, resumable};
use lab::run_folder::RunFolder;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::uses::{noted, untaken};

use super::evaluate::Judge;
use super::groups::Groups;
use super::mechanisms::{Flow, check};
use super::plan::{plan, sampler};
use super::release::WayOut;
use super::sides::Sides;
use super::{Arguments, Settings, report, space};

const COMMAND: &str = "cargo run --release --locked --bin flow --";

/// Runs a flow in a latent space.
///
/// # Errors
///
/// As [`super::run`].
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let begun = begin(
        arguments.resume.as_deref(),
        arguments.run.as_deref(),
        Settings::read,
        || Settings::resolve(arguments),
    )?;
    let Some((settings, folder)) = begun else {
        return Ok(());
    };
    let chosen = arguments.backend.choose()?;
    let place = place(arguments, &settings);
    if folder.is_none() {
        untaken(&place)?;
    }
    let cache = crate::scores::cache(arguments.score.cache_dir.as_deref())?;
    let sides = Sides::load(&settings, arguments, &cache)?;
    let sizes = group_sizes(&settings, &sides);
    let sampler = sampler(&settings, &sizes)?;
    let plan = plan(&settings, sampler.clone())?;
    let elsewhere = noted(Some(&cache), &sides.used, plan.is_some())?;
    announce(&settings, &sides, &chosen.description, plan.as_ref());
    let text = toml::to_string_pretty(&settings).map_err(Failure::run)?;
    let records = sides.private.fingerprint()?;
    let identity = Identity::of("flow", &text, records, chosen.backend)?;
    let public_records = sides.public.fingerprint()?;
    let interrupt = Interrupt::listen()?;
    let (folder, ledger) = match folder {
        Some(folder) => {
            check(&folder)?;
            let ledger = ledger(&folder, plan.is_some(), [])?;
            (folder, ledger)
        }
        None => create(&place, &settings, COMMAND)?,
    };
    let start = Instant::now();
    let space = space::autoencoder(
        &settings,
        &sides,
        &public_records,
        &cache,
        &chosen.device,
        &interrupt,
    )
    .map_err(|failure| resumable(failure, &folder))?;
    let public_seconds = start.elapsed().as_secs_f64();
    let latents = space
        .encode_records(&sides.private, &chosen.device, &interrupt)
        .map_err(|failure| resumable(failure, &folder))?;
    let groups = Groups::new(
        &latents,
        &sides.private,
        settings.latent,
        settings.conditional,
    );
    let noise = match settings.insecure_noise_seed {
        Some(seed) => NoiseSource::insecure(seed),
        None => NoiseSource::secret().map_err(Failure::run)?,
    };
    let out = WayOut::new(plan, noise, ledger);
    let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
    public.set_stream(6);
    let identity = identity.encoded(&space.weights(), &groups.latents);
    let start = Instant::now();
    let flow = Flow {
        settings: &settings,
        sampler: &sampler,
        groups: &groups,
        particles: groups.share(settings.particles.unwrap_or(sides.private.len())),
        out,
        public,
        folder: &folder,
        identity: &identity,
        interrupt: &interrupt,
        checkpoint_every: arguments.checkpoint_every,
        chosen: &chosen,
    };
    let public_latents = || space.encode_records(&sides.public, &chosen.device, &interrupt);
    let (generated, out) = flow
        .generate(public_latents, &sides.public.labels())
        .map_err(|failure| resumable(failure, &folder))?;
    let seconds = start.elapsed().as_secs_f64();
    let judge = Judge {
        space: &space,
        test: &sides.test,
        private: &sides.private,
        device: &chosen.device,
        score: &arguments.score,
        interrupt: &interrupt,
    };
    let outcome = judge
        .look(&generated)
        .map_err(|failure| resumable(failure, &folder))?;
    report::write(&report::Told {
        folder: &folder,
        settings: &settings,
        sides: &sides,
        device: &chosen.description,
        plan: out.plan(),
        ledger: out.ledger(),
        generated: &generated,
        outcome: &outcome,
        elsewhere: &elsewhere,
        warnings: crate::scores::warnings(&arguments.score),
        seconds,
        public_seconds,
    })?;
    Checkpoints::of(folder.path()).remove()
}

fn place(arguments: &Arguments, settings: &Settings) -> PathBuf {
    arguments
        .run
        .clone()
        .or_else(|| arguments.out.clone())
        .unwrap_or_else(|| {
            let privacy = match (settings.epsilon, settings.noise_multiplier) {
                (Some(epsilon), _) => format!("eps{epsilon}"),
                (None, Some(z)) => format!("z{z}"),
                (None, None) => "no-privacy".to_string(),
            };
            let name = format!(
                "{}-{}-{privacy}",
                settings.dataset,
                settings.mechanism.name()
            );
            RunFolder::unused(&Path::new("runs/flow").join(name))
        })
}

fn group_sizes(settings: &Settings, sides: &Sides) -> Vec<usize> {
    if !settings.conditional {
        return vec![sides.private.len()];
    }
    let mut sizes = vec![0; sides.classes];
    for label in sides.private.labels() {
        sizes[label] += 1;
    }
    sizes.retain(|&size| size > 0);
    sizes
}

fn announce(settings: &Settings, sides: &Sides, device: &str, plan: Option<&CheckedPlan>) {
    println!(
        "data      {}: {} private records, {} test records (public)",
        settings.dataset,
        sides.private.len(),
        sides.test.len()
    );
    println!(
        "public    {} records of {}",
        sides.public.len(),
        sides.public_name
    );
    println!("device    {device}; flows run on the host");
    println!("mechanism {}", settings.mechanism.name());
    let releases = plan.map_or(0, CheckedPlan::releases_in_all);
    match plan {
        Some(plan) => println!(
            "privacy   {}epsilon {} at {}; neighbours: {}; {} releases, noise multiplier {}; \
             accountant: {}",
            report::not_private(settings, plan, releases, sides.private.len()).unwrap_or_default(),
            upper(plan.epsilon_upper()),
            report::delta(plan, releases),
            report::neighbours(plan.neighbours()),
            releases,
            plan.noise_multiplier(),
            plan.accountant()
        ),
        None => println!("privacy   {}", report::no_privacy(settings)),
    }
    if let Some(told) = plan.and_then(|p| report::loose(p, releases, sides.private.len())) {
        println!("note      {told}");
    }
}
