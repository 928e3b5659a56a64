//! Where the cases run.

use burn::tensor::Device;
use dp_core::per_sample::Rounding;
use lab::backend::{Backend, Choice, devices};
use model::penalised::Engine;

/// A device, and the engine of its private steps.
pub struct Place {
    /// Backend and device, for people.
    pub name: String,
    /// The backend.
    pub backend: Backend,
    /// The device.
    pub device: Device,
    /// On tensors, but for one place with the host kernels.
    pub engine: Engine,
}

impl Place {
    /// Whether its products are exact enough for private steps.
    pub fn private(&self) -> bool {
        Rounding::of(&self.device).is_ok()
    }
}

/// Every place that this build and this machine have, and what is missing, in words.
///
/// # Panics
///
/// Where `SLIVER_NEED` names a backend that has no device: on a machine that should have it, a test that
/// passes without it says nothing.
///
/// A GPU that is a program (SwiftShader, llvmpipe) has no memory for burn's throughput probes, which only
/// the full level of autotuning leaves out: it is missing unless `CUBECL_AUTOTUNE_LEVEL=full`.
pub fn places() -> (Vec<Place>, Vec<String>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    let full = std::env::var("CUBECL_AUTOTUNE_LEVEL").is_ok_and(|level| level == "full");
    for listed in devices() {
        let names = listed.devices.unwrap_or_default();
        if names.is_empty() {
            let name = &listed.name;
            missing.push(format!("{name}: not in this build, or no device"));
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
                missing.push(format!("{name}: needs CUBECL_AUTOTUNE_LEVEL=full"));
                continue;
            }
            let choice = match listed.backend {
                Backend::Flex | Backend::Ndarray => Ok(Choice::from(listed.backend)),
                _ => format!("{}:{index}", listed.name).parse(),
            };
            let Ok(Ok(chosen)) = choice.map(|choice: Choice| choice.choose()) else {
                missing.push(format!("{name}: could not be opened"));
                continue;
            };
            if listed.backend == Backend::Flex {
                found.push(Place {
                    name: format!("{name}, host kernels"),
                    backend: listed.backend,
                    device: chosen.device.clone(),
                    engine: Engine::Host { chunk: 5 },
                });
            }
            found.push(Place {
                name,
                backend: listed.backend,
                device: chosen.device,
                engine: Engine::Tensor { chunk: 6 },
            });
        }
    }
    let needed = std::env::var("SLIVER_NEED").unwrap_or_default();
    for name in needed.split_whitespace() {
        let here = found.iter().any(|place| place.name.starts_with(name));
        assert!(here, "SLIVER_NEED: {name} has no device: {missing:?}");
    }
    (found, missing)
}
