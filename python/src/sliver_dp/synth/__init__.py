"""Private copies of tables and of labelled images, made by the program `sliver` of this environment.

The program and pandas come with `pip install sliver-dp[synth]`. A copy is made of what was released with noise, so any number
of samples costs no more privacy than the fit. Each fit is a release of its own: the epsilons of several add up, but that of a
fit that goes on where one with the same `run` ended.

>>> from sliver_dp.synth import Table
>>> schema = {"column": [
...     {"name": "age", "kind": "integer", "min": 0, "max": 120, "public": True},
...     {"name": "ill", "kind": "label", "classes": [["no"], ["yes"]], "public": True},
... ]}
>>> table = Table(epsilon=1)
>>> copy = table.fit(people, schema).sample()  # doctest: +SKIP
>>> table.ledger.epsilon_upper, table.ledger.delta, table.ledger.neighbours  # doctest: +SKIP
(1.0, 3.3334e-05, 'replace one record')
"""

from ._images import Images
from ._ledger import Ledger
from ._table import Table

__all__ = ["Images", "Ledger", "Table"]
