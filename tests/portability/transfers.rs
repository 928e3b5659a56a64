//! What a private step reads back from a GPU: its losses and whether its gradient is finite, no more.
//!
//! wgpu logs every buffer that is mapped to be read, with its size; a process has one logger, which is this one.

use std::sync::Mutex;

use lab::backend::Backend;
use log::{Level, LevelFilter, Log, Metadata, Record};

use super::{Case, TestDevice, Tolerance, runs};

/// The most bytes that the runtime maps for one number.
const PAGE: u64 = 16384;

/// Bytes of each buffer that was mapped.
struct Reads(Mutex<Vec<u64>>);

static READS: Reads = Reads(Mutex::new(Vec::new()));

impl Log for Reads {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.target().starts_with("wgpu_core")
    }

    fn log(&self, record: &Record) {
        if record.level() != Level::Trace || !self.enabled(record.metadata()) {
            return;
        }
        let text = record.args().to_string();
        if !text.starts_with("Buffer::map_async") || !text.contains("Read") {
            return;
        }
        let size = text
            .split("size Some(")
            .nth(1)
            .and_then(|rest| rest.split(')').next())
            .and_then(|digits| digits.parse().ok());
        if let Ok(mut reads) = self.0.lock() {
            // A size that is not given would be the whole of some buffer.
            reads.push(size.unwrap_or(u64::MAX));
        }
    }

    fn flush(&self) {}
}

fn taken() -> Vec<u64> {
    READS
        .0
        .lock()
        .map(|mut reads| std::mem::take(&mut *reads))
        .unwrap_or_default()
}

/// What each step but the first read: how many buffers, and how many of more than a number.
fn found(on: &TestDevice) -> Vec<f64> {
    // In a process that has another one nothing is heard, which is not what is expected.
    let _ = log::set_logger(&READS);
    let mut steps: Vec<Vec<u64>> = Vec::new();
    for run in [runs::autoencoder, runs::fair] {
        log::set_max_level(LevelFilter::Trace);
        taken();
        // The first step of a run hears of the weights before.
        let first = steps.len();
        run(0.1, &on.device, on.engine, &mut || steps.push(taken()));
        log::set_max_level(LevelFilter::Off);
        steps.remove(first);
    }
    let long = |reads: &[u64]| reads.iter().filter(|&&bytes| bytes > PAGE).count();
    let numbers = steps.iter().flat_map(|reads| [reads.len(), long(reads)]);
    numbers.map(|number| number as f64).collect()
}

pub(super) fn cases() -> Vec<Case> {
    let case = Case::new(
        "reads from a GPU",
        "private steps",
        Tolerance::Exact,
        found,
        || [2.0, 0.0].repeat(2 * (runs::STEPS - 1)),
    );
    vec![case.only(|on| on.private() && on.backend == Backend::Wgpu)]
}
