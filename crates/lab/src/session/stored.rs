//! What a run releases: once and kept, so that a run that was killed afterwards does not release it again, or at a step.

use std::path::Path;

use dp_core::ledger::Ledger;
use dp_core::mechanism::{NameCounts, NoisyVector, Releaser, SensitiveVector};
use dp_core::sampling::Draw;
use private_queries::Query;

use super::{Experiment, Session};
use crate::checkpoint::hex;
use crate::diagnostic::{Failure, OrFailed};
use crate::run_folder::RunFolder;

/// What two processors may make of the same public value.
const ROUNDING: f64 = 1e-4;

/// What a release adds its noise by; an experiment, or a releaser alone.
pub trait Releases {
    /// What samples and adds noise; none without privacy.
    fn releaser(&mut self) -> Option<&mut Releaser>;
}

impl<E: Experiment> Releases for E {
    fn releaser(&mut self) -> Option<&mut Releaser> {
        Experiment::releaser(self)
    }
}

impl Releases for Option<&mut Releaser> {
    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.as_deref_mut()
    }
}

impl Session {
    /// What `query` says of the private records, which `measure` looks at: released once under the plan's `name`, with its
    /// line in the ledger before, and kept as `RUN/NAME.bin`. A resumed run reads it from there.
    ///
    /// If the plan has no such release, or the ledger cannot be written, it fails: nothing was released then. A kept file is refused
    /// that is damaged, or of another query.
    pub fn release<R: Releases, Q: Query>(
        &mut self,
        run: &mut R,
        name: &str,
        query: &Q,
        measure: impl FnOnce(&mut R, &mut Self) -> Result<SensitiveVector, Failure>,
    ) -> Result<Q::Answer, Failure> {
        // Other ranks take part once: the root may read again what it has kept.
        let first = self.shared.insert(name.into());
        let crew = self.crew.clone().filter(|_| first);
        if let Some(crew) = &crew
            && let Some(noisy) =
                crew.kept(|| Ok(stored(&self.folder, name)?.map(|(noisy, _)| noisy)))?
            && crew.rank() > 0
        {
            return query.read(&noisy).or_failed();
        }
        if let Some(answer) = read(&self.folder, name, query)? {
            // A resumed run begins with the key that this release was made with, from a checkpoint or a known seed: what
            // is released next must have another.
            if let Some(releaser) = run.releaser() {
                releaser.noise().advance();
            }
            return Ok(answer);
        }
        let measured = measure(run, self)?;
        if measured.before_noise().len() != query.len() {
            let why = format!("{name}: measured by another query");
            return Err(Failure::failed(why));
        }
        let measured = match &crew {
            Some(crew) => match crew.sum(name, measured)? {
                Some(of_all) => of_all,
                None => return query.read(&crew.released()?).or_failed(),
            },
            None => measured,
        };
        let noisy = match run.releaser() {
            Some(releaser) => releaser
                .release_vector(name, &measured, &mut self.ledger)
                .or_failed()?,
            None if self.promises => return Err(without_releaser(name)),
            None => NoisyVector::without_privacy(measured),
        };
        let answer = self.keep(name, query, &noisy)?;
        if let Some(crew) = &crew {
            crew.tell_released(&noisy)?;
        }
        Ok(answer)
    }

    /// The values of a query, of the records that lie in this process: all of them, or those of one of several ranks.
    pub fn measure<Q: Query>(
        &self,
        query: &Q,
        records: &Q::Records,
    ) -> Result<SensitiveVector, Failure> {
        match &self.crew {
            Some(_) => query.measure_part(records),
            None => query.measure(records),
        }
        .or_failed()
    }

    /// The names that pass the threshold of the plan's release `name`, of each table: released once, with its line in the ledger
    /// before, and kept as `RUN/NAME.json`.
    pub fn release_names<R: Releases>(
        &mut self,
        run: &mut R,
        name: &str,
        counts: impl FnOnce(&mut R) -> Result<NameCounts, Failure>,
    ) -> Result<Vec<Vec<String>>, Failure> {
        let file = format!("{name}.json");
        let path = self.folder.file(&file);
        if path.exists() {
            let text = std::fs::read(&path).map_err(|e| refused(&path, &e))?;
            let names = serde_json::from_slice(&text).map_err(|e| refused(&path, &e))?;
            if let Some(releaser) = run.releaser() {
                releaser.noise().advance();
            }
            return Ok(names);
        }
        let counts = counts(run)?;
        let names = match run.releaser() {
            Some(releaser) => releaser
                .release_names(name, &counts, &mut self.ledger)
                .or_failed()?,
            None if self.promises => return Err(without_releaser(name)),
            None => counts.without_privacy(),
        };
        self.folder.write_json(&file, &names)?;
        Ok(names)
    }

