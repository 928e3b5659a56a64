//! `fair`: learns under a private Wasserstein penalty between groups (Rodriguez-Vitores, Lalanne and Loubes 2025,
//! arXiv 2502.01701, section 7).

fn main() -> std::process::ExitCode {
    lab::session::main::<experiments::fair::Fair>()
}
