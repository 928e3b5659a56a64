//! Golden values of features, laws of heads, and the contract of their gradients.

mod contract;
mod features;
mod head;
mod refused;

/// Rows of norm 1 whose values lie around their class, with their labels: `count` of `width` numbers.
fn rows(count: usize, width: usize, classes: usize) -> (Vec<f32>, Vec<u16>) {
    let mut rows = Vec::with_capacity(count * width);
    for record in 0..count {
        let class = record % classes;
        let value = |place: usize| {
            let noise = ((record * 7 + place * 13) % 29) as f32 / 29.0 - 0.5;
            noise + if place % classes == class { 1.0 } else { 0.0 }
        };
        let row: Vec<f32> = (0..width).map(value).collect();
        let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        rows.extend(row.iter().map(|x| x / norm));
    }
    let labels = (0..count).map(|record| (record % classes) as u16);
    (rows, labels.collect())
}
