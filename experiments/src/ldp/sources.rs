//! Clean records: images of a data set, or points that are sampled.

use std::sync::Arc;

use data::LabelledImages;
use data::split::Records;
use data::stream::{Chunk, Form, InMemory, RecordStream};
use lab::checkpoint::hex;
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{Used, floats_to_bytes};
use model::latent::ImageShape;

/// Clean records.
pub enum Rows {
    /// Images with classes.
    Images(Arc<LabelledImages>),
    Points {
        /// `[n, dim]`.
        values: Vec<f32>,
        /// Coordinates.
        dim: usize,
    },
}

/// What a run is about: private records, where it reads any, and public ones of the same distribution.
pub struct Clean {
    pub name: String,
    /// The private records.
    pub private: Option<Rows>,
    /// Public records, which a result is judged by.
    pub test: Rows,
    /// The data sets that private ones come from.
    pub used: Vec<Used>,
}

impl Rows {
    /// All of them, in order.
    pub(super) fn stream(&self) -> InMemory {
        match self {
            Self::Images(images) => InMemory::images(images.clone()),
            Self::Points { values, dim } => InMemory::rows(*dim, values.clone()),
        }
    }

    /// Their width, shape and classes.
    pub(super) fn form(&self) -> Form {
        self.stream().form()
    }

    pub(super) fn len(&self) -> usize {
        self.form().count.unwrap_or(0) as usize
    }

    /// Channels and side, for images.
    pub(super) fn shape(&self) -> Option<ImageShape> {
        let [channels, side, _] = self.form().shape?;
        Some(ImageShape { channels, side })
    }

    /// The first records, with their classes where there are any.
    pub(super) fn first(&self, count: usize) -> Result<Chunk, Failure> {
        self.stream().next(count).or_failed()
    }

    /// A checksum of all of them.
    pub(super) fn fingerprint(&self) -> Result<String, Failure> {
        match self {
            Self::Images(images) => images.sha256().or_failed(),
            Self::Points { values, .. } => Ok(hex(&floats_to_bytes(values))),
        }
    }
}
