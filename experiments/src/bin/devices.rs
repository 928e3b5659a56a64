//! `devices`: which backends this build has, and which devices they find here.

fn main() -> std::process::ExitCode {
    lab::backend::quiet_drivers();
    lab::diagnostic::main(|| {
        list();
        Ok(())
    })
}

fn list() {
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
