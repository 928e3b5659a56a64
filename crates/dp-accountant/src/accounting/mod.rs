//! From mechanisms to epsilon: events as data, accountants that answer for them, calibration.
//!
//! [`PldAccountant`] is the default and rigorous. What it composes, and what is certified and what
//! is not, is in `docs/accounting.md`.
//!
//! ```
//! use dp_accountant::accounting::{Accountant, Event, PldAccountant};
//!
//! // 5000 steps on batches of 600 of 60000 records, sampled without replacement.
//! let event = Event::dp_sgd(60_000, 600, 5_000, 0.76);
//! let epsilon = PldAccountant::default().epsilon(&event, 1e-5)?;
//! assert!((9.9..10.0).contains(&epsilon));
//! # Ok::<(), dp_accountant::accounting::AccountingError>(())
//! ```

mod accountant;
mod allocation;
mod banded_inverse;
pub mod binomial;
mod calibrate;
mod collapse;
mod compose;
mod cumulant;
pub mod error;
mod event;
pub mod gaussian;
mod gdp_clt;
mod lattice;
mod neighbours;
pub mod normal;
mod pair;
mod plan;
mod pld;
mod profile;
mod pure;
mod quadrature;
mod rdp;
mod renyi;
mod replay;
mod selection;
mod shifts;
mod side;
mod steps;
pub mod trade_off;
mod words;
mod zcdp;

pub use accountant::Accountant;
pub use banded_inverse::BandedInverse;
pub use calibrate::{batch_for, noise_multiplier_for, steps_for};
pub use error::{AccountingError, Result};
pub use event::{BatchDistribution, Event, GroupSize};
pub use gaussian::GaussianAccountant;
pub use gdp_clt::GdpCltAccountant;
pub use neighbours::Neighbours;
pub use pld::PldAccountant;
pub use rdp::RdpAccountant;
pub(crate) use replay::as_read;
pub(crate) use replay::is_as_planned;
pub use replay::replay;
pub use selection::{Runs, Selection};
pub(crate) use steps::MAX_STEPS;
pub use zcdp::{zcdp_of, zcdp_to_delta, zcdp_to_epsilon};
