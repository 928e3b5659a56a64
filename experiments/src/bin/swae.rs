//! `swae`: trains the private sliced-Wasserstein autoencoder.

fn main() -> std::process::ExitCode {
    lab::session::main::<experiments::swae::Swae>()
}
