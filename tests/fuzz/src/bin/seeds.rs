//! Writes the small files that the fuzzing of a parser starts from: `seeds PARSER FOLDER`.

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(name), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("say: seeds PARSER FOLDER".into());
    };
    let parsers = fuzz_targets::parsers();
    let Some(parser) = parsers.iter().find(|parser| *name == *parser.name) else {
        let names: Vec<&str> = parsers.iter().map(|parser| parser.name).collect();
        return Err(format!("no parser {name:?}: there are {}", names.join(", ")).into());
    };
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder)?;
    for (number, seed) in (parser.seeds)().into_iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{number}")), seed)?;
    }
    Ok(())
}
