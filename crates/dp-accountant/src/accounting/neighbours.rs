//! Which data sets are neighbours.

use serde::{Deserialize, Serialize};

/// Which pairs of data sets an event hides the difference of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Neighbours {
    /// One record is replaced by any other.
    ReplaceOne,
    /// One record is added or removed, so that the number of records is as private as they are.
    AddRemove,
    /// One record counts or is blank, a blank one adding nothing to any sum; the number of records, blank ones among
    /// them, is public (Kairouz et al. 2021, arXiv 2103.00039; "zero-out", or in dp_accounting "replace special").
    ZeroOut,
    /// One record is replaced by another of the same group, group sizes being public
    /// (Rodriguez-Vitores, Lalanne and Loubes 2025, arXiv 2502.01701, definition 2.1).
    KEnd,
}

impl std::fmt::Display for Neighbours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ReplaceOne => "replace-one",
            Self::AddRemove => "add-remove",
            Self::ZeroOut => "zero-out",
            Self::KEnd => "k-end",
        })
    }
}
