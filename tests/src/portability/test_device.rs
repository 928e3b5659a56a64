//! Where the cases run.

use burn::tensor::Device;
use dp_core::per_sample::Rounding;
use lab::backend::{Backend, Choice, devices};
use private_training::Engine;

/// Records of a chunk on tensors. A GPU compiles and times kernels anew for each number of records in a chunk, which is
/// most of the time there: most cases have a multiple of it.
pub const CHUNK: usize = 3;

/// A device, and the engine of its private steps.
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
        Rounding::of(&self.device).is_ok()
    }
}

/// Every test device that this build and this machine have, and the backends that are missing with the reason.
///
/// A software GPU (SwiftShader, llvmpipe) has no memory for burn's throughput probes, which only
/// the full level of autotuning leaves out: it is missing unless `CUBECL_AUTOTUNE_LEVEL=full`.
pub fn test_devices() -> (Vec<TestDevice>, Vec<(String, String)>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    let full = std::env::var("CUBECL_AUTOTUNE_LEVEL").is_ok_and(|level| level == "full");
    for listed in devices() {
        let names = listed.devices.unwrap_or_default();
        if names.is_empty() {
            let why = "not in this build, or no device";
            missing.push((listed.name.clone(), why.to_string()));
        }
        for (index, description) in names.iter().enumerate() {
            let name = match listed.backend {
                Backend::Flex | Backend::Ndarray => listed.name.clone(),
                _ => format!("{} ({description})", listed.name),
            };
            let software = ["swiftshader", "llvmpipe", "software"]
                .iter()
                .any(|known| description.to_lowercase().contains(known));
            if software && !full {
                let why = format!("{description} needs CUBECL_AUTOTUNE_LEVEL=full");
                missing.push((listed.name.clone(), why));
                continue;
            }
            let choice = match listed.backend {
                Backend::Flex | Backend::Ndarray => Ok(Choice::from(listed.backend)),
                _ => format!("{}:{index}", listed.name).parse(),
            };
            let Ok(Ok(chosen)) = choice.map(|choice: Choice| choice.choose()) else {
                let why = format!("{description} could not be opened");
                missing.push((listed.name.clone(), why));
                continue;
            };
            if listed.backend == Backend::Flex {
                found.push(TestDevice {
                    name: format!("{name}, host kernels"),
                    backend: listed.backend,
                    device: chosen.device.clone(),
                    engine: Engine::Host { chunk: 5 },
                    software,
                });
            }
            found.push(TestDevice {
                name,
                backend: listed.backend,
                device: chosen.device,
                engine: Engine::Tensor { chunk: CHUNK },
                software,
            });
        }
    }
    (found, missing)
}

/// The test devices of [`test_devices`]; each backend that is missing is reported as skipped.
///
/// # Panics
///
/// As [`test_support::skipped`].
pub fn available_devices() -> Vec<TestDevice> {
    let (test_devices, missing) = test_devices();
    for (backend, why) in missing {
        test_support::skipped(&backend, &why);
    }
    test_devices
}
