//! Direct convolution kernels for few channels on the CPU.
//!
//! A plane is copied once into a buffer with zero borders whose rows lie `width + K - 1` apart.
//! Every tap of the kernel is then one flat offset, so the inner loops run over contiguous memory
//! across row ends; what falls on the border columns is computed and dropped. With few channels
//! this beats an unfolded matrix product, which spends its time packing.
//!
//! There are two versions of the inner loops with the same results up to rounding: `portable`, and
//! `avx2` for x86-64 processors that have AVX2 and FMA, where accumulators stay in registers.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

/// Pixels in one accumulator: two 256-bit registers.
const LANES: usize = 16;
/// Planes that share one pass over the other side.
const PLANES: usize = 4;

/// The sizes of one image plane.
#[derive(Debug, Clone, Copy)]
pub struct Geometry {
    height: usize,
    width: usize,
    kernel: usize,
}

impl Geometry {
    /// A plane of `height x width` under a `kernel x kernel` window.
    pub fn new(height: usize, width: usize, kernel: usize) -> Self {
        Self {
            height,
            width,
            kernel,
        }
    }

    /// Pixels in a plane.
    pub fn pixels(&self) -> usize {
        self.height * self.width
    }

    fn stride(&self) -> usize {
        self.width + self.kernel - 1
    }

    /// Length of a plane with rows `stride` apart, rounded up to whole accumulators.
    pub fn strided(&self) -> usize {
        (self.height * self.stride()).next_multiple_of(LANES)
    }

    /// Length of a plane with zero borders, long enough for every tap of the last accumulator.
    pub fn padded(&self) -> usize {
        self.strided() + (self.kernel - 1) * (self.stride() + 1)
    }
}

/// Copies planes `[c, h, w]` into zero-bordered planes `[c, padded]`.
///
/// The borders of `packed` must be zero at the first call; they are never written.
pub fn pack_padded(geometry: &Geometry, planes: &[f32], packed: &mut [f32]) {
    let (stride, pad) = (geometry.stride(), (geometry.kernel - 1) / 2);
    for (plane, target) in planes
        .chunks_exact(geometry.pixels())
        .zip(packed.chunks_exact_mut(geometry.padded()))
    {
        for (y, row) in plane.chunks_exact(geometry.width).enumerate() {
            let start = (y + pad) * stride + pad;
            target[start..start + geometry.width].copy_from_slice(row);
        }
    }
}

/// Copies planes `[c, h, w]` into planes `[c, strided]` with zeros between the rows.
///
/// The gaps of `packed` must be zero at the first call; they are never written.
pub fn pack_strided(geometry: &Geometry, planes: &[f32], packed: &mut [f32]) {
    let stride = geometry.stride();
    for (plane, target) in planes
        .chunks_exact(geometry.pixels())
        .zip(packed.chunks_exact_mut(geometry.strided()))
    {
        for (y, row) in plane.chunks_exact(geometry.width).enumerate() {
            target[y * stride..y * stride + geometry.width].copy_from_slice(row);
        }
    }
}

/// `output[o] = bias[o] + sum_c weight[o, c] * input[c]` (correlation, same size).
///
/// - `packed`: zero-bordered input planes `[c, padded]`;
/// - `weight`: `[o, c, K, K]`; `bias`: `[o]` or none;
/// - `output`: `[o, h, w]`, overwritten.
pub fn correlate(
    geometry: &Geometry,
    packed: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    output: &mut [f32],
) {
    match geometry.kernel {
        1 => correlate_planes::<1>(geometry, packed, weight, bias, output),
        3 => correlate_planes::<3>(geometry, packed, weight, bias, output),
        _ => correlate_planes::<5>(geometry, packed, weight, bias, output),
    }
}

fn correlate_planes<const K: usize>(
    geometry: &Geometry,
    packed: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    output: &mut [f32],
) {
    let planes = output.len() / geometry.pixels();
    let per_plane = packed.len() / geometry.padded() * K * K;
    let mut strided = vec![0.0f32; PLANES * geometry.strided()];
    let mut first = 0;
    while first < planes {
        let count = if planes - first >= PLANES { PLANES } else { 1 };
        let kernels = &weight[first * per_plane..(first + count) * per_plane];
        let start: [f32; PLANES] =
            std::array::from_fn(|o| bias.filter(|_| o < count).map_or(0.0, |b| b[first + o]));
        if count == PLANES {
            correlate_block::<K, PLANES>(geometry, packed, kernels, &start, &mut strided);
        } else {
            correlate_block::<K, 1>(geometry, packed, kernels, &start, &mut strided);
        }
        for o in 0..count {
            let source = &strided[o * geometry.strided()..];
            let target = &mut output[(first + o) * geometry.pixels()..][..geometry.pixels()];
            for (row, line) in target
                .chunks_exact_mut(geometry.width)
                .zip(source.chunks(geometry.stride()))
            {
                row.copy_from_slice(&line[..geometry.width]);
            }
        }
        first += count;
    }
}

