//! The sort on CubeCL: rows of 32-bit keys with their indices, sorted where they lie.
//!
//! A row that fits into the shared memory of one cube is sorted there by a network whose comparators go upwards only
//! ([`network`]), so lengths that are not powers of two need no padding. Its result is written at once ([`single`]).
//! A longer row is sorted tile by tile, and the tiles are merged ([`tiled`]).

mod network;
mod single;
mod tiled;

use burn::backend::{DType, TensorMetadata};
use burn::tensor::Shape;
use burn_cubecl::CubeBackend;
use burn_cubecl::cubecl::prelude::*;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

use super::extension::StableSort;

/// The bytes of a key with its index.
const ENTRY_BYTES: usize = 8;

/// The longest tile, for devices whose shared memory would hold more: past it, the passes in shared
/// memory cost more than the passes they save.
const LONGEST_TILE: usize = 4096;

/// The result written for a row of sorted keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Answer {
    /// Writes at `r` the index of the key of rank `r`.
    Order,
    /// Writes at `i` the rank of key `i`.
    Ranks,
    /// Writes at `i` key `i` less the cell of its rank.
    Residual,
}

impl StableSort for CubeBackend {
    fn stable_order(keys: CubeTensor) -> CubeTensor {
        answer(keys, None, Answer::Order)
    }

    fn stable_ranks(keys: CubeTensor) -> CubeTensor {
        answer(keys, None, Answer::Ranks)
    }

    fn residual(projected: CubeTensor, cells: CubeTensor) -> CubeTensor {
        answer(projected, Some(cells), Answer::Residual)
    }
}

/// Rows of one length, and the device's limits that decide how they are cut.
#[derive(Clone, Copy)]
struct Plan {
    rows: usize,
    n: usize,
    /// The number of keys that one cube sorts in shared memory, a power of two.
    tile: usize,
    /// The number of units of a cube.
    units: usize,
}

impl Plan {
    fn new(client: &Client, rows: usize, n: usize) -> Self {
        let hardware = &client.properties().hardware;
        let fits = (hardware.max_shared_memory_size / ENTRY_BYTES).clamp(2, LONGEST_TILE);
        let fits = 1 << fits.ilog2();
        let tile = n.next_power_of_two().clamp(2, fits);
        let units = (tile / 2).clamp(1, (hardware.max_units_per_cube as usize).min(512));
        Self {
            rows,
            n,
            tile,
            units,
        }
    }

    fn cube(&self) -> CubeDim {
        CubeDim::new_1d(self.units as u32)
    }
}

fn answer(keys: CubeTensor, cells: Option<CubeTensor>, answer: Answer) -> CubeTensor {
    let keys = into_contiguous(keys);
    let shape: Shape = keys.shape();
    let [rows, n] = shape.dims();
    let dtype = match answer {
        Answer::Order | Answer::Ranks => DType::I32,
        Answer::Residual => keys.dtype,
    };
    let output =
        empty_device_contiguous_dtype(keys.client.clone(), keys.device.clone(), shape, dtype);
    if rows == 0 || n == 0 {
        return output;
    }
    // Without cells nothing reads this argument, but the kernel still needs it.
    let cells = into_contiguous(cells.unwrap_or_else(|| keys.clone()));
    let plan = Plan::new(&keys.client, rows, n);
    if n <= plan.tile {
        single::launch(plan, keys, cells, output.clone(), answer);
    } else {
        tiled::launch(plan, keys, cells, output.clone(), answer);
    }
    output
}
