"""Private copies of tables and of labelled images, made in this process: no private record is written to a file.

pandas comes with `pip install sliver-dp[synth]`. A copy is made of what was released with noise, so any number of samples costs
no more privacy than the fit. Each fit is a release of its own: the epsilons of several add up.

>>> from sliver_dp.synth import Table
>>> schema = {"column": [
...     {"name": "age", "kind": "integer", "min": 0, "max": 120, "public": True},
...     {"name": "ill", "kind": "label", "classes": [["no"], ["yes"]], "public": True},
... ]}
>>> people = {"age": [number * 7 % 100 for number in range(300)], "ill": [["no", "yes"][number % 2] for number in range(300)]}
>>> table = Table(epsilon=1).fit(people, schema)
>>> copy = table.sample()
>>> round(table.ledger.epsilon_upper, 3), round(table.ledger.delta, 6), table.ledger.neighbours
(1.0, 0.000333, 'replace one record')
"""

from ._images import Images
from ._ledger import Ledger
from ._table import Table

__all__ = ["Images", "Ledger", "Table"]
