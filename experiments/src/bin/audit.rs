//! `audit`: attacks on the workspace's own mechanism, and what they prove of its claim.

use std::process::ExitCode;

use clap::Parser;
use experiments::audit::{Arguments, run};
use lab::diagnostic;

fn main() -> ExitCode {
    diagnostic::main(|| {
        let mut arguments = Arguments::parse();
        let folder = arguments.default_folder();
        arguments.out.get_or_insert(folder);
        run(&arguments)
    })
}
