//! The model of a finished run: `model.toml` and `model.safetensors`, and of a table `schema.toml`. All of it is public.

use std::collections::BTreeMap;
use std::path::Path;

use data::Schema;
use lab::prelude::*;
use private_classifiers::{Embedding, Features, Head, Scattering, TableModel, Whitening};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use super::values::Range;

/// The description of a model.
pub(super) const DESCRIPTION: &str = "model.toml";
/// Its tensors, in 32 bits: `head` of `[width, classes]`, of `[width, 1]` for a number; of decorrelated features `mean` of `[width]` and `map` of `[width, width]`; of a
/// table those of [`TableModel::tensors`].
pub(super) const TENSORS: &str = "model.safetensors";
/// What a table's columns hold.
pub(super) const SCHEMA: &str = "schema.toml";
const VERSION: u32 = 1;

/// What a model sees of a record.
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
    /// Records of a table, whose column `label` the model predicts.
    Table { label: String },
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
            Self::Table { .. } => return Err(Failure::failed("a table has no features of a head")),
        }
        .map_err(|e| Failure::input(e.to_string(), "give other records; see --help"))
    }
}

/// `model.toml`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    version: u32,
    /// The names of the classes, in the order of probabilities; none of a model of a number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// What a number lies between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    pub features: Kind,
}

/// What was learned.
pub(super) enum Learned {
    Head {
        features: Features,
        head: Head,
    },
    Table {
        /// The text of the schema.
        schema: String,
        model: TableModel,
    },
}

/// A classifier that may be published.
pub(super) struct Model {
    pub description: Description,
    pub learned: Learned,
}

impl Model {
    pub(super) fn new(
        kind: Kind,
        classes: Vec<String>,
        range: Option<Range>,
        learned: Learned,
    ) -> Self {
        let description = Description {
            version: VERSION,
            classes,
            range,
            features: kind,
        };
        Self {
            description,
            learned,
        }
    }

    /// The names of its files.
    pub(super) fn files(&self) -> Vec<&'static str> {
        let schema = matches!(self.learned, Learned::Table { .. }).then_some(SCHEMA);
        [DESCRIPTION, TENSORS].into_iter().chain(schema).collect()
    }

    /// Keeps the model in a folder.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let mut tensors = Vec::new();
        match &self.learned {
            Learned::Head { features, head } => {
                let (width, outputs) = (head.width(), head.outputs());
                let weights: Vec<f32> = head.weights().iter().map(|&x| x as f32).collect();
                tensors.push(("head".to_string(), vec![width, outputs], weights));
                if let Some(whitening) = features.whitening() {
                    tensors.push(("mean".into(), vec![width], whitening.mean().to_vec()));
                    tensors.push(("map".into(), vec![width, width], whitening.map().to_vec()));
                }
            }
            Learned::Table { schema, model } => {
                write_file(&folder.join(SCHEMA), schema.as_bytes())?;
                tensors = model.tensors();
            }
        }
        let tensors = tensors.into_iter();
        let bytes = tensors.map(|(name, shape, values)| (name, shape, floats_to_bytes(&values)));
        let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = bytes.collect();
        let views = bytes.iter().map(|(name, shape, bytes)| {
            let view = TensorView::new(Dtype::F32, shape.clone(), bytes).or_failed()?;
            Ok((name.as_str(), view))
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
        let rows = matches!(description.features, Kind::Embedding { .. });
        let of_range = |range: &Range| rows && description.classes.is_empty() && range.is_one();
        if !description.range.as_ref().is_none_or(of_range) {
            let why = "a range must have two ends, and stands in the place of the classes of rows";
            return Err(refused(&path, &why));
        }
        if description.range.is_none() && description.classes.len() < 2 {
            return Err(refused(&path, &"fewer than 2 classes"));
        }
        let path = folder.join(TENSORS);
        let bytes = file(TENSORS)?;
        let damaged = |e: &dyn std::fmt::Display| refused(&path, e);
        let tensors = SafeTensors::deserialize(&bytes).map_err(|e| damaged(&e))?;
        let values = |name: &str| -> Option<Vec<f32>> {
            let tensor = tensors.tensor(name).ok()?;
            (tensor.dtype() == Dtype::F32).then(|| floats_of_bytes(tensor.data()))
        };
        if let Kind::Table { label } = &description.features {
            let path = folder.join(SCHEMA);
            let text = file(SCHEMA)?;
            let text = String::from_utf8(text).map_err(|e| refused(&path, &e))?;
            let schema = Schema::parse(SCHEMA, &text)
                .and_then(|schema| schema.with_label(label))
                .map_err(|e| refused(&path, &e))?;
            let columns = schema.code_columns();
            let sizes: Vec<usize> = columns.iter().map(|column| column.codes.len()).collect();
            let ordered = columns.iter().map(|column| column.ordered).collect();
            let place = schema.label().unwrap_or_default();
            let (found, expected) = (description.classes.len(), sizes[place]);
            if found != expected {
                let why = format!("{found} classes, and the schema has {expected}");
                return Err(refused(&folder.join(DESCRIPTION), &why));
            }
            let model = TableModel::of_tensors(sizes, ordered, place, values);
            let model = model.map_err(|e| damaged(&e))?;
            let learned = Learned::Table {
                schema: text,
                model,
            };
            return Ok(Self {
                description,
                learned,
            });
        }
        let features = description.features.features()?;
        let weights =
            values("head").ok_or_else(|| damaged(&"there is no tensor head of 32 bits"))?;
        let weights = weights.iter().map(|&x| f64::from(x)).collect();
        let outputs = match description.range {
            Some(_) => 1,
            None => description.classes.len(),
        };
        let head = Head::new(features.width(), outputs, weights);
        let head = head.map_err(|e| damaged(&e))?;
        let features = match values("mean").zip(values("map")) {
            None => features,
            Some((mean, map)) => Whitening::new(mean, map)
                .and_then(|whitening| features.with_whitening(whitening))
                .map_err(|e| damaged(&e))?,
        };
        let learned = Learned::Head { features, head };
        Ok(Self {
            description,
            learned,
        })
    }
}

fn refused(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::input(
        format!("{}: {why}", path.display()),
        "name the folder of a finished run of classify, or of its model",
    )
}
