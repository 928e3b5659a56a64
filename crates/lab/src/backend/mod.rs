//! `--backend`: which device a run computes on.

mod choice;
mod quiet;

use burn::tensor::{Device, DeviceType};
use clap::ValueEnum;
use dp_core::per_sample::Rounding;
use files::foreign::quietly;

pub use choice::Choice;
pub use quiet::quiet_drivers;

use crate::diagnostic::Failure;
use crate::session::name_of;

/// The backends that a program can be asked for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum Backend {
    /// A real GPU through Metal, Vulkan or WebGPU if there is one, else `flex`.
    Auto,
    /// The CPU.
    Flex,
    /// The CPU, through ndarray: for portability checks.
    Ndarray,
    /// Any GPU through WebGPU's compilers.
    Wgpu,
    /// Any GPU through Vulkan.
    Vulkan,
    /// Apple GPUs.
    Metal,
    /// NVIDIA GPUs.
    Cuda,
    /// AMD GPUs.
    Rocm,
}

/// A device, and how to speak of it.
#[derive(Debug, Clone)]
pub struct Chosen {
    pub device: Device,
    /// The backend that it belongs to; never `Auto`.
    pub backend: Backend,
    /// What the device calls itself.
    pub description: String,
}

#[derive(Debug, Clone)]
pub struct Listed {
    pub backend: Backend,
    /// Its name on the command line.
    pub name: String,
    /// Its devices, in the order of their numbers; none if it is not in this build.
    pub devices: Option<Vec<String>>,
}

/// Every backend with its devices on this machine.
pub fn devices() -> Vec<Listed> {
    let listed = |&backend: &Backend| {
        let devices = match backend {
            Backend::Auto => return None,
            Backend::Flex => Some(vec![cpu(Backend::Flex, Device::flex()).description]),
            Backend::Ndarray => ndarray().map(|chosen| vec![chosen.description]),
            _ => backend
                .kind()
                .map(|kind| list(kind).iter().map(describe).collect()),
        };
        Some(Listed {
            backend,
            name: name_of(backend),
            devices,
        })
    };
    Backend::value_variants()
        .iter()
        .filter_map(listed)
        .collect()
}

impl Chosen {
    /// Refuses a device whose products are too coarse for private steps.
    pub fn supports_private_steps(&self) -> Result<(), Failure> {
        let Err(reason) = Rounding::of_device(&self.device) else {
            return Ok(());
        };
        Err(Failure::input(
            format!("--backend {}: {reason}", name_of(self.backend)),
            "choose --backend vulkan, wgpu or flex, or train with --no-privacy",
        ))
    }
}

impl Backend {
    /// Opens the first device.
    pub fn choose(self) -> Result<Chosen, Failure> {
        Choice::from(self).choose()
    }

    fn is_gpu(self) -> bool {
        !matches!(self, Self::Auto | Self::Flex | Self::Ndarray)
    }

    /// burn's kind of its devices; none if it is not in this build.
    fn kind(self) -> Option<DeviceType> {
        match self {
            Self::Wgpu => Some(DeviceType::Wgpu),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => Some(DeviceType::Vulkan),
            #[cfg(feature = "metal")]
            Self::Metal => Some(DeviceType::Metal),
            #[cfg(feature = "cuda")]
            Self::Cuda => Some(DeviceType::Cuda),
            #[cfg(feature = "rocm")]
            Self::Rocm => Some(DeviceType::Rocm),
            _ => None,
        }
    }
}

fn cpu(backend: Backend, device: Device) -> Chosen {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Chosen {
        device,
        backend,
        description: format!("{} on {threads} threads", name_of(backend)),
    }
}

/// Deprecated upstream in favour of flex; kept to check that results do not depend on a backend.
#[cfg(feature = "ndarray")]
fn ndarray() -> Option<Chosen> {
    #[allow(deprecated)]
    let device = Device::ndarray();
    Some(cpu(Backend::Ndarray, device))
}

#[cfg(not(feature = "ndarray"))]
fn ndarray() -> Option<Chosen> {
    None
}

/// Listing opens drivers, and a driver that is half there may panic: to a person that is the same
/// as no device.
fn list(kind: DeviceType) -> Vec<Device> {
    quietly(|| Device::enumerate(kind).into_vec()).unwrap_or_default()
}

fn describe(device: &Device) -> String {
    if let Some(identity) = device.identity() {
        return identity.name;
    }
    format!("{device:?}")
}

/// A real GPU is one that does not call itself a CPU.
fn automatic() -> Chosen {
    // Those with products that are exact enough for private steps.
    for backend in [Backend::Metal, Backend::Vulkan, Backend::Wgpu] {
        let Some(kind) = backend.kind() else { continue };
        for device in list(kind) {
            if !format!("{device:?}").to_lowercase().contains("cpu") {
                return Chosen {
                    description: describe(&device),
                    device,
                    backend,
                };
            }
        }
    }
    cpu(Backend::Flex, Device::flex())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_has_the_processor() {
        let listed = devices();
        let flex = listed.iter().find(|l| l.backend == Backend::Flex).unwrap();
        assert_eq!(flex.devices.as_ref().map(Vec::len), Some(1));
        assert!(listed.iter().all(|l| l.backend != Backend::Auto));
    }
}
