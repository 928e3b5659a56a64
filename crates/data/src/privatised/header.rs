use std::fmt;

use serde::{Deserialize, Serialize};

use super::refuse;
use crate::DataError;
use crate::transform::Dct;

/// The distribution of the noise that was added to each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoiseKind {
    /// Laplace noise on records in an l1 ball; delta is 0.
    Laplace,
    /// Gaussian noise on records in an l2 ball.
    Gaussian,
}

/// The way in which epsilon and delta determine the scale of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Calibration {
    /// The smallest scale that gives epsilon and delta.
    Exact,
    /// Equation 4 of Reshetova, Chen and Ozgur 2023, arXiv 2306.09547, which adds more noise.
    Paper,
}

/// The norm of a ball.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// The sum of absolute values.
    L1,
    /// The Euclidean norm.
    L2,
}

/// The transform of a record before it was put into its ball.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Transform {
    /// No transform.
    None,
    /// The cosine transform, cut to public coefficients ([`Dct`]).
    Dct {
        /// The number of pixels along a side of an image.
        side: usize,
        /// The number of channels of an image.
        channels: usize,
        /// The coefficients that are kept of each channel.
        kept: Vec<[usize; 2]>,
    },
}

/// The encoding of the labels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum LabelEncoding {
    /// The file holds no labels.
    Dropped,
    /// The record ends with the one-hot class times a public weight, with noise like its other values.
    OneHot {
        /// The weight.
        weight: f64,
        /// The number of classes.
        classes: usize,
    },
}

/// The source of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoiseSeed {
    /// The random numbers of the operating system.
    Secret,
    /// A seed that somebody knows: **there is no privacy guarantee**.
    Insecure,
}

/// The privacy guarantee of each record of a file, and how it was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The distribution of the noise.
    pub mechanism: NoiseKind,
    /// The way in which its scale was found.
    pub calibration: Calibration,
    /// Epsilon, for each single record.
    pub epsilon: f64,
    /// Delta, for each single record.
    pub delta: f64,
    /// The radius of the ball that records were put into.
    pub radius: f64,
    /// The scale of Laplace noise, or the standard deviation of Gaussian noise.
    pub noise_scale: f64,
    /// The transform before the ball.
    pub transform: Transform,
    /// The encoding of the labels.
    pub labels: LabelEncoding,
    /// The channels, height and width of the original images, if the records were images.
    pub source_shape: Option<[usize; 3]>,
    /// The source of the noise.
    pub noise_seed: NoiseSeed,
    /// The number of values of a record, with those of its label.
    pub width: usize,
    /// The number of records; a [`Writer`](super::Writer) ignores it.
    pub records: u64,
}

/// The entries that a caller requires of a file; an entry that is `None` may have any value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// The distribution of the noise.
    pub mechanism: Option<NoiseKind>,
    /// The way in which its scale was found.
    pub calibration: Option<Calibration>,
    /// Epsilon.
    pub epsilon: Option<f64>,
    /// Delta.
    pub delta: Option<f64>,
    /// The radius of the ball.
    pub radius: Option<f64>,
    /// The number of coefficients that the cosine transform kept of a channel.
    pub keep: Option<usize>,
    /// The weight of the one-hot labels.
    pub label_weight: Option<f64>,
    /// The channels, height and width of the images.
    pub source_shape: Option<[usize; 3]>,
}

impl Header {
    /// Checks that a file has the required entries.
    ///
    /// # Errors
    /// [`DataError::Request`] with the first entry that differs, its value and the required one.
    pub fn check_request(&self, file: &str, wanted: &Wanted) -> Result<(), DataError> {
        let shape = wanted.source_shape.map(Some);
        let kept = match &self.transform {
            Transform::None => None,
            Transform::Dct { kept, .. } => Some(kept.len()),
        };
        let weight = match self.labels {
            LabelEncoding::Dropped => None,
            LabelEncoding::OneHot { weight, .. } => Some(weight),
        };
        let differing = [
            differs("mechanism", &self.mechanism, &wanted.mechanism),
            differs("calibration", &self.calibration, &wanted.calibration),
            differs("epsilon", &self.epsilon, &wanted.epsilon),
            differs("delta", &self.delta, &wanted.delta),
            differs("radius", &self.radius, &wanted.radius),
            differs("coefficients kept", &kept, &wanted.keep.map(Some)),
            differs("label weight", &weight, &wanted.label_weight.map(Some)),
            differs("source_shape", &self.source_shape, &shape),
        ];
        match differing.into_iter().flatten().next() {
            None => Ok(()),
            Some((key, found, asked)) => Err(DataError::request(format!(
                "{file}: {key}: {found}, but {asked} is asked for; ask for what the file has, or privatise the records \
                 anew, at the sum of both costs"
            ))),
        }
    }

