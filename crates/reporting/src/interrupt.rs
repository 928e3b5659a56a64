//! SIGINT and SIGTERM end a run at its next checkpoint; a second signal ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::diagnostic::Failure;

/// Whether somebody asked the program to stop, by a signal (after [`Interrupt::listen`]) or by [`Interrupt::ask`].
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens to signals from now on. Before, a signal ends the program at once. So a program listens as soon as it
    /// has something to keep, and then calls [`Interrupt::asked`] at least once a second.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] if the system refuses a handler.
    pub fn listen() -> Result<Self, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in signal_hook::consts::TERM_SIGNALS {
            // The order matters: the first signal finds the flag unset, a second one ends the program.
            signal_hook::flag::register_conditional_shutdown(*signal, 128 + *signal, asked.clone())
                .and_then(|_| signal_hook::flag::register(*signal, asked.clone()))
                .map_err(|e| Failure::failed(format!("signal {signal}: {e}")))?;
        }
        Ok(Self(asked))
    }

    /// Asks the program to stop, as a signal does.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the program should stop now.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns an error if somebody asked to stop; `lab::resume::resumable` adds how to resume.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] if somebody asked to stop.
    pub fn check(&self, doing: &str) -> Result<(), Failure> {
        if !self.asked() {
            return Ok(());
        }
        Err(Failure::Interrupted {
            message: format!("stopped while {doing}"),
            help: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asked_is_asked_for_all_that_share_it() {
        let interrupt = Interrupt::default();
        let other = interrupt.clone();
        assert!(other.check("waiting").is_ok());
        interrupt.ask();
        let Err(Failure::Interrupted { message, .. }) = other.check("waiting") else {
            panic!("it must end");
        };
        assert_eq!(message, "stopped while waiting");
    }
}
