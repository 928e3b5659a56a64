"""Writes four tables that come with scikit-learn and statsmodels, two thirds as NAME.csv and a third as NAME-test.csv.

docs/results/tables.md has what private copies of them are like. Needs pandas, scikit-learn and statsmodels.
"""

import numpy as np
import statsmodels.api as sm
from sklearn.datasets import load_breast_cancer

cancer = load_breast_cancer(as_frame=True).frame
cancer["target"] = cancer["target"].map({0: "malignant", 1: "benign"})
cancer.columns = [name.replace(" ", "_") for name in cancer.columns]
randhie = sm.datasets.randhie.load_pandas().data.copy()
randhie["idp"] = randhie["idp"].map({0: "no", 1: "yes"})
fair = sm.datasets.fair.load_pandas().data.copy()
fair["affair"] = np.where(fair.pop("affairs") > 0, "yes", "no")
anes = sm.datasets.anes96.load_pandas().data.copy()
anes["vote"] = anes["vote"].map({0: "clinton", 1: "dole"})
for name, table in (("cancer", cancer), ("randhie", randhie), ("fair", fair), ("anes", anes)):
    table = table.sample(frac=1, random_state=0)
    private = len(table) * 2 // 3
    table[:private].to_csv(f"{name}.csv", index=False)
    table[private:].to_csv(f"{name}-test.csv", index=False)
