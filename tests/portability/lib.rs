//! The same cases on every backend of a build that a machine has.
//!
//! **Policy.** What a case finds, a vector, is compared with a reference computed in `f64` (`reference`),
//! but for ten steps and the public autoencoder, whose references are the host's, and for burn's own layers
//! and steps through them, whose reference is its autodiff there, one record at a time: the relative error
//! `|found - expected| / |expected|` is at most 0 for ranks ([`Tolerance::Exact`]), 1e-5 for an operation
//! or a layer ([`Tolerance::Operation`]), and 1e-3 where bounds are tightened by what a device may round
//! ([`Tolerance::Clip`]), for a plain step, and for the change of the weights after ten steps of training
//! with the same seed ([`Tolerance::Run`]).
//!
//! CUDA rounds the factors of its products to 11 bits, so there the last three are 1e-2, and private steps
//! are refused.

mod autoencoder;
mod burn_layers;
mod clipping;
mod flows;
mod reference;
mod runs;
#[allow(dead_code)] // The tests there use more of it.
mod steps;
mod test_device;
mod training;
mod transfers;
mod transport;

use std::sync::LazyLock;

pub use test_device::{CHUNK, TestDevice, available_devices};

/// How far a case may be from its reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// Equal.
    Exact,
    /// One operation.
    Operation,
    /// Bounds that a device tightens.
    Clip,
    /// Ten steps of training.
    Run,
}

impl Tolerance {
    /// The largest relative error at a test device.
    pub fn most(self, test_device: &TestDevice) -> f64 {
        match self {
            Self::Exact => 0.0,
            // Products of factors with 11 bits.
            _ if !test_device.private() => 1e-2,
            Self::Operation => 1e-5,
            Self::Clip | Self::Run => 1e-3,
        }
    }
}

type Found = Box<dyn Fn(&TestDevice) -> Vec<f64> + Send + Sync>;
type Expected = Box<dyn FnOnce() -> Vec<f64> + Send>;

/// One computation.
pub struct Case {
    /// What it is a part of.
    pub group: &'static str,
    /// What it computes.
    pub name: String,
    /// How exact it has to be.
    pub tolerance: Tolerance,
    /// Whether its reference is a little wrong, which has to be seen: it must be beyond its tolerance.
    pub sabotaged: bool,
    /// Where it runs.
    on: fn(&TestDevice) -> bool,
    found: Found,
    /// Computed once for all test devices.
    expected: LazyLock<Vec<f64>, Expected>,
}

impl Case {
    fn new(
        group: &'static str,
        name: impl Into<String>,
        tolerance: Tolerance,
        found: impl Fn(&TestDevice) -> Vec<f64> + Send + Sync + 'static,
        expected: impl FnOnce() -> Vec<f64> + Send + 'static,
    ) -> Self {
        Self {
            group,
            name: name.into(),
            tolerance,
            sabotaged: false,
            on: |_| true,
            found: Box::new(found),
            expected: LazyLock::new(Box::new(expected)),
        }
    }

    /// The same where `on` holds alone, in place of what was said before.
    fn only(self, on: fn(&TestDevice) -> bool) -> Self {
        Self { on, ..self }
    }

    /// The same with private steps in it, which a device with coarse products refuses.
    fn private(self) -> Self {
        self.only(TestDevice::private)
    }

    /// Whether it runs at a test device.
    pub fn runs_on(&self, test_device: &TestDevice) -> bool {
        (self.on)(test_device)
    }

    /// The relative error at a test device.
    pub fn error(&self, test_device: &TestDevice) -> f64 {
        relative_error(&(self.found)(test_device), &self.expected)
    }

    /// Whether an error at a test device is not what it has to be.
    pub fn refutes(&self, error: f64, test_device: &TestDevice) -> bool {
        (error > self.tolerance.most(test_device)) != self.sabotaged
    }
}

/// All cases, in parts that share kernels, which a GPU compiles at their first use; the quick parts first.
pub fn parts() -> Vec<(&'static str, Vec<Case>)> {
    let [text, signal, vision] = training::parts();
    let images = autoencoder::cases().into_iter().chain(flows::cases());
    let runs = runs::cases().into_iter().chain(transfers::cases());
    vec![
        ("clipping", clipping::cases()),
        ("transport", transport::cases()),
        ("text", text),
        ("signal", signal),
        ("vision", vision),
        ("layers", burn_layers::cases()),
        ("images", images.collect()),
        ("runs", runs.collect()),
        ("steps", steps::cases()),
    ]
}

/// `|found - expected| / |expected|`; without end where lengths differ or something is not finite.
fn relative_error(found: &[f64], expected: &[f64]) -> f64 {
    if found.len() != expected.len() {
        return f64::INFINITY;
    }
    let square = |x: f64| x * x;
    let pairs = found.iter().zip(expected);
    let difference: f64 = pairs.map(|(&x, &y)| square(x - y)).sum();
    let size: f64 = expected.iter().map(|&y| square(y)).sum();
    let error = (difference / size.max(f64::MIN_POSITIVE)).sqrt();
    if error.is_nan() { f64::INFINITY } else { error }
}

/// Numbers between -1 and 1 that look like nothing in particular, the same everywhere.
fn wave(count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i * i % 1009) as f32 * 0.7).sin())
        .collect()
}

fn wide(values: impl IntoIterator<Item = f32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}
