//! POT's values, and numbers out of tensors.

use burn::tensor::Tensor;
use serde_json::Value;

/// What POT gives by this name.
pub(crate) fn pot(name: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../data/pot.json")).unwrap();
    all[name].clone()
}

pub(crate) fn floats(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).unwrap()
}

pub(crate) fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.try_into_vec_as::<f64>().unwrap()
}

#[track_caller]
pub(crate) fn all_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < tolerance, "{a} for {b}");
    }
}
