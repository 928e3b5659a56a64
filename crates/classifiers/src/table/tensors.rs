//! A model of a table as tensors of 32 bits, which hold whole numbers up to 2^24 exactly.

use super::logistic::Linear;
use super::model::{Scorer, TableModel, scored};
use super::records::CodedRecords;
use super::trees::{Ensemble, LEAVES, Node, ROUNDS, Tree};
use crate::ClassifierError;

/// The column of a leaf, which has none.
const LEAF: f32 = -1.0;
/// The numbers of a node: its column, its left child or the value of a leaf, and how many codes go left.
const OF_NODE: usize = 3;

/// A tensor's name, shape and values.
type Tensor = (String, Vec<usize>, Vec<f32>);

impl TableModel {
    /// Returns the tensors of the model.
    ///
    /// - Logistic regression: `weights`, `[S, 1 + M]`, has the intercept and what each of the `M` codes of the columns but the label
    ///   adds, for each of `S` scores.
    /// - Trees: `starts`, `[S]`, has the first log-odds, `trees`, `[S]`, the number of trees, and `sizes`, `[T]`, how many nodes each of
    ///   all `T` trees has. `nodes`, `[N, 3]`, has of each node its column, its left child within the tree and the number of codes that
    ///   go left; of a leaf -1, its value and 0. `codes` has these codes, one node after the other.
    pub fn tensors(&self) -> Vec<Tensor> {
        let (mut weights, mut trees) = (Vec::new(), [const { Vec::new() }; 5]);
        for scorer in &self.scorers {
            match scorer {
                Scorer::Linear(linear) => {
                    weights.push(linear.intercept as f32);
                    weights.extend(linear.adds.iter().map(|&add| add as f32));
                }
                Scorer::Trees(ensemble) => add_trees(ensemble, &mut trees),
            }
        }
        let scores = self.scorers.len();
        if trees[0].is_empty() {
            let shape = vec![scores, weights.len() / scores.max(1)];
            return vec![("weights".into(), shape, weights)];
        }
        let names = ["starts", "trees", "sizes", "nodes", "codes"];
        let named = names.into_iter().zip(trees).map(|(name, values)| {
            let shape = match name {
                "nodes" => vec![values.len() / OF_NODE, OF_NODE],
                _ => vec![values.len()],
            };
            (name.into(), shape, values)
        });
        named.collect()
    }

    /// Returns the model that has these tensors, of columns of these sizes and numbers of ordered codes.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if a tensor is missing or does not fit, and [`ClassifierError::NotFinite`].
    pub fn of_tensors(
        sizes: Vec<usize>,
        ordered: Vec<usize>,
        label: usize,
        values: impl Fn(&str) -> Option<Vec<f32>>,
    ) -> Result<Self, ClassifierError> {
        let empty = CodedRecords::new(&[], &sizes, &ordered)?;
        empty.check_label(label)?;
        let scores = scored(sizes[label]).len();
        let others: Vec<usize> = (0..sizes.len()).filter(|&at| at != label).collect();
        let others: Vec<usize> = others.into_iter().map(|at| sizes[at]).collect();
        let scorers = match values("weights") {
            Some(weights) => linear(&finite(weights)?, scores, others.iter().sum())?,
            None => trees(values, scores, &others)?,
        };
        Ok(Self {
            sizes,
            ordered,
            label,
            scorers,
        })
    }
}

fn finite(values: Vec<f32>) -> Result<Vec<f32>, ClassifierError> {
    match values.iter().all(|value| value.is_finite()) {
        true => Ok(values),
        false => Err(ClassifierError::NotFinite {
            name: "the tensors of a model",
        }),
    }
}

fn linear(weights: &[f32], scores: usize, codes: usize) -> Result<Vec<Scorer>, ClassifierError> {
    let (expected, found) = (scores * (1 + codes), weights.len());
    if found != expected {
        let name = "the number of weights of a model";
        return Err(ClassifierError::range(
            name,
            found as f64,
            expected.to_string(),
        ));
    }
    let rows = weights.chunks_exact(1 + codes).map(|row| {
        let mut values = row.iter().map(|&value| f64::from(value));
        Scorer::Linear(Linear {
            intercept: values.next().unwrap_or_default(),
            adds: values.collect(),
        })
    });
    Ok(rows.collect())
}

