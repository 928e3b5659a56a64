//! How the records of a step are sampled, and what is sampled.
//!
//! The samplers are [`dp_accountant::sampling`]'s, which says what each of them draws; a step's records are a
//! [`Draw`].

mod draw;

pub use draw::Draw;
pub(crate) use draw::Made;

pub use dp_accountant::sampling::{
    AddRemoveSampler, AllRecords, BatchSampler, CyclicSampler, FixedSizeSampler, GroupSampler,
    PoissonSampler, split_batch,
};
