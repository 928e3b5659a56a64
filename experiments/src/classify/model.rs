//! The model of a finished run: `model.toml` and `model.safetensors`. All of it is public.

use std::collections::BTreeMap;
use std::path::Path;

use lab::prelude::*;
use private_classifiers::{Embedding, Features, Head, Scattering, Whitening};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

/// The description of a model.
pub(super) const DESCRIPTION: &str = "model.toml";
/// Its tensors, in 32 bits: `head` of `[width, classes]`; of decorrelated features `mean` of `[width]` and `map` of `[width, width]`.
pub(super) const TENSORS: &str = "model.safetensors";
const VERSION: u32 = 1;

/// What a head sees of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Kind {
    /// Square images.
    Scattering {
        channels: usize,
        side: usize,
        order: usize,
        /// What pixels hold, as `--levels` has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        levels: Option<String>,
    },
    /// Rows of `size` numbers.
    Embedding { size: usize },
}

impl Kind {
    /// The features before any whitening.
    pub(super) fn features(&self) -> Result<Features, Failure> {
        match *self {
            Self::Scattering {
                channels,
                side,
                order,
                ..
            } => Scattering::new(channels, side, order).map(Features::from),
            Self::Embedding { size } => Embedding::new(size).map(Features::from),
        }
        .map_err(|e| Failure::input(e.to_string(), "give other records; see --help"))
    }
}

/// `model.toml`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    version: u32,
    /// The names of the classes, in the order of probabilities.
    pub classes: Vec<String>,
    pub features: Kind,
}

/// A classifier that may be published.
pub(super) struct Model {
    pub description: Description,
    pub features: Features,
    pub head: Head,
}

impl Model {
    pub(super) fn new(kind: Kind, classes: Vec<String>, features: Features, head: Head) -> Self {
        let description = Description {
            version: VERSION,
            classes,
            features: kind,
        };
        Self {
            description,
            features,
            head,
        }
    }

    /// Keeps the model in a folder.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let (width, classes) = (self.head.width(), self.head.classes());
        let head: Vec<f32> = self.head.weights().iter().map(|&x| x as f32).collect();
        let mut tensors = vec![("head", vec![width, classes], floats_to_bytes(&head))];
        if let Some(whitening) = self.features.whitening() {
            tensors.push(("mean", vec![width], floats_to_bytes(whitening.mean())));
            tensors.push(("map", vec![width, width], floats_to_bytes(whitening.map())));
        }
        let views = tensors.iter().map(|(name, shape, bytes)| {
            let view = TensorView::new(Dtype::F32, shape.clone(), bytes).or_failed()?;
            Ok((*name, view))
        });
        let views = views.collect::<Result<BTreeMap<_, _>, Failure>>()?;
        let bytes = safetensors::serialize(views, None).or_failed()?;
        write_file(&folder.join(TENSORS), &bytes)?;
        let text = toml::to_string_pretty(&self.description).or_failed()?;
        write_file(&folder.join(DESCRIPTION), text.as_bytes())
    }

    /// The model in a folder; a file that is missing, damaged or of another version is refused by name.
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let file = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|e| refused(&path, &e))
        };
        let path = folder.join(DESCRIPTION);
        let text = file(DESCRIPTION)?;
        let text = String::from_utf8(text).map_err(|e| refused(&path, &e))?;
        let description: Description =
            toml::from_str(&text).map_err(|e| refused(&path, &e.message()))?;
        if description.version != VERSION {
            let why = format!("version {}, expected {VERSION}", description.version);
            return Err(refused(&path, &why));
        }
        let features = description.features.features()?;
        let path = folder.join(TENSORS);
        let bytes = file(TENSORS)?;
        let damaged = |e: &dyn std::fmt::Display| refused(&path, e);
        let tensors = SafeTensors::deserialize(&bytes).map_err(|e| damaged(&e))?;
        let values = |name: &str| -> Option<Vec<f32>> {
            let tensor = tensors.tensor(name).ok()?;
            (tensor.dtype() == Dtype::F32).then(|| floats_of_bytes(tensor.data()))
        };
        let weights =
            values("head").ok_or_else(|| damaged(&"there is no tensor head of 32 bits"))?;
        let weights = weights.iter().map(|&x| f64::from(x)).collect();
        let head = Head::new(features.width(), description.classes.len(), weights);
        let head = head.map_err(|e| damaged(&e))?;
        let features = match values("mean").zip(values("map")) {
            None => features,
            Some((mean, map)) => Whitening::new(mean, map)
                .and_then(|whitening| features.with_whitening(whitening))
                .map_err(|e| damaged(&e))?,
        };
        Ok(Self {
            description,
            features,
            head,
        })
    }

    /// The probabilities of the classes of some records.
    pub(super) fn probabilities(&self, records: &[f32]) -> Result<Vec<f64>, Failure> {
        let rows = self.features.rows(records).or_failed()?;
        self.head.probabilities(&rows).or_failed()
    }
}

fn refused(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::input(
        format!("{}: {why}", path.display()),
        "name the folder of a finished run of classify, or of its model",
    )
}
