//! No error and no type shows what is private, by `Display` or by `Debug`, which is how `main` prints an error that it
//! returns.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Debug;
use std::path::Path;

use burn::module::{Module, ParamId};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};
use data::idx::IdxImages;
use data::table::Labels;
use data::{Biased, DataError, GroupedTable, NpyArray, PlanePoints, Records, Skipped, Units};
use dp_core::DpError;
use dp_core::ledger::Ledger;
use dp_core::local::LocalMechanism;
use dp_core::mechanism::{
    BoundedGradient, NameCounts, NoiseSource, NoisyVector, ParameterGradient, Releaser,
    SensitiveVector, Sensitivity,
};
use dp_core::per_sample::nn::Chain;
use dp_core::per_sample::{LayerError, ParameterSlot, Reference};
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use lab::evaluate::EvaluateError;
use private_queries::QueryError;
use private_training::{
    Batch, Engine, HostTargets, Layers, Loss, Network, Objective, RankError, Targets, TrainingError,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::sinkhorn::{Cost, Sinkhorn};
use swd::{Particles, SwdError};
use test_support::networks::fixed_batches;

use crate::{root, upload};

/// What a record holds, its label, number, or how many there are; nothing else has these digits.
const VALUE: f32 = 7777.125;
const LABEL: usize = 211;
const NAME: &str = "planted";

fn hides(what: &str, text: &str) {
    for planted in ["7777", "211", NAME] {
        assert!(!text.contains(planted), "{what} shows {planted}: {text}");
    }
}

fn shown(what: &str, value: &impl Debug) {
    hides(what, &format!("{value:?}"));
    hides(what, &format!("{value:#?}"));
}

fn said<T>(what: &str, result: Result<T, impl Error + 'static>) {
    let Err(error) = result else {
        panic!("{what} is accepted");
    };
    let mut next: Option<&dyn Error> = Some(&error);
    while let Some(error) = next {
        hides(what, &error.to_string());
        shown(what, &error);
        next = error.source();
    }
}

/// A network of one layer.
#[derive(Module, Debug)]
struct Net {
    linear: Linear,
}

impl Network<2> for Net {
    fn layers(&self) -> Layers<'_, 2> {
        Layers::chain(Chain::features(2).linear(&self.linear))
    }
}

fn net() -> Net {
    let linear = LinearConfig::new(2, 3).init(&Device::flex());
    Net { linear }
}

fn labels(label: usize) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(vec![label as i64], [1]), &Device::flex())
}

fn batch(label: usize) -> Batch<2> {
    let device = Device::flex();
    Batch::new(upload(&[VALUE, VALUE], 2, &device), labels(label), &[1]).unwrap()
}