    /// Keeps a release as `RUN/NAME.bin`, little-endian in words of 8 bytes behind their checksum: how many releases the
    /// ledger holds with it, the deviation, and the values and what the query was made of, each behind its length.
    fn keep<Q: Query>(
        &self,
        name: &str,
        query: &Q,
        noisy: &NoisyVector,
    ) -> Result<Q::Answer, Failure> {
        let mut bytes = self.ledger.releases().to_le_bytes().to_vec();
        bytes.extend(noisy.deviation.to_le_bytes());
        for values in [&noisy.values, &query.made_of()] {
            bytes.extend((values.len() as u64).to_le_bytes());
            bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        }
        let sum = hex(&bytes);
        let bytes = [sum.into_bytes(), bytes].concat();
        self.folder.write(&format!("{name}.bin"), &bytes)?;
        query.read(noisy).or_failed()
    }
}

/// What `query` says of what `RUN/NAME.bin` holds; none if nothing was released by this name. A file is refused that is
/// damaged, in the form of an earlier version, or of another query: what was released cannot be had again for nothing.
pub fn read<Q: Query>(
    folder: &RunFolder,
    name: &str,
    query: &Q,
) -> Result<Option<Q::Answer>, Failure> {
    let Some((noisy, made_of)) = stored(folder, name)? else {
        return Ok(None);
    };
    let path = folder.file(&format!("{name}.bin"));
    let own = query.made_of();
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < ROUNDING;
    if own.len() != made_of.len() || !own.iter().zip(&made_of).all(near) {
        return Err(refused(&path, &"it is of another query than this run's"));
    }
    query.read(&noisy).map(Some).map_err(|e| refused(&path, &e))
}

/// Whether something was released by this name.
pub fn released(folder: &RunFolder, name: &str) -> Result<bool, Failure> {
    Ok(stored(folder, name)?.is_some())
}

fn stored(folder: &RunFolder, name: &str) -> Result<Option<(NoisyVector, Vec<f64>)>, Failure> {
    let path = folder.file(&format!("{name}.bin"));
    if !path.exists() {
        let earlier = folder.file(&format!("{name}.json"));
        return match earlier.exists() {
            true => Err(refused(&earlier, &"it is of an earlier version")),
            false => Ok(None),
        };
    }
    let bytes = std::fs::read(&path).map_err(|e| refused(&path, &e))?;
    let damaged = || refused(&path, &"it is damaged");
    let (sum, body) = bytes.split_at_checked(64).ok_or_else(damaged)?;
    let (words, _) = body.as_chunks::<8>();
    let [_, deviation, rest @ ..] = words else {
        return Err(damaged());
    };
    if hex(body).as_bytes() != sum {
        return Err(damaged());
    }
    let part = |rest: &mut &[[u8; 8]]| -> Option<Vec<f64>> {
        let (&length, values) = rest.split_first()?;
        let (here, after) = values.split_at_checked(u64::from_le_bytes(length) as usize)?;
        *rest = after;
        Some(here.iter().map(|&v| f64::from_le_bytes(v)).collect())
    };
    let mut rest = rest;
    let (values, made_of) = part(&mut rest)
        .zip(part(&mut rest))
        .filter(|_| rest.is_empty())
        .ok_or_else(|| refused(&path, &"it is of an earlier version"))?;
    let deviation = f64::from_le_bytes(*deviation);
    Ok(Some((NoisyVector { values, deviation }, made_of)))
}

fn without_releaser(name: &str) -> Failure {
    Failure::failed(format!(
        "{name}: the run has a plan, and nothing that releases it"
    ))
}

fn refused(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::input(
        format!("{}: {why}", path.display()),
        "start the run anew, or resume it with the program that started it: what was released is in the ledger and is spent",
    )
}

/// The batch of a step, sampled secretly if there is a plan.
pub struct SampledBatch {
    /// Indices of the records of each group.
    pub groups: Vec<Vec<usize>>,
    draw: Option<Draw>,
}

