//! From a sweep file to its cells.

use std::collections::HashSet;

use reporting::checksum::hex;
use serde::Deserialize;
use toml::{Table, Value};

/// What a sweep file looks like.
pub(super) const HELP: &str = "a sweep has experiment = \"swae\", name = \"...\", and tables [fixed] and \
                        [grid] of flags; a flag of the grid has a list of values";

/// A grid of runs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// What a cell is a run of: a subcommand.
    pub experiment: String,
    /// The name of the folder of its runs.
    pub name: String,
    /// The randomness of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, C.6: cells of the same seed share
    /// initial weights, batches and standard noise, so that they differ by their settings alone. The noise is then
    /// known, and two runs that share it would not be private even if it were secret.
    #[serde(default)]
    pub coupled: bool,
    #[serde(default)]
    fixed: Table,
    #[serde(default)]
    grid: Table,
    /// Changes to the fixed flags that do not multiply out, such as those of an ablation: every cell
    /// of the grid is run under each. `label` names one.
    #[serde(default)]
    variant: Vec<Table>,
}

/// One run of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridCell {
    /// Its folder: what it varies, and the first digits of the SHA-256 of all its flags.
    pub name: String,
    /// Its flags, in the order of their names.
    pub flags: Vec<String>,
}

impl Sweep {
    /// Reads a sweep.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, in a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let sweep: Self = toml::from_str(text).map_err(|e| e.to_string())?;
        for (what, value) in [("experiment", &sweep.experiment), ("name", &sweep.name)] {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if value.is_empty() || !value.chars().all(plain) {
                return Err(format!(
                    "{what} = {value:?}: it must be made of letters, digits, - and _"
                ));
            }
        }
        for (key, value) in &sweep.fixed {
            scalar(value).map_err(|why| format!("fixed.{key} {why}"))?;
            if sweep.grid.contains_key(key) {
                return Err(format!("{key} stands in [fixed] and in [grid]"));
            }
        }
        for (key, value) in &sweep.grid {
            let Value::Array(values) = value else {
                return Err(format!("grid.{key} must be a list"));
            };
            if values.is_empty() {
                return Err(format!("grid.{key} is an empty list, so there is no cell"));
            }
            for (index, value) in values.iter().enumerate() {
                scalar(value).map_err(|why| format!("grid.{key}[{index}] {why}"))?;
                if values[..index].contains(value) {
                    return Err(format!("grid.{key} holds {value} twice"));
                }
            }
        }
        for (number, variant) in sweep.variant.iter().enumerate() {
            for (key, value) in variant {
                scalar(value).map_err(|why| format!("variant {}: {key} {why}", number + 1))?;
                if sweep.grid.contains_key(key) {
                    return Err(format!(
                        "{key} stands in [grid] and in variant {}",
                        number + 1
                    ));
                }
            }
        }
        let named = |key: &str| {
            let everywhere = [&sweep.fixed, &sweep.grid].into_iter();
            everywhere
                .chain(&sweep.variant)
                .any(|table| table.contains_key(key))
        };
        let own = "is chosen by the sweep itself";
        let logged = "would tell of private records in the log of a cell";
        for (key, why) in [
            ("out", own),
            ("run", own),
            ("resume", own),
            ("show-private", logged),
        ] {
            if named(key) {
                return Err(format!("{key} {why}"));
            }
        }
        if sweep.coupled && named("insecure-noise-seed") {
            return Err("insecure-noise-seed follows the seed in a coupled sweep".into());
        }
        let mut names = HashSet::new();
        if let Some(cell) = sweep
            .cells()
            .into_iter()
            .find(|cell| !names.insert(cell.name.clone()))
        {
            return Err(format!(
                "two cells are {}: remove a variant, or give it other flags or another label",
                cell.name
            ));
        }
        Ok(sweep)
    }

    /// All cells; the last flag of the grid, by name, varies fastest.
    pub fn cells(&self) -> Vec<GridCell> {
        let mut points: Vec<Vec<(&str, &Value)>> = vec![Vec::new()];
        for (key, values) in &self.grid {
            let Value::Array(values) = values else {
                continue;
            };
            points = points
                .into_iter()
                .flat_map(|point| {
                    values.iter().map(move |value| {
                        let mut longer = point.clone();
                        longer.push((key.as_str(), value));
                        longer
                    })
                })
                .collect();
        }
        let plain = [Table::new()];
        let variants = if self.variant.is_empty() {
            &plain[..]
        } else {
            &self.variant[..]
        };
        let with = |variant| points.iter().map(move |point| self.cell(variant, point));
        variants.iter().flat_map(with).collect()
    }

    fn cell(&self, variant: &Table, point: &[(&str, &Value)]) -> GridCell {
        let named = |(key, value): (&'_ String, _)| (key.clone(), value);
        let mut settings: std::collections::BTreeMap<String, &Value> =
            self.fixed.iter().map(named).collect();
        settings.extend(variant.iter().filter(|(key, _)| *key != "label").map(named));
        settings.extend(point.iter().map(|&(key, value)| (key.to_string(), value)));
        let mut flags = Vec::new();
        for (key, &value) in &settings {
            match value {
                Value::Boolean(true) => flags.push(format!("--{key}")),
                Value::Boolean(false) => {}
                value => flags.extend([format!("--{key}"), shown(value)]),
            }
        }
        if self.coupled {
            let seed = settings.get("seed");
            let seed = seed.map_or("0".to_string(), |value| shown(value));
            flags.extend(["--insecure-noise-seed".to_string(), seed]);
        }
        let mut bytes = self.experiment.clone().into_bytes();
        for flag in &flags {
            // The lengths keep ["ab", "c"] apart from ["a", "bc"].
            bytes.extend((flag.len() as u64).to_le_bytes());
            bytes.extend(flag.as_bytes());
        }
        let checksum = hex(&bytes);
        let digits = &checksum[..10];
        let label = variant.get("label").map(shown);
        let point = point
            .iter()
            .map(|(key, value)| format!("{key}-{}", shown(value)));
        let mut parts: Vec<String> = label
            .into_iter()
            .chain(point)
            .map(|part| part.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-"))
            .collect();
        parts.push(digits.to_string());
        GridCell {
            name: parts.join("_"),
            flags,
        }
    }
}

fn scalar(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(_) | Value::Table(_) | Value::Datetime(_) => {
            Err("must be a number, a string or a boolean".into())
        }
        _ => Ok(()),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        experiment = "swae"
        name = "small"
        [fixed]
        dataset = "glyphs"
        conditional = true
        [grid]
        epsilon = [1, 10.5]
        seed = [1, 2, 3]
    "#;

    #[test]
    fn a_grid_is_the_product_of_its_lists() {
        let cells = Sweep::parse(TEXT).unwrap().cells();
        assert_eq!(cells.len(), 6);
        assert_eq!(
            cells[0].flags,
            [
                "--conditional",
                "--dataset",
                "glyphs",
                "--epsilon",
                "1",
                "--seed",
                "1"
            ]
        );
        assert!(cells[5].name.starts_with("epsilon-10.5_seed-3_"));
        let mut names: Vec<_> = cells.iter().map(|c| &c.name).collect();
        names.dedup();
        assert_eq!(names.len(), 6);
    }

    #[test]
    fn the_name_depends_on_what_a_cell_is_and_on_nothing_else() {
        let sweep = Sweep::parse(TEXT).unwrap();
        let renamed = Sweep::parse(&TEXT.replace("small", "other")).unwrap();
        assert_eq!(sweep.cells(), renamed.cells());
        let fewer = Sweep::parse(&TEXT.replace("[1, 2, 3]", "[3]")).unwrap();
        assert!(sweep.cells().contains(&fewer.cells()[0]));
        let other = Sweep::parse(&TEXT.replace("glyphs", "mnist")).unwrap();
        assert!(other.cells().iter().all(|c| !sweep.cells().contains(c)));
    }

    #[test]
    fn variants_change_the_fixed_flags() {
        let text =
            format!("{TEXT}\n[[variant]]\nlabel = \"as it is\"\n[[variant]]\nconditional = false");
        let cells = Sweep::parse(&text).unwrap().cells();
        assert_eq!(cells.len(), 12);
        assert!(cells[0].name.starts_with("as-it-is_epsilon-1_"));
        assert_eq!(cells[0].flags, Sweep::parse(TEXT).unwrap().cells()[0].flags);
        assert!(!cells[6].flags.contains(&"--conditional".to_string()));
    }

    #[test]
    fn coupled_cells_of_a_seed_share_their_noise() {
        let text = TEXT.replace("name =", "coupled = true\nname =");
        for cell in Sweep::parse(&text).unwrap().cells() {
            let at = |flag: &str| cell.flags.iter().position(|f| f == flag).unwrap() + 1;
            assert_eq!(
                cell.flags[at("--insecure-noise-seed")],
                cell.flags[at("--seed")]
            );
        }
    }

    #[test]
    fn a_flag_of_the_sweep_is_in_no_variant() {
        let refused = |change: &str, variants: &str| {
            let text = TEXT.replace("name =", change) + variants;
            Sweep::parse(&text).unwrap_err()
        };
        let coupled = "coupled = true\nname =";
        let seed = "[[variant]]\ninsecure-noise-seed = 3";
        assert!(refused(coupled, seed).contains("follows the seed"));
        for key in ["out", "run", "resume"] {
            let variant = format!("[[variant]]\n{key} = \"x\"");
            assert!(refused("name =", &variant).contains("is chosen by the sweep"));
        }
        let twice = "[[variant]]\nsteps = 2\n[[variant]]\nsteps = 2";
        assert!(refused("name =", twice).contains("two cells are"));
    }

    #[test]
    fn mistakes_are_named() {
        for (change, to, says) in [
            ("[1, 2, 3]", "3", "grid.seed must be a list"),
            ("[1, 2, 3]", "[]", "grid.seed is an empty list"),
            ("[1, 2, 3]", "[1, 1]", "grid.seed holds 1 twice"),
            ("[1, 2, 3]", "[[1]]", "grid.seed[0] must be a number"),
            ("seed =", "conditional =", "conditional stands in [fixed]"),
            ("seed =", "out =", "out is chosen"),
            ("seed =", "show-private =", "show-private would tell"),
            ("small", "a/b", "name = \"a/b\""),
            ("name", "nome", "nome"),
        ] {
            let why = Sweep::parse(&TEXT.replace(change, to)).unwrap_err();
            assert!(why.contains(says), "{change}: {why}");
        }
    }
}
