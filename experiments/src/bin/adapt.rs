//! `adapt`: carries a classifier over to private, unlabelled records of another domain (Rakotomamonjy and Ralaivola
//! 2021, arXiv 2107.01848).

fn main() -> std::process::ExitCode {
    lab::session::main::<experiments::adapt::Adapt>()
}
