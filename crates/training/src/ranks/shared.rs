//! One step over ranks: the records of each rank, and the data that ranks exchange.

use std::ops::Range;

use super::{RankError, Team, floats, of_floats, of_words, words};
use crate::{Engine, SampledPenalty, TrainingError};

/// The distribution of the batch's records over ranks, at the root.
#[derive(Clone)]
struct Draw {
    strata: Vec<Range<usize>>,
    /// For each rank, the positions of its records in the batch, in order.
    places: Vec<Vec<usize>>,
}

/// A step that the root has begun, as another rank sees it.
pub(super) struct Begun {
    pub(super) shared: Shared,
    /// The adaptive clipping norms.
    pub(super) norms: Vec<f64>,
}

/// The part of a step that this rank knows.
#[derive(Clone)]
pub(crate) struct Shared {
    team: Team,
    /// Known at the root alone.
    draw: Option<Draw>,
    /// The number of records of each stratum of the whole batch.
    sizes: Vec<usize>,
    /// The indices of its own records, stratum after stratum.
    own: Vec<Vec<usize>>,
    /// The grid that parts are rounded to before they are added, if sums are ordered.
    grid: Option<f64>,
}

impl Shared {
    /// Sends each rank the indices of its `sampled` records, the adaptive clipping norms and the weights.
    pub(crate) fn begin(
        team: &Team,
        sampled: &[Vec<usize>],
        norms: &[f64],
        weights: &[f32],
    ) -> Result<Self, RankError> {
        let count = team.ranks.size();
        let mut places = vec![Vec::new(); count];
        let mut own = vec![vec![Vec::new(); sampled.len()]; count];
        let mut strata = Vec::with_capacity(sampled.len());
        let mut place = 0;
        for (stratum, records) in sampled.iter().enumerate() {
            strata.push(place..place + records.len());
            for &record in records {
                places[record % count].push(place);
                own[record % count][stratum].push(record / count);
                place += 1;
            }
        }
        let sizes: Vec<usize> = strata.iter().map(Range::len).collect();
        let parts = own.iter().map(|own| {
            let header = std::iter::once(sizes.len()).chain(sizes.iter().copied());
            let header = header.chain(own.iter().map(Vec::len));
            words(header.chain(own.iter().flatten().copied()))
        });
        team.ranks.scatter(parts.collect())?;
        team.ranks.broadcast(numbers(norms, weights))?;
        Ok(Self {
            team: team.clone(),
            draw: Some(Draw { strata, places }),
            sizes,
            own: own.swap_remove(0),
            grid: None,
        })
    }

    /// Receives on another rank the step that the root begins, with `norms` adaptive clipping norms, and the weights; there is no
    /// step once the root has ended.
    pub(super) fn next(team: &Team, norms: usize) -> Result<(Option<Begun>, Vec<f32>), RankError> {
        let message = of_words(&team.ranks.scatter(Vec::new())?);
        let public = team.ranks.broadcast(Vec::new())?;
        let Some((&strata, rest)) = message.split_first() else {
            return Ok((None, of_floats(&public)));
        };
        let (norms, weights) = public.split_at_checked(8 * norms).unwrap_or_default();
        let (sizes, rest) = rest.split_at(strata);
        let (own, mut records) = rest.split_at(strata);
        let own = own.iter().map(|&size| {
            let (stratum, after) = records.split_at(size);
            records = after;
            stratum.to_vec()
        });
        let own = own.collect();
        let shared = Self {
            team: team.clone(),
            draw: None,
            sizes: sizes.to_vec(),
            own,
            grid: None,
        };
        let (norms, _) = norms.as_chunks::<8>();
        let norms = norms.iter().map(|&norm| f64::from_le_bytes(norm)).collect();
        Ok((Some(Begun { shared, norms }), of_floats(weights)))
    }

    /// Tells all ranks that there are no more steps, and sends the final weights.
    pub(crate) fn end(team: &Team, weights: &[f32]) -> Result<(), RankError> {
        let parts = vec![Vec::new(); team.ranks.size()];
        team.ranks.scatter(parts)?;
        team.ranks.broadcast(floats(weights)).map(drop)
    }

    /// The indices of this rank's records, stratum after stratum.
    pub(crate) fn own(&self) -> &[Vec<usize>] {
        &self.own
    }

    /// The number of records of each stratum of the whole batch.
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Whether each record goes through the network by itself, so that sums do not depend on the ranks.
    pub(crate) fn ordered(&self) -> bool {
        self.team.ordered
    }

    /// The grid that a part is rounded to before it is added, or `None` if sums are not ordered.
    pub(crate) fn grid(&self) -> Option<f64> {
        self.grid
    }

