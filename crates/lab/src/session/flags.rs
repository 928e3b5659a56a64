//! The command line of an experiment, and the settings that it resolves to: a preset, the flags over it.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::path::PathBuf;

use dp_core::per_sample::NORMS;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::backend::{Backend, Choice};
use crate::diagnostic::{Failure, OrFailed};

/// The command line of an experiment: flags of its own, and those that all have.
#[derive(Debug, Clone, clap::Parser)]
#[command(allow_negative_numbers = true)]
pub struct Arguments<F: clap::Args> {
    /// The experiment's own.
    #[command(flatten)]
    pub own: F,
    /// Where and how it runs.
    #[command(flatten)]
    pub running: Running,
}

/// Where and how a run is made: flags that a resumed run may be given anew.
#[derive(Debug, Clone, clap::Args)]
pub struct Running {
    /// Folder with the data files.
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    /// Folder for what can be computed again, and for the notes on which records are public (default:
    /// the user's cache folder).
    #[arg(long)]
    pub cache_dir: Option<PathBuf>,
    /// Where to compute: auto, flex, ndarray, wgpu, vulkan, metal, cuda or rocm; a GPU's number or a
    /// part of its name may follow, as in wgpu:1 or cuda:h200. `list` prints the devices that are here, and ends.
    #[arg(long, value_name = "BACKEND[:DEVICE]", default_value_t = Choice::from(Backend::Auto))]
    pub backend: Choice,
    /// Run folder to create (default: one named after the settings, in `runs/`).
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Like --out, but a run that was started there resumes, and one that is done stays as it is: the
    /// same command can be given again and again.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["out", "resume"])]
    pub run: Option<PathBuf>,
    /// Resume the run in this folder from its last checkpoint.
    #[arg(long, value_name = "RUN", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Print what the run would release and promise, and stop: nothing is created or released.
    #[arg(long, conflicts_with_all = ["out", "run", "resume"])]
    pub plan: bool,
    /// Print what was found as JSON, on the last line; with --plan, the plan.
    #[arg(long)]
    pub json: bool,
    /// Steps from one checkpoint to the next; there is always one at SIGINT, SIGTERM and the end.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_every: u64,
    /// How many processes take the run together, started by `mpirun -n RANKS`: each holds its part of the private records,
    /// and the first one alone adds noise and writes. Needs a build with the feature `mpi` (docs/runs.md).
    #[arg(long, value_name = "RANKS", conflicts_with = "plan", value_parser = clap::value_parser!(u64).range(1..))]
    pub ranks: Option<u64>,
    /// With --ranks: each gradient is the same to the bit however many ranks there are, in several times the time.
    #[arg(long, requires = "ranks")]
    pub ordered: bool,
    /// With --ranks: seconds that a rank may take to answer before the run ends.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, requires = "ranks", value_parser = clap::value_parser!(u64).range(1..))]
    pub rank_timeout: u64,
    /// What else is asked for of the run, word by word.
    #[arg(skip)]
    pub asked: Vec<String>,
    /// The number of this process among those of --ranks.
    #[arg(skip)]
    pub rank: usize,
    /// Stop after this step as at a SIGINT that comes then, for tests.
    #[arg(long, hide = true)]
    pub stop_after_step: Option<u64>,
}

impl Running {
    /// The folder for what can be computed again: `--cache-dir`, or the user's cache folder.
    pub fn cache(&self) -> Result<PathBuf, Failure> {
        let folder = self.cache_dir.clone().or_else(data::fetch::cache_folder);
        folder.ok_or_else(|| {
            let why = "there is no cache folder for this user";
            Failure::input(why, "name one with --cache-dir")
        })
    }
}

