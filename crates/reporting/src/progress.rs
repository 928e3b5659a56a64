//! The progress bar of a long step, and the line that says how long the rest of it takes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How long steps are measured before the rest is estimated.
const MEASURED: Duration = Duration::from_secs(2);
/// If the rest takes longer than this, a line says so.
const LONG: Duration = Duration::from_secs(10);

/// A progress bar: steps done, steps per second, time left, and a message such as the epsilon spent so far. If the rest
/// takes long, a line says how long as soon as this is known.
pub struct Progress {
    bar: ProgressBar,
    /// The time at the end of the first step, which may prepare the others, and the number of steps done then.
    first: OnceLock<(Instant, u64)>,
    told: AtomicBool,
}

impl Progress {
    /// Returns a bar over `steps` steps of `what`; silent if standard error is no terminal.
    pub fn new(what: &'static str, steps: u64) -> Self {
        Self::from(what, 0, steps)
    }

    /// Returns a bar that resumes after `done` of `steps` steps.
    pub fn from(what: &'static str, done: u64, steps: u64) -> Self {
        let bar = ProgressBar::new(steps)
            .with_position(done)
            .with_prefix(what);
        bar.reset_eta();
        let template = "{bar:30} {pos}/{len} {prefix}  {per_sec}  left {eta}  {msg}";
        Self::of(bar, template)
    }

    /// Returns a spinner for the reading of records. It shows no number, because the number of records may be private.
    pub fn reading() -> Self {
        Self::of(ProgressBar::new_spinner(), "{spinner} reading  {elapsed}")
    }

    fn of(bar: ProgressBar, template: &str) -> Self {
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            bar,
            first: OnceLock::new(),
            told: AtomicBool::new(false),
        }
    }

    /// Counts one more step as done.
    pub fn step(&self) {
        self.bar.inc(1);
        let done = self.bar.position();
        let (since, first) = *self.first.get_or_init(|| (Instant::now(), done));
        let taken = since.elapsed();
        if taken < MEASURED || self.told.swap(true, Ordering::Relaxed) {
            return;
        }
        let steps = self.bar.length().unwrap_or(done);
        let left = rest(taken, done - first, steps.saturating_sub(done));
        if left > LONG {
            let what = self.bar.prefix();
            self.line(&format!("time      {} of {what} left", about(left)));
        }
    }

    /// Shows `message` next to the bar.
    pub fn message(&self, message: String) {
        self.bar.set_message(message);
    }

    /// Prints a line above the bar, or to standard error if there is no terminal.
    pub fn line(&self, text: &str) {
        if self.bar.is_hidden() {
            eprintln!("{text}");
        } else {
            self.bar.println(text);
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Returns how long `left` steps take if `done` steps took `taken`.
fn rest(taken: Duration, done: u64, left: u64) -> Duration {
    taken.mul_f64(left as f64 / done.max(1) as f64)
}

/// Returns a roughly known time in words.
fn about(time: Duration) -> String {
    let minutes = (time.as_secs_f64() / 60.0).round() as u64;
    match (time.as_secs(), minutes) {
        (seconds @ ..=89, _) => format!("about {} s", seconds.next_multiple_of(10)),
        (_, minutes @ ..=89) => format!("about {minutes} min"),
        _ => format!("about {:.1} h", time.as_secs_f64() / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_is_done() {
        let second = Duration::from_secs(1);
        for (left, words) in [
            (rest(2 * second, 10, 60), "about 20 s"),
            (rest(2 * second, 50, 4150), "about 3 min"),
            (rest(3 * second, 1, 2400), "about 2.0 h"),
            (89 * second, "about 90 s"),
            (90 * second, "about 2 min"),
        ] {
            assert_eq!(about(left), words);
        }
    }
}
