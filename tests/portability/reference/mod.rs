//! What the cases are compared with: slow, in `f64`, and without a line of what it checks but public
//! geometry (slices, the cells of a distribution).

mod network;
mod step;

pub(super) use network::{ReferenceNetwork, Step};
pub(super) use step::{Problem, cells_of, towards};
