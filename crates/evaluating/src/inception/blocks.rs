//! The blocks of Inception v3, branch by branch (Szegedy et al., 2016), under torchvision's names.

use burn::tensor::Tensor;

use super::convolution::{Reader, Unit, Window, max_pool, mean_pool};
use crate::EvaluateError;

/// One pixel.
pub(super) const POINT: Window = Window::same(1, 1);
/// 3x3 pixels that keep the size.
pub(super) const SQUARE: Window = Window::same(3, 3);
/// Seven pixels in a row, and in a column.
const ROW: Window = Window::same(1, 7);
const COLUMN: Window = Window::same(7, 1);
/// 3x3 pixels that halve the size.
pub(super) const HALVE: Window = Window::valid(3, 2);

/// The branch of a block that pools before it convolves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The mean of 3x3, zeros beyond the border counted (torchvision).
    Mean,
    /// The mean of 3x3, only over the image (the weights of the FID).
    MeanInside,
    /// The largest of 3x3 (the last block of the weights of the FID).
    Largest,
}

impl Pooling {
    fn forward(self, input: Tensor<4>) -> Tensor<4> {
        match self {
            Self::Mean => mean_pool(input, true),
            Self::MeanInside => mean_pool(input, false),
            Self::Largest => max_pool(input, 1, 1),
        }
    }
}

/// What happens to a block's input on the way to a part of its output.
#[derive(Debug)]
enum Branch {
    /// Units one after the other.
    Chain(Vec<Unit>),
    /// Units one after the other, then two side by side.
    Fork(Vec<Unit>, Box<[Unit; 2]>),
    /// Pooling, then a unit.
    Pooled(Pooling, Box<Unit>),
    /// The largest of 3x3 at every other pixel.
    Halved,
}

/// Branches side by side; their channels follow each other.
#[derive(Debug)]
pub(super) struct Block(Vec<Branch>);

impl Block {
    /// `[n, c_in, h, w]` to `[n, c_out, h', w']`.
    pub(super) fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        let mut parts = Vec::new();
        let chain = |units: &[Unit]| units.iter().fold(input.clone(), |x, unit| unit.forward(x));
        for branch in &self.0 {
            match branch {
                Branch::Chain(units) => parts.push(chain(units)),
                Branch::Fork(units, ends) => {
                    let middle = chain(units);
                    parts.extend(ends.iter().map(|end| end.forward(middle.clone())));
                }
                Branch::Pooled(pooling, unit) => {
                    parts.push(unit.forward(pooling.forward(input.clone())));
                }
                Branch::Halved => parts.push(max_pool(input.clone(), 2, 0)),
            }
        }
        Tensor::cat(parts, 1)
    }
}

/// Reads the branches of one block.
struct Branches<'a> {
    reader: Reader<'a>,
    block: &'a str,
    inputs: usize,
}

impl Branches<'_> {
    /// Units that follow each other: name, channels out, window.
    fn units(&self, units: &[(&str, usize, Window)]) -> Result<Vec<Unit>, EvaluateError> {
        let mut channels = self.inputs;
        units
            .iter()
            .map(|&(name, outputs, window)| {
                let unit = self.unit(name, [channels, outputs], window);
                channels = outputs;
                unit
            })
            .collect()
    }

    fn unit(
        &self,
        name: &str,
        channels: [usize; 2],
        window: Window,
    ) -> Result<Unit, EvaluateError> {
        let name = format!("{}.{name}", self.block);
        self.reader.unit(&name, channels, window)
    }

    fn chain(&self, units: &[(&str, usize, Window)]) -> Result<Branch, EvaluateError> {
        Ok(Branch::Chain(self.units(units)?))
    }

    fn fork(
        &self,
        units: &[(&str, usize, Window)],
        ends: [&str; 2],
    ) -> Result<Branch, EvaluateError> {
        let [row, column] = ends;
        let channels = [units.last().map_or(self.inputs, |u| u.1), 384];
        Ok(Branch::Fork(
            self.units(units)?,
            Box::new([
                self.unit(row, channels, Window::same(1, 3))?,
                self.unit(column, channels, Window::same(3, 1))?,
            ]),
        ))
    }

    fn pooled(&self, pooling: Pooling, outputs: usize) -> Result<Branch, EvaluateError> {
        let unit = self.unit("branch_pool", [self.inputs, outputs], POINT)?;
        Ok(Branch::Pooled(pooling, Box::new(unit)))
    }
}

