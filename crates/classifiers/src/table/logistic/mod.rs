//! Logistic regression on the codes of a table.
//!
//! The inputs are the one-hot codes of the other columns and, for the `m` codes of a column that are in order, their
//! place `i / (m - 1) - 1/2`. Newton's method minimises `sum_i log(1 + exp(-y_i (b + <w, x_i>))) + |w|^2 / 2`.

mod design;
mod newton;

use super::features::Features;
use design::Design;
pub(super) use design::Linear;

/// Learns which records are of a class, `[n]`.
pub(super) fn fit(features: &Features, of_class: &[bool]) -> Linear {
    let design = Design::of(features);
    design.by_code(&newton::fit(&design, of_class))
}
