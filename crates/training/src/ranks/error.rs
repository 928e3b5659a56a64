//! What can go wrong between ranks.

/// Why the ranks of a training cannot go on; nothing of the step was released.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RankError {
    /// A rank that failed, in its own words.
    #[error("rank {rank}: {message}")]
    Failed {
        /// Which.
        rank: usize,
        /// Why.
        message: String,
    },
    /// Ranks that do not answer.
    #[error("no answer for {seconds} s from rank {}", listed(ranks))]
    Silent {
        /// Which.
        ranks: Vec<usize>,
        /// For how long.
        seconds: u64,
    },
    /// Ranks that were waited for when the process was told to end, as `mpirun` does where another process has died.
    #[error("told to end while waiting for rank {}", listed(ranks))]
    Ended {
        /// Which.
        ranks: Vec<usize>,
    },
    /// A rank that sends more or less than it was asked for.
    // How much may be a number of sampled records.
    #[error("rank {rank} sent more or fewer {what} than it was asked for")]
    Length {
        /// Which.
        rank: usize,
        /// Of what.
        what: &'static str,
    },
    /// What carries the messages refused.
    #[error("{0}")]
    Carrier(String),
}

fn listed(ranks: &[usize]) -> String {
    let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
    ranks.join(", ")
}
