//! The errors between ranks.

/// The reason why the ranks of a training cannot go on; nothing of the step was released.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RankError {
    /// A rank failed.
    #[error("rank {rank}: {message}")]
    Failed {
        /// The rank.
        rank: usize,
        /// Its own message.
        message: String,
    },
    /// Ranks do not answer.
    #[error("no answer for {seconds} s from rank {}", listed(ranks))]
    Silent {
        /// The ranks.
        ranks: Vec<usize>,
        /// The time without an answer.
        seconds: u64,
    },
    /// The process was told to end while it waited for these ranks, as `mpirun` does if another process has died.
    #[error("told to end while waiting for rank {}", listed(ranks))]
    Ended {
        /// The ranks.
        ranks: Vec<usize>,
    },
    /// A rank sent more or less than it was asked for.
    // The amount may be a number of sampled records, so the message leaves it out.
    #[error("rank {rank} sent more or fewer {what} than it was asked for")]
    Length {
        /// The rank.
        rank: usize,
        /// The kind of values.
        what: &'static str,
    },
    /// The carrier of the messages refused.
    #[error("{0}")]
    Carrier(String),
}

fn listed(ranks: &[usize]) -> String {
    let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
    ranks.join(", ")
}
