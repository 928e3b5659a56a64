//! Which backends this build has, and which devices they find here.

/// List the backends of this build, and the devices that they find here.
#[derive(Debug, clap::Parser)]
#[command(name = "devices")]
pub(crate) struct Arguments {}

/// Prints them, a line a device.
pub(crate) fn list() {
    for listed in lab::backend::devices() {
        match listed.devices {
            None => println!(
                "{:<8}  not in this build: --features {}",
                listed.name, listed.name
            ),
            Some(devices) if devices.is_empty() => println!("{:<8}  no device", listed.name),
            Some(devices) => {
                for (index, device) in devices.iter().enumerate() {
                    let name = format!("{}:{index}", listed.name);
                    println!("{name:<8}  {device}");
                }
            }
        }
    }
}
