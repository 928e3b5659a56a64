"""Private copies of Adult by AIM and MST beside ours.

All work on the same 30162 records of 15 columns in the same public bins, with the same neighbours (one record
replaced), and are scored alike: the total variation distance of all pairs of columns and of all pairs with the label
from the private records, and the AUC on test records of classifiers that learned from the copy. Each copy is made in a
process of its own, whose seconds and peak of memory are all of that command's. Each result is appended to
`results.jsonl` in --out, so that a run which was interrupted goes on where it was; the table is of all of them.

    pip install numpy==2.3.2 scipy==1.16.1 pandas==2.3.1 scikit-learn==1.7.1 networkx==3.5 attrs==26.1.0 \\
        matplotlib==3.11.2 jax==0.7.0 chex==0.1.90 optax==0.2.5
    git clone https://github.com/ryan112358/private-pgm && git -C private-pgm checkout 4d2b3c5
    python3 benches/python/tables.py --data DATA/adult --sliver target/release/sliver --pgm private-pgm

MST is its authors' code. So is AIM with `--only aim`, but it takes minutes to hours a copy, and at that commit its copies
are worse than its models. `aim-torch` is AIM with its fits in PyTorch and without that error (`aim.py` beside this;
`pip install torch==2.11.0`); candidates and rho are of the authors' code. Python's hash of strings is fixed, since the
order of AIM's candidates, and with it what a seed chooses, depends on it. A program that is not there is named and left out. `taskset -c 0` before it keeps all on one core.

A peer turns (epsilon, delta) into rho of zCDP, which is its whole budget, and its neighbours have one record more or
less. Replacing a record moves counts by sqrt 2 and not 1, and a score of the exponential mechanism by 2 and not 1: with
half of rho, and the sensitivity of scores times sqrt 2, what its code spends is what the promise allows. The number of
records, which is public here, is told and not estimated. With the accountant `gaussian`, rho is mu^2 / 2 for the largest
mu at which one Gaussian release keeps (epsilon, delta) (Balle and Wang 2018), which is what our release spends. That is
generous to AIM and MST, whose choices are no Gaussian releases.
"""

import argparse
import itertools
import json
import os
import platform
import subprocess
import sys
import time
import tomllib
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
LABEL = "income"
DELTA = 1e-5
# A bin begins at each edge; 0 of the two capitals, which most records have, is a bin of its own.
EDGES = {
    "age": np.arange(20, 90, 5),
    "fnlwgt": np.r_[np.arange(25_000, 400_001, 25_000), 500_000],
    "education-num": np.arange(2, 17),
    "capital-gain": np.r_[1, np.arange(1000, 8001, 1000), 10_000, 15_000, 20_000, 50_000],
    "capital-loss": np.r_[1, np.arange(250, 3001, 250)],
    "hours-per-week": np.arange(5, 85, 5),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of adult.data and adult.test")
    parser.add_argument("--sliver", type=Path, default=ROOT / "target/release/sliver", help="our program")
    parser.add_argument("--pgm", type=Path, help="a clone of ryan112358/private-pgm, for aim and mst")
    parser.add_argument("--out", type=Path, default=Path("runs/peers"), help="folder of results and of copies")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.2, 1, 10])
    parser.add_argument("--only", nargs="+", choices=[*PROGRAMS], default=["sliver", "mst", "aim-torch"])
    parser.add_argument("--copy", nargs=4, metavar=("NAME", "ACCOUNTANT", "EPSILON", "SEED"), help=argparse.SUPPRESS)
    return parser.parse_args()


def codes(path, skip):
    """Records without missing values as a table of codes, and how many codes each column has: ours are the categories."""
    with open(ROOT / "crates/data/src/adult.toml", "rb") as file:
        described = {column["name"]: column for column in tomllib.load(file)["column"]}
    text = pd.read_csv(path, names=[*described], skiprows=skip, skipinitialspace=True, dtype=str).dropna()
    text = text[~text.eq("?").any(axis=1)].reset_index(drop=True)
    coded, sizes = {}, {}
    for name, column in described.items():
        values = text[name].str.rstrip(".") if name == LABEL else text[name]
        if name in EDGES:
            coded[name] = np.searchsorted(EDGES[name], values.astype(int), side="right")
            sizes[name] = len(EDGES[name]) + 1
        else:
            levels = column.get("levels") or [
                spellings[0] for spellings in column.get("classes") or [column["zero"], column["one"]]]
            coded[name] = values.map({level: i for i, level in enumerate(levels)}).to_numpy()
            sizes[name] = len(levels)
    table = pd.DataFrame(coded)
    assert not table.isna().any(axis=None)
    return table.astype(int), sizes


