"""AIM (McKenna, Mullins, Sheldon and Miklau 2022) with its fits in PyTorch, on CUDA where there is one.

`tables.py --only aim-torch` writes the input and runs this. Choices and fits agree with AIM of private-pgm: the same
mechanism, in float64, with the same generator, so that both choose alike where seed and order of candidates are the
same. Repeated measurements of a clique are pooled, an iteration evaluates the marginals once, all marginals come from
one junction tree whose tables are materialised, and on CUDA the iteration is a recorded graph.
Records differ from private-pgm 4d2b3c5 on purpose: a column is made given its neighbours in the junction tree and not
only those it was measured with, without which a copy is farther from the records than its model. Its authors have since
corrected the same (ryan112358/mbi, pull request 145).
The input has `codes` (records, attributes), `sizes`, `names`, and `candidates` with their `weights`, -1 where a
candidate has one attribute; rho is half of the budget, since neighbours have one record replaced. A run that was interrupted
goes on after its last whole round.
"""

import argparse
import itertools
import math
import os
import pickle
from pathlib import Path

import numpy as np
import torch

ITERATIONS, MODEL_MIB = 1000, 80


def eliminate(sizes, cliques):
    """Attributes by the least joint size with their neighbours, the first of equals; and the maximal cliques of it."""
    near = {a: {a}.union(*(c for c in cliques if a in c)) for a in range(len(sizes))}
    order, maximal = [], []
    while near:
        gone = min(near, key=lambda a: math.prod(sizes[b] for b in near[a]))
        clique = near.pop(gone)
        for a in clique - {gone}:
            near[a] = (near[a] | clique) - {gone}
        order.append(gone)
        if not any(clique <= other for other in maximal):
            maximal.append(clique)
    return order, maximal


def mib(sizes, cliques):
    return sum(math.prod(sizes[a] for a in clique) for clique in eliminate(sizes, cliques)[1]) * 8 / 2**20


def sums(scopes, size):
    """Pairs of tables to add until one is left, with the scope of each sum: the best of three greedy rules."""
    rules = (lambda a, b: size(a | b), lambda a, b: size(a | b) - size(a) - size(b),
             lambda a, b: size(a | b) / (size(a) + size(b)))
    plans = []
    for rule in rules:
        live, plan = dict(enumerate(scopes)), []
        while len(live) > 1:
            i, j = min(itertools.combinations(live, 2), key=lambda pair: rule(live[pair[0]], live[pair[1]]))
            scope = live.pop(i) | live.pop(j)
            live[len(scopes) + len(plan)] = scope
            plan.append((i, j, scope))
        plans.append(plan)
    return min(plans, key=lambda plan: sum(size(scope) for _, _, scope in plan))


