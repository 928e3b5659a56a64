//! SIGINT and SIGTERM end a run at its next checkpoint; a second signal ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::diagnostic::Failure;

/// Whether somebody asked the program to stop.
#[derive(Debug, Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the system refuses a handler.
    pub fn listen() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in signal_hook::consts::TERM_SIGNALS {
            // In this order: the first signal finds the flag unset, a second one ends the program.
            signal_hook::flag::register_conditional_shutdown(*signal, 128 + *signal, asked.clone())
                .and_then(|_| signal_hook::flag::register(*signal, asked.clone()))
                .map_err(|e| Failure::run(format!("signal {signal}: {e}")))?;
        }
        Ok(Self(asked))
    }

    /// Whether to stop now.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
