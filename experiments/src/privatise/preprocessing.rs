//! What happens to a record, before and with its noise.

use data::Records;
use data::privatised::{Calibration, Header, LabelEncoding, NoiseKind, NoiseSeed, Transform};
use data::transform::Dct;
use dp_core::local::{LocalMechanism, LocalNoise};
use lab::diagnostic::{Failure, OrFailed};

use super::mechanism_of;

/// What is public of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Values of a record.
    pub width: usize,
    /// Channels, height and width, where records are images.
    pub shape: Option<[usize; 3]>,
    /// The number of classes, where records have labels.
    pub classes: Option<usize>,
}

impl Form {
    /// That of records, whose labels are taken if they are `labelled`.
    pub fn of(records: &Records, labelled: bool) -> Self {
        Self {
            width: records.image_size(),
            // Only images have a bound by themselves.
            shape: records.norm_upper().map(|_| records.shape()),
            classes: labelled.then(|| records.classes()),
        }
    }
}

/// A mechanism with what comes before it. All of it is public, and none of it may be fitted to private records.
#[derive(Debug, Clone)]
pub struct Preprocessing {
    mechanism: LocalMechanism,
    calibration: Calibration,
    dct: Option<Dct>,
    label_weight: Option<f64>,
}

impl Preprocessing {
    /// - `calibration`: how the mechanism's noise was found, for the header;
    /// - `dct`: the transform of images before the ball;
    /// - `label_weight`: what the one-hot code of the class is multiplied by, at the end of the record; `None` leaves
    ///   labels out.
    pub fn new(
        mechanism: LocalMechanism,
        calibration: Calibration,
        dct: Option<Dct>,
        label_weight: Option<f64>,
    ) -> Self {
        Self {
            mechanism,
            calibration,
            dct,
            label_weight,
        }
    }

    /// What the records of a file went through.
    ///
    /// # Errors
    ///
    /// As [`mechanism_of`].
    pub fn of(file: &str, header: &Header) -> Result<Self, Failure> {
        let label_weight = match header.labels {
            LabelEncoding::Dropped => None,
            LabelEncoding::OneHot { weight, .. } => Some(weight),
        };
        let (mechanism, dct) = (mechanism_of(file, header)?, header.dct().or_failed()?);
        Ok(Self::new(mechanism, header.calibration, dct, label_weight))
    }

    pub fn mechanism(&self) -> &LocalMechanism {
        &self.mechanism
    }

    /// Values of a record of this form that get noise: its own, or its coefficients, and then one a class.
    fn width(&self, form: &Form) -> usize {
        let features = self.dct.as_ref().map_or(form.width, Dct::width);
        let classes = self.label_weight.and(form.classes);
        features + classes.unwrap_or(0)
    }

    /// Whether records of this form can be taken: the scale of the noise on their values.
    pub fn check(&self, form: &Form) -> Result<f64, Failure> {
        if let Some(dct) = &self.dct {
            let [channels, side] = [dct.channels(), dct.side()];
            if form.shape != Some([channels, side, side]) {
                let found = match form.shape {
                    Some([c, h, w]) => format!("images of {c} x {h} x {w}"),
                    None => format!("{} values, of no known shape", form.width),
                };
                return Err(Failure::input(
                    format!(
                        "a transform of images of {channels} x {side} x {side}: the records are {found}"
                    ),
                    "give square images, or leave the transform out",
                ));
            }
        }
        if let Some(weight) = self.label_weight {
            if !(weight > 0.0 && weight.is_finite()) {
                return Err(Failure::input(
                    format!("--label-weight {weight}: expected a positive, finite number"),
                    "say --label-weight 1, or leave it and the labels out",
                ));
            }
            if form.classes.is_none() {
                return Err(Failure::input(
                    "--label-weight: the records have no classes",
                    "give a file of labels (--label-file), or leave it out",
                ));
            }
        }
        let advice = "give a larger --epsilon, or fewer values";
        let scale = self.mechanism.scale(self.width(form));
        scale.map_err(|e| Failure::input(e.to_string(), advice))
    }

    /// The header of records of this form.
    ///
    /// - `secret`: whether nobody knows the seed of the noise.
    pub fn header(&self, form: &Form, secret: bool) -> Result<Header, Failure> {
        let noise_scale = self.check(form)?;
        let classes = form.classes.unwrap_or(0);
        let labels = match self.label_weight {
            None => LabelEncoding::Dropped,
            Some(weight) => LabelEncoding::OneHot { weight, classes },
        };
        Ok(Header {
            mechanism: match self.mechanism.noise() {
                LocalNoise::Laplace => NoiseKind::Laplace,
                LocalNoise::Gaussian => NoiseKind::Gaussian,
            },
            calibration: self.calibration,
            epsilon: self.mechanism.epsilon(),
            delta: self.mechanism.delta(),
            radius: self.mechanism.radius(),
            noise_scale,
            transform: match &self.dct {
                None => Transform::None,
                Some(dct) => Transform::Dct {
                    side: dct.side(),
                    channels: dct.channels(),
                    kept: dct.kept().to_vec(),
                },
            },
            labels,
            source_shape: form.shape,
            noise_seed: match secret {
                true => NoiseSeed::Secret,
                false => NoiseSeed::Insecure,
            },
            width: self.width(form),
            records: 0,
        })
    }

    /// What the mechanism gets of a record: its coefficients, or itself, and then its class.
    pub fn record(
        &self,
        form: &Form,
        values: &[f32],
        label: Option<usize>,
    ) -> Result<Vec<f32>, Failure> {
        let mut record = match &self.dct {
            None => values.to_vec(),
            Some(dct) => dct.forward(values).map_err(super::unreadable)?,
        };
        if let Some(weight) = self.label_weight {
            let classes = form.classes.unwrap_or(0);
            let Some(label) = label.filter(|&label| label < classes) else {
                return Err(Failure::input(
                    format!("a record without a class below {classes}"),
                    "repair the labels, or leave them and --label-weight out",
                ));
            };
            let start = record.len();
            record.resize(start + classes, 0.0);
            record[start + label] = weight as f32;
        }
        Ok(record)
    }
}
