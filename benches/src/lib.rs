//! Benches; see the folder beside this one.
