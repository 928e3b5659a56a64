//! What privacy costs: accountants, samplers and plans.

mod accounting_extremes;
mod accounting_golden;
mod accounting_properties;
mod allocation;
mod banded_inverse;
mod common;
mod discrete_gaussian;
mod exponential;
mod failure;
mod group;
mod refused;
mod samplers;
mod shuffled;
mod truncated;
mod zcdp;
