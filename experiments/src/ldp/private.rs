//! The privatised records: the only place that reads private ones.

use std::path::Path;

use data::DataError;
use data::privatised::{Header, Privatised as File, Writer};
use data::stream::{InMemory, RecordStream};
use dp_core::mechanism::Releaser;
use lab::diagnostic::{Failure, OrFailed};
use lab::progress::Progress;
use lab::session::Session;
use rand::seq::index::sample;
use rand_chacha::ChaCha20Rng;

use super::plan::RELEASE;
use crate::privatise::{Preprocessing, mechanism_of, privatise};

/// The privatised records in a run's folder.
pub(crate) const FILE: &str = "privatised.safetensors";

/// Records that are read at once where there is no noise.
const PART: usize = 1000;

/// Records after the mechanism, `[n, width]`.
pub(crate) struct Privatised {
    /// The values.
    pub rows: Vec<f32>,
    width: usize,
}

impl Privatised {
    /// Those of a file, whose promise is that of `header`.
    pub(crate) fn load(path: &Path, header: &Header) -> Result<Self, Failure> {
        let file = File::load(path).map_err(refused)?;
        let mut expected = header.clone();
        expected.records = file.header.records;
        if file.header != expected {
            let path = path.display();
            return Err(Failure::input(
                format!("{path}: it was privatised otherwise than this run says"),
                "start the run anew",
            ));
        }
        Ok(Self {
            rows: file.values,
            width: file.header.width,
        })
    }

    /// Privatises every record once, into the run's folder, or reads what the run privatised before it was killed.
    ///
    /// The ledger is written before the first noise is sampled.
    pub(crate) fn of(
        mut records: InMemory,
        (preprocessing, header): (&Preprocessing, &Header),
        releaser: &mut Releaser,
        session: &mut Session,
    ) -> Result<Self, Failure> {
        let path = session.folder.file(FILE);
        if path.exists() {
            return Self::load(&path, header);
        }
        let mut writer = Writer::create(&path, header, false).or_failed()?;
        let (mechanism, width) = (preprocessing.mechanism(), header.width);
        let written = releaser.record_local(RELEASE, mechanism, width, &mut session.ledger);
        written.or_failed()?;
        let progress = Progress::new(records.form().count.unwrap_or(0));
        let mut before = 0;
        privatise(
            &mut records,
            preprocessing,
            releaser.noise(),
            &mut |record| writer.push(record),
            &mut |done| {
                (before..done).for_each(|_| progress.step());
                before = done;
                session.interrupt.check("records were privatised")
            },
        )?;
        progress.finish();
        writer.finish().or_failed()?;
        Self::load(&path, header)
    }

    /// Clean records in the same layout, without noise and outside of any ball.
    pub(crate) fn without_noise(
        mut records: InMemory,
        preprocessing: &Preprocessing,
    ) -> Result<Self, Failure> {
        let form = records.form();
        let (mut rows, mut width) = (Vec::new(), form.width);
        loop {
            let chunk = records.next(PART).map_err(refused)?;
            if chunk.values.is_empty() {
                return Ok(Self { rows, width });
            }
            for (place, values) in chunk.values.chunks_exact(form.width).enumerate() {
                let row = preprocessing.record(&form, values, chunk.labels.get(place).copied())?;
                width = row.len();
                rows.extend(row);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len() / self.width
    }

    /// Some of them, without one twice while there are enough.
    pub(crate) fn batch(&self, size: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
        let chosen = sample(rng, self.len(), size.min(self.len())).into_vec();
        let row = |place: usize| &self.rows[place * self.width..][..self.width];
        let chosen = chosen.into_iter().cycle().take(size);
        chosen.flat_map(row).copied().collect()
    }
}

/// The header of records that were privatised before, whose noise is that of its promise.
pub(crate) fn header_of(input: &Path) -> Result<Header, Failure> {
    let name = format!("--input {}", input.display());
    let header = Header::read(input).map_err(refused)?;
    let header = header.ok_or_else(|| {
        Failure::input(
            format!("{name}: these records are not privatised"),
            "privatise them first: `just privatise`",
        )
    })?;
    mechanism_of(&name, &header)?;
    Ok(header)
}

/// A file of records that cannot be read.
pub(crate) fn refused(error: DataError) -> Failure {
    Failure::input(error.to_string(), "give a file that `just privatise` wrote")
}
