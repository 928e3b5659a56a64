//! Checks of the shape of a record before a layer.

use crate::per_sample::nn::geometry::Reason;

/// The number of rows of a record, each a last axis of `inputs` numbers.
pub(super) fn places(shape: &[usize], inputs: usize) -> Result<usize, Reason> {
    let (last, others) = shape.split_last().ok_or("takes no record of no axis")?;
    if *last != inputs {
        let axis = match others {
            [] => String::new(),
            _ => format!(" along the last axis of {shape:?}"),
        };
        return Err(format!("takes {inputs} inputs, and {last} reach it{axis}"));
    }
    Ok(others.iter().product())
}

pub(super) fn last_replaced(shape: &[usize], last: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape.pop();
    shape.push(last);
    shape
}

pub(super) fn image(shape: &[usize]) -> Result<[usize; 3], Reason> {
    shape
        .try_into()
        .map_err(|_| format!("takes images, [channels, height, width], and {shape:?} reaches it"))
}

pub(super) fn sequence(shape: &[usize]) -> Result<[usize; 2], Reason> {
    shape
        .try_into()
        .map_err(|_| format!("takes sequences, [channels, length], and {shape:?} reaches it"))
}

pub(super) fn fits(what: &str, takes: usize, found: usize) -> Result<(), Reason> {
    if takes == found {
        return Ok(());
    }
    Err(format!("takes {takes} {what}, and {found} reach it"))
}