#[test]
fn no_type_shows_what_is_private() {
    let device = Device::flex();
    let (values, bytes) = (vec![VALUE; 4], vec![LABEL as u8; 4]);
    // Records.
    shown(
        "images",
        &Records::new(bytes.clone(), vec![LABEL as u8], 2, 2, 250).unwrap(),
    );
    let (count, height, width) = (1, 2, 2);
    let pixels = bytes.clone();
    shown(
        "idx",
        &IdxImages {
            count,
            height,
            width,
            pixels,
        },
    );
    let array = NpyArray {
        rows: 2,
        width: Some(2),
        values: values.clone(),
    };
    shown("npy", &array);
    let rows = Records::rows("rows", 2, values.clone()).unwrap();
    shown("rows", &rows);
    let skipped = Skipped {
        reason: "a reason",
        name: NAME.into(),
        count: LABEL,
    };
    shown("skipped", &skipped);
    shown("units", &Units::of_texts([NAME]));
    let points = PlanePoints {
        values: values.clone(),
        components: vec![LABEL],
    };
    shown("points", &points);
    let biased = Biased {
        widths: [1, 1],
        features: values.clone(),
        sensitive: bytes.clone(),
        labels: bytes,
        responses: values.clone(),
    };
    shown("biased", &biased);
    let names = vec!["a".to_string(), "b".into()];
    let classes = Labels::Classes {
        count: 250,
        values: vec![LABEL, LABEL],
    };
    shown("labels", &classes);
    let table = GroupedTable::new(names, values.clone(), classes, vec![0, 1]).unwrap();
    shown("table", &table);
    // What is computed of them.
    let wide: Vec<f64> = values.iter().copied().map(f64::from).collect();
    shown("vector", &SensitiveVector::l2(wide.clone(), 1.0));
    shown(
        "noisy",
        &NoisyVector {
            values: wide.clone(),
            deviation: 0.0,
        },
    );
    let towns = BTreeMap::from([(NAME.to_string(), LABEL as u64)]);
    shown("names", &NameCounts::new(vec![towns], 1));
    let mechanism = LocalMechanism::laplace(1.0, 1e4).unwrap();
    shown("record", &mechanism.before_noise(&values).unwrap());
    let net = net();
    let reference = Reference::new(&net).unwrap();
    let input = upload(&values[..2], 2, &device);
    shown(
        "jacobian",
        &reference.jacobian(input, |net, x| net.linear.forward(x)),
    );
    shown(
        "sampler",
        &Sampler::poisson_add_remove(LABEL, 0.5, 100.0).unwrap(),
    );
    shown("batch", &batch(LABEL));
    shown("targets", &Targets::from(labels(LABEL)));
    shown("values", &HostTargets::Values(&values));
    shown("classes", &HostTargets::Classes(&[LABEL]));
    shown("forward", &net.forward(upload(&values, 2, &device)));
    let mut objective = Objective::new([Loss::squared_error()]);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let step = objective
        .draw(&[3], &fixed_batches(&[1]), &mut rng)
        .unwrap();
    let inputs = || upload(&values[..2], 2, &device);
    let batch = Batch::new(inputs(), upload(&[VALUE; 3], 3, &device), &[1]).unwrap();
    let (clipped, losses) = step
        .clipped_gradient(&net, &batch, Engine::Host { chunk: 8 }, &device)
        .unwrap();
    shown("clipped", &clipped);
    assert!(losses.losses[0] > 7777.0);
    shown("losses", &losses);
    let sinkhorn = Sinkhorn::new(Cost::SquaredEuclidean, 1e9).unwrap();
    shown("transport", &sinkhorn.solve(&values, &values, 2).unwrap());
    shown(
        "divergence",
        &sinkhorn.divergence(&values, &[1.0, 2.0], 2).unwrap(),
    );
    shown("particles", &Particles::new(&values, 2).unwrap());
}

fn releaser() -> Releaser {
    let sampler = Sampler::fixed_size(300, 250).unwrap();
    let plan = TrainingPlan::for_epsilon(1.0, 1e-6, 10, sampler)
        .check()
        .unwrap();
    plan.releaser(NoiseSource::insecure(1))
}

fn gradient(values: &[f32]) -> ParameterGradient {
    let slot = ParameterSlot {
        id: ParamId::new(),
        shape: vec![values.len()],
    };
    ParameterGradient::from_host(vec![slot], values, &Device::flex()).unwrap()
}

#[test]
fn no_error_says_what_is_private() {
    let bound = || Sensitivity::l2(1.0).unwrap();
    let mut releaser = releaser();
    let draw = releaser.draw().unwrap();
    assert!(draw.indices().contains(&LABEL));
    shown("draw", &draw);
    let other = BoundedGradient::new(gradient(&[VALUE]), bound(), &[LABEL], draw);
    said("a batch of another size", other);
    let draw = releaser.draw().unwrap();
    let mut values = vec![VALUE; 250];
    values[..LABEL].fill(f32::NAN);
    let bounded = BoundedGradient::new(gradient(&values), bound(), &[250], draw).unwrap();
    shown("bounded", &bounded);
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).unwrap();
    said(
        "a gradient that is not finite",
        releaser.release(bounded, &mut ledger),
    );
    let device = Device::flex();
    let mut objective = Objective::new([Loss::cross_entropy()]);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let step = objective
        .draw(&[3], &fixed_batches(&[1]), &mut rng)
        .unwrap();
    for engine in [
        Engine::Host { chunk: 8 },
        Engine::Tensor { chunk: 8 },
        Engine::Autodiff,
    ] {
        let found = step.clipped_gradient(&net(), &batch(LABEL), engine, &device);
        said("a label", found.map(drop));
    }
    let own = net();
    let misfit = Chain::features(3).linear(&own.linear).build();
    said("layers", misfit.map(drop));
    let rows = || upload(&[VALUE, VALUE], 2, &device);
    said("a batch", Batch::new(rows(), labels(0), &[LABEL]).map(drop));
    let scores = lab::evaluate::tabular::rank_auc(&[f64::NAN], &[true]);
    said("scores", scores);
}

