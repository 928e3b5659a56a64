//! `flow`: generates images by a private flow of particles (Sebag et al. 2023, arXiv 2312.08227).

fn main() -> std::process::ExitCode {
    lab::session::main::<experiments::flow::Flow>()
}
