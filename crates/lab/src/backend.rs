//! `--backend`: which device a run computes on.

use std::fmt;
use std::str::FromStr;

use burn::tensor::{Device, DeviceType};
use clap::ValueEnum;

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

/// `--backend NAME`, or `NAME:DEVICE` with the device by its number in `just devices` or by a part of
/// its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The backend.
    pub backend: Backend,
    /// Which of its devices; the first where absent.
    pub device: Option<String>,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (backend, device) = match text.split_once(':') {
            Some((backend, device)) => (backend, Some(device)),
            None => (text, None),
        };
        let known = || {
            let names = Backend::value_variants().iter().copied().map(name);
            names.collect::<Vec<_>>().join(", ")
        };
        let backend = Backend::from_str(backend, true)
            .map_err(|_| format!("{backend:?} is no backend; choose one of {}", known()))?;
        if device.is_some() && !backend.is_gpu() {
            return Err(format!("{} has one device: say no more", name(backend)));
        }
        if device.is_some_and(str::is_empty) {
            return Err("a device's number or a part of its name must follow the colon".into());
        }
        Ok(Self {
            backend,
            device: device.map(str::to_string),
        })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Some(device) => write!(formatter, "{}:{device}", name(self.backend)),
            None => formatter.write_str(&name(self.backend)),
        }
    }
}

impl From<Backend> for Choice {
    fn from(backend: Backend) -> Self {
        Self {
            backend,
            device: None,
        }
    }
}

impl Choice {
    /// Opens the device.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] where the backend is not in this build, has no device here, or not the one
    /// that was named: then with the list of those that it has.
    pub fn choose(&self) -> Result<Chosen, Failure> {
        match self.backend {
            Backend::Auto => Ok(automatic()),
            Backend::Flex => Ok(cpu(Backend::Flex, Device::flex())),
            Backend::Ndarray => ndarray(),
            _ => self.gpu(),
        }
    }

    fn gpu(&self) -> Result<Chosen, Failure> {
        let backend = self.backend;
        let feature = name(backend);
        let kind = backend.kind().ok_or_else(|| not_built(&feature))?;
        let found = list(kind);
        if found.is_empty() {
            return Err(Failure::input(
                format!("--backend {feature}: no GPU was found (0 devices, at least 1 is needed)"),
                "check the driver (for Vulkan: the loader and VK_DRIVER_FILES), or choose \
                 --backend flex",
            ));
        }
        let names: Vec<String> = found.iter().map(describe).collect();
        let index = pick(&names, self.device.as_deref()).ok_or_else(|| {
            let listed: Vec<String> = names
                .iter()
                .enumerate()
                .map(|(index, name)| format!("{feature}:{index} {name}"))
                .collect();
            Failure::input(
                format!(
                    "--backend {self}: there is no such device among {}",
                    names.len()
                ),
                format!("choose one of: {}", listed.join("; ")),
            )
        })?;
        Ok(Chosen {
            description: names[index].clone(),
            device: found.into_iter().nth(index).unwrap_or_else(Device::flex),
            backend,
        })
    }
}

/// The device of that number, or the first one whose name contains the text in any case.
fn pick(names: &[String], device: Option<&str>) -> Option<usize> {
    let Some(device) = device else {
        return (!names.is_empty()).then_some(0);
    };
    if let Ok(index) = device.parse::<usize>() {
        return (index < names.len()).then_some(index);
    }
    let wanted = device.to_lowercase();
    let fits = |name: &String| name.to_lowercase().contains(&wanted);
    names.iter().position(fits)
}

/// A backend on this machine.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The backend.
    pub backend: Backend,
    /// Its name on the command line.
    pub name: String,
    /// Its devices, in the order of their numbers; none where it is not in this build.
    pub devices: Option<Vec<String>>,
}

/// Every backend with its devices on this machine.
pub fn devices() -> Vec<Listed> {
    let listed = |&backend: &Backend| {
        let devices = match backend {
            Backend::Auto => return None,
            Backend::Flex => Some(vec![cpu(Backend::Flex, Device::flex()).description]),
            Backend::Ndarray => ndarray().ok().map(|chosen| vec![chosen.description]),
            _ => backend
                .kind()
                .map(|kind| list(kind).iter().map(describe).collect()),
        };
        Some(Listed {
            backend,
            name: name(backend),
            devices,
        })
    };
    Backend::value_variants()
        .iter()
        .filter_map(listed)
        .collect()
}

impl Backend {
    /// Opens the first device.
    ///
    /// # Errors
    ///
    /// As [`Choice::choose`].
    pub fn choose(self) -> Result<Chosen, Failure> {
        Choice::from(self).choose()
    }

    fn is_gpu(self) -> bool {
        !matches!(self, Self::Auto | Self::Flex | Self::Ndarray)
    }

    /// burn's kind of its devices; none where it is not in this build.
    fn kind(self) -> Option<DeviceType> {
        match self {
            Self::Auto | Self::Flex | Self::Ndarray => None,
            Self::Wgpu => wgpu_type(),
            Self::Vulkan => vulkan_type(),
            Self::Metal => metal_type(),
            Self::Cuda => cuda_type(),
            Self::Rocm => rocm_type(),
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
    for backend in [
        Backend::Cuda,
        Backend::Rocm,
        Backend::Metal,
        Backend::Vulkan,
        Backend::Wgpu,
    ] {
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
    fn a_choice_is_a_backend_and_perhaps_a_device() {
        let choice: Choice = "wgpu:1".parse().unwrap();
        assert_eq!(
            (choice.backend, choice.device.as_deref()),
            (Backend::Wgpu, Some("1"))
        );
        assert_eq!(choice.to_string(), "wgpu:1");
        assert_eq!("Flex".parse::<Choice>().unwrap(), Backend::Flex.into());
        for (text, says) in [
            ("gpu", "choose one of auto, flex"),
            ("flex:0", "flex has one device"),
            ("cuda:", "must follow the colon"),
        ] {
            let why = text.parse::<Choice>().unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }

    #[test]
    fn devices_are_picked_by_number_and_by_name() {
        let names = ["NVIDIA H200".to_string(), "AMD Radeon".to_string()];
        assert_eq!(pick(&names, None), Some(0));
        assert_eq!(pick(&names, Some("1")), Some(1));
        assert_eq!(pick(&names, Some("radeon")), Some(1));
        assert_eq!(pick(&names, Some("2")), None);
        assert_eq!(pick(&names, Some("intel")), None);
        assert_eq!(pick(&[], None), None);
    }

    #[test]
    fn every_machine_has_the_processor() {
        let listed = devices();
        let flex = listed.iter().find(|l| l.backend == Backend::Flex).unwrap();
        assert_eq!(flex.devices.as_ref().map(Vec::len), Some(1));
        assert!(listed.iter().all(|l| l.backend != Backend::Auto));
    }
}
