//! An accountant by its name, that stops where Python was interrupted.

use std::sync::{Mutex, PoisonError};

use dp_accountant::accounting::{
    Accountant, AccountingError, Event, GaussianAccountant, PldAccountant, RdpAccountant, Result,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::refusal::refused;

/// Asks an accountant without holding the lock of the interpreter.
pub(crate) struct Asked {
    accountant: Box<dyn Accountant + Send + Sync>,
    /// What Python raised meanwhile.
    raised: Mutex<Option<PyErr>>,
}

impl Asked {
    /// "pld", "gaussian" or "rdp": those whose answers are upper bounds.
    pub(crate) fn of(name: &str, accuracy: Option<f64>) -> PyResult<Self> {
        let accountant: Box<dyn Accountant + Send + Sync> = match (name, accuracy) {
            ("pld", _) => Box::new(pld(accuracy)?),
            ("gaussian" | "rdp", Some(accuracy)) => {
                return Err(PyValueError::new_err(format!(
                    "accuracy is {accuracy}, but must be None for accountant {name:?}: only \"pld\" has one"
                )));
            }
            ("gaussian", None) => Box::new(GaussianAccountant),
            ("rdp", None) => Box::new(RdpAccountant),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "accountant is {name:?}, but must be one of pld, gaussian, rdp"
                )));
            }
        };
        Ok(Self {
            accountant,
            raised: Mutex::new(None),
        })
    }

    /// What `question` gives, or what Python raised while it was asked.
    pub(crate) fn answer<T: Send>(
        self,
        py: Python<'_>,
        question: impl FnOnce(&Self) -> Result<T> + Send,
    ) -> PyResult<T> {
        let answer = py.detach(|| question(&self));
        let raised = self.raised.into_inner();
        match raised.unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => answer.map_err(refused),
        }
    }

    /// Keeps the first of what Python raised; every later question is refused.
    pub(crate) fn raise(&self, error: PyErr) {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get_or_insert(error);
    }

    fn go_on(&self) -> Result<()> {
        if let Err(interrupt) = Python::attach(|py| py.check_signals()) {
            self.raise(interrupt);
        }
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        match *raised {
            None => Ok(()),
            // Never seen: what was raised is.
            Some(_) => Err(AccountingError::Ledger {
                line: 0,
                reason: "interrupted".into(),
            }),
        }
    }
}

/// The default accountant, to an accuracy.
pub(crate) fn pld(accuracy: Option<f64>) -> PyResult<PldAccountant> {
    match accuracy {
        None => Ok(PldAccountant::default()),
        Some(accuracy) => PldAccountant::with_accuracy(accuracy).map_err(refused),
    }
}

impl Accountant for Asked {
    fn name(&self) -> &'static str {
        self.accountant.name()
    }

    fn is_upper_bound(&self) -> bool {
        self.accountant.is_upper_bound()
    }

    fn epsilon(&self, event: &Event, delta: f64) -> Result<f64> {
        self.go_on()?;
        self.accountant.epsilon(event, delta)
    }

    fn delta(&self, event: &Event, epsilon: f64) -> Result<f64> {
        self.go_on()?;
        self.accountant.delta(event, epsilon)
    }

    fn profile(&self, event: &Event, epsilons: &[f64]) -> Result<Vec<f64>> {
        self.go_on()?;
        self.accountant.profile(event, epsilons)
    }

    fn trade_off_curve(&self, event: &Event, alphas: &[f64]) -> Result<Vec<f64>> {
        self.go_on()?;
        self.accountant.trade_off_curve(event, alphas)
    }
}
