//! Audits of mechanisms whose privacy is known: bounds that hold as often as they say, and are near the truth.

mod golden;
mod laws;
mod one_run;
mod power;
mod scores;
mod validity;
