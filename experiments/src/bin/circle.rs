//! `circle`: private generation of a circle, by private gradients and by a smoothed distance (Rodriguez-Vitores,
//! Lalanne and Loubes 2025, arXiv 2502.01701, appendix D.2).

fn main() -> std::process::ExitCode {
    lab::session::main::<experiments::circle::Circle>()
}
