use thiserror::Error;

/// The ways in which the input of a transport function can be wrong, each with the value found and its bound.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SwdError {
    /// A count that must not be zero.
    #[error("{what} must be at least 1, found 0")]
    Empty {
        /// The quantity.
        what: &'static str,
    },
    /// Fewer slices than dimensions cannot form a tight frame.
    #[error("a tight frame needs at least as many slices as dimensions: {count} < {dim}")]
    TooFewSlices {
        /// The number of slices that was asked for.
        count: usize,
        /// The dimension, which is the smallest possible number.
        dim: usize,
    },
    /// More slices than dimensions cannot be orthonormal.
    #[error("there are at most as many orthonormal slices as dimensions: {count} > {dim}")]
    TooManySlices {
        /// The number of slices that was asked for.
        count: usize,
        /// The dimension, which is the largest possible number.
        dim: usize,
    },
    /// A length that does not fit the other arguments.
    #[error("{what} has length {found}, expected {expected}")]
    Length {
        /// The argument.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        expected: usize,
    },
    /// More keys than a 32-bit index can address.
    #[error("{found} keys are more than can be ranked together, {most}")]
    TooLong {
        /// The number of keys.
        found: usize,
        /// The largest number of keys.
        most: usize,
    },
    /// A key that has no place in an order.
    #[error("NaN in row {row} at index {index}: a rank is not defined")]
    NotANumber {
        /// The row (the slice).
        row: usize,
        /// The place in the row (the record).
        index: usize,
    },
    /// A coordinate that is infinite or NaN.
    #[error("{what}: row {row}, coordinate {index} is {value}, expected a finite number")]
    NotFinite {
        /// The argument.
        what: &'static str,
        /// The row (the point or the slice).
        row: usize,
        /// The place in the row.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A direction that cannot be scaled to unit length.
    #[error("{what} {index} has length 0: it points nowhere, leave it out")]
    ZeroDirection {
        /// The argument.
        what: &'static str,
        /// Its place, counted from 0.
        index: usize,
    },
    /// An order `p` for which `W_p` is no distance.
    #[error("the order of a distance must be a finite number of at least 1, found {value}")]
    NotAnOrder {
        /// The order.
        value: f64,
    },
    /// Values that must not decrease, but do.
    #[error("{what} must not decrease along a row: row {row}, index {index}")]
    NotSorted {
        /// The argument.
        what: &'static str,
        /// The row (the slice).
        row: usize,
        /// The index of the value that is below its predecessor.
        index: usize,
    },
    /// A cost whose power or width is out of its bounds.
    #[error("the {what} of a cost must be {bound}, found {value}")]
    Cost {
        /// The parameter: a power or a width.
        what: &'static str,
        /// The value.
        value: f64,
        /// Its bounds.
        bound: &'static str,
    },
    /// A name that is not the name of a cost.
    #[error("a cost is square, power:P or huber:T with a number, found {found:?}")]
    UnknownCost {
        /// The text.
        found: String,
    },
    /// A bound that is negative, infinite or NaN.
    #[error("{what} must be a finite number of at least 0, found {value}")]
    NotABound {
        /// The quantity.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// A quantity that must be positive and is not.
    #[error("{what} must be a positive finite number, found {value}")]
    NotPositive {
        /// The quantity.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// A radius whose square cannot be held in 32 bits.
    #[error("radius must be from {least:e} to {most:e}, found {value:e}: rescale the rows")]
    Radius {
        /// The radius.
        value: f64,
        /// The least radius.
        least: f64,
        /// The largest radius.
        most: f64,
    },
    /// A count that must be a power of two.
    #[error("{what} must be a power of two of at least 2, found {found}")]
    NotAPowerOfTwo {
        /// The quantity.
        what: &'static str,
        /// The count.
        found: usize,
    },
    /// A place that does not exist.
    #[error("{what} {index} was asked for, there are {count}")]
    NotThere {
        /// The kind of item that was asked for.
        what: &'static str,
        /// Its place, counted from 0.
        index: usize,
        /// The number of items.
        count: usize,
    },
    /// Data that could not be read back from a device.
    #[error("projections could not be read from the device: {0}")]
    Device(String),
}
