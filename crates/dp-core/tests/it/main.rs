//! The noise, the plans and the layers of private steps.

mod common;
mod correlated;
mod layers;
mod names;
mod noise;
mod norms;
mod plan;
mod random;
