//! A vector computed from private records, with its sensitivity: what a mechanism adds noise to.

/// Values that depend on private records, and how far replacing one record can move them.
///
/// The two travel together, so that the noise fits the values. Nothing here is private yet: only
/// what a mechanism returns for it is.
#[derive(Debug, Clone, PartialEq)]
pub struct SensitiveVector {
    values: Vec<f64>,
    l2_sensitivity_upper: f64,
}

impl SensitiveVector {
    pub(crate) fn new(values: Vec<f64>, l2_sensitivity_upper: f64) -> Self {
        Self {
            values,
            l2_sensitivity_upper,
        }
    }

    /// The values before the noise: not to be published.
    pub fn before_noise(&self) -> &[f64] {
        &self.values
    }

    /// An upper bound on the Euclidean distance of the values on two data sets of the same public
    /// size that differ in one record, in the units of the values.
    pub fn l2_sensitivity_upper(&self) -> f64 {
        self.l2_sensitivity_upper
    }
}
