//! Public latents, sampled with replacement: what is reached without a private record.

use lab::diagnostic::Failure;
use lab::session::{Session, bounded};
use rand::RngExt;

use super::super::run::Flow;
use super::super::shared;
use super::{Generated, Moved, ReleaseMethod};
use crate::records::SHAPES;

lab::settings! {
    /// It has no settings of its own.
    common {}
}

impl ReleaseMethod for Settings {
    const NAME: &'static str = "public";
    const ABOUT: &'static str = "Decode public records: what no private record was needed for";
    const PRESET: &'static str = include_str!("../../../../assets/flow/public.toml");
    const PHOTOGRAPHS: &'static str = "";
    type Budget = ();

    fn check(&self, shared: &shared::Settings) -> Result<(), Failure> {
        let holds = shared.public != SHAPES || !shared.conditional;
        let bound =
            "a data set for the mechanism public: shapes have no classes; or say --unconditional";
        bounded("public", &shared.public, holds, bound)?;
        shared.check_public_latents("the mechanism public")
    }

    fn start(&self, flow: &mut Flow, session: &mut Session) -> Result<Moved, Failure> {
        let d = flow.groups.dim;
        let public = &flow.split.public;
        let latents = match &flow.space {
            Some(space) => space.encode_records(public, session)?,
            None => Vec::new(),
        };
        let labels = public.labels();
        let total = flow.total_particles();
        let mut rows = Vec::with_capacity(total * d);
        let mut sampled = Vec::with_capacity(total);
        for _ in 0..total {
            let place = flow.public.random_range(0..latents.len() / d);
            rows.extend_from_slice(&latents[place * d..(place + 1) * d]);
            sampled.extend(labels.get(place));
        }
        let labels = flow.groups.classes.is_some().then_some(sampled);
        Ok(Moved::Rows(Generated { rows, labels }))
    }
}
