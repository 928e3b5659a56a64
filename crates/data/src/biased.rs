//! Simulates a bias: a sensitive attribute that agrees with the label more often than not.
//!
//! A record is sampled as in "Learning with differentially private sliced Wasserstein gradients",
//! appendix C.2:
//!
//! 1. the response Y^C is uniform on the unit square;
//! 2. the label Y is 1 above the diagonal, where Y_2^C > 1 - Y_1^C;
//! 3. the sensitive attribute A is Y with probability p, else 1 - Y;
//! 4. X_core repeats Y^C and X_sp repeats A, each with independent Gaussian noise;
//! 5. the features are X = [X_core, X_sp].
//!
//! So A = 0 mixes the uniform distributions below and above the diagonal with weights p and 1 - p, and A = 1 with
//! weights 1 - p and p. If p = 1/2, nothing is biased.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use crate::DataError;
use crate::error::{check_count, number};
use crate::table::{GroupedTable, Labels};

/// The settings of a simulation; the default is that of Rodriguez-Vitores et al. (2025, arXiv 2502.01701).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BiasedConfig {
    /// The number of records, n.
    pub records: usize,
    /// The probability that A = Y, p.
    pub agreement: f64,
    /// The number of features that depend on the response, d_core; even.
    pub core: usize,
    /// The number of features that depend on the sensitive attribute, d_sp.
    pub spurious: usize,
    /// The variance of the noise on X_core.
    pub core_variance: f64,
    /// The variance of the noise on X_sp.
    pub spurious_variance: f64,
}

impl Default for BiasedConfig {
    fn default() -> Self {
        Self {
            records: 30_000,
            agreement: 0.7,
            core: 8,
            spurious: 8,
            core_variance: 0.2,
            spurious_variance: 0.4,
        }
    }
}

/// Simulated records, before a target is chosen.
#[derive(Clone, PartialEq)]
pub struct Biased {
    /// The numbers of features, d_core and d_sp.
    pub widths: [usize; 2],
    /// X, shape `[n, d_core + d_sp]` in row-major order.
    pub features: Vec<f32>,
    /// A, 0 or 1, shape `[n]`.
    pub sensitive: Vec<u8>,
    /// Y, 0 or 1, shape `[n]`.
    pub labels: Vec<u8>,
    /// Y^C in the unit square, shape `[n, 2]` in row-major order.
    pub responses: Vec<f32>,
}

debug_shows!(Biased { widths });

/// Samples independent records. A larger simulation from the same generator begins with the same
/// records.
///
/// # Errors
/// [`DataError::Request`] for a number of records out of range, and unless p is in [0, 1], variances are finite and not
/// negative, d_core is even and at least 2, d_sp is at least 1, and both are at most 4096.
pub fn simulate<R: Rng + ?Sized>(
    config: &BiasedConfig,
    generator: &mut R,
) -> Result<Biased, DataError> {
    check(config)?;
    let (n, d) = (config.records, config.core + config.spurious);
    let mut sampled = Biased {
        widths: [config.core, config.spurious],
        features: Vec::with_capacity(n * d),
        sensitive: Vec::with_capacity(n),
        labels: Vec::with_capacity(n),
        responses: Vec::with_capacity(2 * n),
    };
    let (core, spurious) = (config.core_variance.sqrt(), config.spurious_variance.sqrt());
    for _ in 0..n {
        let response: [f64; 2] = generator.random();
        let label = response[1] > 1.0 - response[0];
        let agrees = generator.random_bool(config.agreement);
        let sensitive = label == agrees;
        let mut feature = |mean: f64, deviation: f64| {
            let normal: f64 = generator.sample(StandardNormal);
            sampled.features.push((mean + deviation * normal) as f32);
        };
        for place in 0..config.core {
            feature(response[place % 2], core);
        }
        for _ in 0..config.spurious {
            feature(f64::from(u8::from(sensitive)), spurious);
        }
        sampled.sensitive.push(sensitive.into());
        sampled.labels.push(label.into());
        sampled.responses.extend(response.map(|y| y as f32));
    }
    Ok(sampled)
}

impl Biased {
    /// Returns the records with two classes, Y, to predict (appendix C.3).
    ///
    /// # Errors
    /// [`DataError::Request`] if a group has no record, which can happen with very few records.
    pub fn classification(&self) -> Result<GroupedTable, DataError> {
        self.table(Labels::Classes {
            count: 2,
            values: self.labels.iter().map(|&label| label.into()).collect(),
        })
    }

    /// Returns the records with two numbers, Y^C - (1/2, 1/2) in [-1/2, 1/2] x [-1/2, 1/2], to predict (appendix C.4).
    pub fn plane_regression(&self) -> Result<GroupedTable, DataError> {
        self.table(Labels::Values {
            width: 2,
            values: self.responses.iter().map(|y| y - 0.5).collect(),
        })
    }

    /// Returns the records with one number, Y_1^C + Y_2^C - 1 in [-1, 1], to predict (remark C.4).
    ///
    /// Given A = 0, the density of this number at x is 2 p (1 + x) below 0 and 2 (1 - p) (1 - x) above. Given A = 1, p
    /// and 1 - p change places.
    pub fn line_regression(&self) -> Result<GroupedTable, DataError> {
        let sum = |y: &[f32; 2]| y[0] + y[1] - 1.0;
        self.table(Labels::Values {
            width: 1,
            values: self.responses.as_chunks().0.iter().map(sum).collect(),
        })
    }

    fn table(&self, labels: Labels) -> Result<GroupedTable, DataError> {
        let [core, spurious] = self.widths;
        let names = (0..core)
            .map(|place| format!("core {place}"))
            .chain((0..spurious).map(|place| format!("spurious {place}")));
        GroupedTable::new(
            names.collect(),
            self.features.clone(),
            labels,
            self.sensitive.clone(),
        )
    }
}

fn check(config: &BiasedConfig) -> Result<(), DataError> {
    const WIDEST: usize = 4096;
    const MAX_VALUES: usize = 1 << 30;
    let (core, spurious) = (config.core, config.spurious);
    let variance = |value: f64| value >= 0.0 && value.is_finite();
    let (even, least) = ("an even number from 2 to 4096", "1 to 4096");
    for (what, found, expected, good) in [
        (
            "agreement of the sensitive attribute with the label",
            config.agreement,
            "0 to 1",
            (0.0..=1.0).contains(&config.agreement),
        ),
        (
            "core features",
            core as f64,
            even,
            (2..=WIDEST).contains(&core) && core % 2 == 0,
        ),
        (
            "spurious features",
            spurious as f64,
            least,
            (1..=WIDEST).contains(&spurious),
        ),
        (
            "variance of the core features",
            config.core_variance,
            "0 or more",
            variance(config.core_variance),
        ),
        (
            "variance of the spurious features",
            config.spurious_variance,
            "0 or more",
            variance(config.spurious_variance),
        ),
    ] {
        if !good {
            return Err(number(what, found, expected));
        }
    }
    let max = MAX_VALUES / (core + spurious);
    check_count("simulated records", config.records, max)
}
