//! Errors as people meet them: what was refused, its value, the bound, and what to do.

use std::fmt::Display;
use std::process::ExitCode;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

/// The main of every program: runs it and gives its exit code, having printed the diagnostic of a failure.
///
/// A reader may close its end of a pipe when it has seen enough, as `head` does. The process then ends without a word
/// at the next line that it prints, with code 141, which is that of a program that SIGPIPE ended. It is not 0: a run
/// whose reader is gone in the middle of its work has not done it. What its folder holds can be resumed, as after a
/// kill, and where run.json is written before the last lines are printed, nothing is lost.
pub fn main(run: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    // `println!` panics where it cannot print, and in any thread: to look at the panic there covers every line that is
    // printed anywhere, and needs no signal handler, which would need unsafe code.
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

/// Whether a panic says that standard output or standard error is a pipe that nobody reads any more. The words of the
/// system differ; the number in `(os error N)` tells.
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
    /// Bad input: exit code 2, nothing was started and nothing was overwritten.
    #[error("{message}")]
    BadInput {
        /// What was refused, with its value and bound.
        message: String,
        /// What to do.
        help: Option<String>,
    },
    /// A run that failed: exit code 1.
    #[error("{message}")]
    Failed {
        /// What happened.
        message: String,
        /// What to do.
        help: Option<String>,
    },
    /// A run that was asked to stop and can be resumed: exit code 130, as after SIGINT.
    #[error("{message}")]
    Interrupted {
        /// Where it stopped.
        message: String,
        /// How to resume.
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

/// Results whose errors are no mistake of the person who asked.
pub trait OrFailed<T> {
    /// The value, or [`Failure::failed`].
    ///
    /// # Errors
    ///
    /// Any error is a failed run.
    fn or_failed(self) -> Result<T, Failure>;
}

impl<T, E: Display> OrFailed<T> for Result<T, E> {
    fn or_failed(self) -> Result<T, Failure> {
        self.map_err(Failure::failed)
    }
}

impl Failure {
    /// Bad input, with advice.
    pub fn input(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::BadInput {
            message: message.into(),
            help: Some(help.into()),
        }
    }

    /// A failed run, without advice.
    pub fn failed(error: impl Display) -> Self {
        Self::Failed {
            message: error.to_string(),
            help: None,
        }
    }

    /// Prints the diagnostic to standard error and gives the exit code.
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