def write_schema(sizes, path):
    with open(path, "w") as file:
        for name, size in sizes.items():
            levels = json.dumps([str(code) for code in range(size)])
            ordered = "ordered = true\n" if name in EDGES else ""
            file.write(f'[[column]]\nname = "{name}"\nkind = "categorical"\npublic = true\nlevels = {levels}\n{ordered}\n')


def distances(real, copy, sizes):
    """Means of the total variation distance over all pairs, and over all pairs of the others with the label."""

    def one(names):
        def shares(table):
            flat = np.ravel_multi_index([table[name].to_numpy() for name in names], [sizes[name] for name in names])
            return np.bincount(flat, minlength=np.prod([sizes[name] for name in names])) / len(table)

        return np.abs(shares(real) - shares(copy)).sum() / 2

    others = [name for name in sizes if name != LABEL]
    pairs = [one(pair) for pair in itertools.combinations(sizes, 2)]
    labelled = [one((*pair, LABEL)) for pair in itertools.combinations(others, 2)]
    return {"pairs": np.mean(pairs), "with_label": np.mean(labelled)}


def areas(copy, test, sizes):
    """Areas under the ROC curve, on test records, of boosted trees and of logistic regression."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    features = [name for name in sizes if name != LABEL]
    nominal = [name not in EDGES for name in features]
    trees = HistGradientBoostingClassifier(categorical_features=nominal, random_state=0)
    logistic = make_pipeline(
        OneHotEncoder(categories=[range(sizes[name]) for name in features]), LogisticRegression(max_iter=1000))
    result = {}
    for name, model in (("trees", trees), ("logistic", logistic)):
        if copy[LABEL].nunique() < 2:
            result[name] = 0.5
            continue
        model.fit(copy[features].to_numpy(), copy[LABEL])
        result[name] = roc_auc_score(test[LABEL], model.predict_proba(test[features].to_numpy())[:, 1])
    return result


def gaussian_mu(epsilon):
    """The largest mu at which a Gaussian release of sensitivity mu deviations is (epsilon, delta)-private."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    def excess(mu):
        lost = norm.logcdf(-epsilon / mu - mu / 2) + epsilon
        return norm.cdf(mu / 2 - epsilon / mu) - np.exp(lost) - DELTA

    return brentq(excess, 1e-3, 50, xtol=1e-12)


def budget(accountant, epsilon):
    """Half of the rho of the promise; the docstring above says why."""
    from cdp2adp import cdp_rho

    return float(cdp_rho(epsilon, DELTA) if accountant == "zcdp" else gaussian_mu(epsilon) ** 2 / 2) / 2


def eliminate(potentials, clique, total=1, mesh=None):
    """private-pgm's variable elimination in NumPy: JAX compiles it anew for each model and pair, for most of AIM's time."""
    from mbi import Factor, junction_tree

    domain = potentials.active_domain
    order, _ = junction_tree.greedy_order(
        domain, potentials.cliques + [tuple(clique)], elim=domain.invert(tuple(clique)))

    def total_of(factors, names):
        result = np.zeros([1] * len(names))
        for attributes, values in factors:
            kept = sorted(attributes, key=names.index)
            values = values.transpose([attributes.index(name) for name in kept])
            result = result + values.reshape([domain[name] if name in attributes else 1 for name in names])
        return result

    factors = [(factor.domain.attrs, np.asarray(factor.values, float)) for factor in potentials.arrays.values()]
    for gone in order:
        joined = [factor for factor in factors if gone in factor[0]]
        factors = [factor for factor in factors if gone not in factor[0]]
        names = tuple(dict.fromkeys(name for attributes, _ in joined for name in attributes if name != gone))
        values = total_of(joined, (*names, gone))
        top = values.max(axis=-1, keepdims=True)
        factors.append((names, np.log(np.exp(values - top).sum(axis=-1)) + top[..., 0]))
    values = total_of(factors, tuple(clique))
    values = np.exp(values - values.max())
    return Factor(domain.project(tuple(clique)), values * (total / values.sum()))


