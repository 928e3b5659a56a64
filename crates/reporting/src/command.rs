//! Command lines that a shell can run.

use std::path::PathBuf;

/// Joins `program` and `arguments` into one line that a POSIX shell splits into the same words.
pub fn command_line<'a>(program: &str, arguments: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = program.to_string();
    for argument in arguments {
        line.push(' ');
        line.push_str(&quoted(argument));
    }
    line
}

/// Returns the command that started this process: the program's name without its folder, and its arguments.
pub fn this_command() -> String {
    let words = std::env::args_os().skip(1);
    let arguments: Vec<String> = words.map(|a| a.to_string_lossy().into_owned()).collect();
    command_line(&this_program(), arguments.iter().map(String::as_str))
}

/// Returns the name of the program that this process runs.
pub fn this_program() -> String {
    let path = PathBuf::from(std::env::args_os().next().unwrap_or_default());
    let name = path.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_string();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        let line = command_line(
            "just run-swae",
            ["mnist", "--out", "a b", "it's", "", "$HOME"],
        );
        assert_eq!(
            line,
            "just run-swae mnist --out 'a b' 'it'\\''s' '' '$HOME'"
        );
    }
}
