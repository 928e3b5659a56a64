//! The scores of generated samples.

mod evaluate;