def pgm(name, train, sizes, accountant, epsilon):
    """AIM or MST of private-pgm, with its defaults; the docstring above says what is patched."""
    import aim
    import mst
    from mbi import Dataset, Domain, estimation, marginal_oracles

    marginal_oracles.variable_elimination = eliminate
    rho, scores = budget(accountant, epsilon), np.sqrt(2)
    fit = estimation.mirror_descent
    estimation.mirror_descent = lambda *args, **kwargs: fit(*args, known_total=len(train), **kwargs)
    data = Dataset(train, Domain.fromdict(sizes))
    if name == "mst":
        choose = mst.exponential_mechanism
        mst.cdp_rho = lambda *_: rho
        mst.exponential_mechanism = lambda q, eps, sensitivity: choose(q, eps, sensitivity * scores)
        return mst.MST(data, epsilon, DELTA).df
    mechanism = aim.AIM(epsilon, DELTA)
    mechanism.rho = rho
    choose = mechanism.exponential_mechanism
    mechanism.exponential_mechanism = lambda q, eps, sensitivity: choose(q, eps, sensitivity * scores)
    return mechanism.run(data, workload(sizes), num_synth_rows=len(train))[1].df


def workload(sizes):
    return [(pair, 1.0) for pair in itertools.combinations(sizes, 2)]


def aim_torch(run, train, sizes, accountant, epsilon, seed):
    """AIM by `aim.py`, which needs nothing of private-pgm: its input can go to a machine with a GPU."""
    import aim

    names, candidates = [*sizes], aim.compile_workload(workload(sizes))
    np.savez_compressed(
        f"{run}.npz", codes=train.to_numpy(), sizes=[*sizes.values()], names=names, weights=[*candidates.values()],
        candidates=[[names.index(name) for name in c] + [-1] * (2 - len(c)) for c in candidates])
    subprocess.run([sys.executable, ROOT / "benches/python/aim.py", "--data", f"{run}.npz", "--out", f"{run}.csv",
                    "--rho", repr(budget(accountant, epsilon)), "--seed", f"{seed}"], check=True)


# How many seeds: one of what takes long.
PROGRAMS = {"sliver": 3, "mst": 1, "aim": 1, "aim-torch": 3}


def missing(name, flags):
    """Why this program cannot run here, or nothing."""
    if name == "sliver":
        return None if flags.sliver.is_file() else f"no {flags.sliver}"
    if flags.pgm is None or not (flags.pgm / "mechanisms/aim.py").is_file():
        return "no clone of private-pgm; say --pgm"
    needed = "import jax, chex, optax, networkx, attr, matplotlib" + (", torch" if name == "aim-torch" else "")
    found = subprocess.run([sys.executable, "-c", needed], capture_output=True, text=True)
    return found.stderr.strip().splitlines()[-1] if found.returncode else None


def make(name, accountant, epsilon, seed, flags):
    """Makes one copy in a process of its own: the copy, its seconds and its peak of memory."""
    run = flags.out / f"{name}-{accountant}-{epsilon:g}-{seed}"
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    if name == "aim":
        # Each of its fits is compiled anew, which takes longer than the fit.
        environment["XLA_FLAGS"] = "--xla_backend_optimization_level=0"
    if name == "sliver":
        subprocess.run(["rm", "-rf", str(run)], check=True)
        command = [
            flags.sliver, "synth", "table", flags.out / "train.csv", "--schema", flags.out / "schema.toml",
            "--test", flags.out / "test.csv", "--label", LABEL, "--epsilon", f"{epsilon:g}", "--delta", f"{DELTA:g}",
            "--seed", f"{seed}", "--insecure-noise-seed", f"{seed}", "--out", run]
        path = run / "copy/table.csv"
    else:
        command = [sys.executable, __file__, "--data", flags.data, "--pgm", flags.pgm, "--out", flags.out,
                   "--copy", name, accountant, f"{epsilon:g}", f"{seed}"]
        path = Path(f"{run}.csv")
    with open(f"{run}.log", "w") as log:
        start = time.perf_counter()
        process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    if status:
        raise SystemExit(f"{name} failed: see {run}.log")
    took = {"wall_s": wall, "processor_s": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024}
    return pd.read_csv(path), {} if name == "aim-torch" else took  # Its seconds are a GPU's.


