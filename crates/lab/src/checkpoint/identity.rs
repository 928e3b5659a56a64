//! What a run is, and when it may draw the noise of before again.

use std::fs;

use dp_core::mechanism::{NoiseSource, NoiseState};
use serde::{Deserialize, Serialize};

use super::hex;
use crate::backend::Backend;
use crate::diagnostic::Failure;
use crate::session::floats_to_bytes;

/// What a run is: a checkpoint of another one is refused.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The experiment, such as `swae`.
    pub experiment: String,
    /// SHA-256 of the resolved settings.
    pub settings: String,
    /// SHA-256 of the private records.
    pub records: String,
    /// SHA-256 of the weights that they pass before they meet the noise; empty if they meet it as
    /// they are.
    #[serde(default)]
    pub encoder: String,
    /// SHA-256 of the program, the device and the processor, and of the latents that came of them.
    /// Another program may resume a run, but not with the same noise.
    pub program: String,
}

impl Identity {
    /// The identity of a run of this program on `backend`.
    ///
    /// - `settings`: the resolved settings as text; `records`: the SHA-256 of the private records.
    pub fn of(
        experiment: &str,
        settings: &str,
        records: String,
        backend: Backend,
    ) -> Result<Self, Failure> {
        let program = std::env::current_exe()
            .and_then(fs::read)
            .map_err(|e| Failure::failed(format!("the program cannot read its own file: {e}")))?;
        let program = format!("{} {backend:?} {}", hex(&program), processor());
        Ok(Self {
            experiment: experiment.into(),
            settings: hex(settings.as_bytes()),
            records,
            encoder: String::new(),
            program: hex(program.as_bytes()),
        })
    }

    /// The identity of a run whose records are latents of an encoder of some `weights` when they meet
    /// the noise, with these SHA-256 `sums`, one a group. With other weights the run is another one; other
    /// latents of the same weights, as by another device, need new noise.
    pub fn encoded(mut self, weights: &[f32], sums: &[String]) -> Self {
        self.encoder = hex(&floats_to_bytes(weights));
        self.program = hex((self.program + &sums.concat()).as_bytes());
        self
    }

    /// Whether a step that `there` made is made again to the last bit here, on `backend`.
    ///
    /// The same noise may be added again to the same values alone: to other values it would tell
    /// their difference without noise. The host kernels repeat themselves; another program, another
    /// kind of processor, or a device that sums in any order must draw new noise.
    pub fn repeats(&self, there: &Self, backend: Backend) -> bool {
        self == there && backend == Backend::Flex
    }

    /// Puts `noise` back where the `stored` noise of the run `there` stopped, if the steps are made again
    /// to the last bit, or the noise is known anyway. Otherwise it stays new, and the
    /// answer is `false`.
    pub(super) fn restore_noise(
        &self,
        there: &Self,
        backend: Backend,
        noise: &mut NoiseSource,
        stored: &NoiseState,
    ) -> bool {
        let may = self.repeats(there, backend) || !stored.is_secret();
        if may {
            *noise = NoiseSource::resume(stored);
        }
        may
    }
}

/// What kernels of the host choose by: features, and the sizes of caches, by which products are blocked
/// and so summed. If the system does not tell its processor, its kind is all that is known.
fn processor() -> String {
    #[cfg(target_arch = "x86_64")]
    let wide = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let wide = false;
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let described = read("/proc/cpuinfo");
    let mut parts = vec![format!("{} {wide}", std::env::consts::ARCH)];
    let chosen_by = |line: &&str| line.starts_with("model name") || line.starts_with("flags");
    parts.extend(
        described
            .lines()
            .filter(chosen_by)
            .take(2)
            .map(String::from),
    );
    parts.extend((0..8).map(|cache| {
        read(&format!(
            "/sys/devices/system/cpu/cpu0/cache/index{cache}/size"
        ))
    }));
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_program_on_the_host_repeats_itself() {
        let of = |backend| Identity::of("test", "s", "r".into(), backend).unwrap();
        let flex = of(Backend::Flex);
        let other = Identity::of("test", "t", "r".into(), Backend::Flex).unwrap();
        assert!(flex.repeats(&of(Backend::Flex), Backend::Flex));
        assert!(!flex.repeats(&of(Backend::Ndarray), Backend::Flex));
        let gpu = of(Backend::Wgpu);
        assert!(!gpu.repeats(&of(Backend::Wgpu), Backend::Wgpu));
        assert!(!flex.repeats(&other, Backend::Flex));
    }

    #[test]
    fn the_same_noise_never_meets_other_latents() {
        let of = |weight: f32, groups: &[Vec<f32>]| {
            let identity = Identity::of("test", "s", "r".into(), Backend::Flex).unwrap();
            let sums = groups.iter().map(|group| hex(&floats_to_bytes(group)));
            identity.encoded(&[weight], &sums.collect::<Vec<_>>())
        };
        let here = of(1.0, &[vec![0.5], vec![0.25, 0.0]]);
        let again = of(1.0, &[vec![0.5], vec![0.25, 0.0]]);
        assert!(here.repeats(&again, Backend::Flex));
        for other in [
            of(1.0, &[vec![0.5], vec![0.25, 1e-45]]),
            of(1.0, &[vec![0.5, 0.25], vec![0.0]]),
        ] {
            assert_eq!(other.encoder, here.encoder);
            assert!(!here.repeats(&other, Backend::Flex));
        }
        assert_ne!(of(2.0, &[]).encoder, here.encoder);
    }

    #[test]
    fn secret_noise_is_restored_only_where_steps_repeat_themselves() {
        let here = Identity::of("test", "s", "r".into(), Backend::Flex).unwrap();
        let mut newer = here.clone();
        newer.program = "p".into();
        let secret = NoiseSource::secret().unwrap().state();
        let known = NoiseSource::insecure(5).state();
        for (there, stored, expected) in [
            (&here, &secret, true),
            (&newer, &secret, false),
            (&newer, &known, true),
        ] {
            let mut noise = NoiseSource::secret().unwrap();
            let restored = here.restore_noise(there, Backend::Flex, &mut noise, stored);
            assert_eq!(restored, expected);
            assert_eq!(noise.state() == *stored, expected);
        }
    }
}
