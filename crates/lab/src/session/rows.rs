//! Records in rows: to tensors and back, and tables of them.

use burn::tensor::{Device, Tensor, TensorData};
use data::{GroupedTable, Labels};
use private_training::{Batch, HostTargets, Network};

use super::training::floats_to_bytes;
use super::{DataSummary, RunRecords, Used};
use crate::diagnostic::{Failure, OrFailed};

/// Rows that go through a network at once.
const CHUNK: usize = 2000;

/// Rows of `width` values.
fn tensor(values: Vec<f32>, width: usize, device: &Device) -> Tensor<2> {
    let rows = values.len() / width.max(1);
    Tensor::from_data(TensorData::new(values, [rows, width]), device)
}

fn host(rows: Tensor<2>) -> Vec<f32> {
    rows.into_data().iter::<f32>().collect()
}

/// A batch of groups of these sizes, which stand one after the other.
pub fn batch(
    rows: Vec<f32>,
    targets: HostTargets<'_>,
    sizes: &[usize],
    device: &Device,
) -> Result<Batch<2>, Failure> {
    let records = sizes.iter().sum::<usize>();
    let width = rows.len() / records.max(1);
    let rows = tensor(rows, width, device);
    Batch::new(rows, targets.on(records, device), sizes).or_failed()
}

/// Tables of private and public records, with labels or values as targets.
pub struct Tables {
    /// What they are, in words.
    pub name: String,
    pub private: GroupedTable,
    pub public: GroupedTable,
    /// The files of somebody's records that they come from, so that no other run takes them for public.
    pub used: Vec<Used>,
}

impl<N> RunRecords<N> for Tables {
    fn summary(&self) -> DataSummary {
        DataSummary {
            name: self.name.clone(),
            private: self.private.len(),
            test: self.public.len(),
            used: self.used.clone(),
        }
    }

    /// All of the table but the names of its columns.
    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let table = &self.private;
        let mut bytes = floats_to_bytes(table.features());
        bytes.extend(match table.labels() {
            Labels::Classes { values, .. } => {
                floats_to_bytes(&values.iter().map(|&x| x as f32).collect::<Vec<_>>())
            }
            Labels::Values { values, .. } => floats_to_bytes(values),
        });
        bytes.extend(table.groups());
        Ok(bytes)
    }

    fn keep(&mut self, rank: usize, ranks: usize) -> Result<(), Failure> {
        let own: Vec<usize> = (rank..self.private.len()).step_by(ranks).collect();
        self.private = self.private.select(&own).or_failed()?;
        Ok(())
    }

    fn batch(&self, _: &N, sampled: &[Vec<usize>], device: &Device) -> Result<Batch<2>, Failure> {
        let (table, indices) = (&self.private, sampled.concat());
        let outside = || Failure::failed("a sampled index lies outside the data");
        let rows = table.gather(&indices).ok_or_else(outside)?;
        let labels = table.gather_labels(&indices).ok_or_else(outside)?;
        let sizes: Vec<usize> = sampled.iter().map(Vec::len).collect();
        batch(rows, table_targets(&labels), &sizes, device)
    }
}

/// Labels or values of a table, for losses.
pub fn table_targets(labels: &Labels) -> HostTargets<'_> {
    match labels {
        Labels::Classes { values, .. } => HostTargets::Classes(values),
        Labels::Values { values, .. } => HostTargets::Values(values),
    }
}

/// What a network says of records.
#[derive(Clone, Default)]
pub struct Predictions {
    /// Its first activation, in rows.
    pub activations: Vec<f32>,
    /// What losses look at, in rows.
    pub outputs: Vec<f32>,
}

impl Predictions {
    /// Those of all records of a table.
    pub fn of(
        network: &impl Network<2>,
        table: &GroupedTable,
        device: &Device,
    ) -> Result<Self, Failure> {
        Self::of_rows(network, table.features(), table.width(), device)
    }

    /// Those of rows of `width`.
    pub fn of_rows(
        network: &impl Network<2>,
        rows: &[f32],
        width: usize,
        device: &Device,
    ) -> Result<Self, Failure> {
        let mut all = Self::default();
        for part in rows.chunks(CHUNK * width) {
            let forward = network.forward(tensor(part.to_vec(), width, device));
            let forward = forward.or_failed()?;
            let activation = forward.activations.into_iter().next();
            all.activations
                .extend(activation.into_iter().flat_map(host));
            all.outputs.extend(host(forward.output));
        }
        Ok(all)
    }

    /// The share of records of a table whose class, 0 or 1, an output above `boundary` predicts.
    pub fn accuracy(&self, boundary: f32, table: &GroupedTable) -> Result<f64, Failure> {
        let Labels::Classes { values, .. } = table.labels() else {
            return Err(Failure::failed("a table without classes has no accuracy"));
        };
        let pairs = self.outputs.iter().zip(values);
        let right = pairs.filter(|&(&output, &label)| (output > boundary) == (label == 1));
        Ok(right.count() as f64 / values.len() as f64)
    }
}
