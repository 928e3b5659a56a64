//! Named tensors from a file: safetensors, or what `torch.save` writes.

mod pickle;
mod torch;
mod zip;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};

use crate::EvaluateError;

/// What a file holds under one name.
#[derive(Debug, Clone, PartialEq)]
enum Entry {
    /// Numbers in row-major order.
    Values { shape: Vec<usize>, values: Vec<f32> },
    /// Numbers of a type that no weight has, such as counters.
    OtherType(String),
}

type Named = HashMap<String, Entry>;

/// The tensors of one file.
#[derive(Debug)]
pub(super) struct Tensors {
    path: PathBuf,
    named: Named,
    /// What stands in front of every name, as in `module.` or `state_dict.`.
    prefix: String,
}

impl Tensors {
    /// Reads `path`, whose first bytes tell its format. `anchor` is a name that must be there, with
    /// or without a prefix that then belongs to all names.
    ///
    /// # Errors
    ///
    /// [`EvaluateError::File`] for a file that cannot be read or is of no known format,
    /// [`EvaluateError::Weights`] where `anchor` is missing.
    pub(super) fn read(path: &Path, anchor: &str) -> Result<Self, EvaluateError> {
        let bytes = std::fs::read(path).map_err(|error| EvaluateError::file(path, error))?;
        let read = if torch::recognises(&bytes) {
            torch::read(&bytes)
        } else {
            safetensors(&bytes)
        };
        let named = read.map_err(|reason| EvaluateError::file(path, reason))?;
        // The shortest prefix, so that the answer does not depend on the order of a hash map.
        let prefix = named
            .keys()
            .filter_map(|name| name.strip_suffix(anchor))
            .filter(|prefix| prefix.is_empty() || prefix.ends_with('.'))
            .min_by_key(|prefix| (prefix.len(), prefix.to_string()))
            .map(str::to_string);
        let mut tensors = Self {
            path: path.to_path_buf(),
            named,
            prefix: String::new(),
        };
        match prefix {
            Some(prefix) => tensors.prefix = prefix,
            None => return Err(tensors.missing(anchor)),
        }
        Ok(tensors)
    }

    /// Whether there is a tensor of that name, and its shape.
    pub(super) fn shape(&self, name: &str) -> Option<&[usize]> {
        match self.named.get(&format!("{}{name}", self.prefix)) {
            Some(Entry::Values { shape, .. }) => Some(shape),
            _ => None,
        }
    }

    /// The numbers of a tensor that must have this shape, row by row.
    ///
    /// # Errors
    ///
    /// [`EvaluateError::Weights`] names the tensor that is missing, of another shape or type, or
    /// not finite.
    pub(super) fn get(&self, name: &str, shape: &[usize]) -> Result<&[f32], EvaluateError> {
        let refuse = |reason: String| EvaluateError::Weights {
            path: self.path.clone(),
            tensor: format!("{}{name}", self.prefix),
            reason,
        };
        match self.named.get(&format!("{}{name}", self.prefix)) {
            None => Err(self.missing(name)),
            Some(Entry::OtherType(kind)) => Err(refuse(format!(
                "its type is {kind}, expected 32-bit floating point"
            ))),
            Some(Entry::Values { shape: found, .. }) if found != shape => Err(refuse(format!(
                "its shape is {found:?}, expected {shape:?}"
            ))),
            Some(Entry::Values { values, .. }) => match values.iter().find(|x| !x.is_finite()) {
                Some(x) => Err(refuse(format!("it holds {x}, expected finite numbers"))),
                None => Ok(values),
            },
        }
    }

    fn missing(&self, name: &str) -> EvaluateError {
        EvaluateError::Weights {
            path: self.path.clone(),
            tensor: format!("{}{name}", self.prefix),
            reason: format!("it is missing among the {} in the file", self.named.len()),
        }
    }
}

fn safetensors(bytes: &[u8]) -> Result<Named, String> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| {
        format!("this is neither a file of torch.save nor of safetensors ({error})")
    })?;
    Ok(file
        .iter()
        .map(|(name, view)| {
            let entry = match view.dtype() {
                Dtype::F32 => Entry::Values {
                    shape: view.shape().to_vec(),
                    values: numbers(view.data(), f32::from_le_bytes),
                },
                Dtype::F64 => Entry::Values {
                    shape: view.shape().to_vec(),
                    values: numbers(view.data(), |word| f64::from_le_bytes(word) as f32),
                },
                other => Entry::OtherType(format!("{other:?}")),
            };
            (name.to_string(), entry)
        })
        .collect())
}

fn numbers<const N: usize>(bytes: &[u8], decode: fn([u8; N]) -> f32) -> Vec<f32> {
    let (words, _) = bytes.as_chunks::<N>();
    words.iter().map(|&word| decode(word)).collect()
}

#[cfg(test)]
mod tests;