/// All fields of all errors: a new one does not compile here until somebody has looked at it. None may hold what a
/// record holds, its label, how many were sampled, or what is computed of them.
#[test]
fn every_field_of_every_error_was_looked_at() {
    let _ = |error: &DpError| match error {
        DpError::OutOfRange {
            name: _,
            value: _,
            bound: _,
        }
        | DpError::Batch {
            what: _,
            batch: _,
            records: _,
            advice: _,
        }
        | DpError::Empty {
            what: _,
            expected: _,
        }
        | DpError::StratumCount {
            strata: _,
            found: _,
        }
        | DpError::SharedRecord {
            record: _,
            first: _,
            second: _,
        }
        | DpError::SampledSizes
        | DpError::ForeignDraw {
            sampled: _,
            here: _,
        }
        | DpError::StaleDraw {
            sampled: _,
            step: _,
            last: _,
        }
        | DpError::BeyondPlan { step: _, steps: _ }
        | DpError::NotPlanned {
            name: _,
            planned: _,
        }
        | DpError::OtherNoise {
            name: _,
            planned: _,
            asked: _,
        }
        | DpError::ReleasedTwice { name: _ }
        | DpError::SameName { name: _ }
        | DpError::NotFinite { total: _ }
        | DpError::BeyondGrid { bound: _ }
        | DpError::Shape {
            what: _,
            expected: _,
            found: _,
        }
        | DpError::Device { message: _ }
        | DpError::Ledger { path: _, source: _ }
        | DpError::LedgerUnread { path: _, source: _ }
        | DpError::LedgerFormat {
            path: _,
            line: _,
            reason: _,
        }
        // Of settings alone.
        | DpError::Accounting(_) => (),
    };
    let _ = |error: &LayerError| match error {
        LayerError::Misfit {
            number: _,
            layer: _,
            reason: _,
        }
        | LayerError::MixesRecords { path: _, module: _ }
        | LayerError::NoHostKernels { layer: _ }
        | LayerError::CoarseProducts { device: _ } => (),
    };
    let _ = |error: &TrainingError| match error {
        TrainingError::OutOfRange {
            name: _,
            value: _,
            bound: _,
        }
        | TrainingError::Shape {
            what: _,
            expected: _,
            found: _,
        }
        | TrainingError::OtherRecords { what: _ }
        | TrainingError::Label { classes: _ }
        | TrainingError::Targets {
            loss: _,
            expected: _,
        }
        | TrainingError::Unbounded { what: _ }
        | TrainingError::WithoutPlan
        | TrainingError::LostReleases {
            path: _,
            found: _,
            expected: _,
        }
        | TrainingError::OtherLedger {
            found: _,
            expected: _,
        }
        | TrainingError::Checkpoint { reason: _ }
        | TrainingError::Layers(_)
        | TrainingError::Randomness(_)
        | TrainingError::Device {
            chunk: _,
            message: _,
        }
        | TrainingError::Privacy(_)
        | TrainingError::Ranks(_)
        | TrainingError::Transport(_) => (),
    };
    let _ = |error: &RankError| match error {
        RankError::Failed {
            rank: _,
            message: _,
        }
        | RankError::Silent {
            ranks: _,
            seconds: _,
        }
        | RankError::Ended { ranks: _ }
        | RankError::Length { rank: _, what: _ }
        | RankError::Carrier(_) => (),
    };
    let _ = |error: &QueryError| match error {
        QueryError::Empty { what: _ }
        | QueryError::TooFew { what: _, least: _, found: _ }
        | QueryError::Length { what: _, found: _, expected: _ }
        // Of noisy values and public ones.
        | QueryError::NotFinite { what: _, index: _, value: _ }
        | QueryError::NotThere { what: _, count: _ }
        | QueryError::NoSum
        | QueryError::Ragged { what: _, dim: _ }
        | QueryError::OtherSlices { group: _ }
        | QueryError::Transport(_) => (),
    };
    let _ = |error: &SwdError| match error {
        SwdError::Empty { what: _ }
        | SwdError::TooFewSlices { count: _, dim: _ }
        | SwdError::TooManySlices { count: _, dim: _ }
        | SwdError::Length { what: _, found: _, expected: _ }
        | SwdError::TooLong { found: _, most: _ }
        | SwdError::NotANumber { row: _, index: _ }
        // An infinity or none at all. Private rows are put into a region first, where they are no error.
        | SwdError::NotFinite { what: _, row: _, index: _, value: _ }
        | SwdError::ZeroDirection { what: _, index: _ }
        | SwdError::NotAnOrder { value: _ }
        | SwdError::NotSorted { what: _, row: _, index: _ }
        | SwdError::Cost { what: _, value: _, bound: _ }
        | SwdError::UnknownCost { found: _ }
        | SwdError::NotABound { what: _, value: _ }
        | SwdError::NotPositive { what: _, value: _ }
        | SwdError::Radius { value: _, least: _, most: _ }
        | SwdError::NotAPowerOfTwo { what: _, found: _ }
        | SwdError::NotThere { what: _, index: _, count: _ }
        | SwdError::Device(_) => (),
    };
    let _ = |error: &DataError| match error {
        DataError::Io { path: _, action: _, source: _ }
        // `no_message_quotes_a_record` reads these.
        | DataError::File(_)
        | DataError::Record(_)
        | DataError::Request(_)
        | DataError::Split(_)
        | DataError::Fetch(_) => (),
    };
    let _ = |error: &EvaluateError| match error {
        EvaluateError::Shape {
            what: _,
            expected: _,
            found: _,
        }
        | EvaluateError::TooFew {
            what: _,
            least: _,
            found: _,
        }
        | EvaluateError::NotFinite { what: _ }
        | EvaluateError::Label {
            what: _,
            classes: _,
        }
        | EvaluateError::Setting {
            name: _,
            value: _,
            bound: _,
        }
        | EvaluateError::Interrupted
        | EvaluateError::File { path: _, reason: _ }
        | EvaluateError::Data(_)
        | EvaluateError::Device(_)
        | EvaluateError::Model(_)
        // A column and the number of its codes at most.
        | EvaluateError::Table(_)
        | EvaluateError::Transport(_) => (),
    };
}