class Tree:
    """A junction tree of measured cliques. Flat vectors hold a table for each, one after the other."""

    def __init__(self, sizes, cliques, total, device):
        self.sizes, self.cliques, self.total, self.device = sizes, cliques, total, device
        self.order, self.maximal = eliminate(sizes, cliques)
        size = lambda scope: math.prod(sizes[a] for a in scope)
        # A maximum spanning forest, the largest clique first. Its axes begin with what a clique shares with its parent.
        todo = sorted(range(len(self.maximal)), key=lambda i: -size(self.maximal[i]))
        self.parent, self.shared, self.axes = {}, {}, {}
        while todo:
            links = ((len(self.maximal[i] & self.maximal[j]), -i, -j) for i in todo for j in self.parent)
            common, i, j = max(links, default=(0, 0, 0))
            i, j = (-i, -j) if common else (todo[0], None)
            todo.remove(i)
            self.parent[i] = j
            self.shared[i] = tuple(sorted(self.maximal[i] & self.maximal[j])) if common else ()
            rest = sorted(self.maximal[i] - set(self.shared[i]), key=lambda a: (sizes[a], a))
            self.axes[i] = (*self.shared[i], *rest)
        held = {i: [] for i in self.parent}
        for clique in cliques:
            fits = [i for i in self.parent if self.maximal[i].issuperset(clique)]
            held[min(fits, key=lambda i: size(self.maximal[i]))].append(clique)
        self.place, self.inputs, self.cells = {}, {}, 0
        for i in self.parent:
            for clique in held[i]:
                self.place[clique] = slice(self.cells, self.cells + size(clique)), i
                self.cells += size(clique)
            children = [child for child, parent in self.parent.items() if parent == i]
            # A table to add: the measured clique or the child that it comes from, and its scope.
            self.inputs[i] = [(c, set(c)) for c in held[i]] + [(c, set(self.shared[c])) for c in children]
        self.sums = {i: sums([scope for _, scope in inputs], size) for i, inputs in self.inputs.items()}

    def shape(self, i, scope):
        """Of a table with all axes of clique i, of length 1 where not in the scope."""
        return [self.sizes[a] if a in scope else 1 for a in self.axes[i]]

    def rising(self, table, i, scope):
        """A table with all axes of clique i as one over the scope, in rising order."""
        kept = [a for a in self.axes[i] if a in scope]
        return table.reshape([self.sizes[a] for a in kept]).permute([kept.index(a) for a in sorted(scope)])

    def pack(self, tables):
        """The flat vector of tables of some cliques; the others are zeros."""
        flat = torch.zeros(self.cells, dtype=torch.float64)
        for clique, values in tables.items():
            part, i = self.place[clique]
            table = self.rising(flat[part], i, clique)
            table.copy_(torch.as_tensor(values).view(table.shape))
        return flat.to(self.device)

    def unpack(self, flat):
        flat = flat.cpu()
        return {c: self.rising(flat[part], i, c).flatten().numpy() for c, (part, i) in self.place.items()}

    def marginals(self, potentials):
        """Marginals of the measured cliques from their log potentials, flat, and tables of the tree's cliques."""
        messages, tables, masses = {}, {}, {}
        for i in reversed(self.parent):
            nodes = []
            for source, scope in self.inputs[i]:
                if source in self.place:
                    table = potentials[self.place[source][0]]
                else:
                    kept = sorted(scope, key=self.axes[i].index)
                    table = messages[source].permute([self.shared[source].index(a) for a in kept])
                nodes.append(table.reshape(self.shape(i, scope)))
            for a, b, _ in self.sums[i]:
                nodes.append((nodes[a] + nodes[b]).contiguous())
            shape = [self.sizes[a] for a in self.shared[i]]
            rows = nodes[-1].expand(self.shape(i, self.maximal[i])).reshape(math.prod(shape), -1)
            top = rows.amax(1, keepdim=True)
            tables[i] = (rows - top).exp_()
            masses[i] = tables[i].sum(1, keepdim=True)
            messages[i] = (top + masses[i].log()).view(shape)
        shares, leaves = {}, []
        for i, parent in self.parent.items():
            share = self.total if parent is None else shares[i].reshape(-1, 1)
            tables[i] = tables[i].mul_(share / masses[i]).view(self.shape(i, self.maximal[i]))
            scopes = [scope for _, scope in self.inputs[i]] + [scope for _, _, scope in self.sums[i]]
            parts = [None] * len(scopes)
            # Back through the sums: a part has the marginal of its sum over the axes that it lacks.
            parts[-1] = self.narrow(tables[i], i, scopes[-1])
            for k in reversed(range(len(self.sums[i]))):
                for part in self.sums[i][k][:2]:
                    parts[part] = self.narrow(parts[len(self.inputs[i]) + k], i, scopes[part])
            for (source, scope), part in zip(self.inputs[i], parts):
                if source in self.place:
                    leaves.append(part.reshape(-1))
                else:
                    shares[source] = self.rising(part, i, scope)
        return torch.cat(leaves), tables

    def narrow(self, table, i, scope):
        gone = [k for k, a in enumerate(self.axes[i]) if a not in scope and table.shape[k] > 1]
        return table.sum(gone, keepdim=True) if gone else table


