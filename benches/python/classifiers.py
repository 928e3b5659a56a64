"""Private models of three tables, of a class and of a number: `sliver_dp.classifiers` beside diffprivlib, and beside the same learners without
privacy.

Adult is read from a folder; `randhie` and `fair` come with statsmodels, two thirds to learn from and a third to test on. All learn from
the same columns, whose ranges and categories are public. diffprivlib's models are of pure epsilon; ours have delta 1e-5; neighbours
replace one record for its logistic regression (objective perturbation) and ours, and add or remove one for its naive Bayes and forests,
which have half of the noise that way. Numbers are scaled to [0, 1] for its logistic regression and for
our gradient descent, whose `data_norm` is the root of the number of columns. OpenDP 0.16.0's linear regression takes one column.

    pip install diffprivlib==0.6.6 "scikit-learn<1.7" statsmodels==0.15.0 pandas ./python
    python benches/python/classifiers.py --adult DATA/adult
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from diffprivlib import models
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score

from sliver_dp.classifiers import LinearClassifier, LinearRegressor, TableClassifier

NAMES = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain "
    "capital-loss hours-per-week native-country income"
).split()
# Round numbers, none of them read from the records.
RANGES = {
    "adult": {
        "age": (0, 100), "fnlwgt": (0, 1_500_000), "education-num": (1, 16), "capital-gain": (0, 100_000),
        "capital-loss": (0, 5000), "hours-per-week": (0, 100),
    },
    "randhie": {
        "mdvis": (0, 80), "lncoins": (0, 5), "lpi": (0, 8), "fmde": (0, 9), "physlm": (0, 1), "disea": (0, 60), "hlthg": (0, 1),
        "hlthf": (0, 1), "hlthp": (0, 1),
    },
    "fair": {
        "rate_marriage": (1, 5), "age": (15, 50), "yrs_married": (0, 25), "children": (0, 6), "religious": (1, 4), "educ": (8, 20),
        "occupation": (1, 6), "occupation_husb": (1, 6),
    },
}  # fmt: skip


def adult(folder):
    def read(name, skip):
        table = pd.read_csv(folder / name, names=NAMES, skiprows=skip, skipinitialspace=True, na_values="?", comment="|")
        table["income"] = table["income"].str.rstrip(".")
        return table.dropna().reset_index(drop=True)

    return read("adult.data", 0), read("adult.test", 1), "income"


def halves(table, label):
    table = table.sample(frac=1, random_state=0).reset_index(drop=True)
    private = len(table) * 2 // 3
    return table[:private].reset_index(drop=True), table[private:].reset_index(drop=True), label


def tables(folder):
    randhie = sm.datasets.randhie.load_pandas().data.copy()
    randhie["idp"] = randhie["idp"].map({0: "no", 1: "yes"})
    fair = sm.datasets.fair.load_pandas().data.copy()
    fair["affair"] = np.where(fair.pop("affairs") > 0, "yes", "no")
    yield "adult", adult(folder)
    yield "randhie", halves(randhie, "idp")
    yield "fair", halves(fair, "affair")


def schema_of(name, train, test, label):
    """The levels of categories are those of both parts together: public, as the codebooks of the tables have them."""
    columns = []
    for column in train.columns:
        if column in RANGES[name]:
            low, high = RANGES[name][column]
            columns.append({"name": column, "kind": "numeric", "min": low, "max": high, "outside": "clamp", "decimals": 3})
            if (train[column] % 1 == 0).all():
                columns[-1] = {"name": column, "kind": "integer", "min": low, "max": high, "outside": "clamp"}
        else:
            levels = sorted(set(train[column]) | set(test[column]))
            columns.append({"name": column, "kind": "categorical", "levels": levels})
        columns[-1]["public"] = True
    return {"column": columns}


def inputs(name, schema, table, label):
    """Numbers in [0, 1] and one-hot categories, and their places in the vector."""
    parts = []
    for column in schema["column"]:
        if column["name"] == label:
            continue
        values = table[column["name"]]
        if "levels" in column:
            parts += [(values == level).to_numpy(float)[:, None] for level in column["levels"]]
        else:
            low, high = RANGES[name][column["name"]]
            parts.append((np.clip(values.to_numpy(float), low, high)[:, None] - low) / (high - low))
    return np.hstack(parts)


# The number that is predicted by all other columns.
NUMBERS = {"adult": "hours-per-week", "randhie": "mdvis", "fair": "educ"}


def numbers(name, schema, train, test, seeds):
    """Lines of a table: mean distance from the number, and root mean square."""
    target = NUMBERS[name]
    seen, new = (inputs(name, schema, table, target) for table in (train, test))
    y, truth = (table[target].to_numpy(float) for table in (train, test))
    low, high = RANGES[name][target]
    columns = len(schema["column"]) - 1

    def ours(loss):
        return lambda e, s: LinearRegressor(e, delta=1e-5, bounds=(low, high), data_norm=columns**0.5, loss=loss)

    def theirs(e, s):
        return models.LinearRegression(epsilon=e, bounds_X=(0, 1), bounds_y=(low, high), random_state=s)

    programs = [("sliver, squared loss", ours("squared")), ("sliver, absolute loss", ours("absolute")), ("diffprivlib", theirs)]
    constant = [np.full(len(truth), middle) for middle in (np.median(truth), np.mean(truth))]
    errors = [np.abs(constant[0] - truth).mean(), np.sqrt(((constant[1] - truth) ** 2).mean())]
    print(f"| {name}, {target} | | the median and the mean | {errors[0]:.3f} | {errors[1]:.3f} | |")
    runs = [(epsilon, *program, seeds) for epsilon in (0.2, 1, 10) for program in programs]
    for epsilon, program, make, times in [*runs, ("", "linear regression without privacy", lambda _, s: LinearRegression(), 1)]:
        found = []
        for seed in range(times):
            began = time.perf_counter()
            said = np.clip(make(epsilon, seed).fit(seen, y).predict(new), low, high)
            seconds = time.perf_counter() - began
            found.append((np.abs(said - truth).mean(), np.sqrt(((said - truth) ** 2).mean()), seconds))
        mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=min(1, times - 1))
        cells = [f"{m:.3f} +- {s:.3f}" if times > 1 else f"{m:.3f}" for m, s in zip(mean[:2], spread[:2])]
        print(f"| {name}, {target} | {epsilon} | {program} | {' | '.join(cells)} | {mean[2]:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--numbers", action="store_true", help="the models of a number alone")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    print("| table, number | epsilon | model | mean distance | root mean square error | seconds |\n|---|---|---|---|---|---|")
    for name, (train, test, label) in tables(asked.adult):
        numbers(name, schema_of(name, train, test, label), train, test, asked.seeds)
    if asked.numbers:
        return
    print("\n| table | epsilon | model | area under the ROC curve | accuracy | seconds |\n|---|---|---|---|---|---|")
    for name, (train, test, label) in tables(asked.adult):
        schema = schema_of(name, train, test, label)
        seen, new = (inputs(name, schema, table, label) for table in (train, test))
        classes = sorted(set(train[label]))
        y, truth = (np.searchsorted(classes, table[label]) for table in (train, test))
        columns = len(schema["column"]) - 1
        bounds = (np.zeros(seen.shape[1]), np.ones(seen.shape[1]))

        def ours(epsilon, _):
            model = TableClassifier(epsilon, delta=1e-5, schema=schema, label=label).fit(train)
            return model.predict_proba(test)[:, 1], model.learner_

        def others(model):
            def fit(epsilon, seed):
                return model(epsilon, seed).fit(seen, y).predict_proba(new)[:, 1], None

            return fit

        programs = [
            ("sliver", ours),
            (
                "sliver, private gradient descent",
                others(lambda e, s: LinearClassifier(e, delta=1e-5, classes=2, data_norm=columns**0.5)),
            ),
            (
                "diffprivlib, logistic regression",
                others(lambda e, s: models.LogisticRegression(epsilon=e, data_norm=columns**0.5, random_state=s, max_iter=1000)),
            ),
            ("diffprivlib, naive Bayes", others(lambda e, s: models.GaussianNB(epsilon=e, bounds=bounds, random_state=s))),
            (
                "diffprivlib, random forest",
                others(lambda e, s: models.RandomForestClassifier(epsilon=e, bounds=bounds, classes=[0, 1], random_state=s)),
            ),
        ]
        without = [
            ("logistic regression without privacy", others(lambda _, s: LogisticRegression(max_iter=1000))),
            ("boosted trees without privacy", others(lambda _, s: HistGradientBoostingClassifier(random_state=s))),
        ]
        largest = max(np.mean(truth), 1 - np.mean(truth))
        print(f"| {name} | | the most frequent class | 0.5 | {largest:.3f} | |")
        runs = [(epsilon, *program, asked.seeds) for epsilon in (0.2, 1, 10) for program in programs]
        for epsilon, program, fit, seeds in runs + [("", *program, 1) for program in without]:
            found = []
            for seed in range(seeds):
                began = time.perf_counter()
                scores, learner = fit(epsilon, seed)
                seconds = time.perf_counter() - began
                scores = np.nan_to_num(scores, nan=0.5)
                found.append((roc_auc_score(truth, scores), np.mean((scores > 0.5) == truth), seconds))
            mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=min(1, seeds - 1))
            what = program if learner is None else f"{program}, {learner}"
            cells = [f"{m:.3f} +- {s:.3f}" if seeds > 1 else f"{m:.3f}" for m, s in zip(mean[:2], spread[:2])]
            print(f"| {name} | {epsilon} | {what} | {' | '.join(cells)} | {mean[2]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
