//! Errors as people meet them: what was refused, its value, the bound, and what to do.

use std::fmt::Display;
use std::process::ExitCode;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

/// A failure of a binary.
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