fn add_trees(ensemble: &Ensemble, [starts, trees, sizes, nodes, codes]: &mut [Vec<f32>; 5]) {
    starts.push(ensemble.start as f32);
    trees.push(ensemble.trees.len() as f32);
    for tree in &ensemble.trees {
        sizes.push(tree.nodes.len() as f32);
        for node in &tree.nodes {
            match node {
                Node::Leaf(value) => nodes.extend([LEAF, *value as f32, 0.0]),
                Node::Inner {
                    column,
                    goes_left,
                    children,
                } => {
                    let left = goes_left.iter().enumerate().filter(|(_, left)| **left);
                    let left: Vec<f32> = left.map(|(code, _)| code as f32).collect();
                    nodes.extend([*column as f32, *children as f32, left.len() as f32]);
                    codes.extend(left);
                }
            }
        }
    }
}

/// The values of a tensor, taken one after the other.
struct Reader {
    name: &'static str,
    values: std::vec::IntoIter<f32>,
}

impl Reader {
    fn refused(&self, value: f64, bound: impl Into<String>) -> ClassifierError {
        ClassifierError::range(self.name, value, bound)
    }

    fn next(&mut self) -> Result<f32, ClassifierError> {
        let ended = self.refused(0.0, "more values");
        self.values.next().ok_or(ended)
    }

    /// A whole number below `bound`.
    fn whole(&mut self, bound: usize) -> Result<usize, ClassifierError> {
        let value = self.next()?;
        match value >= 0.0 && value.fract() == 0.0 && (value as usize) < bound {
            true => Ok(value as usize),
            false => Err(self.refused(value.into(), format!("a whole number below {bound}"))),
        }
    }

    fn end(&mut self) -> Result<(), ClassifierError> {
        match self.values.len() {
            0 => Ok(()),
            left => Err(self.refused(left as f64, "no values after the last")),
        }
    }
}

fn trees(
    values: impl Fn(&str) -> Option<Vec<f32>>,
    scores: usize,
    columns: &[usize],
) -> Result<Vec<Scorer>, ClassifierError> {
    let reader = |name: &'static str| -> Result<Reader, ClassifierError> {
        let missing = || ClassifierError::range(name, 0.0, "a tensor of the model");
        let values = finite(values(name).ok_or_else(missing)?)?.into_iter();
        Ok(Reader { name, values })
    };
    let mut starts = reader("starts")?;
    let mut counts = reader("trees")?;
    let mut sizes = reader("sizes")?;
    let mut nodes = reader("nodes")?;
    let mut codes = reader("codes")?;
    let mut scorers = Vec::with_capacity(scores);
    for _ in 0..scores {
        let start = starts.next()?.into();
        // No more than were learned: a node takes as much memory as its column has codes.
        let count = counts.whole(ROUNDS + 1)?;
        let mut trees = Vec::with_capacity(count);
        for _ in 0..count {
            let size = sizes.whole(2 * LEAVES)?;
            let tree: Result<Vec<Node>, ClassifierError> = (0..size)
                .map(|at| node(at, size, columns, &mut nodes, &mut codes))
                .collect();
            let nodes = tree?;
            if nodes.is_empty() {
                return Err(sizes.refused(0.0, "at least 1"));
            }
            trees.push(Tree { nodes });
        }
        scorers.push(Scorer::Trees(Ensemble { start, trees }));
    }
    for reader in [&mut starts, &mut counts, &mut sizes, &mut nodes, &mut codes] {
        reader.end()?;
    }
    Ok(scorers)
}

