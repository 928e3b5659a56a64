//! Gram matrices of gradients that are products.

use burn::tensor::Tensor;

/// The number of scalars of gradient rows that exist at once: 16 MiB.
const MOST: usize = 1 << 22;

/// The most that a sum of `products` products of `f32` may lose: those below the least normal number may count as 0.
pub(crate) fn lost(products: usize) -> f32 {
    products as f32 * f32::MIN_POSITIVE
}

/// Computes `G_rs = sum_k <W_rk, W_sk>` with `W_rk = delta_rk seen_k^T`, for `K` independent groups of a product of a
/// weight `[q, p]` with its input at `T` places.
///
/// - `patches`: `[n, K, p, T]`; `delta`: `[n, g, K, q, T]`; the result is `[n, g, g]`.
///
/// For one place it is `<delta_r, delta_s> |patches|^2`, with [`lost`] added to each factor: one may vanish while the
/// other is large. For more places the rows are formed, some records at a time. Without the rows (Li et al. 2022,
/// equation 3) terms that cancel in a row would have to cancel in its square, and rounding would not be small against
/// the remainder.
pub(super) fn gram_of_products(patches: &Tensor<4>, delta: Tensor<5>) -> Tensor<3> {
    let [n, groups, p, places] = patches.dims();
    let [_, g, _, q, _] = delta.dims();
    if places == 1 {
        // A number added after a sum is fused with it, and some GPUs (SwiftShader) then compute another sum.
        let size = (patches.clone().square() + lost(1)).sum_dim(2);
        let delta = delta.reshape([n, g, groups, q]).swap_dims(1, 2);
        let outer = delta.clone().matmul(delta.swap_dims(2, 3));
        let outer = outer + Tensor::<2>::eye(g, &size.device()).unsqueeze() * lost(g * q);
        return (outer * size).sum_dim(1).reshape([n, g, g]);
    }
    let delta = delta.swap_dims(1, 2).reshape([n, groups, g * q, places]);
    let at_once = (MOST / (g * groups * p * q).max(1)).clamp(1, n.max(1));
    let parts = (0..n)
        .step_by(at_once)
        .map(|start| {
            let some = at_once.min(n - start);
            let patches = patches.clone().narrow(0, start, some);
            let delta = delta.clone().narrow(0, start, some);
            let rows = delta
                .matmul(patches.swap_dims(2, 3))
                .reshape([some, groups, g, q * p]);
            rows.clone()
                .matmul(rows.swap_dims(2, 3))
                .sum_dim(1)
                .reshape([some, g, g])
        })
        .collect();
    Tensor::cat(parts, 0)
}

/// Computes `G_rs = <b_r, b_s>` with `b_r` the sum of `delta_r` over places: `[n, g, q, T] -> [n, g, g]`.
pub(super) fn gram_of_sums(delta: Tensor<4>) -> Tensor<3> {
    let [n, g, q, _] = delta.dims();
    gram_of_rows(delta.sum_dim(3).reshape([n, g, q]))
}

/// Computes `G_rs = <rows_r, rows_s>`, `[n, g, p] -> [n, g, g]`.
pub(super) fn gram_of_rows(rows: Tensor<3>) -> Tensor<3> {
    rows.clone().matmul(rows.swap_dims(1, 2))
}

/// Adds the parts that are not `None`.
pub(super) fn together(one: Option<Tensor<3>>, other: Option<Tensor<3>>) -> Option<Tensor<3>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}