/// Types with numbers or texts in them that may derive `Debug`: all of it is public, or was released.
const PUBLIC: [(&str, &[&str]); 11] = [
    (
        "crates/data",
        &[
            "PinnedFile",
            "Layout",
            "SearchPath",
            "Gaussians",
            "Classes",
            "Transform",
            "Header",
            "Wanted",
            "CodeColumn",
            "Column",
            "Pattern",
            "Levels",
            "Number",
            "Asked",
            "Drafting",
            "OpenSchema",
            "Rule",
            "Rules",
            "Ordered",
            "Schema",
            "Dct",
        ],
    ),
    // Lanes are single numbers.
    (
        "crates/dp-core",
        &[
            "Lanes8",
            "Wide8",
            "Sliding",
            "Border",
            "ParameterSlot",
            "Window",
        ],
    ),
    (
        "crates/swd",
        &["TargetQuantiles", "Signs", "Slices", "NoisyProjections"],
    ),
    // What public records taught, what was released, and sizes.
    (
        "crates/classifiers",
        &["Whitening", "Head", "Descent", "ClassWeights"],
    ),
    (
        "crates/queries",
        &[
            "Contingency",
            "NoisyCounts",
            "Directions",
            "Side",
            "Sides",
            "Embeddings",
            "Embedded",
            "Barycentre",
            "Bins",
            "PiecewiseUniform",
            "SlicedMarginals",
            "GroupMarginals",
            "LabelledMarginals",
            "MarginalQuery",
            "Component",
            "Gaussians",
            "Moments",
            "Projections",
        ],
    ),
    // What was released, and names of columns.
    (
        "crates/synth",
        &[
            "SynthError",
            "Bins",
            // Of samples of what was released.
            "Classifier",
            "Model",
            "Products",
            "Released",
            "Mixed",
            "CosineSpace",
            "RefinedCosines",
        ],
    ),
    (
        "crates/training",
        &[
            "Checkpoint",
            "RngState",
            "Average",
            "Objective",
            "BatchSizes",
            "StepObjective",
            "Pair",
            "Between",
            "Kind",
            "ExactCells",
            "Prior",
            "Matching",
            "TrainingState",
            "ToSample",
            "RankError",
        ],
    ),
    (
        "crates/model",
        &[
            "Dcgan",
            "Moments",
            "DcganAutoencoder",
            "SmallAutoencoder",
            "Mlp",
        ],
    ),
    ("crates/evaluating", &["Protocol", "Spread"]),
    (
        "crates/lab",
        &["Listed", "Report", "Running", "Scores", "Wording"],
    ),
    (
        "experiments",
        &[
            "Arguments",
            "CopyOf",
            "ExportRequest",
            "FairMap",
            "Form",
            "Source",
        ],
    ),
];

