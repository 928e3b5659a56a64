//! A training over ranks: the same gradient, the same bound, one noise.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use burn::tensor::kind::Basic;
use burn::tensor::{Device, Int, Tensor, TensorData};
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::Sampler;
use private_training::{
    Batch, Clipping, Engine, Loss, Objective, Penalty, Prior, RankError, Ranks, Training,
    TrainingConfig, TrainingError, records_of,
};
use tempfile::TempDir;

use test_support::networks::{Small, labels, training, uniform};

type Message = Result<Vec<u8>, String>;

/// What a rank does wrong, on purpose.
#[derive(Clone, Copy, PartialEq)]
enum Planted {
    Nothing,
    /// It adds noise of this deviation to its part of the sum.
    Noise(f64),
    /// It sends the activations of one record more than it was asked for.
    OneMore,
    /// It sends one sum more.
    LongSum,
    /// It computes by another engine.
    Engine,
    /// It is gone before it has sent anything.
    Gone,
}

/// What goes out, and what comes in.
type End = (Mutex<Sender<Message>>, Mutex<Receiver<Message>>);

/// Ranks as threads, with a channel each way between each of them and the root.
struct Threads {
    rank: usize,
    size: usize,
    planted: Planted,
    /// At the root one for each other rank, in order; elsewhere the root's.
    ends: Vec<End>,
}

fn threads(size: usize, planted: impl Fn(usize) -> Planted) -> Vec<Arc<Threads>> {
    let mut root = Vec::new();
    let mut others = Vec::new();
    for rank in 1..size {
        let (up, from_rank) = channel();
        let (down, from_root) = channel();
        root.push((Mutex::new(down), Mutex::new(from_rank)));
        others.push((rank, vec![(Mutex::new(up), Mutex::new(from_root))]));
    }
    let all = std::iter::once((0, root)).chain(others);
    all.map(|(rank, ends)| {
        let planted = planted(rank);
        Arc::new(Threads {
            rank,
            size,
            planted,
            ends,
        })
    })
    .collect()
}

impl Threads {
    fn send(&self, end: usize, bytes: Vec<u8>) -> Result<(), RankError> {
        let sent = self.ends[end].0.lock().unwrap().send(Ok(bytes));
        let (ranks, seconds) = (vec![end + 1], 0);
        sent.map_err(|_| RankError::Silent { ranks, seconds })
    }

    fn receive(&self, end: usize) -> Result<Vec<u8>, RankError> {
        let rank = if self.rank == 0 { end + 1 } else { 0 };
        let received = self.ends[end].1.lock().unwrap().recv();
        let (ranks, seconds) = (vec![rank], 0);
        let silent = |_| RankError::Silent { ranks, seconds };
        let failed = |message| RankError::Failed { rank, message };
        received.map_err(silent)?.map_err(failed)
    }
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|&word| f64::from_le_bytes(word)).collect()
}

impl Ranks for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>, RankError> {
        if self.rank > 0 {
            return self.receive(0);
        }
        (0..self.ends.len()).try_for_each(|end| self.send(end, bytes.clone()))?;
        Ok(bytes)
    }

    fn gather(&self, mut bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, RankError> {
        if self.rank > 0 {
            if self.planted == Planted::OneMore {
                bytes.extend([0; 12]);
            }
            self.send(0, bytes)?;
            return Ok(Vec::new());
        }
        let others = (0..self.ends.len()).map(|end| self.receive(end));
        std::iter::once(Ok(bytes)).chain(others).collect()
    }

    fn scatter(&self, mut parts: Vec<Vec<u8>>) -> Result<Vec<u8>, RankError> {
        if self.rank > 0 {
            return self.receive(0);
        }
        for (end, part) in parts.drain(1..).enumerate() {
            self.send(end, part)?;
        }
        Ok(parts.swap_remove(0))
    }

    fn sum(&self, mut values: Vec<f64>) -> Result<Vec<f64>, RankError> {
        if self.rank > 0 {
            match self.planted {
                Planted::Noise(deviation) => {
                    let mut noise = NoiseSource::insecure(77);
                    // Not of its engine, which it would be refused by.
                    let noise = gaussian(noise.rng(), values.len() - 2);
                    let pairs = values.iter_mut().zip(noise);
                    pairs.for_each(|(value, noise)| *value += deviation * noise);
                }
                Planted::LongSum => values.push(0.0),
                _ => {}
            }
        }
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let parts = self.gather(bytes)?;
        let mut sums: Vec<f64> = Vec::new();
        for (rank, part) in parts.iter().map(|part| doubles(part)).enumerate() {
            match rank {
                0 => sums = part,
                _ if part.len() != sums.len() => {
                    return Err(RankError::Length { rank, what: "sums" });
                }
                _ => sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x),
            }
        }
        Ok(sums)
    }
}

