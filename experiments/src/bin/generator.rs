//! `generator`: trains a generator of images on released projections (Rakotomamonjy and Ralaivola 2021, arXiv
//! 2107.01848).

fn main() -> std::process::ExitCode {
    lab::session::main::<experiments::generator::Generate>()
}
