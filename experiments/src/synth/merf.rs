//! DP-MERF (Harder, Adamczewski and Park 2021, arXiv 2002.11603): random Fourier features of the private images are
//! released once, class by class, and a generator learns to have the same.

use burn::tensor::{Tensor, TensorData};
use dp_core::mechanism::SensitiveVector;
use lab::diagnostic::{Failure, OrFailed};
use lab::progress::Progress;
use lab::session::Session;
use private_queries::{Embedded, Embeddings};
use private_training::cosine;

use super::generated::{Generated, untrained};
use super::method::{CopyMethod, Made, Making};
use super::run::Synth;
use crate::generators::Generator;

/// Of the features: as many cosines, and as many sines.
const FREQUENCIES: usize = 1000;
/// The width of the kernel, over the root of the values of an image: as far as values of two images are apart on average, and
/// near to what the paper has for digits, of which the square is 105.
const LENGTH: f64 = 0.36;
/// Steps, a tenth of the private images as far as these bounds let them: of few images there is less to learn.
const STEPS: [u64; 2] = [100, 2000];
const LEARNING_RATE: f64 = 0.01;
/// The decay of the average of the weights that samples are made by.
const AVERAGE: f64 = 0.99;
/// What the generator learns from, by its name in the plan.
pub(super) const EMBEDDINGS: &str = "embeddings";
/// Private images whose features are added at once.
const PART: usize = 2000;

pub(super) struct Merf;

impl CopyMethod for Merf {
    fn has_latents(&self) -> bool {
        false
    }

    fn flags(&self) -> &'static [&'static str] {
        &["most-per-unit"]
    }

    fn says(&self, _: usize) -> String {
        format!(
            "{} random Fourier features of each class (DP-MERF)",
            2 * FREQUENCIES
        )
    }

    fn releases(&self, _: usize) -> Vec<(&'static str, f64)> {
        vec![(EMBEDDINGS, 1.0)]
    }

    fn points(&self) -> usize {
        100
    }

    fn start(&self, run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
        let generated = Box::new(run.generate(session)?);
        Ok(Box::new(Made::Generated(generated)))
    }
}

impl Synth {
    /// What is released, and the generator that learned from it alone.
    fn generate(&mut self, session: &mut Session) -> Result<Generated, Failure> {
        let (shape, groups) = (self.shape(), self.input.images.classes());
        let length = LENGTH * (shape.values() as f64).sqrt();
        let query = Embeddings::new(groups, shape.values(), FREQUENCIES, length, &mut self.rng)
            .or_failed()?
            .of_units(self.most);
        let embedded = session.release(self, EMBEDDINGS, &query, |run, session| {
            run.embed(&query, session)
        })?;
        let classes = self.input.classes.len();
        let mut model = untrained(
            classes,
            shape,
            Some(AVERAGE),
            &mut self.rng,
            &session.chosen.device,
        )?;
        self.train(&mut model, &query, &embedded, session)?;
        // What has less than one image by its noisy number has none.
        let sizes = embedded.sizes.iter().map(|&size| size.max(0.0) as usize);
        Ok(Generated::new(model, sizes.collect(), self))
    }

    /// Features of the private images, part by part.
    fn embed(&self, query: &Embeddings, session: &Session) -> Result<SensitiveVector, Failure> {
        let images = &self.input.images;
        let mut stopped = Ok(());
        let progress = Progress::reading();
        let parts = images.blocks(PART).map_while(|part| {
            progress.step();
            let checked = session.interrupt.check("features were measured");
            let part = checked.and(part.or_failed());
            let part = part.map_err(|failure| stopped = Err(failure)).ok()?;
            let mut groups = vec![Vec::new(); part.classes()];
            for (place, &label) in part.labels().iter().enumerate() {
                groups[usize::from(label)].extend(part.image(place)?);
            }
            Some(groups)
        });
        let measured = query.measure_parts(parts);
        progress.finish();
        stopped.and(measured.or_failed())
    }

    /// Steps down `sum_c |s_c - n_c E phi(x_c)|^2 / n^2`, with the released sums `s_c` and numbers `n_c` of the classes and what
    /// is generated of each, `x_c`. The square of a mean of `k` features, which have norm 1, is too large by what a feature
    /// has beside itself: `|E phi|^2` is that of the mean times `k / (k - 1)`, but for a constant.
    fn train(
        &mut self,
        model: &mut Generator,
        query: &Embeddings,
        embedded: &Embedded,
        session: &Session,
    ) -> Result<(), Failure> {
        let device = &session.chosen.device.clone().autodiff();
        let (groups, width) = (model.groups(), query.features());
        let sizes = embedded.sizes.iter().map(|size| size.max(0.0));
        let all = sizes.clone().sum::<f64>().max(1.0);
        let tensor = |values: Vec<f32>, shape: [usize; 2]| {
            Tensor::<2>::from_data(TensorData::new(values, shape), device)
        };
        let sums = embedded.sums.iter().map(|sum| (sum / all) as f32);
        let sums = tensor(sums.collect(), [groups, width]);
        let weights = sizes.map(|size| (size / all) as f32);
        let weights = tensor(weights.collect(), [groups, 1]);
        let frequencies = tensor(query.frequencies().to_vec(), [FREQUENCIES, width_of(query)]);
        let frequencies = frequencies.transpose();
        let each = self.each();
        let pairs = each as f64 / (each - 1) as f64;
        let [least, most] = STEPS;
        let steps = (self.input.units as u64 / 10).clamp(least, most);
        let progress = Progress::new(steps);
        for step in 0..steps {
            session.interrupt.check("a generator was trained")?;
            let rows = model.make(each, &mut self.rng).rows;
            let phases = rows.matmul(frequencies.clone());
            let features = Tensor::cat(vec![phases.clone().cos(), phases.sin()], 1);
            let features = features.reshape([groups, each, width]).mean_dim(1);
            let root = (FREQUENCIES as f64).sqrt();
            let found = features.reshape([groups, width]) * weights.clone() / root;
            let own = found.clone().square().sum() * pairs;
            let loss = own - (found * sums.clone()).sum() * 2.0;
            model.descend(loss, LEARNING_RATE * cosine(step, steps, 0.0));
            progress.step();
        }
        progress.finish();
        Ok(())
    }
}

/// Values of a row.
fn width_of(query: &Embeddings) -> usize {
    query.frequencies().len() / FREQUENCIES
}
