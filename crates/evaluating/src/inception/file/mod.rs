//! Named tensors from a file: safetensors, or what `torch.save` writes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use burn::store::burn_pack::Tensor as Entry;
use burn::store::{ModuleStore, PytorchStore, SafetensorsStore};
use burn::tensor::TensorData;
use files::foreign::{DAMAGED, quietly};

use crate::EvaluateError;

/// The tensors of one file, which are read when they are asked for.
pub(super) struct Tensors {
    path: PathBuf,
    named: BTreeMap<String, Entry>,
    /// What stands in front of every name, as in `module.` or `state_dict.`.
    prefix: String,
}

impl Tensors {
    /// Opens `path`, whose first bytes tell its format. `anchor` is a name that must be there, with
    /// or without a prefix that then belongs to all names.
    pub(super) fn read(path: &Path, anchor: &str) -> Result<Self, EvaluateError> {
        let mut start = Vec::new();
        File::open(path)
            .and_then(|file| file.take(9).read_to_end(&mut start))
            .map_err(|error| EvaluateError::file(path, error))?;
        // The header of safetensors is a JSON object behind its length.
        let named = quietly(|| {
            if start.get(8) == Some(&b'{') {
                let mut store = SafetensorsStore::from_file(path);
                store.get_all_tensors().cloned().map_err(|e| e.to_string())
            } else {
                let mut store = PytorchStore::from_file(path).map_indices_contiguous(false);
                store.get_all_tensors().cloned().map_err(|e| e.to_string())
            }
        });
        let named = named.unwrap_or_else(|| Err(DAMAGED.into()));
        let named = named.map_err(|reason| {
            let reason = format!("no weights can be read from it: {reason}");
            EvaluateError::file(path, reason)
        })?;
        let prefix = named
            .keys()
            .filter_map(|name| name.strip_suffix(anchor))
            .filter(|prefix| prefix.is_empty() || prefix.ends_with('.'))
            .min_by_key(|prefix| prefix.len())
            .map(str::to_string);
        let mut tensors = Self {
            path: path.to_path_buf(),
            named,
            prefix: String::new(),
        };
        tensors.prefix = prefix.ok_or_else(|| tensors.missing(anchor))?;
        Ok(tensors)
    }

    /// Whether there is a tensor of that name, and its shape.
    pub(super) fn shape(&self, name: &str) -> Option<&[usize]> {
        let entry = self.named.get(&format!("{}{name}", self.prefix))?;
        Some(&entry.shape)
    }

    /// The numbers of a tensor that must have this shape, row by row.
    pub(super) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, EvaluateError> {
        let name = format!("{}{name}", self.prefix);
        let entry = self.named.get(&name).ok_or_else(|| self.missing(&name))?;
        let refuse = |reason: String| self.refuse(&name, reason);
        if !entry.dtype.is_float() {
            let reason = format!("its type is {:?}, expected floating point", entry.dtype);
            return Err(refuse(reason));
        }
        if *entry.shape != *shape {
            let reason = format!("its shape is {:?}, expected {shape:?}", &*entry.shape);
            return Err(refuse(reason));
        }
        let values = quietly(|| -> Result<Vec<f32>, String> {
            let bytes = entry.to_bytes().map_err(|error| error.to_string())?;
            let data = TensorData::try_from_bytes(bytes, entry.shape.clone(), entry.dtype)
                .map_err(|error| error.to_string())?;
            Ok(data.iter::<f32>().collect())
        });
        let values = values.unwrap_or_else(|| Err(DAMAGED.into()));
        let values = values.map_err(refuse)?;
        match values.iter().find(|x| !x.is_finite()) {
            Some(x) => Err(refuse(format!("it holds {x}, expected finite numbers"))),
            None => Ok(values),
        }
    }

    fn missing(&self, tensor: &str) -> EvaluateError {
        let count = self.named.len();
        self.refuse(
            tensor,
            format!("it is missing among the {count} in the file"),
        )
    }

    fn refuse(&self, tensor: &str, reason: String) -> EvaluateError {
        EvaluateError::Weights {
            path: self.path.clone(),
            tensor: tensor.into(),
            reason,
        }
    }
}

#[cfg(test)]
mod tests;
