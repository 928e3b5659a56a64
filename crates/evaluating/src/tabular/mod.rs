//! Scores of a copy of a table, against real records that the copy was not made from.
//!
//! [`score_tables`] computes all scores. Each score can also be computed by itself:
//!
//! | score | best | function |
//! |---|---|---|
//! | distance of single columns, of pairs, of triples | 0 | [`single_tvd`], [`pairs_tvd`], [`triples_tvd`] |
//! | distance on slices, with ordered codes as numbers | 0 | [`sliced_distance`] |
//! | ranking by boosted trees trained on the copy | 1 | [`learned_auc`] |
//! | ranking by logistic regression trained on the copy | 1 | [`learned_auc`] |
//!
//! A table is given by the codes of its values, [`CodedRecords`]. All scores are the same for any number of threads.
//! They depend on the real records without noise: scores of private records are private.

mod counts;
mod learned;
mod pairs;
mod rank;
mod scores;
mod single;
mod sliced;
#[cfg(test)]
mod tests;
mod triples;

pub use learned::{auc, learned_auc};
pub use pairs::pairs_tvd;
pub use private_classifiers::{CodedRecords, Learner};
pub use rank::rank_auc;
pub use scores::{TableScores, score_tables};
pub use single::single_tvd;
pub use sliced::sliced_distance;
pub use triples::triples_tvd;