/// `P` output planes in one pass over the input.
fn correlate_block<const K: usize, const P: usize>(
    geometry: &Geometry,
    packed: &[f32],
    kernels: &[f32],
    start: &[f32; PLANES],
    strided: &mut [f32],
) {
    #[cfg(target_arch = "x86_64")]
    if avx2::available() {
        return avx2::correlate_block::<K, P>(geometry, packed, kernels, start, strided);
    }
    portable::correlate_block::<K, P>(geometry, packed, kernels, start, strided);
}

/// Adds `sum_p delta[o, p] input[c, p + tap]` to `rows [o, c, K, K]`.
///
/// - `packed`: zero-bordered input planes `[channels, padded]`;
/// - `strided`: cotangent planes `[planes, strided]` with zero gaps.
pub fn add_weight_gradients(
    geometry: &Geometry,
    packed: &[f32],
    strided: &[f32],
    planes: usize,
    channels: usize,
    rows: &mut [f32],
) {
    match geometry.kernel {
        1 => weight_planes::<1>(geometry, packed, strided, planes, channels, rows),
        3 => weight_planes::<3>(geometry, packed, strided, planes, channels, rows),
        _ => weight_planes::<5>(geometry, packed, strided, planes, channels, rows),
    }
}

fn weight_planes<const K: usize>(
    geometry: &Geometry,
    packed: &[f32],
    strided: &[f32],
    planes: usize,
    channels: usize,
    rows: &mut [f32],
) {
    let (length, taps) = (geometry.strided(), channels * K * K);
    let mut first = 0;
    while first < planes {
        let count = if planes - first >= PLANES { PLANES } else { 1 };
        let target = &mut rows[first * taps..(first + count) * taps];
        let block = &strided[first * length..(first + count) * length];
        if count == PLANES {
            weight_block::<K, PLANES>(geometry, packed, block, channels, target);
        } else {
            weight_block::<K, 1>(geometry, packed, block, channels, target);
        }
        first += count;
    }
}

/// `P` cotangent planes in one pass over the input.
fn weight_block<const K: usize, const P: usize>(
    geometry: &Geometry,
    packed: &[f32],
    block: &[f32],
    channels: usize,
    rows: &mut [f32],
) {
    #[cfg(target_arch = "x86_64")]
    if avx2::available() {
        return avx2::weight_block::<K, P>(geometry, packed, block, channels, rows);
    }
    portable::weight_block::<K, P>(geometry, packed, block, channels, rows);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both versions on sizes that leave every kind of remainder.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_versions_agree() {
        if !avx2::available() {
            return;
        }
        for (height, width) in [(28, 28), (7, 7), (5, 3), (1, 1)] {
            let geometry = Geometry::new(height, width, 3);
            let channels = 3;
            let wave = |n: usize, f: f32| (0..n).map(|i| (i as f32 * f).sin()).collect::<Vec<_>>();
            let mut packed = vec![0.0; channels * geometry.padded()];
            pack_padded(
                &geometry,
                &wave(channels * geometry.pixels(), 0.37),
                &mut packed,
            );
            let mut strided = vec![0.0; PLANES * geometry.strided()];
            pack_strided(
                &geometry,
                &wave(PLANES * geometry.pixels(), 0.71),
                &mut strided,
            );
            let kernels = wave(PLANES * channels * 9, 0.13);
            let start = [0.1, 0.2, 0.3, 0.4];
            let mut results = [(); 2].map(|()| vec![0.0; PLANES * geometry.strided()]);
            let [a, b] = &mut results;
            avx2::correlate_block::<3, PLANES>(&geometry, &packed, &kernels, &start, a);
            portable::correlate_block::<3, PLANES>(&geometry, &packed, &kernels, &start, b);
            let mut rows = [(); 2].map(|()| vec![0.0; PLANES * channels * 9]);
            let [c, d] = &mut rows;
            avx2::weight_block::<3, PLANES>(&geometry, &packed, &strided, channels, c);
            portable::weight_block::<3, PLANES>(&geometry, &packed, &strided, channels, d);
            for (x, y) in a.iter().zip(b.iter()).chain(c.iter().zip(d.iter())) {
                assert!((x - y).abs() <= 1e-4 * (1.0 + y.abs()), "{x} {y}");
            }
        }
    }
}
