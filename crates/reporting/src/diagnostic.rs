//! Errors for users: what was refused, its value, its bound, and what to do.

use std::fmt::Display;
use std::process::ExitCode;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

/// Runs a program, prints the diagnostic if it fails, and returns the exit code; the `main` of every program calls it.
///
/// A reader may close its end of a pipe when it has seen enough, as `head` does. The process then ends silently at the
/// next line that it prints, with code 141, which is that of a program ended by SIGPIPE. The code is not 0, because the
/// work may not be done. The run can be resumed from its folder, as after a kill. Nothing is lost if run.json was
/// written before the last lines are printed.
pub fn main(run: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    // `println!` panics if it cannot print. A panic hook covers every line that any thread prints and needs no signal
    // handler, which would need unsafe code.
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str().is_some_and(is_closed_pipe) {
            std::process::exit(141);
        }
        before(panic);
    }));
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Whether a panic says that nobody reads standard output or standard error any more. The system's words differ; the
/// number in `(os error N)` does not.
fn is_closed_pipe(message: &str) -> bool {
    let number = message
        .strip_prefix("failed printing to std")
        .and_then(|rest| rest.rsplit_once("(os error "))
        .and_then(|(_, rest)| rest.strip_suffix(')')?.parse().ok());
    number.is_some_and(|number| {
        std::io::Error::from_raw_os_error(number).kind() == std::io::ErrorKind::BrokenPipe
    })
}

/// A failure of a program.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Bad input (exit code 2): nothing was started and nothing was overwritten.
    #[error("{message}")]
    BadInput {
        /// The message: what was refused, with its value and bound.
        message: String,
        /// Advice on what to do.
        help: Option<String>,
    },
    /// A run that failed (exit code 1).
    #[error("{message}")]
    Failed {
        /// The message: what happened.
        message: String,
        /// Advice on what to do.
        help: Option<String>,
    },
    /// A run that was asked to stop and can be resumed (exit code 130, as after SIGINT).
    #[error("{message}")]
    Interrupted {
        /// The message: where the run stopped.
        message: String,
        /// Advice on how to resume.
        help: Option<String>,
    },
}

impl Diagnostic for Failure {
    fn code<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        Some(Box::new(match self {
            Self::BadInput { .. } => "sliver::bad_input",
            Self::Failed { .. } => "sliver::failed",
            Self::Interrupted { .. } => "sliver::interrupted",
        }))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        let (Self::BadInput { help, .. }
        | Self::Failed { help, .. }
        | Self::Interrupted { help, .. }) = self;
        Some(Box::new(help.as_deref()?))
    }
}

/// Turns the errors of a result into a failed run, for errors that are not a user's mistake.
pub trait OrFailed<T> {
    /// Returns the value, or [`Failure::failed`] with the error.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] for any error.
    fn or_failed(self) -> Result<T, Failure>;
}

impl<T, E: Display> OrFailed<T> for Result<T, E> {
    fn or_failed(self) -> Result<T, Failure> {
        self.map_err(Failure::failed)
    }
}

impl Failure {
    /// Returns [`Failure::BadInput`] with advice.
    pub fn input(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::BadInput {
            message: message.into(),
            help: Some(help.into()),
        }
    }

    /// Returns [`Failure::Failed`] without advice.
    pub fn failed(error: impl Display) -> Self {
        Self::Failed {
            message: error.to_string(),
            help: None,
        }
    }

    /// Prints the diagnostic to standard error and returns the exit code.
    pub fn report(&self) -> ExitCode {
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
        if handler.render_report(&mut text, self).is_err() {
            text = self.to_string();
        }
        eprintln!("{text}");
        match self {
            Self::BadInput { .. } => ExitCode::from(2),
            Self::Failed { .. } => ExitCode::from(1),
            Self::Interrupted { .. } => ExitCode::from(130),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_closed_pipe_is_told_from_a_full_disk_and_from_other_panics() {
        for (message, closed) in [
            ("failed printing to stdout: Broken pipe (os error 32)", true),
            ("failed printing to stderr: Broken pipe (os error 32)", true),
            (
                "failed printing to stdout: No space left on device (os error 28)",
                false,
            ),
            ("index out of bounds (os error 32)", false),
            ("failed printing to stdout: formatter error", false),
        ] {
            assert_eq!(is_closed_pipe(message), closed, "{message}");
        }
    }
}
