//! Ranks by MPI.
//!
//! The root never waits for MPI without an end: it can name the ranks that it waits for, and a step that they do not take
//! part in releases nothing. Other ranks wait for the root as long as it lives, and leave it the processor: MPI's own
//! waiting takes a core.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::request::{Request, Scope, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use private_training::{RankError, Ranks};

use super::Carrier;
use crate::diagnostic::Failure;
use crate::interrupt::Interrupt;

/// Messages to the root.
const UP: i32 = 1;
/// Messages of the root.
const DOWN: i32 = 2;
/// Bytes of one operation: MPI counts them in 31 bits.
const MOST: usize = 1 << 30;
/// How long ranks may still answer once the root was told to end: `mpirun` kills a second after it tells so.
const LAST: Duration = Duration::from_millis(500);

/// How long a process looks for a message without a pause, and its pauses then.
const EAGER: Duration = Duration::from_millis(2);
const PAUSE: Duration = Duration::from_micros(300);

/// The last byte of a message to the root.
const FINE: u8 = 0;
const FAILED: u8 = 1;

pub(super) struct Mpi {
    universe: Universe,
    patience: u64,
    interrupt: Interrupt,
    /// Bytes that other ranks were given and gave, at the root.
    carried: AtomicU64,
}

/// The root's patience with other ranks, from one moment on.
struct Wait<'a> {
    mpi: &'a Mpi,
    start: Instant,
    interrupted_at: Option<Instant>,
}

impl Wait<'_> {
    /// Waits a little longer for these ranks.
    fn longer(&mut self, ranks: Vec<usize>) -> Result<(), RankError> {
        if self.mpi.interrupt.asked() {
            let since = self.interrupted_at.get_or_insert_with(Instant::now);
            if since.elapsed() > LAST {
                return Err(RankError::Ended { ranks });
            }
        }
        let seconds = self.mpi.patience;
        if self.start.elapsed().as_secs() >= seconds {
            return Err(RankError::Silent { ranks, seconds });
        }
        pause(self.start);
        Ok(())
    }
}

/// Leaves the processor to others, after a wait that began at `start`.
fn pause(start: Instant) {
    match start.elapsed() < EAGER {
        true => std::thread::yield_now(),
        false => std::thread::sleep(PAUSE),
    }
}

/// Waits as long as it takes.
fn complete_ever<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>) {
    let start = Instant::now();
    while let Err(again) = request.test() {
        request = again;
        pause(start);
    }
}

/// What was given by each rank so far.
type Given = Vec<Option<Vec<u8>>>;

impl Mpi {
    /// Joins the processes that `mpirun` started; a process by itself is one of one.
    pub(super) fn start(patience: u64, interrupt: Interrupt) -> Result<Self, Failure> {
        // Other threads compute, and this one alone sends.
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let (universe, _) = started.ok_or_else(|| Failure::failed("MPI was started before"))?;
        Ok(Self {
            universe,
            patience,
            interrupt,
            carried: AtomicU64::new(0),
        })
    }

    fn world(&self) -> SimpleCommunicator {
        self.universe.world()
    }

    fn wait(&self) -> Wait<'_> {
        Wait {
            mpi: self,
            start: Instant::now(),
            interrupted_at: None,
        }
    }

    fn count(&self, bytes: usize) {
        self.carried.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn tell_root(&self, mut bytes: Vec<u8>, status: u8) -> Result<(), RankError> {
        bytes.push(status);
        fits(bytes.len())?;
        let world = self.world();
        world.process_at_rank(0).send_with_tag(&bytes[..], UP);
        Ok(())
    }

    /// The root's `own` with room for what others give.
    fn given(&self, own: Vec<u8>) -> Given {
        let mut given = vec![None; self.size()];
        given[0] = Some(own);
        given
    }

    /// Takes what has come, and says who has not given anything.
    fn take(&self, given: &mut Given) -> Result<Vec<usize>, RankError> {
        let world = self.world();
        let mut missing = Vec::new();
        let places = given.iter_mut().enumerate();
        for (rank, place) in places.filter(|(_, place)| place.is_none()) {
            let process = world.process_at_rank(rank as i32);
            let Some((message, status)) = process.immediate_matched_probe_with_tag(UP) else {
                missing.push(rank);
                continue;
            };
            let mut bytes = vec![0u8; status.count(u8::equivalent_datatype()) as usize];
            message.matched_receive_into(&mut bytes[..]);
            self.count(bytes.len());
            if bytes.pop() == Some(FAILED) {
                let message = String::from_utf8_lossy(&bytes).into_owned();
                return Err(RankError::Failed { rank, message });
            }
            *place = Some(bytes);
        }
        Ok(missing)
    }

    /// Waits until each rank has given something.
    fn take_all(&self, mut given: Given) -> Result<Vec<Vec<u8>>, RankError> {
        let mut wait = self.wait();
        loop {
            let missing = self.take(&mut given)?;
            if missing.is_empty() {
                return Ok(given.into_iter().flatten().collect());
            }
            wait.longer(missing)?;
        }
    }

    /// Waits until MPI has done what it was asked for, which cannot be taken back: if ranks that are `missing` do not
    /// come, all end here.
    fn complete<'a, D: ?Sized, S: Scope<'a>>(
        &self,
        mut request: Request<'a, D, S>,
        mut missing: impl FnMut() -> Result<Vec<usize>, RankError>,
    ) {
        let mut wait = self.wait();
        loop {
            request = match request.test() {
                Ok(_) => return,
                Err(request) => request,
            };
            if let Err(error) = missing().and_then(|ranks| wait.longer(ranks)) {
                let help = "nothing of this step was released: go on with --resume";
                Failure::Failed {
                    message: error.to_string(),
                    help: Some(help.into()),
                }
                .report();
                self.abort(1);
            }
        }
    }

    /// The next message of the root.
    fn root_message(&self) -> Vec<u8> {
        let (world, start) = (self.world(), Instant::now());
        let root = world.process_at_rank(0);
        loop {
            if let Some((message, status)) = root.immediate_matched_probe_with_tag(DOWN) {
                let mut bytes = vec![0u8; status.count(u8::equivalent_datatype()) as usize];
                message.matched_receive_into(&mut bytes[..]);
                return bytes;
            }
            pause(start);
        }
    }
}

