"""Private copies of tables."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import _native
from ._copy import Copy, ledger_at, units_of
from ._schema import Schema

if TYPE_CHECKING:
    import pandas as pd


class Table(Copy):
    """A private copy of a table: one like it with the same counts of values and pairs of values, up to noise.

    Neighbours replace one record, with `unit`, a column that the schema ignores, all records of one unit, `most_per_unit` of
    which count at most. The number of records, or of units, is public, and so is all that the schema says. `delta` is a tenth of
    one over that number if it is None. `seed` is that of public randomness, and never of the noise.

    `show_private` says on standard error, in a line that begins with PRIVATE, which record is at fault.
    `insecure_noise_seed` makes the noise known, and nothing private.
    """

    _record, _records = "record", "records"

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: "float | None" = None,
        unit: "str | None" = None,
        most_per_unit: "int | None" = None,
        seed: "int | None" = None,
        show_private: bool = False,
        insecure_noise_seed: "int | None" = None,
    ) -> None:
        super().__init__()
        self.epsilon, self.delta, self.seed = epsilon, delta, seed
        self.unit, self.most_per_unit = unit, most_per_unit
        self.show_private, self.insecure_noise_seed = show_private, insecure_noise_seed

    def fit(
        self,
        df: Any,
        schema: "str | os.PathLike[str] | Mapping[str, Any]",
        *,
        label: "str | None" = None,
        ledger: "str | os.PathLike[str] | None" = None,
    ) -> "Table":
        """Makes the copy of `df`: this is the release.

        `df` is a data frame of pandas or polars, a table of pyarrow, or a dict of columns. `schema` is the path of a TOML file, or
        the same as a dict; it is public and never read from the records. `label` is the column to predict (the schema's if it
        is None). Columns that the schema ignores may be absent. `ledger` is a file, to whose lines those of this fit are added
        before its noise; without it they are in `ledger` of this object alone.

        Raises ValueError for values that do not fit the schema, with their column, and for settings out of bounds: nothing
        is released then. OSError if the ledger cannot be written.
        """
        settings = self._settings()
        written = Schema.of(schema)
        frame = written.framed(df, self.unit)
        units = None
        if self.unit is not None:
            if self.unit not in written.ignored:
                raise ValueError(f"unit {self.unit!r}: expected a column that the schema ignores, which is in no copy")
            units = units_of(written.texts(frame, self.unit, is_unit=True), len(frame), "record")
        text = written.text_of(frame)
        with ledger_at(ledger) as path:
            self._keep(
                _native.fit_table(
                    text, written.text, label=label, units=units, ledger=path, show_private=bool(self.show_private), **settings
                )
            )
        self._schema = written
        return self

    def sample(self, n: "int | None" = None, *, seed: "int | None" = None) -> "pd.DataFrame":
        """`n` records: post-processing of what was released, at no more cost.

        As many as the table has if `n` is None; the same ones each time if `seed` is None too. Another `seed` gives others, and
        `n` without one new ones each time. Types of columns follow the schema alone.
        """
        texts = self._sampled(n, seed)
        return self._schema.typed(texts)
