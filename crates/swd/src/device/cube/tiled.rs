//! Sorts rows longer than a tile: tiles are sorted in shared memory, then merged.
//!
//! A pass merges neighbouring runs of sorted entries into runs of twice the length, from one pair of buffers into another. One
//! cube writes a tile of the result: it finds by bisection which entries of both runs belong there (Green, McColl and Bader
//! 2012, "GPU merge path"). Each entry then finds its place by bisection among those of the other run. A row of `2^b` keys and
//! a tile of `2^t` take `b - t` passes, the last of which writes the result.

use burn::backend::DType;
use burn::tensor::Shape;
use burn_cubecl::cubecl;
use burn_cubecl::cubecl::prelude::*;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

use super::{Answer, Plan, network};

pub(super) fn launch(
    plan: Plan,
    input: CubeTensor,
    cells: CubeTensor,
    output: CubeTensor,
    answer: Answer,
) {
    let (client, device) = (input.client.clone(), input.device.clone());
    let scratch = || {
        let shape = Shape::from([plan.rows, plan.n]);
        empty_device_contiguous_dtype(client.clone(), device.clone(), shape, DType::U32)
    };
    let (keys, indices) = (scratch(), scratch());
    let tiles = plan.n.div_ceil(plan.tile);
    let tiled = || {
        let cubes = plan.rows * tiles;
        cubecl::calculate_cube_count_elemwise(&client, cubes, CubeDim::new_single())
    };
    let (rows, n) = (plan.rows as u32, plan.n as u32);
    sort_tiles::launch(
        &client,
        tiled(),
        plan.cube(),
        input.into_tensor_arg(),
        keys.clone().into_tensor_arg(),
        indices.clone().into_tensor_arg(),
        rows,
        n,
        tiles as u32,
        plan.tile,
        plan.units,
    );
    let mut run = plan.tile;
    let mut runs = (keys, indices);
    let mut merged = None;
    while 2 * run < plan.n {
        let (to_keys, to_indices) = merged.take().unwrap_or_else(|| (scratch(), scratch()));
        merge_runs::launch(
            &client,
            tiled(),
            plan.cube(),
            runs.0.clone().into_tensor_arg(),
            runs.1.clone().into_tensor_arg(),
            to_keys.clone().into_tensor_arg(),
            to_indices.clone().into_tensor_arg(),
            rows,
            n,
            tiles as u32,
            run as u32,
            plan.tile,
            plan.units,
        );
        merged = Some(std::mem::replace(&mut runs, (to_keys, to_indices)));
        run *= 2;
    }
    let shared_cells = cells.meta.shape()[0] == 1;
    merge_last::launch(
        &client,
        tiled(),
        plan.cube(),
        runs.0.into_tensor_arg(),
        runs.1.into_tensor_arg(),
        cells.into_tensor_arg(),
        output.into_tensor_arg(),
        rows,
        n,
        tiles as u32,
        run as u32,
        plan.tile,
        plan.units,
        shared_cells,
        answer,
    );
}

/// Sorts one tile a cube: reads floats as bits, writes sorted entries.
#[cube(launch)]
fn sort_tiles(
    input: &Tensor<u32>,
    keys: &mut Tensor<u32>,
    indices: &mut Tensor<u32>,
    rows: u32,
    n: u32,
    tiles: u32,
    #[comptime] tile: usize,
    #[comptime] units: usize,
) {
    let row = CUBE_POS / tiles as usize;
    if row >= rows as usize {
        terminate!();
    }
    let n = n as usize;
    let first = (CUBE_POS % tiles as usize) * tile;
    let start = row * n + first;
    let length = network::least(n - first, tile);
    let mut shared_keys = Shared::<[u32]>::new_slice(tile);
    let mut shared_indices = Shared::<[u32]>::new_slice(tile);
    let mut i = UNIT_POS as usize;
    while i < length {
        shared_keys[i] = network::ordered(input[start + i]);
        shared_indices[i] = (first + i) as u32;
        i += units;
    }
    sync_cube();
    network::sort(&mut shared_keys, &mut shared_indices, length, tile, units);
    let mut i = UNIT_POS as usize;
    while i < length {
        keys[start + i] = shared_keys[i];
        indices[start + i] = shared_indices[i];
        i += units;
    }
    sync_cube();
}

/// A tile of two merged runs, with the places of its entries. Their keys are in shared memory, those of the first run before
/// those of the second.
#[derive(CubeType)]
struct Segment {
    /// The places in the buffers at which its entries of the first run begin, and those of the second.
    first: usize,
    second: usize,
    /// The number of entries of the first run, and of both.
    of_first: usize,
    length: usize,
}

