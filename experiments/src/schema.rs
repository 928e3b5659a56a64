//! `sliver schema`: a draft of what the columns of a table are, for a person to make public.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Parser;
use data::{DataError, OpenSchema, Schema};
use lab::command::command_line;
use lab::diagnostic::{Failure, OrFailed};
use lab::private;

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
    /// Draft names and kinds alone: `sliver synth --private-schema` finds ranges and categories with noise.
    #[arg(long)]
    open: bool,
    /// The file to write; by default that of the table, with the ending .toml.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Does what the flags say.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments {
        input,
        label,
        open,
        out,
    } = arguments;
    let out = out.clone().unwrap_or_else(|| draft_path(input));
    let name = input.display().to_string();
    let refuse = |error: DataError| private::refused(&error, "nothing was written");
    let draft = Schema::draft_of(input, label.as_deref()).map_err(refuse)?;
    let schema = Schema::parse(&name, &draft).map_err(|e| {
        let unfit =
            format!("{name}: its columns make no schema; write one by hand (docs/schemas.md)");
        refuse(e.hidden(&unfit))
    })?;
    let (draft, found) = match open {
        true => (OpenSchema::of_draft(&draft), " --private-schema 0.1"),
        false => (draft, ""),
    };
    write(&out, &draft)?;
    let columns = schema.unconfirmed().len();
    println!("data      {name}");
    println!(
        "written   {}: a draft that HAS SEEN THE RECORDS",
        out.display()
    );
    println!(
        "next      read it; for each of its {columns} columns replace what is not public, and say public = true; then"
    );
    let out = out.display().to_string();
    let next = command_line("sliver", ["synth", "table", &name, "--schema", &out]);
    println!("          {next}{found}");
    Ok(())
}

/// A file beside the table, or beside the folder of its files.
fn draft_path(input: &Path) -> PathBuf {
    let folder = input.parent().filter(|folder| folder.is_dir());
    match folder.filter(|_| !input.exists()) {
        Some(folder) => folder.with_extension("toml"),
        None => input.with_extension("toml"),
    }
}

/// Writes a file that is not there yet, for its owner alone: it tells of records.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AlreadyExists => "remove it, or name another one with --out: what was confirmed in it is not overwritten",
            _ => "name another one with --out",
        };
        Failure::input(format!("{}: {error}", path.display()), hint)
    });
    file?.write_all(text.as_bytes()).or_failed()
}