impl<F: clap::Args + Serialize> Arguments<F> {
    /// The settings of `preset`, a TOML text, with the flags over them: each flag takes the place of the setting
    /// of its name. A value that these settings cannot have is refused.
    pub fn over<S: DeserializeOwned>(&self, preset: &str) -> Result<S, Failure> {
        let mut preset: toml::Table = toml::from_str(preset).or_failed()?;
        // As TOML, which knows NaN: a flag that is no number must meet its bound.
        preset.extend(toml::Table::try_from(&self.own).or_failed()?);
        // No noise, or so much of it, takes the place of the preset's budget.
        let none = preset.remove("no-privacy") == Some(true.into());
        if none || preset.contains_key("noise-multiplier") {
            preset.remove("epsilon");
        }
        preset.try_into().map_err(|e: toml::de::Error| {
            Failure::input(e.message().trim(), "leave it out; see --help")
        })
    }
}

/// A text of a preset.
pub fn text_in(preset: &str, name: &str) -> Option<String> {
    let preset: toml::Table = toml::from_str(preset).ok()?;
    Some(preset.get(name)?.as_str()?.to_string())
}

/// Refuses a flag's value that does not `hold`, by its name, or that of its field, and its bound.
pub fn bounded(flag: &str, value: impl Display, holds: bool, bound: &str) -> Result<(), Failure> {
    if holds {
        return Ok(());
    }
    let flag = flag.replace('_', "-");
    Err(Failure::input(
        format!("--{flag} {value}: it must be {bound}"),
        format!("give --{flag} another value, or leave it to the preset"),
    ))
}

/// As [`bounded`], for a value that must be what `holds` says, if there is one.
pub fn must_be<T: Display + Copy>(
    flag: &str,
    value: impl Into<Option<T>>,
    bound: &str,
    holds: impl FnOnce(T) -> bool,
) -> Result<(), Failure> {
    let value = value.into();
    value.map_or(Ok(()), |value| bounded(flag, value, holds(value), bound))
}

/// As [`must_be`], for numbers that have a least one.
pub fn at_least<T: Display + Copy + PartialOrd>(
    flag: &str,
    value: impl Into<Option<T>>,
    least: T,
) -> Result<(), Failure> {
    let bound = format!("at least {least}");
    must_be(flag, value, &bound, |value| value >= least)
}

/// As [`must_be`], for numbers from `least` to `most`.
pub fn between<T: Display + Copy + PartialOrd>(
    flag: &str,
    value: impl Into<Option<T>>,
    least: T,
    most: T,
) -> Result<(), Failure> {
    let bound = format!("between {least} and {most}");
    must_be(flag, value, &bound, |value| (least..=most).contains(&value))
}

/// As [`must_be`], for values that must be positive and finite.
pub fn positive(flag: &str, value: impl Into<Option<f64>>) -> Result<(), Failure> {
    let holds = |value: f64| value.is_finite() && value > 0.0;
    must_be(flag, value, "positive and finite", holds)
}

/// As [`must_be`], for norms that something private is clipped to.
pub fn norm(flag: &str, value: impl Into<Option<f64>>) -> Result<(), Failure> {
    let (least, most) = (NORMS.start(), NORMS.end());
    let bound = format!("from {least:e} to {most:e}: other squares are lost in 32 bits");
    must_be(flag, value, &bound, |value| NORMS.contains(&value))
}

/// A budget in the name of a run's folder.
pub fn budget_name(epsilon: Option<f64>) -> String {
    epsilon.map_or("no-privacy".into(), |epsilon| format!("eps{epsilon}"))
}

/// As [`must_be`], for values of an interval: `0.0..1.0`, or `(Excluded(0.0), Included(1.0))`.
pub fn within(
    flag: &str,
    value: impl Into<Option<f64>>,
    interval: impl RangeBounds<f64>,
) -> Result<(), Failure> {
    let end = |end: Bound<&f64>, included, excluded| match end {
        Bound::Included(x) => format!("{included} {x}"),
        Bound::Excluded(x) => format!("{excluded} {x}"),
        Bound::Unbounded => "anything".into(),
    };
    let least = end(interval.start_bound(), "at least", "above");
    let most = end(interval.end_bound(), "at most", "below");
    must_be(flag, value, &format!("{least} and {most}"), |value| {
        interval.contains(&value)
    })
}

