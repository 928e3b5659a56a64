//! What takes more than one crate: contracts, backends, and what the workspace and its documents promise.

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};

// The longest ones come first by their name.
mod agreement;
mod architecture;
mod documents;
mod fairness_contract;
mod leaks;
mod privacy_contract;
mod sample_contract;
mod transport_factor;
mod vector_contract;

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Rows of `width` numbers.
fn upload(values: &[f32], width: usize, device: &Device) -> Tensor<2> {
    let shape = [values.len() / width, width];
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}