/// Types that derive `Debug` and hold numbers, texts or tensors.
fn deriving(source: &str) -> BTreeSet<String> {
    const HOLD: [&str; 12] = [
        "Vec<", "[f32", "[f64", "[u8", "[u16", "[usize", "[bool", "Tensor<", "Map<", "sha256",
        "DMatrix<", "DVector<",
    ];
    let source = source
        .split("\n#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    let lines: Vec<&str> = source.lines().collect();
    let mut found = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        if !(line.starts_with("#[derive(") && line.contains("Debug")) {
            continue;
        }
        let rest = lines[at + 1..].iter();
        let body: Vec<&str> = rest
            .skip_while(|line| line.starts_with(['#', '/']))
            .copied()
            .collect();
        let mut words = body[0].split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let name = words
            .find(|word| ["struct", "enum"].contains(word))
            .and(words.next());
        let end = match body[0].trim_end().ends_with([';', '}']) {
            true => 0,
            false => body.iter().position(|line| *line == "}").expect("an end"),
        };
        let code = body[..=end]
            .iter()
            .filter_map(|line| line.split("//").next());
        let code = code.collect::<Vec<_>>().concat();
        if HOLD.iter().any(|hold| code.contains(hold)) {
            found.insert(name.expect("a name").to_string());
        }
    }
    found
}

fn sources(folder: &Path, all: &mut Vec<String>) {
    for entry in folder.read_dir().expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all.push(std::fs::read_to_string(path).expect("text"));
        }
    }
}

#[test]
fn what_holds_values_shows_them_by_hand_or_is_known_to_be_public() {
    for (package, public) in PUBLIC {
        let mut all = Vec::new();
        sources(&root().join(package).join("src"), &mut all);
        let found: BTreeSet<String> = all.iter().flat_map(|source| deriving(source)).collect();
        let public: BTreeSet<String> = public.iter().map(ToString::to_string).collect();
        let new: Vec<_> = found.difference(&public).collect();
        assert!(
            new.is_empty(),
            "{new:?} of {package} derive Debug and hold values: write it by hand, without them, or name them above where \
             all of them are public"
        );
        let gone: Vec<_> = public.difference(&found).collect();
        assert!(
            gone.is_empty(),
            "{gone:?} of {package} no longer derive Debug: remove the names above"
        );
    }
    let one = "#[derive(Debug)]\n/// Text.\npub struct A {\n    // Vec<\n    a: usize,\n}\n";
    assert!(deriving(one).is_empty());
    assert_eq!(
        deriving(&one.replace("usize", "Vec<usize>")),
        ["A".to_string()].into()
    );
    assert_eq!(
        deriving("#[derive(Clone, Debug)]\nstruct B(Vec<f32>);\n"),
        ["B".to_string()].into()
    );
}
