//! Clean records: images of a data set, or points that are drawn.

use data::{Gaussians, LabelledImages};
use lab::diagnostic::Failure;
use lab::session::Used;
use model::latent::ImageShape;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use super::settings::Settings;
use crate::records::load_private;

/// Points that the result is judged by.
const JUDGED: usize = 10_000;
/// Records in memory as numbers at once.
const PART: usize = 10_000;

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
                let drawn = Gaussians::five().sample(count, rng);
                drawn.map_err(Failure::failed)?.values
            }
        })
    }
}

/// Clean records, with public ones that a result is judged by.
pub struct Clean {
    /// Their name.
    pub name: String,
    /// The private records.
    pub private: Rows,
    /// Public records of the same law.
    pub test: Rows,
    /// The data sets that they come from.
    pub used: Vec<Used>,
}

/// Records of one width.
pub enum Rows {
    /// Images with classes.
    Images(LabelledImages),
    /// Points.
    Points {
        /// `[n, dim]`.
        values: Vec<f32>,
        /// Coordinates.
        dim: usize,
    },
}

impl Clean {
    /// What the settings name.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for data that is not there, or fewer records than asked for.
    pub fn load(settings: &Settings, data_dir: Option<&std::path::Path>) -> Result<Self, Failure> {
        let Some(points) = settings.points() else {
            let (kind, seed) = (settings.kind()?, settings.seed);
            let (data, used) = load_private(kind, seed, settings.records, data_dir)?;
            return Ok(Self {
                name: data.name,
                private: Rows::Images(data.train),
                test: Rows::Images(data.test),
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
        Ok(Self {
            name: format!("drawn points, `{}`", settings.dataset),
            private: draw(settings.records.unwrap_or(JUDGED), 0)?,
            test: draw(JUDGED, 1)?,
            used: Vec::new(),
        })
    }
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Images(images) => images.len(),
            Self::Points { values, dim } => values.len() / dim,
        }
    }

    /// Values of a record.
    pub fn width(&self) -> usize {
        match self {
            Self::Images(images) => images.image_size(),
            Self::Points { dim, .. } => *dim,
        }
    }

    /// Channels and side, for images.
    pub fn shape(&self) -> Option<ImageShape> {
        match self {
            Self::Images(images) => Some(ImageShape {
                channels: 1,
                side: images.width(),
            }),
            Self::Points { .. } => None,
        }
    }

    /// Classes; 0 where there are none.
    pub fn classes(&self) -> usize {
        match self {
            Self::Images(images) => images.classes(),
            Self::Points { .. } => 0,
        }
    }

    /// The first records, at most `most`, row by row.
    pub fn first(&self, most: usize) -> Vec<f32> {
        self.parts(most).next().unwrap_or_default().0
    }

    /// All records with their classes, some at a time.
    pub fn parts(&self, size: usize) -> impl Iterator<Item = (Vec<f32>, Vec<usize>)> {
        let all: Vec<usize> = (0..self.len()).collect();
        let size = size.max(1);
        let starts: Vec<usize> = (0..all.len()).step_by(size).collect();
        starts.into_iter().map(move |start| {
            let places = &all[start..all.len().min(start + size)];
            match self {
                Self::Images(images) => {
                    let labels = places.iter().map(|&i| usize::from(images.labels()[i]));
                    (images.gather(places).unwrap_or_default(), labels.collect())
                }
                Self::Points { values, dim } => {
                    let rows = &values[places[0] * dim..][..places.len() * dim];
                    (rows.to_vec(), Vec::new())
                }
            }
        })
    }

    /// A checksum of all of them.
    pub fn fingerprint(&self) -> String {
        let mut bytes = Vec::new();
        match self {
            Self::Images(images) => {
                for index in 0..images.len() {
                    bytes.extend_from_slice(images.image_bytes(index).unwrap_or_default());
                }
                bytes.extend_from_slice(images.labels());
            }
            Self::Points { .. } => {
                for (rows, _) in self.parts(PART) {
                    bytes.extend(rows.iter().flat_map(|v| v.to_le_bytes()));
                }
            }
        }
        lab::checkpoint::hex(&bytes)
    }
}