def versions(name, flags):
    if name == "sliver":
        return subprocess.run([flags.sliver, "--version"], capture_output=True, text=True).stdout.strip()
    if name == "aim-torch":
        import torch

        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
        return f"torch {metadata.version('torch')}, {device}"
    commit = subprocess.run(["git", "-C", flags.pgm, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return f"private-pgm {commit.stdout.strip()}, jax {metadata.version('jax')}"


def markdown(results):
    """Means, and deviations where there are several seeds, in the order of the first results."""
    rows = {}
    for result in results:
        rows.setdefault((result["epsilon"] or 0, result["program"], result["accountant"]), []).append(result)

    def cell(runs, key, digits):
        values = [run[key] for run in runs if run.get(key) is not None]
        if not values:
            return ""
        spread = f" +- {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
        return f"{np.mean(values):.{digits}f}{spread}"

    def processor(*key):
        return np.mean([run["processor_s"] for run in rows[key]])

    shown = [("pairs", 4), ("with_label", 4), ("trees", 3), ("logistic", 3),
             ("wall_s", 1), ("processor_s", 1), ("peak_mib", 0)]
    print("| epsilon | program | accountant | pairs | with the label | boosted trees | logistic regression "
          "| seconds | of processor | MiB |\n|" + "---|" * 10)
    for (epsilon, program, accountant), runs in sorted(rows.items(), key=lambda row: row[0][:2]):
        if program == "aim" and (epsilon, "aim-torch", accountant) in rows:
            continue  # Below for its cost.
        cells = " | ".join(cell(runs, key, digits) for key, digits in shown)
        print(f"| {f'{epsilon:g}' if epsilon else ''} | {program} | {accountant} | {cells} |")
    for epsilon, program, accountant in rows:
        if program == "aim" and (epsilon, "sliver", "gaussian") in rows:
            ratio = processor(epsilon, program, accountant) / processor(epsilon, "sliver", "gaussian")
            print(f"\nEpsilon {epsilon:g}, {accountant}: AIM, its authors' code, takes {ratio:.0f} times our seconds of "
                  f"processor, and {rows[epsilon, program, accountant][0]['peak_mib']:.0f} MiB.")
    print("\nVersions: " + "; ".join(sorted({result["versions"] for result in results if result["versions"]}))
          + f"; scikit-learn {metadata.version('scikit-learn')}, numpy {np.__version__}, Python "
          + platform.python_version())


def main():
    flags = arguments()
    (train, sizes), (test, _) = codes(flags.data / "adult.data", 0), codes(flags.data / "adult.test", 1)
    if flags.copy:
        name, accountant, epsilon, seed = flags.copy
        sys.path[:0] = [str(flags.pgm / "mechanisms"), str(flags.pgm / "src")]
        run = flags.out / f"{name}-{accountant}-{float(epsilon):g}-{seed}"
        if name == "aim-torch":
            return aim_torch(run, train, sizes, accountant, float(epsilon), seed)
        np.random.seed(int(seed))
        return pgm(name, train, sizes, accountant, float(epsilon)).to_csv(f"{run}.csv", index=False)

    flags.out.mkdir(parents=True, exist_ok=True)
    train.to_csv(flags.out / "train.csv", index=False)
    test.to_csv(flags.out / "test.csv", index=False)
    write_schema(sizes, flags.out / "schema.toml")
    path = flags.out / "results.jsonl"
    results = [json.loads(line) for line in open(path)] if path.exists() else []
    done = {(r["program"], r["accountant"], r["epsilon"], r["seed"]) for r in results}

    def record(key, copy, took, version):
        program, accountant, epsilon, seed = key
        result = {"program": program, "accountant": accountant, "epsilon": epsilon, "seed": seed,
                  **distances(train, copy, sizes), **areas(copy, test, sizes), **took, "versions": version}
        results.append(result)
        with open(path, "a") as file:
            file.write(json.dumps(result) + "\n")
        print(json.dumps(result), flush=True)

    rng = np.random.default_rng(0)
    for name, copy in (("real records", train), ("independent columns", train.apply(rng.permutation))):
        if (name, "", None, 0) not in done:
            record((name, "", None, 0), copy, {}, "")
    for name in flags.only:
        why = missing(name, flags)
        if why:
            print(f"{name} is left out: {why}", file=sys.stderr)
            continue
        for epsilon in flags.epsilon:
            for accountant in ["gaussian"] if name == "sliver" else ["zcdp", "gaussian"]:
                for seed in range(1, PROGRAMS[name] + 1):
                    key = (name, accountant, epsilon, seed)
                    if key not in done:
                        record(key, *make(name, accountant, epsilon, seed, flags), versions(name, flags))
    markdown(results)


main()
