//! Refusals of an accountant, in the words of the command line.

use dp_accountant::accounting::AccountingError;
use reporting::diagnostic::Failure;

/// The failure that names the flag, its value and its bound.
pub(super) fn refusal(error: AccountingError) -> Failure {
    match &error {
        AccountingError::OutOfRange { name, value, bound } => {
            let flag = name.replace(' ', "-");
            Failure::input(
                format!("--{flag} is {value}, but must be {bound}"),
                "see account --help",
            )
        }
        AccountingError::Batch { batch, records } => Failure::input(
            format!("the batch is {batch}, but must be between 1 and the {records} records"),
            "check --batch and --records, or --stratum",
        ),
        AccountingError::NotCovered { .. } => Failure::input(
            error.to_string(),
            "--accountant pld covers all that this tool can say",
        ),
        AccountingError::CannotMeet { .. } => Failure::input(
            error.to_string(),
            "raise --epsilon or --delta, or spend less on each step",
        ),
        AccountingError::Unresolved { .. } => Failure::input(error.to_string(), "raise --delta"),
        AccountingError::Ledger { .. } => Failure::input(
            error.to_string(),
            "each line must be an object with event, count and neighbours",
        ),
        AccountingError::SelfCheck { .. } => Failure::failed(error),
        _ => Failure::input(error.to_string(), "see account --help"),
    }
}
