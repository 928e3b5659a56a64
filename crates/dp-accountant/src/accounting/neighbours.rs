//! Which data sets are neighbours.

use serde::{Deserialize, Serialize};

/// The relation between two data sets whose difference an event hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Neighbours {
    /// One record is replaced by any other.
    ReplaceOne,
    /// One record is added or removed. The number of records is private.
    AddRemove,
    /// One record is made blank, so that it adds nothing to any sum. The number of records, blank ones included, is public.
    ///
    /// Source: "zero-out" of Kairouz et al. 2021, arXiv 2103.00039; "replace special" in dp_accounting.
    ZeroOut,
    /// One record is replaced by another of the same stratum. Sizes of strata are public.
    ///
    /// Source: Rodriguez-Vitores, Lalanne and Loubes 2025, arXiv 2502.01701, definition 2.1.
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