/// A value by its name in settings, as clap's value parser; a refusal names the values that there are.
pub fn by_name<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let value = toml::Value::String(text.into());
    value
        .try_into()
        .map_err(|e: toml::de::Error| e.message().to_string())
}

/// The name of a value on the command line.
pub fn name_of(value: impl clap::ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_string())
}

/// What [`settings!`](crate::settings) makes of the declaration of settings.
pub trait Declared {
    /// The flags that they come from.
    type Flags: clap::Args + Clone + Serialize;

    /// Refuses a value that its bound does not allow.
    fn bounds(&self) -> Result<(), Failure>;

    /// The seed of batches and noise, if it is known.
    fn insecure_noise_seed(&self) -> Option<u64>;
}

/// The settings of an experiment, and its flags: one field of the former for each of the latter, of the same name
/// and with the same words.
///
/// - `struct`: the names of both, if they are not `Settings` and `Flags`.
/// - `common`: those that several experiments have, with flags that are written here once; any of them.
/// - `preset`: those without a flag.
/// - `flags`: those that the preset must have, `optional`: those that may be absent.
/// - `switches`: flags that are no settings.
///
/// `#[flag(...)]` goes to clap, `#[setting(...)]` to serde. `#[bound(...)]` says what a value must be, if there is one:
/// `positive`, `norm`, `at_least(1)`, `between(1, 128)`, `within(0.0..1.0)` or `must_be("even", |n: usize| ...)`, the
/// functions of [`session`](crate::session). Common settings have their bounds here. All are checked before
/// [`Settings::check`](crate::session::Settings::check), which has what depends on several settings.
#[macro_export]
macro_rules! settings {
    ($(#[$meta:meta])* common $($rest:tt)*) => {
        $crate::settings! { $(#[$meta])* struct Settings, Flags; common $($rest)* }
    };
    (
        $(#[$meta:meta])* struct $settings:ident, $all_flags:ident;
        common { $($common:ident: $common_type:ty),* $(,)? }
        $(preset { $($(#[doc = $preset_doc:literal])* $(#[setting($($preset_serde:tt)*)])* $(#[bound($($preset_bound:tt)*)])* $preset:ident: $preset_type:ty),* $(,)? })?
        $(flags { $($(#[doc = $doc:literal])* $(#[flag($($arg:tt)*)])* $(#[setting($($serde:tt)*)])* $(#[bound($($bound:tt)*)])* $name:ident: $type:ty),* $(,)? })?
        $(optional { $($(#[doc = $optional_doc:literal])* $(#[flag($($optional_arg:tt)*)])* $(#[bound($($optional_bound:tt)*)])* $optional:ident: $optional_type:ty),* $(,)? })?
        $(switches { $($(#[$switch_meta:meta])* $switch:ident: $switch_type:ty),* $(,)? })?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct $settings {
            $(#[doc = concat!("The value of `--", stringify!($common), "`.")]
            pub $common: $common_type,)*
            $($($(#[doc = $preset_doc])* $(#[serde($($preset_serde)*)])* pub $preset: $preset_type,)*)?
            $($($(#[doc = $doc])* $(#[serde($($serde)*)])* pub $name: $type,)*)?
            $($($(#[doc = $optional_doc])* pub $optional: Option<$optional_type>,)*)?
        }

        impl $crate::session::Declared for $settings {
            type Flags = $all_flags;

            fn insecure_noise_seed(&self) -> Option<u64> {
                None$(.or($crate::settings! { @seed $common self.$common }))*
            }

            fn bounds(&self) -> Result<(), $crate::diagnostic::Failure> {
                $($crate::settings! { @common $common self.$common })*
                $($($($crate::settings! { @bound $preset self.$preset; $($preset_bound)* })*)*)?
                $($($($crate::settings! { @bound $name self.$name; $($bound)* })*)*)?
                $($($($crate::settings! { @bound $optional self.$optional; $($optional_bound)* })*)*)?
                Ok(())
            }
        }

        $crate::settings! { @flags $all_flags [$($common)*] {
            $($($(#[doc = $doc])* #[arg(long)] $(#[arg($($arg)*)])* pub $name: Option<$type>,)*)?
            $($($(#[doc = $optional_doc])* #[arg(long)] $(#[arg($($optional_arg)*)])* pub $optional: Option<$optional_type>,)*)?
            $($($(#[$switch_meta])* #[serde(skip)] pub $switch: $switch_type,)*)?
        } }
    };
    (@bound $name:ident $value:expr; $check:ident $(($($argument:expr),* $(,)?))?) => {
        $crate::session::$check(stringify!($name), $value $($(, $argument)*)?)?;
    };
    (@seed insecure_noise_seed $value:expr) => { $value };
    (@seed $other:ident $value:expr) => { None };
    (@common epsilon $value:expr) => { $crate::settings! { @bound epsilon $value; positive } };
    (@common delta $value:expr) => {
        $crate::settings! {
            @bound delta $value;
            within((::std::ops::Bound::Excluded(0.0), ::std::ops::Bound::Excluded(1.0)))
        }
    };
    (@common learning_rate $value:expr) => { $crate::settings! { @bound learning_rate $value; positive } };
    (@common seed $value:expr) => {};
    (@common insecure_noise_seed $value:expr) => {};
    (@common $count:ident $value:expr) => { $crate::settings! { @bound $count $value; at_least(1) } };
    (@flags $all:ident [] { $($flags:tt)* }) => {
        /// Flags of the settings.
        #[derive(Debug, Clone, ::serde::Serialize, ::clap::Args)]
        #[serde(rename_all = "kebab-case")]
        #[group(skip)]
        pub struct $all { $($flags)* }
    };
    (@flags $all:ident [records $($more:ident)*] { $($flags:tt)* }) => { $crate::settings! { @flags $all [$($more)*] {
        $($flags)*
        /// Private records: the first ones, or a sample of the files of a folder or archive (default: all, or the preset's).
        #[arg(long)]
        pub records: Option<usize>,
    } } };
    (@flags $all:ident [epsilon $($more:ident)*] { $($flags:tt)* }) => { $crate::settings! { @flags $all [$($more)*] {
        $($flags)*
        /// Privacy budget of the whole run.
        #[arg(long, conflicts_with = "no_privacy")]
        pub epsilon: Option<f64>,
        /// Add no noise, and clip nothing; nothing is promised.
        #[arg(long)]
        pub no_privacy: bool,
    } } };
    (@flags $all:ident [delta $($more:ident)*] { $($flags:tt)* }) => { $crate::settings! { @flags $all [$($more)*] {
        $($flags)*
        /// Delta of the guarantee, below one over the number of private records (default: a tenth of that, or the preset's).
        #[arg(long)]
        pub delta: Option<f64>,
    } } };
    (@flags $all:ident [steps $($more:ident)*] { $($flags:tt)* }) => { $crate::settings! { @flags $all [$($more)*] {
        $($flags)*
        /// Number of training steps.
        #[arg(long)]
        pub steps: Option<u64>,
    } } };
    (@flags $all:ident [learning_rate $($more:ident)*] { $($flags:tt)* }) => { $crate::settings! { @flags $all [$($more)*] {
        $($flags)*
        /// Learning rate of the first step.
        #[arg(long)]
        pub learning_rate: Option<f64>,
    } } };
    (@flags $all:ident [slices $($more:ident)*] { $($flags:tt)* }) => { $crate::settings! { @flags $all [$($more)*] {
        $($flags)*
        /// Slices, the directions on which points are projected to compare distributions: so many in a step or a release, and at
        /// least the dimension for a tight frame.
        #[arg(long)]
        pub slices: Option<usize>,
    } } };
    (@flags $all:ident [seed $($more:ident)*] { $($flags:tt)* }) => { $crate::settings! { @flags $all [$($more)*] {
        $($flags)*
        /// Seed of everything public: initial weights, slices, what is simulated.
        #[arg(long, default_value_t = 0)]
        pub seed: u64,
    } } };
    (@flags $all:ident [insecure_noise_seed $($more:ident)*] { $($flags:tt)* }) => { $crate::settings! { @flags $all [$($more)*] {
        $($flags)*
        /// Make batches and noise reproducible too: the run is then NOT private, and says so. Runs of one
        /// seed share their batches and their standard noise.
        #[arg(long)]
        pub insecure_noise_seed: Option<u64>,
    } } };
}

#[cfg(test)]
#[expect(
    unreachable_pub,
    reason = "settings are public where an experiment has them"
)]
mod tests {
    use std::ops::Bound::{Excluded, Included};

    use clap::Parser;

    use super::*;

    settings! {
        /// Settings of a test.
        common { epsilon: Option<f64>, steps: u64, seed: u64 }
        flags {
            /// A number.
            #[bound(within((Excluded(0.0), Included(1.0))))]
            alpha: f64,
        }
        optional {
            /// Another one.
            #[bound(must_be("even", |n: u64| n.is_multiple_of(2)))]
            of_two: u64,
        }
    }

    fn arguments(flags: &[&str]) -> Arguments<Flags> {
        Arguments::parse_from(std::iter::once(&"test").chain(flags))
    }

    fn resolved(flags: &[&str]) -> Settings {
        let preset = "alpha = 0.5\nepsilon = 3.0\nsteps = 7";
        arguments(flags).over(preset).unwrap()
    }

    #[test]
    fn a_preset_has_the_fields_of_the_settings_alone() {
        let preset = "alpha = 0.5\nsteps = 7\nslices = 3";
        let refusal = arguments(&[]).over::<Settings>(preset).unwrap_err();
        assert!(refusal.to_string().contains("slices"), "{refusal}");
        let line = ["test", "--slices", "3"];
        assert!(Arguments::<Flags>::try_parse_from(line).is_err());
    }

    #[test]
    fn a_flag_takes_the_place_of_the_preset() {
        let settings = resolved(&["--alpha", "1", "--seed", "4"]);
        let all = (
            settings.alpha,
            settings.epsilon,
            settings.steps,
            settings.seed,
        );
        assert_eq!(all, (1.0, Some(3.0), 7, 4));
        assert_eq!(resolved(&["--no-privacy"]).epsilon, None);
        // A budget that is no number must not become the preset's.
        assert!(resolved(&["--epsilon", "nan"]).epsilon.unwrap().is_nan());
        assert_eq!(resolved(&["--epsilon", "inf"]).epsilon, Some(f64::INFINITY));
    }

    #[test]
    fn a_value_beyond_its_bound_is_refused_by_its_flag() {
        for (flag, value, bound) in [
            ("alpha", "0", "above 0 and at most 1"),
            ("alpha", "NaN", "above 0 and at most 1"),
            ("of-two", "3", "even"),
            ("epsilon", "NaN", "positive and finite"),
            ("steps", "0", "at least 1"),
        ] {
            let refusal = resolved(&[&format!("--{flag}"), value]).bounds();
            let expected = format!("--{flag} {value}: it must be {bound}");
            assert_eq!(refusal.unwrap_err().to_string(), expected);
        }
        // What is absent has no bound.
        for flags in [&["--no-privacy"][..], &["--of-two", "4", "--alpha", "1"]] {
            resolved(flags).bounds().unwrap();
        }
    }

    #[test]
    fn an_interval_says_which_ends_it_has() {
        for (value, least, most, holds) in [
            (0.0, Included(0.0), Excluded(1.0), true),
            (0.0, Excluded(0.0), Included(1.0), false),
            (1.0, Included(0.0), Included(1.0), true),
            (1.0, Excluded(0.0), Excluded(1.0), false),
            (f64::NAN, Included(0.0), Included(1.0), false),
        ] {
            assert_eq!(within("x", value, (least, most)).is_ok(), holds, "{value}");
        }
        let refusal = within("x", 2.0, (Excluded(0.0), Included(1.0))).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "--x 2: it must be above 0 and at most 1"
        );
    }
}
