//! `--backend`: which device a run computes on.

use burn::tensor::{Device, DeviceType};

use crate::diagnostic::Failure;

/// The backends that a binary can be asked for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum Backend {
    /// A real GPU if there is one, else `flex`.
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
    /// The device.
    pub device: Device,
    /// The backend that it belongs to; never `Auto`.
    pub backend: Backend,
    /// What the device calls itself.
    pub description: String,
}

impl Backend {
    /// Opens the device.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] where the backend is not in this build, or has no device here.
    pub fn choose(self) -> Result<Chosen, Failure> {
        match self {
            Self::Auto => Ok(automatic()),
            Self::Flex => Ok(cpu(Self::Flex, Device::flex())),
            Self::Ndarray => ndarray(),
            Self::Wgpu => gpu(self, wgpu_type(), "wgpu"),
            Self::Vulkan => gpu(self, vulkan_type(), "vulkan"),
            Self::Metal => gpu(self, metal_type(), "metal"),
            Self::Cuda => gpu(self, cuda_type(), "cuda"),
            Self::Rocm => gpu(self, rocm_type(), "rocm"),
        }
    }
}

fn cpu(backend: Backend, device: Device) -> Chosen {
    Chosen {
        device,
        backend,
        description: format!("{} on {} threads", name(backend), rayon_threads()),
    }
}

fn rayon_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn name(backend: Backend) -> String {
    use clap::ValueEnum;
    backend
        .to_possible_value()
        .map_or_else(String::new, |v| v.get_name().to_string())
}

#[cfg(feature = "ndarray")]
fn ndarray() -> Result<Chosen, Failure> {
    // Deprecated upstream in favour of flex; kept to check that results do not depend on a backend.
    #[allow(deprecated)]
    let device = Device::ndarray();
    Ok(cpu(Backend::Ndarray, device))
}

#[cfg(not(feature = "ndarray"))]
fn ndarray() -> Result<Chosen, Failure> {
    Err(not_built("ndarray"))
}

macro_rules! device_type {
    ($function:ident, $feature:literal, $variant:ident) => {
        #[cfg(feature = $feature)]
        fn $function() -> Option<DeviceType> {
            Some(DeviceType::$variant)
        }

        #[cfg(not(feature = $feature))]
        fn $function() -> Option<DeviceType> {
            None
        }
    };
}

device_type!(wgpu_type, "wgpu", Wgpu);
device_type!(vulkan_type, "vulkan", Vulkan);
device_type!(metal_type, "metal", Metal);
device_type!(cuda_type, "cuda", Cuda);
device_type!(rocm_type, "rocm", Rocm);

fn not_built(feature: &str) -> Failure {
    Failure::input(
        format!("--backend {feature}: this build has no {feature} backend"),
        format!("build with `--features {feature}`, or choose --backend flex"),
    )
}

fn gpu(backend: Backend, kind: Option<DeviceType>, feature: &str) -> Result<Chosen, Failure> {
    let kind = kind.ok_or_else(|| not_built(feature))?;
    let device = list(kind).into_iter().next().ok_or_else(|| {
        Failure::input(
            format!("--backend {feature}: no GPU was found (0 devices, at least 1 is needed)"),
            "check the driver (for Vulkan: the loader and VK_DRIVER_FILES), or choose \
             --backend flex",
        )
    })?;
    Ok(Chosen {
        description: describe(&device),
        device,
        backend,
    })
}

/// Listing opens drivers, and a driver that is half there may panic: to a person that is the same
/// as no device.
fn list(kind: DeviceType) -> Vec<Device> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let found = std::panic::catch_unwind(|| Device::enumerate(kind).into_vec());
    std::panic::set_hook(hook);
    found.unwrap_or_default()
}

fn describe(device: &Device) -> String {
    #[cfg(any(feature = "wgpu", feature = "cuda", feature = "rocm"))]
    if let Some(identity) = device.identity() {
        return identity.name;
    }
    format!("{device:?}")
}

/// A real GPU is one that does not call itself a CPU.
fn automatic() -> Chosen {
    let candidates = [
        (Backend::Cuda, cuda_type()),
        (Backend::Rocm, rocm_type()),
        (Backend::Metal, metal_type()),
        (Backend::Vulkan, vulkan_type()),
        (Backend::Wgpu, wgpu_type()),
    ];
    for (backend, kind) in candidates {
        let Some(kind) = kind else { continue };
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