fn branches<'a>(reader: Reader<'a>, block: &'a str, inputs: usize) -> Branches<'a> {
    Branches {
        reader,
        block,
        inputs,
    }
}

/// 1x1, 5x5, two 3x3, and pooling to `pooled` channels, at 35 x 35.
pub(super) fn block_a(
    reader: Reader<'_>,
    name: &str,
    inputs: usize,
    pooled: usize,
    pooling: Pooling,
) -> Result<Block, EvaluateError> {
    let b = branches(reader, name, inputs);
    Ok(Block(vec![
        b.chain(&[("branch1x1", 64, POINT)])?,
        b.chain(&[
            ("branch5x5_1", 48, POINT),
            ("branch5x5_2", 64, Window::same(5, 5)),
        ])?,
        b.chain(&[
            ("branch3x3dbl_1", 64, POINT),
            ("branch3x3dbl_2", 96, SQUARE),
            ("branch3x3dbl_3", 96, SQUARE),
        ])?,
        b.pooled(pooling, pooled)?,
    ]))
}

/// From 35 x 35 to 17 x 17.
pub(super) fn block_b(
    reader: Reader<'_>,
    name: &str,
    inputs: usize,
) -> Result<Block, EvaluateError> {
    let b = branches(reader, name, inputs);
    Ok(Block(vec![
        b.chain(&[("branch3x3", 384, HALVE)])?,
        b.chain(&[
            ("branch3x3dbl_1", 64, POINT),
            ("branch3x3dbl_2", 96, SQUARE),
            ("branch3x3dbl_3", 96, HALVE),
        ])?,
        Branch::Halved,
    ]))
}

/// Rows and columns of seven through `middle` channels, at 17 x 17.
pub(super) fn block_c(
    reader: Reader<'_>,
    name: &str,
    middle: usize,
    pooling: Pooling,
) -> Result<Block, EvaluateError> {
    let b = branches(reader, name, 768);
    Ok(Block(vec![
        b.chain(&[("branch1x1", 192, POINT)])?,
        b.chain(&[
            ("branch7x7_1", middle, POINT),
            ("branch7x7_2", middle, ROW),
            ("branch7x7_3", 192, COLUMN),
        ])?,
        b.chain(&[
            ("branch7x7dbl_1", middle, POINT),
            ("branch7x7dbl_2", middle, COLUMN),
            ("branch7x7dbl_3", middle, ROW),
            ("branch7x7dbl_4", middle, COLUMN),
            ("branch7x7dbl_5", 192, ROW),
        ])?,
        b.pooled(pooling, 192)?,
    ]))
}

/// From 17 x 17 to 8 x 8.
pub(super) fn block_d(reader: Reader<'_>, name: &str) -> Result<Block, EvaluateError> {
    let b = branches(reader, name, 768);
    Ok(Block(vec![
        b.chain(&[("branch3x3_1", 192, POINT), ("branch3x3_2", 320, HALVE)])?,
        b.chain(&[
            ("branch7x7x3_1", 192, POINT),
            ("branch7x7x3_2", 192, ROW),
            ("branch7x7x3_3", 192, COLUMN),
            ("branch7x7x3_4", 192, HALVE),
        ])?,
        Branch::Halved,
    ]))
}

/// Forked rows and columns of three, at 8 x 8.
pub(super) fn block_e(
    reader: Reader<'_>,
    name: &str,
    inputs: usize,
    pooling: Pooling,
) -> Result<Block, EvaluateError> {
    let b = branches(reader, name, inputs);
    Ok(Block(vec![
        b.chain(&[("branch1x1", 320, POINT)])?,
        b.fork(
            &[("branch3x3_1", 384, POINT)],
            ["branch3x3_2a", "branch3x3_2b"],
        )?,
        b.fork(
            &[
                ("branch3x3dbl_1", 448, POINT),
                ("branch3x3dbl_2", 384, SQUARE),
            ],
            ["branch3x3dbl_3a", "branch3x3dbl_3b"],
        )?,
        b.pooled(pooling, 192)?,
    ]))
}
