//! Private latents: one group for all records, or one a class.

use crate::particles::share;
use crate::records::Records;

/// The groups that flow by themselves. Sizes and labels are public, latents are not.
pub struct Groups {
    /// Latents of each group, `[n, d]` in rows.
    pub latents: Vec<Vec<f32>>,
    /// The class of each group; none for the one group of all records.
    pub classes: Option<Vec<usize>>,
    /// Dimension.
    pub dim: usize,
}

impl Groups {
    /// Before records are encoded.
    pub fn none(dim: usize) -> Self {
        Self {
            latents: Vec::new(),
            classes: None,
            dim,
        }
    }

    /// Groups of records whose latents are given, `[n, d]` in rows.
    pub fn new(latents: &[f32], records: &Records, dim: usize, conditional: bool) -> Self {
        if !conditional {
            return Self {
                latents: vec![latents.to_vec()],
                classes: None,
                dim,
            };
        }
        let labels = records.labels();
        let count = labels.iter().max().map_or(0, |&most| most + 1);
        let mut groups = vec![Vec::new(); count];
        for (row, &label) in latents.chunks_exact(dim).zip(&labels) {
            groups[label].extend_from_slice(row);
        }
        let classes: Vec<usize> = (0..count).filter(|&c| !groups[c].is_empty()).collect();
        groups.retain(|g| !g.is_empty());
        Self {
            latents: groups,
            classes: Some(classes),
            dim,
        }
    }

    /// Records in each group.
    pub fn sizes(&self) -> Vec<usize> {
        self.latents.iter().map(|g| g.len() / self.dim).collect()
    }

    /// The class of a group, 0 where there are none.
    pub fn class(&self, group: usize) -> usize {
        self.classes.as_ref().map_or(0, |classes| classes[group])
    }

    /// `total` particles shared out as the records are; at least one a group.
    pub fn share(&self, total: usize) -> Vec<usize> {
        share(&self.sizes(), total)
    }
}