/// The node at place `at` of a tree. Its children stand behind it, so that every walk ends.
fn node(
    at: usize,
    size: usize,
    columns: &[usize],
    nodes: &mut Reader,
    codes: &mut Reader,
) -> Result<Node, ClassifierError> {
    if nodes.values.as_slice().first() == Some(&LEAF) {
        nodes.next()?;
        let value = nodes.next()?.into();
        nodes.next()?;
        return Ok(Node::Leaf(value));
    }
    let column = nodes.whole(columns.len())?;
    let children = nodes.whole(size.saturating_sub(1))?;
    if children <= at {
        return Err(nodes.refused(children as f64, format!("a child behind {at}")));
    }
    let mut goes_left = vec![false; columns[column]];
    for _ in 0..nodes.whole(columns[column] + 1)? {
        goes_left[codes.whole(columns[column])?] = true;
    }
    Ok(Node::Inner {
        column,
        goes_left,
        children,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::Learner;
    use super::*;

    fn codes() -> Vec<u16> {
        let record = |i: u16| [i * 7 % 5, i * 11 % 4, (i * 7 % 5 + i * 11 % 4) % 3];
        (0..600).flat_map(record).collect()
    }

    /// A model and its tensors by name.
    fn learned(learner: Learner) -> (TableModel, HashMap<String, Vec<f32>>) {
        let codes = codes();
        let table = CodedRecords::new(&codes, &[5, 4, 3], &[5, 0, 0]).unwrap();
        let model = TableModel::learn(learner, &table, 2).unwrap();
        let tensors = model.tensors().into_iter();
        let named = tensors.map(|(name, shape, values)| {
            assert_eq!(shape.iter().product::<usize>(), values.len());
            (name, values)
        });
        let named = named.collect();
        (model, named)
    }

    fn read(named: &HashMap<String, Vec<f32>>) -> Result<TableModel, ClassifierError> {
        let values = |name: &str| named.get(name).cloned();
        TableModel::of_tensors(vec![5, 4, 3], vec![5, 0, 0], 2, values)
    }

    /// A class that no record has is less probable than any that some have.
    #[test]
    fn a_class_without_records_is_not_probable() {
        let codes = codes();
        let table = CodedRecords::new(&codes, &[5, 4, 6], &[5, 0, 0]).unwrap();
        for learner in Learner::ALL {
            let model = TableModel::learn(learner, &table, 2).unwrap();
            let probabilities = model.probabilities(&table).unwrap();
            let absent = |row: &[f64]| row[3..].iter().sum::<f64>();
            assert!(probabilities.chunks_exact(6).all(|row| absent(row) < 0.01));
        }
    }

    #[test]
    fn tensors_give_the_model_back() {
        let codes = codes();
        let table = CodedRecords::new(&codes, &[5, 4, 3], &[5, 0, 0]).unwrap();
        for learner in Learner::ALL {
            let (model, named) = learned(learner);
            let back = read(&named).unwrap();
            assert_eq!((back.learner(), back.classes()), (learner, 3));
            let both = [&model, &back].map(|model| model.probabilities(&table).unwrap());
            let off = both[0].iter().zip(&both[1]).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f64::max) < 1e-5);
            // What was written in 32 bits is read to the bit.
            let again: HashMap<String, Vec<f32>> =
                back.tensors().into_iter().map(|(n, _, v)| (n, v)).collect();
            assert_eq!(again, named);
        }
    }

    /// No tensor of another length, and no value changed to one of these, makes a model that is not refused or does not end.
    #[test]
    fn damaged_tensors_are_refused_or_harmless() {
        let codes = codes();
        let table = CodedRecords::new(&codes[..30], &[5, 4, 3], &[5, 0, 0]).unwrap();
        let mut refused = 0;
        for learner in Learner::ALL {
            let (_, named) = learned(learner);
            for name in named.keys() {
                let mut missing = named.clone();
                missing.remove(name);
                assert!(read(&missing).is_err(), "{name}");
                let mut longer = named.clone();
                longer.entry(name.clone()).or_default().push(0.0);
                assert!(read(&longer).is_err(), "{name}");
                let length = named[name].len();
                for place in (0..length).step_by(length / 40 + 1) {
                    for value in [f32::NAN, -1.0, 0.0, 1.0, 0.5, 3.0, 1e9] {
                        let mut other = named.clone();
                        other.entry(name.clone()).or_default()[place] = value;
                        match read(&other) {
                            Ok(model) => drop(model.probabilities(&table).unwrap()),
                            Err(_) => refused += 1,
                        }
                    }
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
