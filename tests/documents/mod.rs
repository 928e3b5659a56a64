//! How the workspace is built, and what its documents say of it.

mod architecture;
mod callers;
mod pages;
