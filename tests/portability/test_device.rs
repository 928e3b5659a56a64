//! Where the cases run.

use burn::tensor::Device;
use dp_core::per_sample::Rounding;
use lab::backend::{Backend, Choice, Listed, devices};
use private_training::Engine;

/// Records of a chunk on tensors. A GPU compiles and times kernels anew for each number of records in a chunk, which is
/// most of the time there: most cases have a multiple of it.
pub const CHUNK: usize = 3;

/// A device, and the engine of its private steps.
#[derive(Clone)]
pub struct TestDevice {
    /// Backend and device, for people.
    pub name: String,
    /// The backend.
    pub backend: Backend,
    /// The device.
    pub device: Device,
    /// On tensors, but for one test device with the host kernels.
    pub engine: Engine,
    /// Whether it is a GPU that the processor plays.
    software: bool,
}

impl TestDevice {
    /// Whether it is not a GPU that the processor plays, where compiling kernels takes longest.
    pub fn hardware(&self) -> bool {
        !self.software
    }

    /// Whether its products are exact enough for private steps.
    pub fn private(&self) -> bool {
        Rounding::of_device(&self.device).is_ok()
    }
}

/// Every test device that this build and this machine have; a backend without any is reported as skipped.
///
/// # Panics
///
/// As [`test_support::skipped`].
pub fn available_devices() -> Vec<TestDevice> {
    let mut found = Vec::new();
    for listed in devices() {
        let (before, mut why) = (found.len(), "not in this build, or no device".into());
        for (index, description) in listed.devices.iter().flatten().enumerate() {
            match opened(&listed, index, description) {
                Ok(test_device) => found.push(test_device),
                Err(reason) => why = reason,
            }
        }
        if found.len() == before {
            test_support::skipped(&listed.name, &why);
        }
    }
    let flex = found.iter().find(|on| on.backend == Backend::Flex);
    let host = flex.map(|flex| TestDevice {
        name: format!("{}, host kernels", flex.name),
        engine: Engine::Host { chunk: 5 },
        ..flex.clone()
    });
    host.into_iter().chain(found).collect()
}

/// A device of a backend, or why there is none.
///
/// A software GPU (SwiftShader, llvmpipe) has no memory for burn's throughput probes, which only
/// the full level of autotuning leaves out: it is missing unless `CUBECL_AUTOTUNE_LEVEL=full`.
fn opened(listed: &Listed, index: usize, description: &str) -> Result<TestDevice, String> {
    let on_host = matches!(listed.backend, Backend::Flex | Backend::Ndarray);
    let software = ["swiftshader", "llvmpipe", "software"]
        .iter()
        .any(|known| description.to_lowercase().contains(known));
    let full = std::env::var("CUBECL_AUTOTUNE_LEVEL").is_ok_and(|level| level == "full");
    if software && !full {
        return Err(format!("{description} needs CUBECL_AUTOTUNE_LEVEL=full"));
    }
    let choice = match on_host {
        true => Ok(Choice::from(listed.backend)),
        false => format!("{}:{index}", listed.name).parse(),
    };
    let Ok(Ok(chosen)) = choice.map(|choice: Choice| choice.choose()) else {
        return Err(format!("{description} could not be opened"));
    };
    Ok(TestDevice {
        name: match on_host {
            true => listed.name.clone(),
            false => format!("{} ({description})", listed.name),
        },
        backend: listed.backend,
        device: chosen.device,
        engine: Engine::Tensor { chunk: CHUNK },
        software,
    })
}
