//! Local privacy: each record passes its mechanism alone, once, before anything else sees it.
//!
//! [`privatise`] takes records through a [`Preprocessing`]: the public transform, the one-hot label times a public
//! weight, the ball, the noise. [`run()`] is the program that does so with files.
//!
//! Source: Reshetova, Chen and Ozgur 2023, arXiv 2306.09547, sections 2 and 5.

mod arguments;
mod input;
mod log;
mod preprocessing;
mod promise;
mod run;

pub use arguments::Arguments;
pub use preprocessing::{Form, Preprocessing};
pub use promise::{calibrated, mechanism_of, promise};
pub use run::run;

use data::{DataError, Records};
use dp_core::mechanism::NoiseSource;
use lab::prelude::*;

/// The most values, and records, that are read at once.
const CHUNK_VALUES: usize = 1 << 20;
const CHUNK_RECORDS: usize = 1024;

/// What became of the records. **Private** but for `records`: for the private side's own log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub records: u64,
    /// Of these, how many lay outside of the ball and were scaled into it, or held a value that is not finite.
    pub projected: u64,
    /// Of these, how many held a value that is not finite, and so counted as the origin.
    pub not_finite: u64,
    /// Records that the source's own rules left out, as `missing = "drop"` of a schema.
    pub dropped: u64,
}

/// Takes each record, in order, through a preprocessing, and gives what may leave to `push`.
///
/// - `form`: what is public of the records.
///
/// A few records are held at a time. `progress` hears, after each chunk, how many are done, and may stop.
///
/// ```
/// use data::privatised::Calibration;
/// use data::Records;
/// use dp_core::local::LocalMechanism;
/// use dp_core::mechanism::NoiseSource;
/// use experiments::privatise::{Form, Preprocessing, privatise};
///
/// let mechanism = LocalMechanism::laplace(4.0, 1.0)?;
/// let preprocessing = Preprocessing::new(mechanism, Calibration::Exact, None, None);
/// let records = Records::rows("records", 2, vec![0.1, 0.2, -3.0, 4.0])?;
/// let form = Form::of(&records, false);
/// // Reproducible, and so not private: a real one takes `NoiseSource::secret()`.
/// let mut noise = NoiseSource::insecure(1);
/// let mut noisy = Vec::new();
/// let mut push = |record: &[f32]| {
///     noisy.extend_from_slice(record);
///     Ok(())
/// };
/// let counts = privatise(&records, &form, &preprocessing, &mut noise, &mut push, &mut |_| Ok(()))?;
/// assert_eq!((counts.records, counts.projected, noisy.len()), (2, 1, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn privatise(
    records: &Records,
    form: &Form,
    preprocessing: &Preprocessing,
    noise: &mut NoiseSource,
    push: &mut dyn FnMut(&[f32]) -> Result<(), DataError>,
    progress: &mut dyn FnMut(u64) -> Result<(), Failure>,
) -> Result<Counts, Failure> {
    preprocessing.check(form)?;
    let most = (CHUNK_VALUES / form.width.max(1)).clamp(1, CHUNK_RECORDS);
    let mut counts = Counts::default();
    for block in records.blocks(most) {
        let block = block.map_err(unreadable)?;
        let values = block.values().map_err(unreadable)?;
        for (place, values) in values.chunks_exact(form.width).enumerate() {
            let label = block.label(place).filter(|_| form.classes.is_some());
            let record = preprocessing.record(form, values, label)?;
            let private = preprocessing
                .mechanism()
                .privatise(&record, noise)
                .or_failed()?;
            counts.records += 1;
            counts.projected += u64::from(private.projected);
            counts.not_finite += u64::from(!values.iter().all(|value| value.is_finite()));
            let rounded: Vec<f32> = private.values.iter().map(|&x| x as f32).collect();
            push(&rounded).or_failed()?;
        }
        progress(counts.records)?;
    }
    Ok(counts)
}

fn unreadable(error: DataError) -> Failure {
    private::refused(
        &error,
        "nothing was written; repair the input and privatise all of it: no record has left yet",
    )
}
