//! A step for any module: one record at a time, each loss and each penalised output by burn's autodiff.

use burn::tensor::{Device, Tensor};
use dp_core::mechanism::ParameterGradient;
use dp_core::per_sample::{Reference, Rounding, Rows, norm_clip_weight};

use super::{Pass, StepLosses, read};
use crate::adaptive::counted;
use crate::error::same;
use crate::ranks::Shared;
use crate::{Network, TrainingError};

/// The results of a first forward pass over each record alone.
struct Look {
    /// The sum of each loss over its records.
    sums: Vec<f64>,
    /// The width of each activation.
    widths: Vec<usize>,
    /// The cotangents of each penalty, `[n, d]`, and its value.
    penalties: Vec<(Vec<f32>, f64)>,
}

impl<const D: usize> Pass<'_, D> {
    pub(super) fn alone(
        &self,
        network: &impl Network<D>,
        device: &Device,
    ) -> Result<(ParameterGradient, StepLosses), TrainingError> {
        let device = &device.clone().without_autodiff();
        if self.clip {
            Rounding::of_device(device)?;
        }
        let reference = Reference::new(network)?;
        let look = self.look(network)?;
        let mut sum = vec![0.0f64; reference.scalars()];
        let mut counts = vec![0.0; self.shares.len()];
        for i in 0..self.batch.records() {
            let (input, target) = self.batch.record(i);
            let (input, target) = (input.without_autodiff(), target.without_autodiff());
            let rows = reference.try_rows(|network| {
                // The input is tracked too, because burn needs this on some devices.
                let forward = network.forward(input.clone().autodiff().require_grad())?;
                let losses = self.objective.losses.iter();
                let target = target.autodiff();
                let mut scalars: Vec<Tensor<1>> = losses
                    .map(|loss| loss.values(forward.output.clone(), &target))
                    .collect();
                for (activation, &width) in forward.activations.into_iter().zip(&look.widths) {
                    let flat = activation.reshape([width]);
                    scalars.extend((0..width).map(|j| flat.clone().narrow(0, j, 1)));
                }
                Ok::<_, TrainingError>(scalars)
            })?;
            let weights = self.weights_alone(i, &rows, &look, &mut counts);
            match self.shared.and_then(Shared::grid) {
                None => rows.add_weighted(&weights, &mut sum),
                Some(_) => {
                    let mut own = vec![0.0f64; sum.len()];
                    rows.add_weighted(&weights, &mut own);
                    let own = own.into_iter().map(|x| self.rounded(x));
                    sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
                }
            }
        }
        let mut losses = [look.sums.as_slice(), &counts].concat();
        let sum = self.total(sum, &mut losses)?;
        let flat: Vec<f32> = sum.into_iter().map(|x| x as f32).collect();
        let slots = reference.parameters().to_vec();
        let gradient = ParameterGradient::from_host(slots, &flat, device)?;
        let distances = look.penalties.iter().map(|(_, distance)| *distance);
        Ok((gradient, self.losses(&losses, distances.collect())))
    }

    /// Runs a forward pass for the losses and for the activations of penalties.
    fn look(&self, network: &impl Network<D>) -> Result<Look, TrainingError> {
        let (plain, n) = (network.valid(), self.batch.records());
        let furthest = self.objective.terms.iter().map(|p| p.activation + 1).max();
        let mut sums = vec![0.0; self.shares.len()];
        let mut activations: Vec<Vec<f32>> = vec![Vec::new(); furthest.unwrap_or(0)];
        for i in 0..n {
            let (input, target) = self.batch.record(i);
            let (input, target) = (input.without_autodiff(), target.without_autodiff());
            let forward = plain.forward(input)?;
            same("outputs for one record", 1, forward.output.dims()[0])?;
            if i == 0 {
                self.check_targets(forward.output.dims()[1])?;
            }
            for (l, loss) in self.objective.losses.iter().enumerate() {
                if self.shares[l][i] > 0.0 {
                    let value = loss.values(forward.output.clone(), &target);
                    sums[l] += read(value)?.into_iter().map(f64::from).sum::<f64>();
                }
            }
            if let Some(missing) = activations.len().checked_sub(forward.activations.len() + 1) {
                return Err(TrainingError::OutOfRange {
                    name: "the activation of a penalty",
                    value: (forward.activations.len() + missing) as f64,
                    bound: format!(
                        "below the number of activations, {}",
                        forward.activations.len()
                    ),
                });
            }
            for (all, activation) in activations.iter_mut().zip(forward.activations) {
                all.extend(read(activation)?);
            }
        }
        let mut penalties = Vec::new();
        for (index, penalty) in self.objective.terms.iter().enumerate() {
            let mut rows = activations[penalty.activation].clone();
            let d = rows.len() / n.max(1);
            if self.clip {
                penalty.project(&mut rows, d);
            }
            penalties.push(self.transport(index, &rows, d)?);
        }
        let widths = activations.iter().map(|all| all.len() / n.max(1));
        Ok(Look {
            widths: widths.collect(),
            sums,
            penalties,
        })
    }

    /// Returns one weight for each row of a record, and counts the record for each loss.
    fn weights_alone(
        &self,
        record: usize,
        rows: &Rows,
        look: &Look,
        counts: &mut [f64],
    ) -> Vec<f64> {
        let mut weights = Vec::with_capacity(rows.values().len());
        for (l, loss) in self.objective.losses.iter().enumerate() {
            let share = self.shares[l][record];
            let row = &rows.values()[l];
            let squared = || row.iter().map(|&x| f64::from(x).powi(2)).sum();
            let weight = match (share > 0.0, self.clip) {
                (false, _) => 0.0,
                (true, false) => 1.0,
                (true, true) => f64::from(norm_clip_weight(squared(), loss.max_grad_norm)),
            };
            counts[l] += counted(weight);
            weights.push(share * weight);
        }
        let mut start = weights.len();
        for (place, &width) in look.widths.iter().enumerate() {
            let mut sum = vec![0.0f64; width];
            let own = self.objective.terms.iter().zip(&look.penalties);
            for (penalty, (cotangents, _)) in own.filter(|(penalty, _)| penalty.activation == place)
            {
                let c = &cotangents[record * width..(record + 1) * width];
                let c = match self.clip {
                    true => {
                        let gram = rows.part(start..start + width).gram();
                        penalty.clip(&gram, c)
                    }
                    false => c.iter().copied().map(f64::from).collect(),
                };
                for (sum, c) in sum.iter_mut().zip(c) {
                    *sum += penalty.weight * c;
                }
            }
            weights.extend(sum);
            start += width;
        }
        weights
    }
}