    /// Agrees on a grid for parts whose norms add up to at most `bound`, which the root knows. Additions then do not round, and
    /// the sum does not depend on its order.
    ///
    /// Sums of multiples of `q` are exact in `f64` below `2^53 q`. With `q` between `2^-51` and `2^-50` of `bound`, a part is off
    /// by at most `2^-51 bound` in each coordinate. For `n` records of `p` weights that is `n sqrt(p) 2^-51 bound` in all, less
    /// than the one more addition in `f32` that the sensitivity counts, `2^-24 bound`, while `n sqrt(p) < 10^8`.
    pub(crate) fn agree(&mut self, bound: Option<f64>) -> Result<(), RankError> {
        if self.team.ordered {
            let grid = bound.map(|bound| f64::powi(2.0, bound.log2().ceil() as i32 - 51));
            let bytes = grid.map_or(Vec::new(), |grid| grid.to_le_bytes().to_vec());
            let agreed = self.team.ranks.broadcast(bytes)?;
            let (words, _) = agreed.as_chunks::<8>();
            self.grid = words.first().map(|&word| f64::from_le_bytes(word));
        }
        Ok(())
    }

    /// The cotangents of this rank's `activations`, `[n, d]`, computed for the whole batch; and the distance, at the root.
    pub(crate) fn cotangents(
        &self,
        penalty: Option<&SampledPenalty>,
        activations: &[f32],
        d: usize,
    ) -> Result<(Vec<f32>, f64), TrainingError> {
        let parts = self.team.ranks.gather(floats(activations))?;
        let (Some(draw), Some(penalty)) = (&self.draw, penalty) else {
            let own = of_floats(&self.team.ranks.scatter(Vec::new())?);
            return Ok((own, 0.0));
        };
        let records = draw.places.iter().map(Vec::len).sum::<usize>();
        let mut all = vec![0.0; records * d];
        for (rank, (part, places)) in parts.iter().zip(&draw.places).enumerate() {
            let rows = of_floats(part);
            same_length(rank, "values of activations", places.len() * d, rows.len())?;
            for (&place, row) in places.iter().zip(rows.chunks_exact(d)) {
                all[place * d..(place + 1) * d].copy_from_slice(row);
            }
        }
        let (cotangents, distance) = penalty.cotangents(&draw.strata, None, &all)?;
        let rows = |places: &Vec<usize>| {
            let rows = places.iter().map(|&p| &cotangents[p * d..(p + 1) * d]);
            rows.collect::<Vec<_>>().concat()
        };
        let mut own: Vec<Vec<f32>> = draw.places.iter().map(rows).collect();
        let parts = own.iter().map(|part| floats(part)).collect();
        self.team.ranks.scatter(parts)?;
        Ok((own.swap_remove(0), distance))
    }

    /// The sums over all ranks at the root. Other ranks get their own sums, which they do not use.
    ///
    /// The sensitivity counts the roundings of the root's engine, so all ranks must have the same engine.
    pub(crate) fn sum(
        &self,
        mut values: Vec<f64>,
        engine: Engine,
    ) -> Result<Vec<f64>, TrainingError> {
        let expected = values.len();
        // Each entry is 0 or 1, so the sum is the root's own times the number of ranks only if all ranks have the same entries.
        let code = match engine {
            Engine::Host { .. } => [1.0, 0.0],
            Engine::Tensor { .. } => [0.0, 1.0],
            Engine::Autodiff => [0.0, 0.0],
        };
        values.extend(code);
        if self.draw.is_none() {
            self.team.ranks.sum(values.clone())?;
            values.truncate(expected);
            return Ok(values);
        }
        let mut sums = self.team.ranks.sum(values)?;
        same_length(0, "sums", expected + code.len(), sums.len())?;
        let ranks = self.team.ranks.size() as f64;
        if sums.split_off(expected) != code.map(|own| own * ranks) {
            return Err(TrainingError::Unbounded {
                what: "ranks compute by different engines, whose sums are rounded differently: \
                       give all of them the same backend"
                    .into(),
            });
        }
        Ok(sums)
    }
}

/// The bytes that the root sends to every rank for a step.
fn numbers(norms: &[f64], weights: &[f32]) -> Vec<u8> {
    let norms = norms.iter().map(|norm| norm.to_le_bytes());
    let mut bytes = norms.collect::<Vec<[u8; 8]>>().into_flattened();
    bytes.extend(floats(weights));
    bytes
}

fn same_length(
    rank: usize,
    what: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), RankError> {
    if expected == found {
        return Ok(());
    }
    Err(RankError::Length { rank, what })
}
