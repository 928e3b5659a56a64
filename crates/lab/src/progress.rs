//! The progress bar of a training run.

use indicatif::{ProgressBar, ProgressStyle};

/// Steps done, steps per second, time left, and a message such as the epsilon spent so far.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar over `steps` steps; silent if standard error is no terminal.
    pub fn new(steps: u64) -> Self {
        Self::from(0, steps)
    }

    /// A bar that resumes after `done` of `steps` steps.
    pub fn from(done: u64, steps: u64) -> Self {
        let bar = ProgressBar::new(steps).with_position(done);
        bar.reset_eta();
        let style = ProgressStyle::with_template(
            "{bar:30} {pos}/{len} steps  {per_sec}  left {eta}  {msg}",
        )
        .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        Self { bar }
    }

    /// A sign of life while records are read, without a number: how many there are may be private.
    pub fn reading() -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} reading  {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { bar }
    }

    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Shows `message` beside the bar.
    pub fn message(&self, message: String) {
        self.bar.set_message(message);
    }

    /// Prints a line above the bar, or plainly if there is no terminal.
    pub fn line(&self, text: &str) {
        if self.bar.is_hidden() {
            eprintln!("{text}");
        } else {
            self.bar.println(text);
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
