//! Sentences about epsilon that must not be taken for a promise.

/// How such a sentence starts, in the first lines of a run and in its report; nothing where a promise
/// follows.
///
/// - `noise_seed`: the known seed that the noise comes from.
/// - `other`: what else breaks the promise, in words.
pub fn not_private(noise_seed: Option<u64>, other: Option<String>) -> Option<String> {
    let known = noise_seed.map(|_| "the noise comes from a known seed".to_string());
    let why: Vec<String> = known.into_iter().chain(other).collect();
    (!why.is_empty()).then(|| {
        let why = why.join(" and ");
        format!("NOT PRIVATE, because {why}. Without that it would be: ")
    })
}
