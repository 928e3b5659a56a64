//! Numerical composition of privacy loss distributions: from the steps' dominating pairs to a bound on their profile.
//!
//! A [`Pair`] becomes point masses on a lattice, rounded to one [`Side`] of the truth ([`compose`] has the order of the parts).
//! Nothing here knows of events.

mod allocation;
mod collapse;
mod compose;
mod convolution;
mod cumulant;
mod discrete;
mod lattice;
mod pair;
mod plan;
mod profile;
mod quadrature;
mod shifts;
mod side;

pub(crate) use compose::compose;
pub(crate) use pair::Pair;
pub(crate) use plan::{Goal, Plan};
pub(crate) use profile::{Profile, Reading};
pub(crate) use side::Side;
