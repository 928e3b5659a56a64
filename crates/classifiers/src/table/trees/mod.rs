//! Gradient-boosted trees on the codes of a table.
//!
//! 100 trees of at most 31 leaves, each grown where the second-order gain is largest (Chen and Guestrin 2016, equation
//! 7), minimise the logistic loss at a learning rate of 0.1, with at least 20 records a leaf and `l2 = 1`. Categories are
//! sorted by their gradients at each split (Ke et al. 2017, LightGBM).

mod boost;
mod grow;
mod histogram;
mod split;

pub(super) use boost::{Ensemble, ROUNDS};
pub(super) use grow::{LEAVES, Node, Tree};
