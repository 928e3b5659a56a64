//! A command as one line for a shell.

use std::path::Path;

/// `PROGRAM FLAGS... --run FOLDER`, quoted where a shell would read something into it.
pub fn line(program: &Path, flags: &[String], folder: &Path) -> String {
    let mut words = vec![quoted(&program.to_string_lossy())];
    words.extend(flags.iter().map(|flag| quoted(flag)));
    words.extend(["--run".to_string(), quoted(&folder.to_string_lossy())]);
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        let flags = ["a b".to_string(), "it's".to_string(), "$x".to_string()];
        let line = line(
            Path::new("printf"),
            &[&["%s,".to_string()][..], &flags].concat(),
            Path::new("/r"),
        );
        let output = std::process::Command::new("sh")
            .args(["-c", &line])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "a b,it's,$x,--run,/r,"
        );
    }
}
