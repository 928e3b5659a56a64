//! Privacy of the releases.
