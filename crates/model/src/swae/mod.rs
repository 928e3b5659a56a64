//! The sliced-Wasserstein autoencoder (Rodriguez-Vitores, Lalanne and Loubes 2025, section 6).
//!
//! It minimises `L_alpha = (1 - alpha) (1/n) sum_i BCE(decode(encode(x_i)), x_i) + alpha SW2^2(encode(X), Z)` with `Z` uniform in
//! the unit ball (the same source, equation 6).

mod architecture;

pub use architecture::{Decoder, Encoder, Swae, SwaeConfig};