    /// The norm of the ball.
    pub fn norm(&self) -> Norm {
        match self.mechanism {
            NoiseKind::Laplace => Norm::L1,
            NoiseKind::Gaussian => Norm::L2,
        }
    }

    /// The number of classes whose one-hot code ends a record; 0 without labels.
    pub fn classes(&self) -> usize {
        match self.labels {
            LabelEncoding::Dropped => 0,
            LabelEncoding::OneHot { classes, .. } => classes,
        }
    }

    /// The number of values of a record without those of its label.
    pub fn features(&self) -> usize {
        self.width.saturating_sub(self.classes())
    }

    /// Returns the cosine transform of the records, if there was one.
    pub fn dct(&self) -> Result<Option<Dct>, DataError> {
        match &self.transform {
            Transform::None => Ok(None),
            Transform::Dct {
                side,
                channels,
                kept,
            } => Dct::keeping(*channels, *side, kept.clone()).map(Some),
        }
    }

    /// Refuses entries that no file can have or that contradict each other.
    pub(super) fn check(&self, file: &str) -> Result<(), DataError> {
        let require = |holds, key: &str, expected: &str, found: &dyn fmt::Display| match holds {
            true => Ok(()),
            false => Err(refuse(file, key, expected, found)),
        };
        let above = |key, value: f64| {
            let holds = value.is_finite() && value > 0.0;
            require(holds, key, "a positive, finite number", &value)
        };
        above("epsilon", self.epsilon)?;
        above("radius", self.radius)?;
        above("noise_scale", self.noise_scale)?;
        match self.mechanism {
            NoiseKind::Laplace => {
                require(
                    self.delta == 0.0,
                    "delta",
                    "0 for Laplace noise",
                    &self.delta,
                )?;
                let exact = self.calibration == Calibration::Exact;
                require(exact, "calibration", "exact for Laplace noise", &"paper")?;
            }
            NoiseKind::Gaussian => {
                let inside = self.delta > 0.0 && self.delta < 1.0;
                require(inside, "delta", "a number between 0 and 1", &self.delta)?;
            }
        }
        if let LabelEncoding::OneHot { weight, classes } = self.labels {
            above("label_weight", weight)?;
            let inside = (1..self.width).contains(&classes);
            let expected = format!("1 to {}, below the width", self.width.saturating_sub(1));
            require(inside, "label_classes", &expected, &classes)?;
        }
        require(
            self.features() > 0,
            "width",
            "at least 1 value",
            &self.width,
        )?;
        let size = |shape: [usize; 3]| {
            let [channels, height, width] = shape;
            channels.checked_mul(height)?.checked_mul(width)
        };
        let dct = self.dct();
        match dct.map_err(|error| refuse(file, "dct_kept", "a cosine transform", error))? {
            None => {
                let Some(shape) = self.source_shape else {
                    return Ok(());
                };
                let holds = size(shape) == Some(self.features());
                let expected = format!("{} values in all", self.features());
                require(holds, "source_shape", &expected, &shown(shape))
            }
            Some(dct) => {
                let holds = dct.width() == self.features();
                let expected = format!("the {} coefficients that are kept", dct.width());
                require(holds, "width", &expected, &self.features())?;
                let of = [dct.channels(), dct.side(), dct.side()];
                let shape = self.source_shape.unwrap_or(of);
                require(shape == of, "source_shape", &shown(of), &shown(shape))
            }
        }
    }
}

fn shown([channels, height, width]: [usize; 3]) -> String {
    format!("{channels},{height},{width}")
}

/// Returns the entry with its value and the required one, if they differ.
fn differs<T: PartialEq + Serialize>(
    key: &'static str,
    found: &T,
    asked: &Option<T>,
) -> Option<(&'static str, String, String)> {
    let asked = asked.as_ref().filter(|asked| *asked != found)?;
    let [found, asked] =
        [found, asked].map(|value| serde_json::to_string(value).unwrap_or_default());
    Some((key, found, asked))
}
