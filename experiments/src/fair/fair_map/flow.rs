//! The nearest pair of distributions within a Kolmogorov-Smirnov distance, as a minimum-cost flow.
//!
//! Mass leaves the bins of the first histogram, enters a line of bins at the cost of its squared
//! distance, may pass from a bin to the next for nothing, and leaves the line for the bins of the
//! second histogram at the cost of that distance. What passes between two bins is the difference of
//! the two distribution functions there: a capacity on it is the Kolmogorov-Smirnov constraint, so
//! the cheapest flow is the solution of the linear programme.

/// Mass below this is none.
const NOTHING: f64 = 1e-12;

struct Edge {
    to: usize,
    left: f64,
    cost: f64,
}

/// A network with residual edges: edge `e` and its reverse `e ^ 1`.
#[derive(Default)]
struct ResidualGraph {
    edges: Vec<Edge>,
    from: Vec<Vec<usize>>,
}

impl ResidualGraph {
    fn new(nodes: usize) -> Self {
        Self {
            edges: Vec::new(),
            from: vec![Vec::new(); nodes],
        }
    }

    fn add(&mut self, from: usize, to: usize, capacity: f64, cost: f64) -> usize {
        let edge = self.edges.len();
        self.from[from].push(edge);
        self.from[to].push(edge + 1);
        self.edges.push(Edge {
            to,
            left: capacity,
            cost,
        });
        self.edges.push(Edge {
            to: from,
            left: 0.0,
            cost: -cost,
        });
        edge
    }

    /// What flows through an edge.
    fn flow(&self, edge: usize) -> f64 {
        self.edges[edge ^ 1].left
    }

    /// Sends as much as goes from `source` to `sink`, along the cheapest path each time.
    fn fill(&mut self, source: usize, sink: usize) {
        loop {
            let mut cost = vec![f64::INFINITY; self.from.len()];
            let mut by = vec![usize::MAX; self.from.len()];
            let mut queue = std::collections::VecDeque::from([source]);
            let mut waiting = vec![false; self.from.len()];
            cost[source] = 0.0;
            while let Some(node) = queue.pop_front() {
                waiting[node] = false;
                for &edge in &self.from[node] {
                    let Edge { to, left, cost: c } = self.edges[edge];
                    if left > NOTHING && cost[node] + c < cost[to] - 1e-12 {
                        cost[to] = cost[node] + c;
                        by[to] = edge;
                        if !waiting[to] {
                            waiting[to] = true;
                            queue.push_back(to);
                        }
                    }
                }
            }
            if !cost[sink].is_finite() {
                return;
            }
            let mut path = Vec::new();
            let mut node = sink;
            while node != source {
                path.push(by[node]);
                node = self.edges[by[node] ^ 1].to;
            }
            let amount = path
                .iter()
                .map(|&edge| self.edges[edge].left)
                .fold(f64::INFINITY, f64::min);
            for edge in path {
                self.edges[edge].left -= amount;
                self.edges[edge ^ 1].left += amount;
            }
        }
    }
}

/// For each group the coupling `[B, B]` of its histogram with its fair distribution, row by row.
///
/// - `histograms`: of mass 1, over bins with `centres`; `weights` of the groups' squared distances;
/// - `apart`: the largest Kolmogorov-Smirnov distance of the two distributions.
pub(super) fn couplings(
    histograms: &[Vec<f64>; 2],
    centres: &[f64],
    weights: [f64; 2],
    apart: f64,
) -> [Vec<f64>; 2] {
    let b = centres.len();
    let (source, sink) = (3 * b, 3 * b + 1);
    let mut network = ResidualGraph::new(3 * b + 2);
    let mut edges = [vec![0; b * b], vec![0; b * b]];
    for i in 0..b {
        network.add(source, i, histograms[0][i], 0.0);
        network.add(2 * b + i, sink, histograms[1][i], 0.0);
        for j in 0..b {
            let squared = (centres[i] - centres[j]).powi(2);
            edges[0][i * b + j] = network.add(i, b + j, f64::INFINITY, weights[0] * squared);
            edges[1][i * b + j] =
                network.add(b + j, 2 * b + i, f64::INFINITY, weights[1] * squared);
        }
    }
    for j in 0..b - 1 {
        network.add(b + j, b + j + 1, apart, 0.0);
        network.add(b + j + 1, b + j, apart, 0.0);
    }
    network.fill(source, sink);
    edges.map(|edges| edges.into_iter().map(|edge| network.flow(edge)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fair_distributions(couplings: &[Vec<f64>; 2], b: usize) -> [Vec<f64>; 2] {
        couplings
            .each_ref()
            .map(|c| (0..b).map(|j| (0..b).map(|i| c[i * b + j]).sum()).collect())
    }

    #[test]
    fn without_a_constraint_nothing_moves() {
        let histograms = [vec![0.5, 0.5, 0.0], vec![0.0, 0.25, 0.75]];
        let couplings = couplings(&histograms, &[0.0, 1.0, 2.0], [0.5, 0.5], 1.0);
        let fair = fair_distributions(&couplings, 3);
        for (nearest, histogram) in fair.iter().zip(&histograms) {
            for (a, b) in nearest.iter().zip(histogram) {
                assert!((a - b).abs() < 1e-9, "{fair:?}");
            }
        }
    }

    #[test]
    fn two_points_meet_at_their_barycentre() {
        let histograms = [vec![1.0, 0.0, 0.0], vec![0.0, 0.0, 1.0]];
        let couplings = couplings(&histograms, &[0.0, 1.0, 2.0], [0.5, 0.5], 0.0);
        for fair in fair_distributions(&couplings, 3) {
            assert!((fair[1] - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_distance_is_kept_and_used() {
        let histograms = [vec![0.7, 0.2, 0.1, 0.0], vec![0.0, 0.2, 0.2, 0.6]];
        let centres = [0.0, 1.0, 2.0, 3.0];
        let mut last = 0.0;
        for apart in [0.0, 0.1, 0.3, 0.7] {
            let couplings = couplings(&histograms, &centres, [0.5, 0.5], apart);
            let [a, b] = fair_distributions(&couplings, 4);
            let mut cumulative = 0.0;
            let mut largest = 0.0f64;
            for (a, b) in a.iter().zip(&b) {
                cumulative += a - b;
                largest = largest.max(f64::abs(cumulative));
            }
            assert!(largest <= apart + 1e-9 && largest >= last - 1e-9);
            assert!((largest - apart).abs() < 1e-9, "{largest} {apart}");
            last = largest;
        }
    }
}
