//! Shows the form of values that are left out of a draft, but not the values.

use std::collections::BTreeMap;

/// The largest number of characters of a form.
const LONGEST: usize = 24;

/// The form that most of these values have, as part of a sentence. Each value comes with its count. Empty without values.
pub(super) fn such_as<'a>(values: impl Iterator<Item = (&'a String, &'a u64)>) -> String {
    let mut forms: BTreeMap<String, u64> = BTreeMap::new();
    for (value, times) in values {
        *forms.entry(form(value)).or_default() += times;
    }
    let most = forms.into_iter().rev().max_by_key(|&(_, times)| times);
    most.map_or(String::new(), |(form, _)| format!(", such as {form}"))
}

/// `A` and `a` for letters, `9` for digits, and all other characters as they are.
fn form(value: &str) -> String {
    let one = |c: char| match c {
        c if c.is_numeric() => '9',
        c if c.is_uppercase() => 'A',
        ' '..='~' if !c.is_ascii_alphabetic() => c,
        c if c.is_control() => ' ',
        _ => 'a',
    };
    let form: String = value.chars().take(LONGEST).map(one).collect();
    match value.chars().count() > LONGEST {
        true => form + "...",
        false => form,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_says_nothing_but_where_letters_and_digits_stand() {
        for (value, expected) in [
            ("Ann-1977", "Aaa-9999"),
            ("\u{c9}va \u{4f60} \u{663}\u{1f600}\n", "Aaa a 9a "),
            ("a@b.org", "a@a.aaa"),
            ("12345678901234567890123456", "999999999999999999999999..."),
        ] {
            assert_eq!(form(value), expected);
        }
        let counts =
            [("x1", 2), ("y2", 2), ("z", 3)].map(|(text, times)| (text.to_string(), times));
        let counts = BTreeMap::from(counts);
        assert_eq!(such_as(counts.iter()), ", such as a9");
        assert_eq!(such_as(BTreeMap::new().iter()), "");
    }
}