class Model:
    """Marginals of a tree with potentials: of attributes of one clique, and of any pair."""

    def __init__(self, tree, potentials):
        self.tree, self.known, self.rows = tree, {}, {}
        self.tables = tree.marginals(potentials)[1]

    def home(self, scope):
        fits = [i for i in self.tables if self.tree.maximal[i].issuperset(scope)]
        return min(fits, key=lambda i: self.tables[i].numel()) if fits else None

    def within(self, i, scope):
        """The marginal of clique i over attributes in the order given."""
        rising = tuple(sorted(scope))
        if (i, rising) not in self.known:
            table = self.tree.narrow(self.tables[i], i, rising)
            self.known[i, rising] = self.tree.rising(table, i, rising).contiguous()
        return self.known[i, rising].permute([rising.index(a) for a in scope])

    def marginal(self, scope):
        """Of attributes of one clique, or of a pair of any."""
        i = self.home(scope)
        if i is not None:
            return self.within(i, scope)
        a, b = scope
        if a not in self.rows:
            self.rows[a] = self.pairs(a)
        if b not in self.rows[a]:
            return torch.outer(self.marginal((a,)), self.marginal((b,))) / self.tree.total
        return self.rows[a][b]

    def pairs(self, a):
        """Marginals of (a, b) for all b that the tree connects with a."""
        tree, found, start = self.tree, {}, self.home((a,))
        # A clique, what it shares with the one before it, and the marginal of `a` and that.
        reached, todo = {start}, [(start, (), None)]
        while todo:
            i, shared, joint = todo.pop()

            def reach(scope):
                if a in tree.maximal[i]:
                    return self.within(i, (a, *scope))
                both, whole = tuple({*shared, *scope}), self.within(i, shared)
                share = torch.where(whole > 0, 1 / whole, torch.zeros_like(whole))
                other = len(tree.sizes)  # A name for the axis of `a`.
                return torch.einsum(joint * share, [other, *shared], self.within(i, both), [*both], [other, *scope])

            for b in tree.axes[i]:
                if b != a and b not in found:
                    found[b] = reach((b,))
            for child, parent in tree.parent.items():
                j = parent if child == i else child
                if i in (child, parent) and j is not None and j not in reached:
                    reached.add(j)
                    between = tree.shared[child]
                    todo.append((j, between, None if a in between else reach(between)))
        return found


def fit(tree, measurements, start):
    """Potentials after mirror descent with the line search: the loss is of squares, divided by twice the deviation."""
    weight, centre = {}, {}
    for clique, values, deviation in measurements:
        weight[clique] = weight.get(clique, 0) + np.full(values.size, 1 / deviation)
        centre[clique] = centre.get(clique, 0) + values / deviation
    centre = tree.pack({clique: values / weight[clique] for clique, values in centre.items()})
    weight = tree.pack(weight)

    def loss_of(marginals):
        return (weight * (marginals - centre) ** 2).sum() / 2

    now = start.clone()
    here = tree.marginals(now)[0]
    loss, pace = loss_of(here), torch.full_like(weight[0], 2 / tree.total)

    def step():
        slope = weight * (here - centre)
        then = now - pace * slope
        there = tree.marginals(then)[0]
        loss_there = loss_of(there)
        good = loss - loss_there >= 0.5 * pace * (slope * (here - there)).sum()
        for old, new in ((now, then), (here, there), (loss, loss_there)):
            old.copy_(torch.where(good, new, old))
        pace.copy_(torch.where(good, 1.01 * pace, 0.5 * pace))

    if tree.device.type == "cuda":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            step()  # A graph is recorded after a first iteration outside of it.
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        for _ in range(ITERATIONS - 1):
            graph.replay()
        torch.cuda.synchronize()
        graph.reset()
    else:
        for _ in range(ITERATIONS):
            step()
    return now


