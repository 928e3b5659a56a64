//! The processes that take one run together: each holds its part of the private records, and the first, the root, alone
//! releases, writes and reports.

#[cfg(feature = "mpi")]
mod mpi;

use std::sync::Arc;

use dp_core::mechanism::{NoisyVector, SensitiveVector};
use private_training::Ranks;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::backend::Chosen;
use crate::checkpoint::hex;
use crate::diagnostic::{Failure, OrFailed};
use crate::interrupt::Interrupt;
use crate::session::{Fingerprint, Running};

/// What carries messages between ranks, and ends them.
trait Carrier: Ranks {
    /// Tells the root why this rank cannot go on, and waits for the end.
    fn fail(&self, failure: &Failure) -> !;

    /// Bytes that other ranks were given and gave so far, at the root.
    fn carried(&self) -> u64;

    fn abort(&self, code: i32) -> !;
}

#[derive(Clone)]
pub struct Crew {
    carrier: Arc<dyn Carrier>,
    ordered: bool,
    interrupt: Interrupt,
}

/// What a rank says of itself before the first step.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Greeting {
    program: String,
    version: String,
    /// SHA-256 of all private records, as this rank read them.
    records: String,
    backend: String,
}

impl Crew {
    /// The processes that `--ranks` asks for; none without it. Another number than were started is refused.
    pub(crate) fn of(running: &Running) -> Result<Option<Self>, Failure> {
        let started = |name| std::env::var(name).ok()?.parse::<u64>().ok();
        let started = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]
            .into_iter()
            .find_map(started);
        let Some(ranks) = running.ranks else {
            return match started {
                Some(processes) if processes > 1 => Err(Failure::input(
                    format!("one of {processes} processes of mpirun, and --ranks is not given"),
                    format!(
                        "give --ranks {processes}: without it each process would be a run of its own"
                    ),
                )),
                _ => Ok(None),
            };
        };
        let interrupt = Interrupt::listen()?;
        let carrier = carrier(running.rank_timeout, &interrupt, ranks)?;
        let found = carrier.size() as u64;
        if found != ranks {
            let failure = Failure::input(
                format!("--ranks {ranks}: there are {found} processes"),
                format!("start as many: mpirun -n {ranks} sliver ... --ranks {ranks}"),
            );
            if carrier.rank() == 0 {
                failure.report();
                carrier.abort(2);
            }
            carrier.fail(&failure);
        }
        Ok(Some(Self {
            carrier,
            ordered: running.ordered,
            interrupt,
        }))
    }

    /// The number of this process, 0 for the root.
    pub fn rank(&self) -> usize {
        self.carrier.rank()
    }

    pub fn size(&self) -> usize {
        self.carrier.size()
    }

    /// As a training takes them.
    pub fn ranks(&self) -> Arc<dyn Ranks> {
        self.carrier.clone()
    }

    /// Whether gradients are the same to the bit however many ranks there are.
    pub fn ordered(&self) -> bool {
        self.ordered
    }

    pub(crate) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Bytes that other ranks were given and gave so far, at the root.
    pub(crate) fn carried(&self) -> u64 {
        self.carrier.carried()
    }

    /// Refuses more ranks than there are records. Of units the number of records is private, so it is not said.
    pub fn holds_records(&self, records: usize) -> Result<(), Failure> {
        match records < self.size() {
            true => Err(Failure::input(
                format!("{} ranks: one has no record", self.size()),
                "start fewer ranks",
            )),
            false => Ok(()),
        }
    }

    /// The end of this process: a failure ends all of them.
    pub(crate) fn end(&self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        match (outcome, self.rank()) {
            // MPI's own end would keep a core busy until the root is there.
            (Ok(()), 0) => match self.carrier.gather(Vec::new()) {
                Ok(_) => self.scattered(vec![Vec::new(); self.size()]),
                Err(error) => self.end(Err(Failure::failed(error))),
            },
            (Ok(()), _) => {
                self.carrier.gather(Vec::new()).or_failed()?;
                self.scattered(Vec::new())
            }
            (Err(failure), 0) => {
                failure.report();
                self.carrier.abort(match failure {
                    Failure::BadInput { .. } => 2,
                    Failure::Failed { .. } => 1,
                    Failure::Interrupted { .. } => 130,
                })
            }
            (Err(failure), _) => self.carrier.fail(&failure),
        }
    }

    /// Tells other ranks the settings of the run.
    pub(crate) fn tell(&self, settings: &impl Serialize) -> Result<(), Failure> {
        let text = toml::to_string(settings).or_failed()?;
        self.broadcast(text.into_bytes()).map(drop)
    }

    /// Tells other ranks that nothing is left to do.
    pub(crate) fn nothing_to_do(&self) -> Result<(), Failure> {
        self.broadcast(Vec::new()).map(drop)
    }

    /// What the root tells; none if nothing is left to do.
    pub(crate) fn settings<S: DeserializeOwned>(&self) -> Result<Option<S>, Failure> {
        let text = self.broadcast(Vec::new())?;
        if text.is_empty() {
            return Ok(None);
        }
        let text = String::from_utf8(text).or_failed()?;
        toml::from_str(&text).map(Some).or_failed()
    }

    /// Refuses ranks of another program, with other records, or on another backend.
    pub(crate) fn greet(&self, records: &Fingerprint, chosen: &Chosen) -> Result<(), Failure> {
        let program = std::env::current_exe().and_then(std::fs::read);
        let own = Greeting {
            program: hex(&program.or_failed()?),
            version: env!("CARGO_PKG_VERSION").into(),
            records: records.records.clone(),
            backend: format!("{:?}", chosen.backend),
        };
        let bytes = serde_json::to_vec(&own).or_failed()?;
        let all = self.carrier.gather(bytes).or_failed()?;
        for (rank, theirs) in all.iter().enumerate().skip(1) {
            let theirs: Greeting = serde_json::from_slice(theirs).or_failed()?;
            if let Some(what) = differs(&own, &theirs) {
                return Err(Failure::failed(format!("rank {rank} {what} than the root")));
            }
        }
        Ok(())
    }

    /// The sum over ranks of what a query measures, at the root; nothing elsewhere. A rank whose values have another bound is refused.
    pub(crate) fn sum(
        &self,
        name: &str,
        part: SensitiveVector,
    ) -> Result<Option<SensitiveVector>, Failure> {
        let bound = part.sensitivity_upper().to_le_bytes().to_vec();
        let bounds = self.carrier.gather(bound.clone()).or_failed()?;
        if let Some(rank) = bounds.iter().position(|other| *other != bound) {
            return Err(Failure::failed(format!(
                "{name}: rank {rank} measured by another query"
            )));
        }
        let sums = self.carrier.sum(part.before_noise().to_vec()).or_failed()?;
        match self.rank() {
            0 => part.of_all_parts(sums).map(Some).or_failed(),
            _ => Ok(None),
        }
    }

    /// What the root has `kept` of an earlier release, everywhere.
    pub(crate) fn kept(
        &self,
        kept: impl FnOnce() -> Result<Option<NoisyVector>, Failure>,
    ) -> Result<Option<NoisyVector>, Failure> {
        let bytes = match self.rank() {
            0 => kept()?.map_or(Vec::new(), |noisy| to_bytes(&noisy)),
            _ => Vec::new(),
        };
        let bytes = self.broadcast(bytes)?;
        Ok((!bytes.is_empty()).then(|| of_bytes(&bytes)))
    }

    /// Tells other ranks what was released.
    pub(crate) fn tell_released(&self, noisy: &NoisyVector) -> Result<(), Failure> {
        self.broadcast(to_bytes(noisy)).map(drop)
    }

    /// What the root released.
    pub(crate) fn released(&self) -> Result<NoisyVector, Failure> {
        Ok(of_bytes(&self.broadcast(Vec::new())?))
    }

    fn scattered(&self, parts: Vec<Vec<u8>>) -> Result<(), Failure> {
        self.carrier.scatter(parts).map(drop).or_failed()
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>, Failure> {
        self.carrier.broadcast(bytes).or_failed()
    }
}

