//! What Python sees of sliver: accounting, audits, transport, private copies, private classifiers. Docstrings are those of `help`; types are in
//! `src/sliver_dp/_native.pyi`.

#![forbid(unsafe_code)]

mod accountant;
mod accounting;
mod arrays;
mod audit;
mod classifiers;
mod distance;
mod event;
mod refusal;
mod sequential;
mod sinkhorn;
mod slices;
mod synth;
mod transport;

/// `sliver_dp.accounting`, `.audit`, `.transport` and `.synth` name what is here.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::accounting::{
        batch_for, delta_lower, delta_upper, delta_upper_curve, epsilon_lower, epsilon_upper,
        epsilon_upper_of_ledger, epsilon_upper_of_opacus, noise_multiplier_for, steps_for,
        trade_off_lower_curve,
    };
    #[pymodule_export]
    use crate::audit::{
        LowerBound, best_guesses, epsilon_lower_of_canaries, epsilon_lower_of_counts,
        epsilon_lower_of_runs,
    };
    #[pymodule_export]
    use crate::classifiers::{
        ColumnModel, HeadModel, classes_of_table, fit_column, fit_image_classifier, fit_rows,
        probabilities_of_rows, probabilities_of_table,
    };
    #[pymodule_export]
    use crate::distance::{PrivateDistance, TwoSampleTest, private_distance};
    #[pymodule_export]
    use crate::event::PyEvent;
    #[pymodule_export]
    use crate::sequential::PySequential;
    #[pymodule_export]
    use crate::sinkhorn::{Entropic, sinkhorn, sinkhorn_divergence};
    #[pymodule_export]
    use crate::slices::PySlices;
    #[pymodule_export]
    use crate::synth::{ImagesModel, TableModel, fit_images, fit_table};
    #[pymodule_export]
    use crate::transport::{
        plan_1d, sliced_cost_and_gradient, sliced_w2_squared, sliced_w2_squared_and_gradient,
        wp_power_1d,
    };
}
