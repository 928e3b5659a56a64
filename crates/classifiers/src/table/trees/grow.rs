//! The growth of one tree.

use super::super::features::Features;
use super::histogram::{Derivatives, Sums, histogram};
use super::split::{Split, best_split, value};

/// The largest number of leaves of a tree.
pub(in super::super) const LEAVES: usize = 31;

/// A tree, whose root is the first node.
#[derive(Clone, PartialEq)]
pub(in super::super) struct Tree {
    pub(in super::super) nodes: Vec<Node>,
}

#[derive(Clone, PartialEq)]
pub(in super::super) enum Node {
    Leaf(f64),
    Inner {
        column: usize,
        goes_left: Vec<bool>,
        /// The index of the left child; the right child follows it.
        children: usize,
    },
}

/// A leaf while the tree grows.
struct Leaf {
    node: usize,
    rows: Vec<u32>,
    total: Sums,
    histogram: Vec<Sums>,
    best: Option<Split>,
}

impl Tree {
    /// Grows a tree, always at the leaf of the largest gain, and adds its values to the scores of its records.
    ///
    /// The values are multiplied by `rate`.
    pub(super) fn grow(
        features: &Features,
        derivatives: &[Derivatives],
        rate: f64,
        scores: &mut [f64],
    ) -> Self {
        let rows: Vec<u32> = (0..features.records() as u32).collect();
        let all = derivatives.iter();
        let total = all.fold(Sums::default(), |sums, &d| sums + Sums::from(d));
        let sums = histogram(features, derivatives, &rows);
        let mut leaves = vec![Leaf {
            node: 0,
            rows,
            total,
            best: best_split(features, &sums, total),
            histogram: sums,
        }];
        let mut nodes = vec![Node::Leaf(0.0)];
        while leaves.len() < LEAVES {
            let Some((at, split)) = take_best(&mut leaves) else {
                break;
            };
            let leaf = leaves.swap_remove(at);
            nodes[leaf.node] = Node::Inner {
                column: split.column,
                goes_left: split.goes_left.clone(),
                children: nodes.len(),
            };
            // The children of the last split are not split again.
            let last = leaves.len() + 2 == LEAVES;
            leaves.extend(leaf.divide(features, derivatives, &split, nodes.len(), last));
            nodes.extend([Node::Leaf(0.0), Node::Leaf(0.0)]);
        }
        for leaf in leaves {
            let value = rate * value(leaf.total);
            nodes[leaf.node] = Node::Leaf(value);
            for row in leaf.rows {
                scores[row as usize] += value;
            }
        }
        Self { nodes }
    }

    /// Returns the value of a record.
    pub(super) fn value(&self, record: &[u16]) -> f64 {
        let mut at = 0;
        loop {
            match &self.nodes[at] {
                Node::Leaf(value) => return *value,
                Node::Inner {
                    column,
                    goes_left,
                    children,
                } => at = children + usize::from(!goes_left[usize::from(record[*column])]),
            }
        }
    }
}

/// Removes the leaf whose split has the largest gain (the first of equals), and returns that split and the place.
fn take_best(leaves: &mut [Leaf]) -> Option<(usize, Split)> {
    let mut best: Option<(usize, f64)> = None;
    for (at, leaf) in leaves.iter().enumerate() {
        if let Some(split) = &leaf.best
            && best.is_none_or(|(_, gain)| split.gain > gain)
        {
            best = Some((at, split.gain));
        }
    }
    let (at, _) = best?;
    Some((at, leaves[at].best.take()?))
}

impl Leaf {
    /// Returns the two leaves into which `split` divides this one, at the nodes `node` and `node + 1`.
    fn divide(
        self,
        features: &Features,
        derivatives: &[Derivatives],
        split: &Split,
        node: usize,
        last: bool,
    ) -> [Self; 2] {
        let goes_left = |&row: &u32| {
            let code = features.record(row as usize)[split.column];
            split.goes_left[usize::from(code)]
        };
        let (left, right): (Vec<u32>, Vec<u32>) = self.rows.iter().partition(|row| goes_left(row));
        let child = |node, rows, total| Self {
            node,
            rows,
            total,
            histogram: Vec::new(),
            best: None,
        };
        let mut children = [
            child(node, left, split.left),
            child(node + 1, right, self.total - split.left),
        ];
        if last {
            return children;
        }
        // The sums of the larger child are the parent's minus those of the smaller child.
        let [left, right] = &mut children;
        let (small, large) = if left.rows.len() < right.rows.len() {
            (left, right)
        } else {
            (right, left)
        };
        small.histogram = histogram(features, derivatives, &small.rows);
        large.histogram = self.histogram;
        let both = large.histogram.iter_mut().zip(&small.histogram);
        both.for_each(|(large, &small)| *large -= small);
        rayon::join(
            || small.best = best_split(features, &small.histogram, small.total),
            || large.best = best_split(features, &large.histogram, large.total),
        );
        children
    }
}
