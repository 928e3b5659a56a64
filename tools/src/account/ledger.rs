//! `account ledger`.

use dp_accountant::ledger::Entries;
use reporting::diagnostic::Failure;
use serde_json::json;

use super::arguments::LedgerFlags;
use super::output::Answer;
use super::refusal::refusal;

pub(super) fn ledger(asked: &LedgerFlags) -> Result<(), Failure> {
    let path = asked.file.display();
    let text = std::fs::read_to_string(&asked.file).map_err(|error| {
        Failure::input(
            format!("{path} cannot be read: {error}"),
            "name the ledger.jsonl of a run",
        )
    })?;
    let found = Entries::parse(&text).map_err(refusal)?;
    let event = found.event().map_err(refusal)?;
    let accountant = asked.answer.accountant.accountant();
    let epsilon = accountant.epsilon(&event, asked.delta).map_err(refusal)?;
    let mut answer = Answer::new(accountant.as_ref(), epsilon, asked.delta);
    if let Ok(Some(neighbours)) = event.neighbours() {
        answer.push("neighbours", json!(neighbours.to_string()));
    } else if let Some(first) = found.entries.first() {
        answer.push("neighbours", json!(first.neighbours.to_string()));
    }
    answer.push("releases", json!(found.releases()));
    answer.push("lines", json!(found.entries.len()));
    if !found.torn.is_empty() {
        answer.push("torn_lines", json!(found.torn));
        answer.push(
            "torn",
            json!("cut short by a kill before their release left; passed over"),
        );
    }
    let secret = found.has_secret_noise();
    answer.push("secret_noise", json!(secret));
    if !secret {
        answer.push(
            "warning",
            json!("noise came from a known seed: this run is not private"),
        );
    }
    answer.print(asked.answer.json);
    Ok(())
}
