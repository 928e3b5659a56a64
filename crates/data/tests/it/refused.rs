//! Bad input, a case each in `cases/refused`: all that a reader says of it to everybody, and to the owner alone.

use data::privatised::Privatised;
use data::{DataError, Schema};
use serde::Deserialize;

use crate::cases;
use crate::privatised::{altered, good};

/// Cases of one reader, which change the same good schema or the same good text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    reader: Reader,
    #[serde(default)]
    schema: String,
    #[serde(default)]
    text: String,
    case: Vec<Case>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Reader {
    Schema,
    Codes,
    Groups,
    Draft,
    Privatised,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// What stands in the schema, or in the header of a privatised file, and what in its place.
    replace: Option<[String; 2]>,
    /// What follows the schema.
    #[serde(default)]
    schema: String,
    /// The text in place of that of all cases, and what follows it.
    text: Option<String>,
    #[serde(default)]
    lines: String,
    /// A file that is there, in place of a text.
    file: Option<String>,
    message: String,
    private: Option<String>,
}

impl Cases {
    fn refusal(&self, case: &Case) -> Option<DataError> {
        let [from, to] = case.replace.clone().unwrap_or_default();
        if self.reader == Reader::Privatised {
            let (_keep, path) = good();
            return Privatised::load(&altered(&path, &from, &to)).err();
        }
        assert!(self.schema.contains(&from), "{}: {from}", case.name);
        let schema = self.schema.replacen(&from, &to, 1) + &case.schema;
        let text = case.text.as_ref().unwrap_or(&self.text).clone() + &case.lines;
        let (name, text) = ("toy.csv", text.as_bytes());
        let parsed = Schema::parse("toy.toml", &schema);
        match (self.reader, &case.file) {
            (Reader::Schema, _) => parsed.err(),
            (Reader::Draft, _) => Schema::draft(name, text, None).err(),
            (Reader::Groups, _) => parsed.unwrap().decode(name, text).err(),
            (_, Some(file)) => parsed.unwrap().coded(file.as_ref()).err(),
            _ => parsed.unwrap().coded_bytes(name, text).err(),
        }
    }
}

#[test]
fn bad_input_is_refused_with_the_whole_message() {
    for (file, cases) in cases::<Cases>("refused") {
        for case in &cases.case {
            let name = format!("{file}: {}", case.name);
            let error = cases.refusal(case);
            let error = error.unwrap_or_else(|| panic!("{name} was read"));
            let said = error.to_string();
            // Without the temporary folder that an altered file lies in.
            let altered = said.rsplit_once("noisy.altered");
            let said = altered.map_or(said.clone(), |(_, rest)| format!("noisy{rest}"));
            assert_eq!(said, case.message, "{name}");
            assert_eq!(error.private(), case.private.as_deref(), "{name}");
            assert!(!matches!(error, DataError::Io { .. }), "{name}");
        }
    }
}
