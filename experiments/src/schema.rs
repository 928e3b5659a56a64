//! `sliver schema`: a draft of what the columns of a table are, for a person to make public.

use std::path::{Path, PathBuf};

use clap::Parser;
use data::{DataError, Drafting, OpenSchema, Schema};
use files::atomic::create_new;
use lab::command::command_line;
use lab::prelude::*;

/// Draft the schema of a table from its records, for a person to confirm column by column as public.
#[derive(Debug, Parser)]
#[command(name = "schema")]
pub struct Arguments {
    /// The table: a CSV or Parquet file, a folder of Parquet files, or a pattern of files. PRIVATE, and so is the draft.
    #[arg(long, required = true)]
    input: PathBuf,
    /// The column that is to be predicted from the others.
    #[arg(long)]
    label: Option<String>,
    /// Draft names and kinds alone, and the classes or the range of --label: `sliver synth --private-schema` finds all other
    /// ranges and categories with noise.
    #[arg(long)]
    open: bool,
    /// Whether the first line names the columns; without it a first line of numbers alone is asked about.
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no)]
    header: Option<bool>,
    /// A column that is in no copy, by its name; said once for each.
    #[arg(long, value_name = "NAME")]
    leave_out: Vec<String>,
    /// The file to write; by default that of the table, with the ending .toml.
    #[arg(long)]
    out: Option<PathBuf>,
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("expected yes or no".into()),
    }
}

/// Does what the flags say.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let out = arguments.draft()?;
    let name = arguments.input.display().to_string();
    let found = ["", " --private-schema 0.1"][usize::from(arguments.open)];
    let next = command_line(
        "sliver",
        [
            "synth",
            "table",
            &name,
            "--schema",
            &out.display().to_string(),
        ],
    );
    println!("          {next}{found}");
    Ok(())
}

/// Drafts the schema of a table for which none was given, and gives the file of the draft.
pub(crate) fn draft(
    input: &Path,
    label: Option<&str>,
    leave_out: &[String],
    open: bool,
) -> Result<PathBuf, Failure> {
    let arguments = Arguments {
        input: input.into(),
        label: label.map(String::from),
        open,
        header: None,
        leave_out: leave_out.into(),
        out: None,
    };
    arguments.draft()
}

/// The text of a schema that ignores these columns too.
pub(crate) fn leaving_out(text: String, names: &[String]) -> Result<String, Failure> {
    // What is no schema is refused when it is read.
    let Some(mut table) = text
        .parse::<toml::Table>()
        .ok()
        .filter(|_| !names.is_empty())
    else {
        return Ok(text);
    };
    let columns = table.get_mut("column").and_then(toml::Value::as_array_mut);
    let mut columns: Vec<&mut toml::Table> = columns
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_table_mut)
        .collect();
    for name in names {
        let named = columns
            .iter_mut()
            .find(|column| self::text(column, "name") == name);
        bounded("leave-out", name, named.is_some(), "a column of the schema")?;
        if let Some(column) = named {
            column.retain(|field, _| field == "name");
            column.insert("kind".into(), "ignore".into());
        }
    }
    toml::to_string(&table).or_failed()
}

impl Arguments {
    /// Writes the draft, and says what it says.
    fn draft(&self) -> Result<PathBuf, Failure> {
        let Self {
            input,
            label,
            open,
            header,
            leave_out,
            out,
        } = self;
        let out = out.clone().unwrap_or_else(|| draft_path(input));
        let name = input.display().to_string();
        let refuse = |error: DataError| private::refused(&error, "nothing was written");
        let said = Drafting {
            label: label.clone(),
            header: *header,
            leave_out: leave_out.clone(),
        };
        let draft = match *open {
            true => OpenSchema::draft_of(input, &said),
            false => Schema::draft_of(input, &said),
        };
        let draft = draft.map_err(refuse)?;
        let table: toml::Table = draft.parse().or_failed()?;
        let columns = table.get("column").and_then(toml::Value::as_array);
        let columns = columns.into_iter().flatten();
        let columns: Vec<&toml::Table> = columns.filter_map(|column| column.as_table()).collect();
        self.ask(&columns)?;
        // One with a question is no schema yet.
        let asks = |column: &&toml::Table| column.get("written").is_some_and(toml::Value::is_array);
        if !columns.iter().any(asks) {
            let parsed = match *open {
                true => OpenSchema::parse(&name, &draft).map(|_| ()),
                false => Schema::parse(&name, &draft).map(|_| ()),
            };
            parsed.map_err(|error| {
                let unfit = format!(
                    "{name}: its columns make no schema; write one by hand (docs/schemas.md)"
                );
                refuse(error.hidden(&unfit))
            })?;
        }
        let there = "remove it, or name another one with --out: what was confirmed in it is not overwritten";
        let taken = |why: &dyn std::fmt::Display, help| {
            Err(Failure::input(format!("{}: {why}", out.display()), help))
        };
        // For its owner alone: it tells of records.
        match create_new(&out, draft.as_bytes()) {
            Ok(true) => {}
            Ok(false) => return taken(&"exists already", there),
            Err(error) => return taken(&error, "name another one with --out"),
        }
        println!("data      {name}");
        println!(
            "written   {}: a draft that HAS SEEN THE RECORDS, as has what follows",
            out.display()
        );
        println!(
            "table     {} columns between {}, {}",
            columns.len(),
            format_args!("{:?}", text(&table, "delimiter")),
            match table.get("header").and_then(toml::Value::as_bool) {
                Some(false) => "the first line is a record",
                _ => "the first line names them",
            }
        );
        describe(&columns);
        let kept = columns
            .iter()
            .filter(|column| column.contains_key("public"))
            .count();
        println!(
            "next      read it; for each of its {kept} columns replace what is not public, and say public = true; then"
        );
        Ok(out)
    }

