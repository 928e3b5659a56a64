//! Flags that a mechanism or a public side has no use for: refused, for a value that is passed over deceives.

use lab::diagnostic::Failure;
use lab::session::Arguments;

use crate::records::COSINES;

use super::super::toy;
use super::Mechanism::{self, Fixed, Gaussian, Generator, Marginals, Mixture, Resampled};
use super::{Encoder, Flags};

/// Mechanisms that see private records.
const PRIVATE: &[Mechanism] = &[Marginals, Fixed, Resampled, Generator, Gaussian, Mixture];
/// Mechanisms that take steps.
const STEPPING: &[Mechanism] = &[Marginals, Fixed, Resampled, Generator];
/// Those whose steps move particles.
const FLOWS: &[Mechanism] = &[Marginals, Fixed, Resampled];
/// Those that release at each step.
const EACH_STEP: &[Mechanism] = &[Resampled, Generator];
/// Those that release first and step afterwards.
const STORED: &[Mechanism] = &[Marginals, Fixed];
/// Those that release statistics of all records of a group.
const STATISTICS: &[Mechanism] = &[Marginals, Gaussian, Mixture];

/// Refuses flags that `mechanism` does not use, and those of public records where there are none.
pub(crate) fn check(arguments: &Arguments<Flags>, mechanism: Mechanism) -> Result<(), Failure> {
    for (flag, given, users) in flags(arguments) {
        if given && !users.contains(&mechanism) {
            let names: Vec<&str> = users.iter().map(|user| user.name()).collect();
            let mechanism = mechanism.name();
            return Err(Failure::input(
                format!("--{flag}: --mechanism {mechanism} has no use for it"),
                format!("leave it out; it is for {}", names.join(", ")),
            ));
        }
    }
    let own = &arguments.own;
    let of_records = [
        ("public-records", own.public_records.is_some()),
        ("public-epochs", own.public_epochs.is_some()),
    ];
    let learned = own.encoder == Some(Encoder::Learned);
    let of_records = of_records.into_iter().chain([("encoder", learned)]);
    match of_records.into_iter().find(|(_, given)| *given) {
        Some((flag, _)) if own.public.as_deref() == Some(COSINES) => Err(Failure::input(
            format!("--{flag}: --public {COSINES} has no use for it"),
            "leave it out: cosines learn from no record",
        )),
        _ => Ok(()),
    }
}

/// Refuses what the toy in the plane has no use for: its settings are those of figure 1 of Sebag et al. (2023).
pub(crate) fn check_toy(arguments: &Arguments<Flags>) -> Result<(), Failure> {
    let (own, common) = (&arguments.own, &arguments.common);
    let others = [
        ("mechanism", own.mechanism.is_some()),
        ("public", own.public.is_some()),
        ("encoder", own.encoder.is_some()),
        ("private-part", own.private_part.is_some()),
        ("records", common.records.is_some()),
        ("public-records", own.public_records.is_some()),
        ("delta", common.delta.is_some()),
        ("moments-share", own.moments_share.is_some()),
        ("no-privacy", common.no_privacy),
        ("conditional", own.conditional),
        ("unconditional", own.unconditional),
        ("particles", own.particles.is_some()),
        ("latent", own.latent.is_some()),
        ("vary-pose", own.vary_pose.is_some()),
        ("vary-texture", own.vary_texture.is_some()),
        ("vary-tone", own.vary_tone.is_some()),
        ("export", own.export.export.is_some()),
        ("public-epochs", own.public_epochs.is_some()),
        ("insecure-noise-seed", common.insecure_noise_seed.is_some()),
    ];
    let flags = flags(arguments).map(|(flag, given, _)| (flag, given));
    match others.into_iter().chain(flags).find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::input(
            format!("--{flag}: --dataset {} has no use for it", toy::NAME),
            "leave it out: the toy has the settings of figure 1 of Sebag et al. (2023), and nothing private",
        )),
        None => Ok(()),
    }
}

/// Flags that some mechanisms alone use, whether they are given, and those mechanisms.
fn flags(arguments: &Arguments<Flags>) -> [(&'static str, bool, &'static [Mechanism]); 15] {
    let (own, common) = (&arguments.own, &arguments.common);
    [
        ("epsilon", common.epsilon.is_some(), PRIVATE),
        ("noise-multiplier", own.noise_multiplier.is_some(), PRIVATE),
        ("steps", common.steps.is_some(), STEPPING),
        ("epochs", own.epochs.is_some(), EACH_STEP),
        ("batch", own.batch.is_some(), EACH_STEP),
        ("slices", common.slices.is_some(), STEPPING),
        ("slices-per-step", own.slices_per_step.is_some(), STORED),
        ("labels", own.labels.is_some(), STATISTICS),
        ("cells", own.cells.is_some(), &[Mixture]),
        ("start", own.start.is_some(), &[Marginals]),
        ("bins", own.bins.is_some(), &[Marginals]),
        ("step-size", own.step_size.is_some(), FLOWS),
        ("final-step", own.final_step.is_some(), STORED),
        ("diffusion", own.diffusion.is_some(), FLOWS),
        (
            "learning-rate",
            common.learning_rate.is_some(),
            &[Generator],
        ),
    ]
}