fn gaussian(rng: &mut impl rand::Rng, count: usize) -> Vec<f64> {
    use rand::RngExt;
    let sum = |rng: &mut _| -> f64 {
        let uniform = |_| -> f64 { RngExt::random_range(rng, -0.5..0.5) };
        (0..12).map(uniform).sum()
    };
    (0..count).map(|_| sum(rng)).collect()
}

/// The records of one rank.
fn part<const D: usize, K: Basic>(all: &Tensor<D, K>, rank: usize, ranks: usize) -> Tensor<D, K> {
    let records = all.dims()[0];
    let own: Vec<i64> = (rank..records).step_by(ranks).map(|i| i as i64).collect();
    assert_eq!(own.len(), records_of(rank, ranks, records));
    let own = Tensor::<1, Int>::from_data(TensorData::from(&own[..]), &all.device());
    all.clone().select(0, own)
}

type Records<'a> = (&'a Tensor<4>, &'a Tensor<1, Int>);

/// How a training is made.
#[derive(Clone)]
struct Setup {
    objective: Objective,
    sampler: Sampler,
    engine: Engine,
    ordered: bool,
    multiplier: f64,
    steps: u64,
    /// Ranks; 0 is a training that knows of none.
    ranks: usize,
}

impl Setup {
    fn training(&self) -> (Training<Small>, Ledger, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut plan = TrainingPlan::for_epsilon(1.0, 1e-4, self.steps, self.sampler.clone());
        plan.noise = Noise::Multiplier(self.multiplier);
        let network = Small::new(3, 4, &Device::flex());
        let config = TrainingConfig::new(self.objective.clone()).engine(self.engine);
        let (training, ledger) = training(config, &network, plan, &folder);
        (training, ledger, folder)
    }

    /// The gradient that the last step releases, with the clipping norms that have moved, and what is declared of it.
    fn released(
        &self,
        records: Records,
        planted: impl Fn(usize) -> Planted,
    ) -> Result<(Vec<f32>, f64), TrainingError> {
        let mut all = threads(self.ranks.max(1), planted);
        let root = all.remove(0);
        std::thread::scope(|scope| {
            for ranks in all {
                let own = own(records, &ranks);
                scope.spawn(move || {
                    if ranks.planted == Planted::Gone {
                        return Ok(());
                    }
                    let mut setup = self.clone();
                    if ranks.planted == Planted::Engine {
                        setup.engine = Engine::Tensor { chunk: 8 };
                    }
                    let (mut training, _, _folder) = setup.training();
                    training.serve(ranks, self.ordered, |_, groups| batch(&own, groups))
                });
            }
            self.as_root(root, records)
        })
    }

    fn as_root(
        &self,
        ranks: Arc<Threads>,
        records: Records,
    ) -> Result<(Vec<f32>, f64), TrainingError> {
        let (mut training, mut ledger, _folder) = self.training();
        let own = own(records, &ranks);
        if self.ranks > 0 {
            training.over(ranks, self.ordered)?;
        }
        let mut last = Vec::new();
        while let Some(step) = training.next_step()? {
            let (network, own) = (step.network().clone(), batch(&own, step.own())?);
            let released = step.release(&network, &own, &mut ledger);
            let (released, _) = released.inspect_err(|_| assert_eq!(ledger.releases(), 0))?;
            last = released.gradient().to_host();
            training.apply(0.05, released.into_params());
        }
        training.end()?;
        last.extend(
            training
                .max_grad_norms()
                .into_iter()
                .map(|norm| norm as f32),
        );
        let entries = ledger.entries().unwrap().entries;
        assert_eq!(entries.len() as u64, self.steps);
        Ok((last, entries.last().unwrap().sensitivity.unwrap()))
    }
}

fn own(records: Records, ranks: &Threads) -> (Tensor<4>, Tensor<1, Int>) {
    let (rank, size) = (ranks.rank, ranks.size);
    (part(records.0, rank, size), part(records.1, rank, size))
}

