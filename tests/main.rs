//! What takes more than one crate: what the crates promise together, and what the workspace and its documents promise.

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};

mod contracts;
mod documents;

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Rows of `width` numbers.
fn upload(values: &[f32], width: usize, device: &Device) -> Tensor<2> {
    let shape = [values.len() / width, width];
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}
