//! Which device of a backend a run asks for.

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;
use clap::ValueEnum;
use clap::builder::{TypedValueParser, ValueParserFactory};

use super::{Backend, Chosen, automatic, cpu, describe, devices, list, ndarray};
use crate::diagnostic::Failure;
use crate::session::name_of;

/// `--backend NAME`, or `NAME:DEVICE` with the device by its number in `--backend list` or by a part of
/// its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub backend: Backend,
    /// Which of its devices; the first if absent.
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
            let names = Backend::value_variants().iter().copied().map(name_of);
            names.collect::<Vec<_>>().join(", ")
        };
        let backend = Backend::from_str(backend, true)
            .map_err(|_| format!("{backend:?} is no backend; choose one of {}", known()))?;
        if device.is_some() && !backend.is_gpu() {
            return Err(format!("{} has one device: say no more", name_of(backend)));
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

/// Reads `--backend`; at `list` the command prints the devices and ends, as `--help` does.
#[derive(Debug, Clone, Copy)]
pub struct ChoiceParser;

impl ValueParserFactory for Choice {
    type Parser = ChoiceParser;

    fn value_parser() -> ChoiceParser {
        ChoiceParser
    }
}

impl TypedValueParser for ChoiceParser {
    type Value = Choice;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Choice, clap::Error> {
        if value == "list" {
            // clap prints a text and ends with success for help alone: so this is the help of a command.
            let help = clap::Command::new("list").override_help(listing());
            help.try_get_matches_from(["list", "--help"])?;
        }
        let parser = <Choice as FromStr>::from_str;
        parser.parse_ref(command, argument, value)
    }
}

/// The backends, and the devices that they find here, a line each.
fn listing() -> String {
    let mut lines = String::new();
    for listed in devices() {
        let name = &listed.name;
        lines += &match listed.devices {
            None => format!("{name:<8}  not in this build: --features {name}\n"),
            Some(found) if found.is_empty() => format!("{name:<8}  no device\n"),
            Some(found) => {
                let found = found.iter().enumerate();
                let line =
                    |(index, device)| format!("{:<8}  {device}\n", format!("{name}:{index}"));
                found.map(line).collect()
            }
        };
    }
    lines
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Some(device) => write!(formatter, "{}:{device}", name_of(self.backend)),
            None => formatter.write_str(&name_of(self.backend)),
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
    /// Opens the device. A refusal says that the backend is not in this build, has no device here, or which ones it has if not
    /// the one that was named.
    pub fn choose(&self) -> Result<Chosen, Failure> {
        match self.backend {
            Backend::Auto => Ok(automatic()),
            Backend::Flex => Ok(cpu(Backend::Flex, Device::flex())),
            Backend::Ndarray => ndarray().ok_or_else(|| self.not_built()),
            _ => self.gpu(),
        }
    }

    fn not_built(&self) -> Failure {
        let feature = name_of(self.backend);
        Failure::input(
            format!("--backend {feature}: this build has no {feature} backend"),
            format!("build with `--features {feature}`, or choose --backend flex"),
        )
    }

    fn gpu(&self) -> Result<Chosen, Failure> {
        let backend = self.backend;
        let feature = name_of(backend);
        let kind = backend.kind().ok_or_else(|| self.not_built())?;
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
}