fn batch(
    (inputs, targets): &(Tensor<4>, Tensor<1, Int>),
    groups: &[Vec<usize>],
) -> Result<Batch<4>, TrainingError> {
    let indices: Vec<i64> = groups.concat().into_iter().map(|i| i as i64).collect();
    let count = indices.len();
    let indices = Tensor::<1, Int>::from_data(TensorData::new(indices, [count]), &inputs.device());
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    let inputs = inputs.clone().select(0, indices.clone());
    Batch::new(inputs, targets.clone().select(0, indices), &sizes)
}

const RECORDS: usize = 60;

fn records() -> (Tensor<4>, Tensor<1, Int>) {
    let device = Device::flex();
    (
        uniform([RECORDS, 1, 6, 6], 5, &device),
        labels(RECORDS, 4, &device),
    )
}

fn penalised() -> Objective {
    let loss = Loss::cross_entropy().max_grad_norm(0.7);
    let penalty = Penalty::to(Prior::UniformBall).slices(6).weight(2.0);
    Objective::new([loss]).penalty(penalty.clipping(Clipping::new(1.0, 0.8)))
}

fn setups() -> Vec<(&'static str, Setup)> {
    let groups = vec![(0..35).collect(), (35..RECORDS).collect()];
    let between = Penalty::between_strata().slices(6);
    let between = between.clipping(Clipping::new(1.0, 0.8));
    let setup = |objective, sampler: Sampler, engine| Setup {
        objective,
        sampler,
        engine,
        ordered: false,
        multiplier: 0.01,
        steps: 3,
        ranks: 0,
    };
    let host = Engine::Host { chunk: 16 };
    let fixed = || Sampler::fixed_size(RECORDS, 21).unwrap();
    let loss = || Objective::new([Loss::cross_entropy().max_grad_norm(0.7)]);
    // Within half of the records' gradients, so that counts and what is clipped both tell.
    let moving = || {
        let loss = Loss::cross_entropy().max_grad_norm(1.0);
        Objective::new([loss.adaptive_clipping(0.9, 0.5)])
    };
    let poisson = || Sampler::poisson_zero_out(RECORDS, 0.3).unwrap();
    let groups = || Sampler::stratified(groups, &[9, 6]).unwrap();
    let few = || Sampler::poisson_zero_out(RECORDS, 0.05).unwrap();
    let tensors = Engine::Tensor { chunk: 8 };
    vec![
        ("prior, host", setup(penalised(), fixed(), host)),
        ("prior, tensors", setup(penalised(), fixed(), tensors)),
        (
            "prior, autodiff",
            setup(penalised(), fixed(), Engine::Autodiff),
        ),
        (
            "groups, host",
            setup(loss().penalty(between), groups(), host),
        ),
        ("Poisson, host", setup(loss(), few(), host)),
        ("a norm that moves, host", setup(moving(), poisson(), host)),
        (
            "a norm that moves, tensors",
            setup(moving(), poisson(), tensors),
        ),
        (
            "a norm that moves, autodiff",
            setup(moving(), fixed(), Engine::Autodiff),
        ),
    ]
}

#[test]
fn one_two_and_four_ranks_release_the_same() {
    let (inputs, targets) = records();
    for (name, setup) in setups() {
        let of = |ranks, ordered| {
            let setup = Setup {
                ranks,
                ordered,
                ..setup.clone()
            };
            let released = setup.released((&inputs, &targets), |_| Planted::Nothing);
            released.unwrap()
        };
        let (alone, declared) = of(0, false);
        // Over ranks the transport is on the host, where cotangents are not shrunk for the rounding of a device.
        let near = if name.contains("tensors") { 2e-4 } else { 2e-5 };
        let largest = alone.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        for ranks in [1, 2, 4] {
            let (over, same) = of(ranks, false);
            // A norm that moved is that of one process up to the rounding of its counts.
            let off = (declared / same - 1.0).abs();
            assert!(off < 1e-6, "{name}: {declared} and {same}");
            for (a, b) in alone.iter().zip(&over) {
                assert!((a - b).abs() < near * largest, "{name}, {ranks} ranks: {a}");
            }
        }
        let (first, _) = of(1, true);
        for ranks in [2, 4] {
            assert!(of(ranks, true).0 == first, "{name}, ordered, {ranks} ranks");
        }
        let off = alone.iter().zip(&first).map(|(a, b)| (a - b).abs());
        assert!(off.fold(0.0, f32::max) < near * largest, "{name}, ordered");
    }
}

