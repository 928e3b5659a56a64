//! A driver that speaks of an error when there is none.

/// Starts the program again as itself, with the same arguments, if a driver would say on standard
/// error that `XDG_RUNTIME_DIR` is not set.
///
/// Mesa's layer under Vulkan asks for a display to rank GPUs by, and the display's library prints
/// `error: XDG_RUNTIME_DIR is invalid or not set in the environment.` on a machine that has none. A folder
/// that is not there is an answer that it takes in silence, and it has to be in the environment from the
/// start: that of a running program cannot be changed safely. Call it first in `main`; if the system
/// refuses, that line is all that is lost.
pub fn quiet_drivers() {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;

        const NAME: &str = "XDG_RUNTIME_DIR";
        if std::env::var_os(NAME).is_some_and(|folder| folder.as_encoded_bytes().starts_with(b"/"))
        {
            return;
        }
        let Ok(program) = std::env::current_exe() else {
            return;
        };
        let mut arguments = std::env::args_os();
        let mut command = std::process::Command::new(program);
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        // Comes back only if it fails.
        let _ = command.args(arguments).env(NAME, "/nonexistent").exec();
    }
}
