//! From mechanisms to epsilon: events as data, accountants, calibration.
//!
//! [`PldAccountant`] is the default and rigorous. `docs/accounting.md` says how it composes, and which parts of its answer are
//! certified. Modules import in one direction: `numerics`, `error`, `event`, `steps`, `pld`, `accountants`, `calibrate`.
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

mod accountants;
mod calibrate;
pub mod error;
mod event;
mod neighbours;
mod pld;
mod steps;
pub mod trade_off;

pub use crate::numerics::{binomial, normal};
pub use accountants::{
    Accountant, GaussianAccountant, GdpCltAccountant, PldAccountant, PrivateSelection,
    RdpAccountant, gaussian, zcdp_of, zcdp_to_delta, zcdp_to_epsilon,
};
pub use calibrate::{batch_for, noise_multiplier_for, steps_for};
pub use error::{AccountingError, Result};
pub use event::{BandedInverse, BatchDistribution, Event, RepetitionDistribution, Stratum};
pub use neighbours::Neighbours;
pub(crate) use steps::MAX_STEPS;