/// Returns how many of the first `diagonal` entries of two merged runs are of the first run.
#[cube]
fn of_first_run(
    keys: &Tensor<u32>,
    first: usize,
    first_length: usize,
    second: usize,
    second_length: usize,
    diagonal: usize,
) -> usize {
    let mut low = 0usize;
    if diagonal > second_length {
        low = diagonal - second_length;
    }
    let mut high = select(diagonal < first_length, diagonal, first_length);
    while low < high {
        let middle = (low + high) / 2;
        // Among equal keys those of the first run, whose indices are smaller, come first.
        if keys[first + middle] <= keys[second + diagonal - 1 - middle] {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Finds the entries of the tile that begins at `tile_start` of a row, and reads their keys.
#[cube]
fn segment(
    keys: &Tensor<u32>,
    shared: &mut Shared<[u32]>,
    row_start: usize,
    tile_start: usize,
    n: usize,
    run: usize,
    #[comptime] tile: usize,
    #[comptime] units: usize,
) -> Segment {
    let pair = tile_start / (2 * run) * (2 * run);
    let first_length = select(n - pair < run, n - pair, run);
    let rest = n - pair - first_length;
    let second_length = select(rest < run, rest, run);
    let first = row_start + pair;
    let second = first + first_length;
    let length = network::least(n - tile_start, tile);
    let diagonal = tile_start - pair;
    let mut bounds = Shared::<[u32]>::new_slice(2usize);
    let mut end = UNIT_POS as usize;
    while end < 2 {
        bounds[end] = of_first_run(
            keys,
            first,
            first_length,
            second,
            second_length,
            diagonal + end * length,
        ) as u32;
        end += units;
    }
    sync_cube();
    let before = bounds[0] as usize;
    let of_first = bounds[1] as usize - before;
    let second = second + diagonal - before;
    let mut i = UNIT_POS as usize;
    while i < length {
        if i < of_first {
            shared[i] = keys[first + before + i];
        } else {
            shared[i] = keys[second + i - of_first];
        }
        i += units;
    }
    sync_cube();
    Segment {
        first: first + before,
        second,
        of_first,
        length,
    }
}

/// Returns the place of entry `i` of a tile in the merged tile.
#[cube]
fn place(shared: &Shared<[u32]>, segment: &Segment, i: usize) -> usize {
    let is_first = i < segment.of_first;
    let key = shared[i];
    // Among the keys of the other run it comes after smaller ones, and if it is of the second run after equal ones too.
    let mut low = select(is_first, segment.of_first, 0usize);
    let mut high = select(is_first, segment.length, segment.of_first);
    let from = low;
    while low < high {
        let middle = (low + high) / 2;
        let other = shared[middle];
        if other < key || (other == key && !is_first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let own = select(is_first, i, i - segment.of_first);
    own + low - from
}

/// Returns the place of entry `i` of a tile in the buffers.
#[cube]
fn source(segment: &Segment, i: usize) -> usize {
    let mut at = segment.first + i;
    if i >= segment.of_first {
        at = segment.second + i - segment.of_first;
    }
    at
}

/// Merges one tile of the result a cube.
#[cube(launch)]
fn merge_runs(
    keys: &Tensor<u32>,
    indices: &Tensor<u32>,
    to_keys: &mut Tensor<u32>,
    to_indices: &mut Tensor<u32>,
    rows: u32,
    n: u32,
    tiles: u32,
    run: u32,
    #[comptime] tile: usize,
    #[comptime] units: usize,
) {
    let row = CUBE_POS / tiles as usize;
    if row >= rows as usize {
        terminate!();
    }
    let n = n as usize;
    let tile_start = CUBE_POS % tiles as usize * tile;
    let mut shared = Shared::<[u32]>::new_slice(tile);
    let start = row * n;
    let run = run as usize;
    let segment = segment(keys, &mut shared, start, tile_start, n, run, tile, units);
    let mut i = UNIT_POS as usize;
    while i < segment.length {
        let to = start + tile_start + place(&shared, &segment, i);
        to_keys[to] = shared[i];
        to_indices[to] = indices[source(&segment, i)];
        i += units;
    }
    sync_cube();
}

/// Merges the last two runs, one tile of the result a cube; the ranks are those of the row.
#[cube(launch)]
fn merge_last(
    keys: &Tensor<u32>,
    indices: &Tensor<u32>,
    cells: &Tensor<f32>,
    output: &mut Tensor<u32>,
    rows: u32,
    n: u32,
    tiles: u32,
    run: u32,
    #[comptime] tile: usize,
    #[comptime] units: usize,
    #[comptime] shared_cells: bool,
    #[comptime] answer: Answer,
) {
    let row = CUBE_POS / tiles as usize;
    if row >= rows as usize {
        terminate!();
    }
    let n = n as usize;
    let tile_start = CUBE_POS % tiles as usize * tile;
    let mut shared = Shared::<[u32]>::new_slice(tile);
    let start = row * n;
    let run = run as usize;
    let segment = segment(keys, &mut shared, start, tile_start, n, run, tile, units);
    let mut first_cell = start;
    if comptime!(shared_cells) {
        first_cell = 0;
    }
    let mut i = UNIT_POS as usize;
    while i < segment.length {
        let rank = tile_start + place(&shared, &segment, i);
        network::write(
            shared[i],
            indices[source(&segment, i)],
            rank,
            start,
            cells,
            first_cell + rank,
            output,
            answer,
        );
        i += units;
    }
    sync_cube();
}