    /// Asks about the columns that the draft leaves out where they are most of the table: nobody would see what is missing.
    fn ask(&self, columns: &[&toml::Table]) -> Result<(), Failure> {
        let unread = |column: &&&toml::Table| {
            let asked = self.leave_out.iter().any(|own| own == text(column, "name"));
            text(column, "kind") == "ignore" && !asked
        };
        let unread: Vec<&toml::Table> = columns.iter().filter(unread).copied().collect();
        if 2 * unread.len() <= columns.len() {
            return Ok(());
        }
        describe(&unread);
        let flags = unread
            .iter()
            .flat_map(|column| ["--leave-out", text(column, "name")]);
        println!("PRIVATE  {}", command_line("", flags));
        let (input, count, all) = (self.input.display(), unread.len(), columns.len());
        Err(Failure::input(
            format!("{input}: a draft would leave out {count} of its {all} columns"),
            "repair them, or say --leave-out NAME of each, as standard output does: nothing was written",
        ))
    }
}

/// Says what a draft says of these columns.
fn describe(columns: &[&toml::Table]) {
    let name = |column: &toml::Table| text(column, "name").escape_default().to_string();
    let widths = columns.iter().map(|column| name(column).len());
    let width = widths.max().unwrap_or(0).min(24);
    for column in columns {
        let name = name(column);
        println!("PRIVATE   {name:width$}  {}", described(column));
    }
}

fn text<'a>(column: &'a toml::Table, field: &str) -> &'a str {
    column
        .get(field)
        .and_then(toml::Value::as_str)
        .unwrap_or_default()
}

/// What the draft says of a column, in a line.
fn described(column: &toml::Table) -> String {
    let kind = text(column, "kind");
    if kind == "ignore" {
        return format!("LEFT OUT: {}", text(column, "why"));
    }
    let list = |field: &str| column.get(field).and_then(toml::Value::as_array);
    let shown = |value: &toml::Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), String::from)
    };
    let mut line = kind.to_string();
    if let (Some(min), Some(max)) = (column.get("min"), column.get("max")) {
        line += &format!(", {} to {}", shown(min), shown(max));
    }
    if let Some(levels) = list("levels").or(list("classes")) {
        line += &format!(", {} values", levels.len());
    }
    if column.contains_key("other") {
        line += ", rare ones become other";
    }
    for (field, word) in [("special", "special"), ("absent", "missing as")] {
        if let Some(values) = list(field) {
            let values: Vec<String> = values
                .iter()
                .map(|value| format!("'{}'", shown(value)))
                .collect();
            line += &format!(", {word} {}", values.join(" "));
        }
    }
    if let Some(stored) = column.get("stored") {
        line += &format!(", stored as {}", shown(stored));
    }
    match column.get("written") {
        Some(toml::Value::Array(forms)) => {
            let forms: Vec<String> = forms.iter().map(shown).collect();
            line += &format!(", written {}? KEEP ONE in the schema", forms.join(" or "));
        }
        Some(form) => line += &format!(", written {}", shown(form)),
        None => {}
    }
    line
}

/// A file beside the table, or beside the folder of its files.
pub(crate) fn draft_path(input: &Path) -> PathBuf {
    let folder = input.parent().filter(|folder| folder.is_dir());
    match folder.filter(|_| !input.exists()) {
        Some(folder) => folder.with_extension("toml"),
        None => input.with_extension("toml"),
    }
}
