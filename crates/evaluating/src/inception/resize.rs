//! Grey images brought to the size that Inception was trained at.

/// Bilinear resizing of square images, `[n, side, side]` to `[n, target, target]`.
///
/// Pixel centres correspond: output `i` looks at `(i + 1/2) side / target - 1/2`, clamped to the
/// image; without smoothing when shrinking (PyTorch's `interpolate`, `align_corners=False`).
pub(super) fn bilinear(images: &[f32], side: usize, target: usize) -> Vec<f32> {
    let steps: Vec<(usize, usize, f32)> = (0..target)
        .map(|i| {
            let place = ((i as f64 + 0.5) * side as f64 / target as f64 - 0.5).max(0.0);
            let low = (place as usize).min(side - 1);
            let high = (low + 1).min(side - 1);
            (low, high, (place - low as f64) as f32)
        })
        .collect();
    let mut resized = Vec::with_capacity(images.len() / (side * side) * target * target);
    for image in images.chunks_exact(side * side) {
        for &(top, bottom, down) in &steps {
            let (top, bottom) = (&image[top * side..], &image[bottom * side..]);
            for &(left, right, along) in &steps {
                let upper = top[left] + along * (top[right] - top[left]);
                let lower = bottom[left] + along * (bottom[right] - bottom[left]);
                resized.push(upper + down * (lower - upper));
            }
        }
    }
    resized
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden() {
        // torch.nn.functional.interpolate(x, size=(4, 4), mode="bilinear", align_corners=False) of
        // [[0, 1], [2, 3]]: the documented example of torch.nn.Upsample, less 1.
        let expected = [
            0.0, 0.25, 0.75, 1.0, 0.5, 0.75, 1.25, 1.5, 1.5, 1.75, 2.25, 2.5, 2.0, 2.25, 2.75, 3.0,
        ];
        assert_eq!(bilinear(&[0.0, 1.0, 2.0, 3.0], 2, 4), expected);
    }

    #[test]
    fn the_same_size_and_constants_stay() {
        let image: Vec<f32> = (0..9).map(|x| x as f32).collect();
        assert_eq!(bilinear(&image, 3, 3), image);
        assert_eq!(bilinear(&[0.25; 16], 4, 7), [0.25; 49]);
        // A line stays a line inside: shrinking by two averages neighbours.
        assert_eq!(
            bilinear(&[0.0, 1.0, 2.0, 3.0].repeat(4), 4, 2),
            [0.5, 2.5, 0.5, 2.5]
        );
    }
}