/// What a rank has that the root has not.
fn differs(root: &Greeting, other: &Greeting) -> Option<&'static str> {
    match () {
        () if root.version != other.version => Some("has another version of the program"),
        () if root.program != other.program => Some("has another build of the program"),
        () if root.records != other.records => Some("has other private records"),
        () if root.backend != other.backend => Some("has another backend"),
        () => None,
    }
}

/// The refusal of what lies in one process.
pub(crate) fn one_process(what: &str) -> Failure {
    Failure::input(
        format!("--ranks: {what} takes one process"),
        "leave --ranks out, and start it without mpirun",
    )
}

fn to_bytes(noisy: &NoisyVector) -> Vec<u8> {
    let values = std::iter::once(noisy.deviation).chain(noisy.values.iter().copied());
    values.flat_map(f64::to_le_bytes).collect()
}

fn of_bytes(bytes: &[u8]) -> NoisyVector {
    let (words, _) = bytes.as_chunks::<8>();
    let mut values = words.iter().map(|&word| f64::from_le_bytes(word));
    let deviation = values.next().unwrap_or_default();
    NoisyVector {
        values: values.collect(),
        deviation,
    }
}

#[cfg(feature = "mpi")]
fn carrier(patience: u64, interrupt: &Interrupt, _ranks: u64) -> Result<Arc<dyn Carrier>, Failure> {
    Ok(Arc::new(mpi::Mpi::start(patience, interrupt.clone())?))
}

#[cfg(not(feature = "mpi"))]
fn carrier(_: u64, _: &Interrupt, ranks: u64) -> Result<Arc<dyn Carrier>, Failure> {
    Err(Failure::input(
        format!("--ranks {ranks}: this program was built without MPI"),
        "build it with --features mpi, as `just mpi` does (docs/runs.md)",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_of_another_program_or_with_other_records_is_told() {
        let greeting = |[version, program, records, backend]: [&str; 4]| Greeting {
            version: version.into(),
            program: program.into(),
            records: records.into(),
            backend: backend.into(),
        };
        let root = greeting(["1", "p", "r", "Flex"]);
        for (other, says) in [
            (greeting(["2", "q", "r", "Flex"]), Some("version")),
            (greeting(["1", "q", "r", "Flex"]), Some("build")),
            (greeting(["1", "p", "s", "Flex"]), Some("records")),
            (greeting(["1", "p", "r", "Wgpu"]), Some("backend")),
            (greeting(["1", "p", "r", "Flex"]), None),
        ] {
            let found = differs(&root, &other);
            assert_eq!(found.is_some(), says.is_some());
            assert!(says.is_none_or(|says| found.is_some_and(|found| found.contains(says))));
        }
    }

    #[test]
    fn what_is_released_is_told_to_the_last_bit() {
        let noisy = NoisyVector {
            values: vec![0.1, -3e-300, 7.0],
            deviation: 2.5,
        };
        assert_eq!(of_bytes(&to_bytes(&noisy)), noisy);
    }
}
