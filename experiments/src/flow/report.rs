//! What is shown of a flow.

use lab::diagnostic::Failure;
use lab::report::{Better, Metric};
use lab::session::{Report, Session};
use serde_json::json;

use super::evaluate::look;
use super::mechanisms::Generated;
use super::run::Flow;

/// Writes latents and labels, and gives scores and pictures of them.
pub(crate) fn report(
    run: &Flow,
    session: &Session,
    generated: &Generated,
) -> Result<Report, Failure> {
    let source = super::samples::keep(run, session, generated)?;
    let outcome = look(run, session, generated)?;
    let sliced = outcome.latent_sliced;
    let name = "Squared sliced distance between generated and test latents";
    let mut metrics = vec![Metric::new(name, sliced).better(Better::Lower)];
    let images = outcome.images.as_ref();
    metrics.extend(images.map(crate::scores::metrics).unwrap_or_default());
    let alone = outcome.baseline.as_ref();
    let baseline = alone.map(|b| crate::scores::baseline_metrics(&b.images, b.field.as_ref()));
    metrics.extend(baseline.unwrap_or_default());
    println!("public    {:.1} s for the latent space", run.public_seconds);
    Ok(Report {
        pictures: outcome.pictures,
        metrics,
        warnings: crate::scores::warnings(&run.score),
        more: vec![
            ("latent_sliced_w2_squared", json!(sliced)),
            ("images", json!(images)),
            ("baseline", json!(alone)),
            ("public_knowledge", json!(source.public_knowledge)),
            ("autoencoder_seconds", json!(run.public_seconds)),
        ],
        ..Report::default()
    })
}
