//! The taps of a sliding window that reach each value, axis by axis.

use super::border::Sliding;

/// Values along an axis that the same taps reach.
pub(super) struct Class {
    /// The index in the kernel and the offset of each tap.
    pub(super) taps: Vec<(usize, usize)>,
    /// The index along the axis and the first place of each value.
    pub(super) values: Vec<(usize, usize)>,
}

/// One axis of the transpose, with the taps that reach each value.
pub(super) struct Axis {
    pub(super) classes: Vec<Class>,
    pub(super) whole: usize,
    pub(super) before: usize,
}

impl Axis {
    pub(super) fn new(s: &Sliding, axis: usize) -> Self {
        let (stride, dilation) = (s.stride[axis], s.dilation[axis]);
        // The place whose tap `k` reads a value; it may lie before the first place or after the last.
        let place = |value: usize, k: usize| {
            let at = (value + s.before[axis]) as i64 - (k * dilation) as i64;
            at.div_euclid(stride as i64)
        };
        let class = |residue: usize| {
            let taps = (0..s.kernel[axis]).filter(|k| k * dilation % stride == residue);
            let values = (0..s.size[axis]).filter(|v| (v + s.before[axis]) % stride == residue);
            (taps.collect::<Vec<_>>(), values.collect::<Vec<_>>())
        };
        let classes: Vec<_> = (0..stride).map(class).collect();
        let (mut low, mut high) = (0, s.places[axis] as i64 - 1);
        for (taps, values) in &classes {
            if let (Some(&lowest), Some(&highest)) = (taps.first(), taps.last())
                && let (Some(&first), Some(&last)) = (values.first(), values.last())
            {
                low = low.min(place(first, highest));
                high = high.max(place(last, lowest));
            }
        }
        let class = |(taps, values): (Vec<usize>, Vec<usize>)| {
            // If no tap reaches a value, no place reads it.
            let first = |value| taps.last().map_or(0, |&k| (place(value, k) - low) as usize);
            let values = values
                .into_iter()
                .map(|value| (value, first(value)))
                .collect();
            let offset = |&k: &usize| (taps[taps.len() - 1] - k) * dilation / stride;
            let taps = taps.iter().map(|k| (*k, offset(k))).collect();
            Class { taps, values }
        };
        Self {
            classes: classes.into_iter().map(class).collect(),
            whole: (high - low + 1) as usize,
            before: -low as usize,
        }
    }
}
