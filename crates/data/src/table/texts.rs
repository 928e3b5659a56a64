/// Texts of one column, one after the other.
#[derive(Default)]
pub(super) struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text += text;
        self.end();
    }

    /// Ends a text that `put` writes.
    pub(super) fn with(&mut self, put: impl FnOnce(&mut String) -> Option<()>) -> Option<()> {
        put(&mut self.text)?;
        self.end();
        Some(())
    }

    fn end(&mut self) {
        self.ends.push(self.text.len());
    }

    /// The text at a place; the empty one of a column that is not read.
    pub(super) fn get(&self, place: usize) -> &str {
        let start = place
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        match self.ends.get(place) {
            Some(&end) => &self.text[start.copied().unwrap_or(0)..end],
            None => "",
        }
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|place| self.get(place))
    }
}
