//! Clean images: private ones, and public ones of the same distribution.

use std::path::Path;
use std::sync::Arc;

use data::LabelledImages;
use data::stream::{Form, InMemory, RecordStream};
use lab::diagnostic::Failure;
use lab::session::Used;

use super::Settings;
use crate::records::{kind, load_private, load_test};

/// What a run is about.
pub(super) struct Clean {
    pub name: String,
    /// The private records; none if the input was privatised before.
    pub private: Option<Arc<LabelledImages>>,
    /// Public records, which a result is judged by.
    pub test: Arc<LabelledImages>,
    /// The data sets that private ones come from.
    pub used: Vec<Used>,
}

impl Clean {
    /// The data set that the settings name.
    pub(super) fn load(settings: &Settings, data_dir: Option<&Path>) -> Result<Self, Failure> {
        let (kind, seed) = (kind("dataset", &settings.dataset)?, settings.seed);
        if settings.input.is_some() {
            return Ok(Self {
                name: kind.name().into(),
                private: None,
                test: Arc::new(load_test(kind, seed, data_dir)?),
                used: Vec::new(),
            });
        }
        let (data, used) = load_private(kind, seed, settings.records, data_dir)?;
        Ok(Self {
            name: data.name,
            private: Some(Arc::new(data.train)),
            test: Arc::new(data.test),
            used: vec![used],
        })
    }

    /// How many private records there are.
    pub(super) fn private_len(&self) -> usize {
        self.private.as_ref().map_or(0, |images| images.len())
    }

    /// Width, shape and classes of a record.
    pub(super) fn form(&self) -> Form {
        stream(&self.test).form()
    }
}

/// All of them, in order.
pub(super) fn stream(images: &Arc<LabelledImages>) -> InMemory {
    InMemory::images(images.clone())
}
