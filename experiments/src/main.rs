//! `sliver`: all experiments, and what reads, plans and checks them.

fn main() -> std::process::ExitCode {
    experiments::program::main()
}