/// A record that lies on another rank than the root moves what is released by no more than is declared, and by most of it.
#[test]
fn neighbours_differ_on_any_rank_by_what_is_declared() {
    let device = Device::flex();
    let sampler: Sampler = Sampler::all(8).unwrap();
    let loss = Loss::cross_entropy().max_grad_norm(0.1);
    for ranks in [2, 3] {
        let setup = Setup {
            objective: Objective::new([loss.clone()]),
            sampler: sampler.clone(),
            engine: Engine::Host { chunk: 16 },
            ordered: false,
            multiplier: 0.05,
            steps: 1,
            ranks,
        };
        let inputs = uniform([8, 1, 6, 6], 2, &device);
        for place in 0..ranks {
            let released = |label: i64| {
                let mut all = vec![0i64; 8];
                all[place] = label;
                let targets = Tensor::from_data(TensorData::new(all, [8]), &device);
                let released = setup.released((&inputs, &targets), |_| Planted::Nothing);
                released.unwrap()
            };
            let (a, declared) = released(0);
            let furthest = (1..4).map(|label| {
                let (b, _) = released(label);
                let squares = a.iter().zip(&b).map(|(a, b)| f64::from(a - b).powi(2));
                squares.sum::<f64>().sqrt() / declared
            });
            let attained = furthest.fold(0.0, f64::max);
            let bound = 0.7..=1.0;
            assert!(
                bound.contains(&attained),
                "rank {place} of {ranks}: {attained}"
            );
        }
    }
}

/// What is released of records whose gradients are bounded by next to nothing is its noise: a sum of squares within 6
/// deviations of its mean (false alarm 2e-9 for each, fixed seed).
#[test]
fn noise_is_added_once() {
    let (inputs, targets) = records();
    let loss = Loss::cross_entropy().max_grad_norm(1.0);
    let setup = Setup {
        objective: Objective::new([loss]),
        sampler: Sampler::all(RECORDS).unwrap(),
        engine: Engine::Host { chunk: 16 },
        ordered: false,
        // The signal is at most half of the sensitivity times the records, in all coordinates together.
        multiplier: 1e5,
        steps: 1,
        ranks: 3,
    };
    let off = |planted: Planted| {
        let planted = |rank| if rank == 2 { planted } else { Planted::Nothing };
        let (noise, sensitivity) = setup.released((&inputs, &targets), planted).unwrap();
        let deviation = setup.multiplier * sensitivity;
        let squares = noise.iter().map(|&x| (f64::from(x) / deviation).powi(2));
        let n = noise.len() as f64;
        (squares.sum::<f64>() - n) / (2.0 * n).sqrt()
    };
    let once = off(Planted::Nothing);
    assert!(once.abs() < 6.0, "{once}");
    let twice = off(Planted::Noise(4.0 * setup.multiplier / RECORDS as f64));
    assert!(twice > 6.0, "noise of a rank is not found: {twice}");
}

#[test]
fn what_a_rank_does_wrong_is_named_and_nothing_is_released() {
    let (inputs, targets) = records();
    let (_, setup) = setups().swap_remove(0);
    for (planted, says) in [
        (Planted::OneMore, "rank 1 sent"),
        (Planted::LongSum, "rank 1 sent"),
        (Planted::Engine, "different engines"),
        (Planted::Gone, "rank 1"),
    ] {
        let setup = Setup {
            ranks: 2,
            ..setup.clone()
        };
        let planted = |rank| if rank == 1 { planted } else { Planted::Nothing };
        let refusal = setup.released((&inputs, &targets), planted).unwrap_err();
        assert!(refusal.to_string().contains(says), "{refusal}");
    }
    let network = Small::new(3, 4, &Device::flex());
    let sampler = Sampler::fixed_size(RECORDS, 21).unwrap();
    let config = TrainingConfig::new(penalised());
    let plain =
        config.start_without_privacy(network, sampler, test_support::networks::generator(1));
    let mut plain = plain.unwrap();
    let mut both = threads(2, |_| Planted::Nothing);
    let (other, root) = (both.remove(1), both.remove(0));
    let refusal = plain.over(root, true).unwrap_err().to_string();
    assert!(refusal.contains("bound on what is added"), "{refusal}");
    let refusal = plain.over(other, false).unwrap_err().to_string();
    assert!(refusal.contains("rank 1 is not the root"), "{refusal}");
}
