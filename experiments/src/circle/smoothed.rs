//! The baseline: a network trained on the smoothed distance to one release (Rakotomamonjy and Ralaivola 2021, arXiv
//! 2107.01848, with one sub-sample that is released once and noise on the generated side, as Greenewald et al. 2024
//! have it).

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use dp_core::mechanism::{BoundedVector, Releaser, Sensitivity};
use lab::diagnostic::Failure;
use lab::session::{Released, Session, next_step};
use private_training::Training;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;
use swd::smoothed::{
    NoisyProjections, combine, project, smoothed_distance_and_gradient, smoothing_noise,
};
use swd::{Region, Slices};

use super::Map;
use super::settings::Settings;

/// The one release, by the name under which it is kept.
pub(crate) const RELEASE: &str = "release";

/// The release that a network is trained on.
pub(crate) struct Smoothed {
    pub releaser: Option<Releaser>,
    slices: Slices,
    target: Option<NoisyProjections>,
    /// Points that the network is fed, noise on what it makes: all public.
    public: ChaCha20Rng,
}

impl Smoothed {
    /// Before its release.
    pub(crate) fn new(
        settings: &Settings,
        releaser: Option<Releaser>,
        mut public: ChaCha20Rng,
    ) -> Result<Self, Failure> {
        let slices = Slices::tight(2, settings.slices, &mut public).map_err(Failure::failed)?;
        Ok(Self {
            releaser,
            slices,
            target: None,
            public,
        })
    }

    /// Releases the projections of one sub-sample of the circle's `points`, or takes what was released before.
    pub(crate) fn release(
        &mut self,
        settings: &Settings,
        training: &mut Training<Map>,
        points: &[f32],
        session: &mut Session,
    ) -> Result<(), Failure> {
        let released = match Released::read(&session.folder, RELEASE)? {
            Some(released) => released,
            None => {
                let released = self.fresh(settings, training, points, session)?;
                released.write(&session.folder, RELEASE, session.ledger.releases())?;
                released
            }
        };
        let (mut values, mut deviation) = (released.groups.concat(), released.deviation);
        if settings.combine {
            values = combine(&values, &self.slices).map_err(Failure::failed)?;
            deviation *= (2.0 / self.slices.count() as f64).sqrt();
        }
        let target = NoisyProjections::from_released(values, self.slices.clone(), deviation);
        self.target = Some(target.map_err(Failure::failed)?);
        Ok(())
    }

    fn fresh(
        &mut self,
        settings: &Settings,
        training: &mut Training<Map>,
        points: &[f32],
        session: &mut Session,
    ) -> Result<Released, Failure> {
        let region = Region::ball(settings.clip_activation).map_err(Failure::failed)?;
        let slices = &self.slices;
        let projected = |sampled: &[usize]| {
            let rows: Vec<f32> = sampled
                .iter()
                .flat_map(|&i| [points[2 * i], points[2 * i + 1]])
                .collect();
            project(&rows, slices, region).map_err(Failure::failed)
        };
        let Some(releaser) = &mut self.releaser else {
            let sampled = next_step(training)?.records();
            return Ok(Released {
                groups: vec![projected(&sampled)?.before_noise().to_vec()],
                deviation: 0.0,
            });
        };
        let draw = releaser.draw().map_err(Failure::failed)?;
        // Sampling amplifies for a set of records: a row's place in the order of its records would say more.
        let mut sampled = draw.groups().concat();
        sampled.shuffle(releaser.noise().rng());
        let values = projected(&sampled)?;
        let sensitivity =
            Sensitivity::l2(values.l2_sensitivity_upper()).map_err(Failure::failed)?;
        let deviation = releaser.deviation(sensitivity);
        let values = values.before_noise().to_vec();
        let bounded = BoundedVector::new(values, sensitivity, &[settings.batch], draw);
        let released = bounded.and_then(|b| releaser.release_step_vector(b, &mut session.ledger));
        Ok(Released {
            groups: vec![released.map_err(Failure::failed)?],
            deviation,
        })
    }

    /// A step towards the release, on a batch of the public `source`.
    pub(crate) fn step(
        &mut self,
        training: &mut Training<Map>,
        rate: f64,
        batch: usize,
        source: &[f32],
    ) -> Result<(), Failure> {
        let target = self.target.as_ref();
        let target = target.ok_or_else(|| Failure::failed("a step before the release"))?;
        let mut rows = Vec::with_capacity(2 * batch);
        for _ in 0..batch {
            let i = self.public.random_range(0..source.len() / 2);
            rows.extend([source[2 * i], source[2 * i + 1]]);
        }
        let autodiff = training.device().autodiff();
        let network = training.network.clone().train();
        let made = network.forward(Tensor::from_data(
            TensorData::new(rows, [batch, 2]),
            &autodiff,
        ));
        let values: Vec<f32> = made.clone().inner().into_data().iter::<f32>().collect();
        let smoothing = smoothing_noise(target, batch, &mut self.public);
        let (_, cotangent) =
            smoothed_distance_and_gradient(&values, &smoothing, target).map_err(Failure::failed)?;
        let cotangent = Tensor::from_data(TensorData::new(cotangent, [batch, 2]), &autodiff);
        let gradients = GradientsParams::from_grads((made * cotangent).sum().backward(), &network);
        training.apply(rate, gradients);
        Ok(())
    }
}