def records(tree, model, count, rng):
    """Columns against the order of elimination, each by counts given earlier ones, rounded at random."""

    def column(share, count):
        exact = share * (count / share.sum()) if share.sum() > 0 else np.full(share.size, count / share.size)
        whole = np.floor(exact).astype(int)
        rest = exact - whole
        if count > whole.sum():
            whole[rng.choice(rest.size, count - whole.sum(), False, rest / rest.sum())] += 1
        values = np.arange(whole.size).repeat(whole)
        rng.shuffle(values)
        return values

    table, done = np.zeros((count, len(tree.sizes)), dtype=int), set()
    for a in reversed(tree.order):
        given = tuple(sorted(done.intersection(*[set().union(*(c for c in tree.maximal if a in c))])))
        done.add(a)
        shares = model.marginal((*given, a)).cpu().numpy().reshape(-1, tree.sizes[a])
        groups = np.zeros(count, dtype=int)
        for b in given:
            groups = groups * tree.sizes[b] + table[:, b]
        for group in np.unique(groups):
            at = np.flatnonzero(groups == group)
            table[at, a] = column(shares[group], at.size)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="input, .npz")
    parser.add_argument("--rho", type=float, required=True, help="budget of zero-concentrated privacy")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="file of the copy, .csv")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    flags = parser.parse_args()
    data, rho, device = np.load(flags.data), flags.rho, torch.device(flags.device)
    codes, sizes, names = data["codes"].astype(int), data["sizes"].tolist(), data["names"].tolist()
    candidates = {tuple(a for a in c if a >= 0): w for c, w in zip(data["candidates"].tolist(), data["weights"])}
    size = {c: math.prod(sizes[a] for a in c) for c in candidates}
    answers = {}
    for c in candidates:
        flat = np.ravel_multi_index([codes[:, a] for a in c], [sizes[a] for a in c])
        answers[c] = np.bincount(flat, minlength=size[c]).astype(float)
    exact = {c: torch.tensor(counts, device=device) for c, counts in answers.items()}
    rng = np.random.RandomState(flags.seed)
    checkpoint, new = flags.out.with_suffix(".pkl"), flags.out.with_suffix(".new")

    def grown():
        cliques = sorted({clique for clique, _, _ in measurements}, key=lambda c: (len(c), c))
        return Tree(sizes, cliques, len(codes), device)

    def measure(clique):
        measurements.append((clique, answers[clique] + rng.normal(0, sigma, size[clique]), sigma))

    if checkpoint.exists():
        state, measurements, start, sigma, epsilon, used, last = pickle.loads(checkpoint.read_bytes())
        rng.set_state(state)
        tree = grown()
        potentials = tree.pack(start)
    else:
        rounds = 16 * len(sizes)
        sigma, epsilon = float(np.sqrt(rounds / (2 * 0.9 * rho))), float(np.sqrt(8 * 0.1 * rho / rounds))
        measurements, used, last = [], len(sizes) * 0.5 / sigma**2, False
        for clique in candidates:
            if len(clique) == 1:
                measure(clique)
        tree = grown()
        potentials = fit(tree, measurements, tree.pack({}))
    model = Model(tree, potentials)
    while not last:
        last = rho - used < 2 * (0.5 / sigma**2 + epsilon**2 / 8)
        if last:
            sigma, epsilon = float(np.sqrt(1 / (2 * 0.9 * (rho - used)))), float(np.sqrt(8 * 0.1 * (rho - used)))
        used += epsilon**2 / 8 + 0.5 / sigma**2
        limit = MODEL_MIB * used / rho
        small = [c for c in candidates
                 if any(set(c) <= set(m) for m in tree.cliques) or mib(sizes, [*tree.cliques, c]) <= limit]
        gaps = torch.stack([(exact[c] - model.marginal(c).reshape(-1)).abs().sum() for c in small]).cpu().numpy()
        weights = np.array([candidates[c] for c in small])
        scores = weights * (gaps - np.sqrt(2 / np.pi) * sigma * np.array([size[c] for c in small]))
        # Replacing a record moves a score by sqrt 2 times what one more or less moves it by, at half of the budget.
        powers = np.exp(0.5 * epsilon / (weights.max() * np.sqrt(2)) * (scores - scores.max()))
        chosen = small[rng.choice(len(small), p=powers / powers.sum())]
        measure(chosen)
        before, start = model.marginal(chosen), tree.unpack(potentials)
        tree = grown()
        potentials = fit(tree, measurements, tree.pack(start))
        model = Model(tree, potentials)
        moved = float((model.marginal(chosen) - before).abs().sum())
        print(f"used {used!r} of {rho!r}: {','.join(names[a] for a in chosen)}, sigma {sigma:.6g}, moved {moved:.6f}, "
              f"of {len(small)} candidates", flush=True)
        if moved <= sigma * np.sqrt(2 / np.pi) * size[chosen]:
            sigma, epsilon = sigma / 2, epsilon * 2
        state = rng.get_state(), measurements, tree.unpack(potentials), sigma, epsilon, used, last
        new.write_bytes(pickle.dumps(state))
        os.replace(new, checkpoint)
    np.savetxt(new, records(tree, model, len(codes), rng), fmt="%d", delimiter=",", header=",".join(names), comments="")
    os.replace(new, flags.out)
    checkpoint.unlink()


main()
