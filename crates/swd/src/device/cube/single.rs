//! Sorts rows that fit one cube: they are read once, sorted in shared memory, and written at once.

use burn_cubecl::cubecl;
use burn_cubecl::cubecl::prelude::*;
use burn_cubecl::tensor::CubeTensor;

use super::{Answer, Plan, network};

pub(super) fn launch(
    plan: Plan,
    keys: CubeTensor,
    cells: CubeTensor,
    output: CubeTensor,
    answer: Answer,
) {
    let client = keys.client.clone();
    let shared_cells = cells.meta.shape()[0] == 1;
    let cubes = cubecl::calculate_cube_count_elemwise(&client, plan.rows, CubeDim::new_single());
    sort_rows::launch(
        &client,
        cubes,
        plan.cube(),
        keys.into_tensor_arg(),
        cells.into_tensor_arg(),
        output.into_tensor_arg(),
        plan.rows as u32,
        plan.n as u32,
        plan.tile,
        plan.units,
        shared_cells,
        answer,
    );
}

/// Sorts one row a cube. The keys are floats, read as their bits.
#[cube(launch)]
fn sort_rows(
    input: &Tensor<u32>,
    cells: &Tensor<f32>,
    output: &mut Tensor<u32>,
    rows: u32,
    n: u32,
    #[comptime] tile: usize,
    #[comptime] units: usize,
    #[comptime] shared_cells: bool,
    #[comptime] answer: Answer,
) {
    let row = CUBE_POS;
    if row >= rows as usize {
        terminate!();
    }
    let n = n as usize;
    let start = row * n;
    let mut keys = Shared::<[u32]>::new_slice(tile);
    let mut indices = Shared::<[u32]>::new_slice(tile);
    let mut i = UNIT_POS as usize;
    while i < n {
        keys[i] = network::ordered(input[start + i]);
        indices[i] = i as u32;
        i += units;
    }
    sync_cube();
    network::sort(&mut keys, &mut indices, n, tile, units);
    let mut first_cell = start;
    if comptime!(shared_cells) {
        first_cell = 0;
    }
    let mut rank = UNIT_POS as usize;
    while rank < n {
        network::write(
            keys[rank],
            indices[rank],
            rank,
            start,
            cells,
            first_cell + rank,
            output,
            answer,
        );
        rank += units;
    }
    // No unit may leave while another reads: a runtime may hand the memory to the next cube.
    sync_cube();
}
