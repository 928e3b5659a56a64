//! `ldp`: learns a generator from records that were privatised one by one (Reshetova, Chen and Ozgur 2023, arXiv
//! 2306.09547).

fn main() -> std::process::ExitCode {
    lab::session::main::<experiments::ldp::Ldp>()
}
