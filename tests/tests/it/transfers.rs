//! What a private step reads back from a GPU: its losses and whether its gradient is finite, no more.
//!
//! wgpu logs every buffer that is mapped to be read, with its size. In a process of its own: what other tests read would
//! be counted too, and a process has one logger.

use std::process::Command;
use std::sync::Mutex;

use lab::backend::Backend;
use log::{Level, LevelFilter, Log, Metadata, Record};
use private_training::Engine;
use system_tests::portability::{TestDevice, available_devices, runs};

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

fn on_wgpu() -> Option<TestDevice> {
    let mut test_devices = available_devices().into_iter();
    test_devices.find(|test_device| test_device.backend == Backend::Wgpu)
}

#[test]
fn a_private_step_reads_back_two_losses_and_a_scalar() {
    if on_wgpu().is_none() {
        return;
    }
    let mut alone = Command::new(std::env::current_exe().expect("this program"));
    alone.args(["transfers::in_a_process_of_its_own", "--exact", "--ignored"]);
    let output = alone.env_remove("SLIVER_SKIPPED").output();
    let output = output.expect("it starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && printed.contains("1 passed");
    assert!(passed, "{printed}");
}

#[test]
#[ignore = "by the test above"]
fn in_a_process_of_its_own() {
    let test_device = on_wgpu().expect("a device");
    log::set_logger(&READS).expect("no other logger");
    log::set_max_level(LevelFilter::Trace);
    let engine = Engine::Tensor { chunk: 100 };
    let mut steps = Vec::new();
    runs::autoencoder(0.1, &test_device.device, engine, || steps.push(taken()));
    runs::fair(0.1, &test_device.device, engine, || steps.push(taken()));
    assert_eq!(steps.len(), 20);
    for (step, reads) in steps.iter().enumerate() {
        // The first step of a run also chooses kernels by timing them, and hears of the weights before.
        if step % 10 > 0 {
            assert_eq!(reads.len(), 2, "step {step}: {reads:?}");
            assert!(
                reads.iter().all(|&bytes| bytes <= PAGE),
                "step {step}: {reads:?}"
            );
        }
    }
}
