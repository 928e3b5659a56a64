"""Private copies of tables."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._copy import Copy, flags, number, whole
from ._schema import Schema

if TYPE_CHECKING:
    import pandas as pd


class Table(Copy):
    """A private copy of a data frame: one like it with the same counts of values and pairs of values, up to noise.

    Neighbours replace one record, with `unit` all records of one unit, `most_per_unit` of which count at most. The number of
    records, or of units, is public, and so is all that the schema says; `private_schema` is the share of the budget that finds
    ranges and categories which the schema leaves out. `score_share` is the share for a noisy accuracy on the private records
    (0.02 if it is None), which `card` has. `delta` is a tenth of one over the number of records if it is None.

    With `run` the folder of the run is kept there: a fit with the same settings and records goes on where the last one ended,
    and releases nothing anew once it is done. Without, it lies in a temporary folder as long as the object lives.
    `show_private` says on standard error, in lines that begin with PRIVATE, which record is at fault, and how many records a rule or a range holds back.
    `insecure_noise_seed` makes the noise known, and nothing private.
    """

    _kind = "table"

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: "float | None" = None,
        unit: "str | None" = None,
        most_per_unit: "int | None" = None,
        private_schema: "float | None" = None,
        score_share: "float | None" = None,
        seed: "int | None" = None,
        run: "str | os.PathLike[str] | None" = None,
        verbose: bool = True,
        show_private: bool = False,
        insecure_noise_seed: "int | None" = None,
    ) -> None:
        super().__init__()
        self.epsilon, self.delta, self.seed = epsilon, delta, seed
        self.unit, self.most_per_unit = unit, most_per_unit
        self.private_schema, self.score_share = private_schema, score_share
        self.run, self.verbose, self.show_private = run, verbose, show_private
        self.insecure_noise_seed = insecure_noise_seed

    def fit(
        self,
        df: "pd.DataFrame",
        schema: "str | os.PathLike[str] | Mapping[str, Any]",
        *,
        label: "str | None" = None,
    ) -> "Table":
        """Makes the copy of `df`: this is the release.

        `schema` is the path of a TOML file, or the same as a dict; it is public and never read from the records. `label` is
        the column to predict (the schema's if it is None). Columns that the schema ignores may be absent.

        Raises ValueError for values that do not fit the schema, with their column, and for settings out of bounds: nothing
        is released then. RuntimeError where a run fails.
        """
        settings = {
            "input": "table.csv",
            "schema": "schema.toml",
            "epsilon": _required("epsilon", number("epsilon", self.epsilon)),
            "delta": number("delta", self.delta),
            "unit": self.unit,
            "most_per_unit": whole("most_per_unit", self.most_per_unit),
            "private_schema": number("private_schema", self.private_schema),
            "score_share": number("score_share", self.score_share),
            "seed": whole("seed", self.seed),
            "insecure_noise_seed": whole("insecure_noise_seed", self.insecure_noise_seed),
            "label": label,
        }
        written = Schema.of(schema)
        # Its owner alone can read it, and it goes in any case.
        with tempfile.TemporaryDirectory(prefix="sliver-private-") as private:
            folder = Path(private)
            (folder / "schema.toml").write_text(written.text, encoding="utf-8")
            written.write(df, folder / "table.csv", self.unit)
            self._make(folder, flags(settings))
        return self

    def sample(self, n: "int | None" = None, *, seed: "int | None" = None) -> "pd.DataFrame":
        """`n` records: post-processing of what was released, at no more cost.

        The records of the copy itself where `n` and `seed` are None, otherwise as many others as the copy has, or `n`; another
        `seed` gives others, and None a new one each time. Types of columns follow the schema alone.
        """
        if n is None and seed is None:
            return Schema.of(self._fitted / "copy" / "schema.toml").read(self._fitted / "copy" / "table.csv")
        with tempfile.TemporaryDirectory(prefix="sliver-samples-") as folder:
            to = self._sampled(folder, n, seed)
            return Schema.of(to / "schema.toml").read(to / "table.csv")


def _required(name: str, value: "float | None") -> float:
    if value is None:
        raise TypeError(f"{name} is None: expected a number")
    return value
