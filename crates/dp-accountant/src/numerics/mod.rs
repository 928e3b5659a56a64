//! Numerical methods that several accountants share, and nothing about privacy.

pub mod binomial;
pub mod bisection;
pub(crate) mod gauss_legendre;
pub(crate) mod golden_section;
pub mod normal;

/// `ln sum e^term`, without overflow.
pub(crate) fn ln_sum_exp(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_infinite() {
        return largest;
    }
    let sum: f64 = terms.map(|term| (term - largest).exp()).sum();
    largest + sum.ln()
}
