//! Good tables, a case each in `cases/read`: the features, groups and labels that they become.

use data::{Labels, Missing, Schema};
use serde::Deserialize;

use crate::cases;

/// Cases that change the same schema or have another text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    schema: String,
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// What stands in the schema, and what in its place.
    replace: Option<[String; 2]>,
    sensitive: Option<String>,
    missing: Option<Missing>,
    text: String,
    names: Vec<String>,
    rows: Vec<Vec<f32>>,
    groups: Vec<u8>,
    classes: Option<Vec<usize>>,
    numbers: Option<Vec<f32>>,
    #[serde(default)]
    dropped: usize,
}

#[test]
fn good_tables_become_features_groups_and_labels() {
    for (file, cases) in cases::<Cases>("read") {
        for case in cases.case {
            let [from, to] = case.replace.unwrap_or_default();
            assert!(cases.schema.contains(&from), "{file}: {}", case.name);
            let mut schema = Schema::parse("t", &cases.schema.replacen(&from, &to, 1)).unwrap();
            if let Some(name) = &case.sensitive {
                schema = schema.with_sensitive(name).unwrap();
            }
            if let Some(rule) = case.missing {
                schema = schema.with_missing(rule);
            }
            let read = schema.decode("f", case.text.as_bytes()).unwrap();
            let (table, name) = (read.table, format!("{file}: {}", case.name));
            assert_eq!(table.names(), case.names, "{name}");
            assert_eq!(schema.feature_names(), case.names, "{name}");
            assert_eq!(table.features(), case.rows.concat(), "{name}");
            assert_eq!(table.groups(), case.groups, "{name}");
            assert_eq!(read.dropped, case.dropped, "{name}");
            let labels = match (case.classes, case.numbers) {
                (Some(values), None) => Labels::Classes { count: 2, values },
                (None, Some(values)) => Labels::Values { width: 1, values },
                _ => panic!("{name}: either classes or numbers"),
            };
            assert_eq!(table.labels(), &labels, "{name}");
        }
    }
}
