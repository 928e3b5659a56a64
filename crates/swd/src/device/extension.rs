//! The sort as an extension of burn's backends.
//!
//! Keys compare by [`f32::total_cmp`], equal ones by index, on every backend, so ranks are the same
//! numbers everywhere. A NaN has its place too, at the end that its sign says.

// ndarray is deprecated upstream in favour of flex; it is kept to check portability.
#![allow(deprecated)]

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
#[cfg(feature = "cubecl")]
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{
    Autodiff, AutodiffBackend, Backend, DType, Flex, TensorData, TensorMetadata, backend_extension,
    read_sync,
};

use crate::sort::{ranks, total_orders};

/// The shape and type of the ranks of a row before they are computed.
#[cfg(feature = "cubecl")]
fn integers(keys: &TensorSpec) -> TensorSpec {
    TensorSpec::new(keys.shape.clone(), DType::I32)
}

/// Stable sort-and-rank along the rows of `[k, n]`.
#[backend_extension(
    Cube: cfg(feature = "cubecl"),
    Flex,
    NdArray: cfg(feature = "ndarray"),
    Fusion: cfg(feature = "cubecl"),
    Autodiff
)]
pub(super) trait StableSort: Backend {
    /// Returns at `[l, r]` the index of the key of rank `r` in row `l`.
    #[fusion(meta = integers)]
    fn stable_order(keys: FloatTensor<Self>) -> IntTensor<Self>;

    /// Returns at `[l, i]` the rank of key `i` in row `l`.
    #[fusion(meta = integers)]
    fn stable_ranks(keys: FloatTensor<Self>) -> IntTensor<Self>;

    /// Returns at `[l, i]` key `i` less the cell of its rank; `cells` has as many rows as the keys, or one for all.
    #[fusion(dtype = projected, shape = projected)]
    fn residual(projected: FloatTensor<Self>, cells: FloatTensor<Self>) -> FloatTensor<Self> {
        let ranks = Self::stable_ranks(projected.clone());
        let cells = Self::float_expand(cells, projected.shape());
        Self::float_sub(projected, Self::float_gather(1, cells, ranks))
    }
}

impl<B: StableSort, C: CheckpointStrategy> StableSort for Autodiff<B, C> {
    fn stable_order(keys: FloatTensor<Self>) -> IntTensor<Self> {
        B::stable_order(<Self as AutodiffBackend>::inner(keys))
    }

    fn stable_ranks(keys: FloatTensor<Self>) -> IntTensor<Self> {
        B::stable_ranks(<Self as AutodiffBackend>::inner(keys))
    }
}

impl StableSort for Flex {
    fn stable_order(keys: FloatTensor<Self>) -> IntTensor<Self> {
        on_host::<Self>(keys, |orders, _| orders)
    }

    fn stable_ranks(keys: FloatTensor<Self>) -> IntTensor<Self> {
        on_host::<Self>(keys, rank_all)
    }
}

#[cfg(feature = "ndarray")]
impl StableSort for burn::backend::NdArray {
    fn stable_order(keys: FloatTensor<Self>) -> IntTensor<Self> {
        on_host::<Self>(keys, |orders, _| orders)
    }

    fn stable_ranks(keys: FloatTensor<Self>) -> IntTensor<Self> {
        on_host::<Self>(keys, rank_all)
    }
}

fn rank_all(orders: Vec<u32>, n: usize) -> Vec<u32> {
    ranks(&orders, n).unwrap_or_default()
}

/// Sorts the rows of a tensor that lives in host memory.
fn on_host<B: Backend>(
    keys: FloatTensor<B>,
    answer: impl Fn(Vec<u32>, usize) -> Vec<u32>,
) -> IntTensor<B> {
    let (shape, device) = (keys.shape(), keys.device());
    let n = shape[1];
    let keys = read_sync(B::float_into_data(keys)).map(|data| data.iter::<f32>().collect());
    let keys: Vec<f32> = keys.unwrap_or_default();
    let found = answer(total_orders(&keys, n), n);
    let found: Vec<i32> = found.into_iter().map(|index| index as i32).collect();
    let data = TensorData::new(found, shape).convert_dtype(DType::I32);
    B::int_from_data(data, &device)
}
