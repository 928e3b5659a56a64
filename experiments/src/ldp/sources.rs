//! Clean records: images of a data set, or points that are sampled.

use std::sync::Arc;

use data::LabelledImages;
use data::stream::InMemory;
use lab::session::Used;
use model::latent::ImageShape;

/// Clean records.
pub enum Rows {
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
pub struct Clean {
    /// Their name.
    pub name: String,
    /// The private records.
    pub private: Option<Rows>,
    /// Public records, which a result is judged by.
    pub test: Rows,
    /// The data sets that private ones come from.
    pub used: Vec<Used>,
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
