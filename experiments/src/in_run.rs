//! The releases of a run, which keeps them with what is public of its input, and who looks on while a copy is made.

use dp_core::mechanism::{NameCounts, Releaser, SensitiveVector};
use lab::prelude::*;
use private_queries::Query;
use private_synth::{Releasing, SynthError, Watch, Work};
use serde_json::Value;

/// Stops if somebody asked, and shows progress.
pub(crate) struct Watched {
    interrupt: Interrupt,
    fitting: Option<Progress>,
}

impl Watched {
    pub(crate) fn new(interrupt: &Interrupt) -> Self {
        Self {
            interrupt: interrupt.clone(),
            fitting: None,
        }
    }
}

impl Watch for Watched {
    type Error = Failure;

    fn go_on(&mut self, work: Work) -> Result<(), Failure> {
        let (done, of) = match work {
            Work::Fitting { done, of } => (done, of),
            Work::Encoding => return self.interrupt.check("images were encoded"),
            Work::Sampling => return self.interrupt.check("records were sampled"),
        };
        let progress = self
            .fitting
            .get_or_insert_with(|| Progress::new("steps of fitting", of as u64));
        progress.step();
        if done == of
            && let Some(progress) = self.fitting.take()
        {
            progress.finish();
        }
        self.interrupt.check("the copy was fitted")
    }

    fn failed(error: SynthError) -> Failure {
        refused(error)
    }
}

/// Releases into the folder of a run.
pub(crate) struct InRun<'a> {
    session: &'a mut Session,
    releaser: Option<&'a mut Releaser>,
    watched: Watched,
}

impl<'a> InRun<'a> {
    pub(crate) fn new(session: &'a mut Session, releaser: Option<&'a mut Releaser>) -> Self {
        Self {
            watched: Watched::new(&session.interrupt),
            releaser,
            session,
        }
    }
}

impl Watch for InRun<'_> {
    type Error = Failure;

    fn go_on(&mut self, work: Work) -> Result<(), Failure> {
        self.watched.go_on(work)
    }

    fn failed(error: SynthError) -> Failure {
        refused(error)
    }
}

impl Releasing for InRun<'_> {
    fn release<Q: Query>(
        &mut self,
        name: &str,
        query: &Q,
        measure: impl FnOnce() -> Result<SensitiveVector, SynthError>,
    ) -> Result<Q::Answer, Failure> {
        let measure = |_: &mut _, _: &mut _| measure().map_err(refused);
        self.session
            .release(&mut self.releaser, name, query, measure)
    }

    fn release_names(
        &mut self,
        name: &str,
        count: impl FnOnce() -> Result<NameCounts, SynthError>,
    ) -> Result<Vec<Vec<String>>, Failure> {
        let count = |_: &mut _| count().map_err(refused);
        self.session.release_names(&mut self.releaser, name, count)
    }
}

/// What is public of the input of a run, kept before the first release.
const PUBLIC: &str = "public.json";

/// Keeps what is `public` of the input, in words `what`, and refuses another one than was kept: what was released is of that.
///
/// # Errors
///
/// [`Failure::BadInput`] for another input, as far as what is public tells.
pub(crate) fn same_input(session: &Session, what: &str, public: &Value) -> Result<(), Failure> {
    let path = session.folder.file(PUBLIC);
    if !path.exists() {
        return session.folder.write_json(PUBLIC, public).map(drop);
    }
    let bytes = std::fs::read(&path).or_failed()?;
    match serde_json::from_slice::<Value>(&bytes).ok().as_ref() == Some(public) {
        true => Ok(()),
        false => Err(Failure::input(
            format!(
                "{}: {what} is another than the run began with",
                path.display()
            ),
            "put it back, or start a new run",
        )),
    }
}

/// Why there is no copy, as a failure of the run.
pub(crate) fn refused(error: SynthError) -> Failure {
    match &error {
        SynthError::Data(e) => private::refused(
            e,
            "look at the input, and whether there is space for temporary files",
        ),
        SynthError::LabelAlone { label } => Failure::input(
            format!("--label {label}: it must be a column beside others, which tell of it"),
            "give --label another value",
        ),
        SynthError::TooManyCounts { .. } => Failure::input(
            error.to_string(),
            "kind = \"ignore\" in the schema leaves a column out of the copy",
        ),
        SynthError::TooManyValues { .. } => Failure::input(
            error.to_string(),
            "give --latent or --cells a smaller value, or leave both out",
        ),
        SynthError::Unlabelled => {
            Failure::input(error.to_string(), "name the column to predict by --label")
        }
        SynthError::Rules { .. } => Failure::Failed {
            message: error.to_string(),
            help: Some("rules may contradict each other, or the records: remove some".into()),
        },
        _ => Failure::failed(error),
    }
}
