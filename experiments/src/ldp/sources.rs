//! Clean records: images of a data set, or points that are sampled.

use std::path::Path;
use std::sync::Arc;

use data::stream::InMemory;
use data::{Gaussians, LabelledImages};
use lab::diagnostic::Failure;
use lab::session::Used;
use model::latent::ImageShape;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use super::settings::Settings;
use crate::records::{load_private, load_test};

/// Points that the result is judged by.
const JUDGED: usize = 10_000;

/// Points of few coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Points {
    /// Standard Gaussian on a line.
    Line,
    /// Gaussian in the plane, with covariance [[1, 0.6], [0.6, 0.5]].
    Gaussian,
    /// Five Gaussians on a circle of radius 3.
    Gaussians,
}

impl Points {
    /// The names of all.
    pub const NAMES: [&str; 3] = ["line", "gaussian", "gaussians"];

    /// Those of a name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "line" => Some(Self::Line),
            "gaussian" => Some(Self::Gaussian),
            "gaussians" => Some(Self::Gaussians),
            _ => None,
        }
    }

    /// Coordinates of a point.
    pub fn dim(self) -> usize {
        match self {
            Self::Line => 1,
            Self::Gaussian | Self::Gaussians => 2,
        }
    }

    fn draw(self, count: usize, rng: &mut ChaCha20Rng) -> Result<Vec<f32>, Failure> {
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        Ok(match self {
            Self::Line => (0..count).map(|_| normal() as f32).collect(),
            Self::Gaussian => (0..count)
                .flat_map(|_| {
                    let (a, b) = (normal(), normal());
                    [a as f32, (0.6 * a + 0.14_f64.sqrt() * b) as f32]
                })
                .collect(),
            Self::Gaussians => {
                let sampled = Gaussians::five().sample(count, rng);
                sampled.map_err(Failure::failed)?.values
            }
        })
    }
}

/// Clean records.
pub(crate) enum Rows {
    /// Images with classes.
    Images(Arc<LabelledImages>),
    /// Points.
    Points {
        /// `[n, dim]`.
        values: Vec<f32>,
        /// Coordinates.
        dim: usize,
    },
}

/// What a run is about: private records, where it reads any, and public ones of the same distribution.
pub(crate) struct Clean {
    /// Their name.
    pub name: String,
    /// The private records.
    pub private: Option<Rows>,
    /// Public records, which a result is judged by.
    pub test: Rows,
    /// The data sets that private ones come from.
    pub used: Vec<Used>,
}

impl Clean {
    /// What the settings name; without private records where the input was privatised before.
    pub(crate) fn load(settings: &Settings, data_dir: Option<&Path>) -> Result<Self, Failure> {
        let reads = settings.input.is_none();
        let Some(points) = settings.points() else {
            let (kind, seed) = (settings.kind()?, settings.seed);
            if !reads {
                let test = load_test(kind, seed, data_dir)?;
                return Ok(Self {
                    name: kind.name().into(),
                    private: None,
                    test: Rows::Images(Arc::new(test)),
                    used: Vec::new(),
                });
            }
            let (data, used) = load_private(kind, seed, settings.records, data_dir)?;
            return Ok(Self {
                name: data.name,
                private: Some(Rows::Images(Arc::new(data.train))),
                test: Rows::Images(Arc::new(data.test)),
                used: vec![used],
            });
        };
        // The data of a task, whatever the seed of a run.
        let draw = |count, stream| {
            let mut rng = ChaCha20Rng::seed_from_u64(0);
            rng.set_stream(stream);
            let values = points.draw(count, &mut rng)?;
            let dim = points.dim();
            Ok::<_, Failure>(Rows::Points { values, dim })
        };
        let private = reads.then(|| draw(settings.records.unwrap_or(JUDGED), 0));
        Ok(Self {
            name: format!("synthetic points, `{}`", settings.dataset),
            private: private.transpose()?,
            test: draw(JUDGED, 1)?,
            used: Vec::new(),
        })
    }
}

impl Rows {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Images(images) => images.len(),
            Self::Points { values, dim } => values.len() / dim,
        }
    }

    /// Values of a record.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Images(images) => images.image_size(),
            Self::Points { dim, .. } => *dim,
        }
    }

    /// Channels and side, for images.
    pub(crate) fn shape(&self) -> Option<ImageShape> {
        match self {
            Self::Images(images) => Some(ImageShape {
                channels: 1,
                side: images.width(),
            }),
            Self::Points { .. } => None,
        }
    }

    /// All of them, in order.
    pub(crate) fn stream(&self) -> InMemory {
        match self {
            Self::Images(images) => InMemory::images(images.clone()),
            Self::Points { values, dim } => InMemory::rows(*dim, values.clone()),
        }
    }

    /// The first records, row by row.
    pub(crate) fn first(&self, count: usize) -> Vec<f32> {
        match self {
            Self::Images(images) => {
                let places: Vec<usize> = (0..count.min(images.len())).collect();
                images.gather(&places).unwrap_or_default()
            }
            Self::Points { values, dim } => values[..count.min(self.len()) * dim].to_vec(),
        }
    }

    /// The class of a record, where there are classes.
    pub(crate) fn label(&self, place: usize) -> Option<usize> {
        match self {
            Self::Images(images) => images.label(place),
            Self::Points { .. } => None,
        }
    }

    /// A checksum of all of them.
    pub(crate) fn fingerprint(&self) -> String {
        let mut bytes = Vec::new();
        match self {
            Self::Images(images) => {
                for index in 0..images.len() {
                    bytes.extend_from_slice(images.image_bytes(index).unwrap_or_default());
                }
                bytes.extend_from_slice(images.labels());
            }
            Self::Points { values, .. } => {
                bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()))
            }
        }
        lab::checkpoint::hex(&bytes)
    }
}