impl SampledBatch {
    /// The next one of a plan, or what is sampled `without_privacy`.
    pub fn next(
        releaser: Option<&mut Releaser>,
        without_privacy: impl FnOnce() -> Vec<Vec<usize>>,
    ) -> Result<Self, Failure> {
        let draw = releaser.map(Releaser::draw).transpose().or_failed()?;
        let groups = match &draw {
            Some(draw) => draw.strata().to_vec(),
            None => without_privacy(),
        };
        Ok(Self { groups, draw })
    }

    pub fn sizes(&self) -> Vec<usize> {
        self.groups.iter().map(Vec::len).collect()
    }

    /// Releases what was measured of this batch, as a step; without a plan as it is.
    pub fn release(
        &self,
        releaser: Option<&mut Releaser>,
        measured: SensitiveVector,
        ledger: &mut Ledger,
    ) -> Result<NoisyVector, Failure> {
        match (releaser, &self.draw) {
            (Some(releaser), Some(draw)) => releaser
                .release_step(&measured, &self.sizes(), draw, ledger)
                .or_failed(),
            (None, None) => Ok(NoisyVector::without_privacy(measured)),
            _ => Err(Failure::failed(
                "a batch of a plan, and another releaser or none",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use dp_core::accounting::Event;
    use dp_core::mechanism::NoiseSource;
    use dp_core::plan::{ReleaseNoise, TrainingPlan};
    use dp_core::sampling::Sampler;
    use private_queries::{Contingency, QueryError};

    use super::*;
    use crate::backend::Backend;
    use crate::interrupt::Interrupt;
    use crate::session::Arguments;
    use crate::session::finish::Clock;

    #[derive(Debug, Clone, clap::Args)]
    struct NoFlags {}

    fn session(place: &Path) -> Session {
        let folder = RunFolder::create(place).expect("a folder");
        let ledger = folder.file("ledger.jsonl");
        let arguments: Arguments<NoFlags> = clap::Parser::parse_from(["run"]);
        Session {
            folder,
            ledger: Ledger::create(&ledger).expect("a ledger"),
            chosen: Backend::Flex.choose().expect("a device"),
            running: arguments.running,
            interrupt: Interrupt::default(),
            promises: true,
            crew: None,
            fingerprint: None,
            shared: std::collections::BTreeSet::new(),
            records: 1000,
            step: 0,
            seconds: 0.0,
            clock: Clock::Known(None),
            warnings: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    struct Run(Option<Releaser>);

    impl Releases for Run {
        fn releaser(&mut self) -> Option<&mut Releaser> {
            self.0.as_mut()
        }
    }

    const VALUES: usize = 4000;

    /// Values that say what they were made of.
    struct Ones(f64);

    impl Query for Ones {
        type Records = ();
        type Answer = NoisyVector;

        fn len(&self) -> usize {
            VALUES
        }

        fn measure(&self, (): &()) -> Result<SensitiveVector, QueryError> {
            Ok(SensitiveVector::l2(vec![1.0; VALUES], 0.5))
        }

        fn read(&self, noisy: &NoisyVector) -> Result<NoisyVector, QueryError> {
            Ok(noisy.clone())
        }

        fn made_of(&self) -> Vec<f64> {
            vec![self.0]
        }
    }

    fn run() -> Run {
        let plan = TrainingPlan::for_epsilon(2.0, 1e-5, 3, Sampler::all(1000).expect("records"));
        let plan = plan.with_release("once", ReleaseNoise::Share(0.3)).check();
        Run(Some(
            plan.expect("a plan").releaser(NoiseSource::insecure(5)),
        ))
    }

    /// What was released is the values with Gaussian noise of the deviation that the ledger's line says: a sum of 4000
    /// squares within 5.5 deviations of its mean (false alarm 4e-8, fixed seed).
    fn has_its_noise(noisy: &NoisyVector, event: &Event) {
        let Event::Gaussian { noise_multiplier } = event else {
            panic!("{event:?}");
        };
        let deviation = noise_multiplier * 0.5;
        assert!((noisy.deviation / deviation - 1.0).abs() < 1e-3);
        let squares = noisy.values.iter().map(|x| ((x - 1.0) / deviation).powi(2));
        let (squares, n) = (squares.sum::<f64>(), VALUES as f64);
        let holds = (squares - n).abs() < 5.5 * (2.0 * n).sqrt();
        assert!(holds, "{squares} where {n} are expected");
    }

    #[test]
    fn nothing_is_released_without_the_noise_of_its_line() {
        let place = tempfile::tempdir().expect("a folder");
        let mut session = session(&place.path().join("run"));
        let (mut run, query) = (run(), Ones(0.25));
        let measure = |_: &mut Run, _: &mut Session| query.measure(&()).or_failed();
        let once = session.release(&mut run, "once", &query, measure);
        let once = once.expect("released");
        // Again: what was kept, without a line, and with another key for what follows.
        let before = run.0.as_mut().expect("a releaser").noise().state();
        let again = session.release(&mut run, "once", &query, |_, _| unreachable!());
        assert_eq!(again.expect("kept"), once);
        let after = run.0.as_mut().expect("a releaser").noise().state();
        assert!(before != after);
        assert!(released(&session.folder, "once").expect("read"));

        let batch = SampledBatch::next(run.releaser(), || unreachable!()).expect("a batch");
        let measured = query.measure(&()).expect("values");
        let without = batch.release(None, measured.clone(), &mut session.ledger);
        assert!(without.is_err());
        let step = batch.release(run.releaser(), measured, &mut session.ledger);
        let entries = session.ledger.entries().expect("entries").entries;
        assert_eq!(entries.len(), 2);
        has_its_noise(&once, &entries[0].event);
        has_its_noise(&step.expect("released"), &entries[1].event);
    }

    #[test]
    fn a_stored_release_is_of_its_own_query() {
        let place = tempfile::tempdir().expect("a folder");
        let mut session = session(&place.path().join("run"));
        let query = Ones(0.25);
        let measure = |_: &mut Run, _: &mut Session| query.measure(&()).or_failed();
        let refusal = session.release(&mut Run(None), "ones", &query, measure);
        let refusal = refusal.unwrap_err().to_string();
        assert!(refusal.contains("has a plan"), "{refusal}");
        let short = |_: &mut Run, _: &mut Session| Ok(SensitiveVector::l2(vec![1.0], 0.5));
        let refusal = session.release(&mut run(), "once", &query, short);
        let refusal = refusal.unwrap_err().to_string();
        assert!(refusal.contains("another query"), "{refusal}");
        assert_eq!(session.ledger.releases(), 0);
        assert!(!released(&session.folder, "ones").expect("read"));
        session.promises = false;
        let made = session.release(&mut Run(None), "ones", &query, measure);
        let made = made.expect("released");
        let near = read(&session.folder, "ones", &Ones(0.25 + 1e-6)).expect("read");
        assert_eq!(near, Some(made));
        let other = read(&session.folder, "ones", &Ones(0.26)).unwrap_err();
        let other = other.to_string();
        assert!(
            other.contains("another query") && other.contains("ones.bin"),
            "{other}"
        );
    }

    #[test]
    fn what_was_released_is_read_whole_or_refused() {
        let place = tempfile::tempdir().expect("a folder");
        let mut session = session(&place.path().join("run"));
        session.promises = false;
        let table = Contingency::joint([3]).expect("a table");
        let measure = |_: &mut Run, _: &mut Session| table.measure(&[2]).or_failed();
        let counts = session.release(&mut Run(None), "counts", &table, measure);
        assert_eq!(counts.expect("released")[0].counts, [0.0, 0.0, 1.0]);
        let folder = &session.folder;
        let kept = read(folder, "counts", &table).expect("read");
        assert_eq!(kept.expect("kept")[0].counts, [0.0, 0.0, 1.0]);
        let wider = Contingency::joint([4]).expect("a table");
        assert!(read(folder, "counts", &wider).is_err());
        let path = folder.file("counts.bin");
        let whole = std::fs::read(&path).expect("bytes");
        for damaged in [&whole[..whole.len() - 8], &whole[1..], b"{}"] {
            std::fs::write(&path, damaged).expect("written");
            assert!(released(folder, "counts").is_err());
        }
        std::fs::remove_file(&path).expect("removed");
        assert!(!released(folder, "counts").expect("nothing"));
        std::fs::write(folder.file("counts.json"), "{}").expect("written");
        let refusal = released(folder, "counts").unwrap_err().to_string();
        assert!(refusal.contains("earlier version"), "{refusal}");
    }
}