/// Refuses more than one operation carries.
fn fits(bytes: usize) -> Result<(), RankError> {
    match bytes <= MOST {
        true => Ok(()),
        false => Err(RankError::Carrier(format!(
            "{bytes} bytes for one message between ranks: at most {MOST}"
        ))),
    }
}

impl Ranks for Mpi {
    fn rank(&self) -> usize {
        self.world().rank() as usize
    }

    fn size(&self) -> usize {
        self.world().size() as usize
    }

    fn broadcast(&self, mut bytes: Vec<u8>) -> Result<Vec<u8>, RankError> {
        fits(bytes.len())?;
        let world = self.world();
        let root = world.process_at_rank(0);
        let mut count = bytes.len() as u64;
        if self.rank() > 0 {
            scope(|scope| complete_ever(root.immediate_broadcast_into(scope, &mut count)));
            bytes.resize(count as usize, 0);
            if count > 0 {
                scope(|scope| complete_ever(root.immediate_broadcast_into(scope, &mut bytes[..])));
            }
            // So that the root can name the ranks that it did not come to.
            self.tell_root(Vec::new(), FINE)?;
            return Ok(bytes);
        }
        self.count((bytes.len() + 8) * (self.size() - 1));
        let mut came = self.given(Vec::new());
        scope(|scope| {
            let request = root.immediate_broadcast_into(scope, &mut count);
            self.complete(request, || self.take(&mut came));
        });
        if !bytes.is_empty() {
            scope(|scope| {
                let request = root.immediate_broadcast_into(scope, &mut bytes[..]);
                self.complete(request, || self.take(&mut came));
            });
        }
        self.take_all(came)?;
        Ok(bytes)
    }

    fn gather(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, RankError> {
        match self.rank() {
            0 => self.take_all(self.given(bytes)),
            _ => self.tell_root(bytes, FINE).map(|()| Vec::new()),
        }
    }

    fn scatter(&self, parts: Vec<Vec<u8>>) -> Result<Vec<u8>, RankError> {
        if self.rank() > 0 {
            return Ok(self.root_message());
        }
        let world = self.world();
        let mut parts = parts.into_iter();
        let own = parts.next().unwrap_or_default();
        for (rank, part) in (1..).zip(parts) {
            fits(part.len())?;
            self.count(part.len());
            let process = world.process_at_rank(rank as i32);
            scope(|scope| {
                let request = process.immediate_send_with_tag(scope, &part[..], DOWN);
                self.complete(request, || Ok(vec![rank]));
            });
        }
        Ok(own)
    }

    fn sum(&self, values: Vec<f64>) -> Result<Vec<f64>, RankError> {
        // The root enters the sum when all ranks are there, with as many values.
        let count = (values.len() as u64).to_le_bytes().to_vec();
        let counts = self.gather(count.clone())?;
        if let Some(rank) = counts.iter().position(|other| *other != count) {
            return Err(RankError::Length { rank, what: "sums" });
        }
        let world = self.world();
        let root = world.process_at_rank(0);
        if self.rank() > 0 {
            for part in values.chunks(MOST / 8) {
                let sum = SystemOperation::sum();
                scope(|scope| complete_ever(root.immediate_reduce_into(scope, part, sum)));
            }
            return Ok(Vec::new());
        }
        self.count(8 * values.len() * (self.size() - 1));
        let mut sums = vec![0.0; values.len()];
        for (part, sums) in values.chunks(MOST / 8).zip(sums.chunks_mut(MOST / 8)) {
            let sum = SystemOperation::sum();
            scope(|scope| {
                let request = root.immediate_reduce_into_root(scope, part, sums, sum);
                self.complete(request, || Ok((1..self.size()).collect()));
            });
        }
        Ok(sums)
    }
}

impl Carrier for Mpi {
    fn fail(&self, failure: &Failure) -> ! {
        if self
            .tell_root(failure.to_string().into_bytes(), FAILED)
            .is_err()
        {
            self.abort(1);
        }
        // The root says what happened and ends all ranks.
        loop {
            self.root_message();
        }
    }

    fn carried(&self) -> u64 {
        self.carried.load(Ordering::Relaxed)
    }

    fn abort(&self, code: i32) -> ! {
        self.world().abort(code)
    }
}
