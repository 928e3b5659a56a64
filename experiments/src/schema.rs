//! `sliver schema`: a draft of what the columns of a table are, for a person to make public.

use std::path::{Path, PathBuf};

use clap::Parser;
use data::{DataError, OpenSchema, Schema};
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
    let unfit = |error: DataError| {
        let unfit =
            format!("{name}: its columns make no schema; write one by hand (docs/schemas.md)");
        refuse(error.hidden(&unfit))
    };
    let label = label.as_deref();
    let (draft, unconfirmed, found) = if *open {
        let draft = OpenSchema::draft_of(input, label).map_err(refuse)?;
        let schema = OpenSchema::parse(&name, &draft).map_err(unfit)?;
        (draft, schema.unconfirmed(), " --private-schema 0.1")
    } else {
        let draft = Schema::draft_of(input, label).map_err(refuse)?;
        let schema = Schema::parse(&name, &draft).map_err(unfit)?;
        (draft, schema.unconfirmed(), "")
    };
    let there =
        "remove it, or name another one with --out: what was confirmed in it is not overwritten";
    let taken = |why: &dyn std::fmt::Display, help| {
        Err(Failure::input(format!("{}: {why}", out.display()), help))
    };
    // For its owner alone: it tells of records.
    match create_new(&out, draft.as_bytes()) {
        Ok(true) => {}
        Ok(false) => return taken(&"exists already", there),
        Err(error) => return taken(&error, "name another one with --out"),
    }
    let columns = unconfirmed.len();
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
