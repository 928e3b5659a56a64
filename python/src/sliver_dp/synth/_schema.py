"""Schemas of tables, and the data frames that they describe."""

import csv
import datetime
import json
import numbers
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ("numeric", "integer")
DATES = ("date", "datetime")


def _toml(value: Any, where: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, datetime.datetime):
        return json.dumps(value.isoformat(timespec="minutes"))
    if isinstance(value, datetime.date):
        return json.dumps(value.isoformat())
    if isinstance(value, Mapping):
        parts = (f"{_toml(str(key), where)} = {_toml(item, f'{where}.{key}')}" for key, item in value.items())
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return "[" + ", ".join(_toml(item, where) for item in value) + "]"
    raise TypeError(f"{where} is of type {type(value).__name__}: expected text, numbers, dates, lists and dicts of them")


class Schema:
    """What the columns of a table hold."""

    def __init__(self, text: str, known: Mapping[str, Any]) -> None:
        self.text = text
        columns = known.get("column", [])
        named = isinstance(columns, list) and all(isinstance(c, dict) and isinstance(c.get("name"), str) for c in columns)
        if not named or not columns:
            raise ValueError("the schema has no column with a name: expected a list `column` of them")
        self.columns: list[dict[str, Any]] = columns
        self.delimiter: str = known.get("delimiter", ",")
        self.header: bool = known.get("header", True)
        missing = known.get("missing", [""])
        self.missing: list[str] = missing if isinstance(missing, list) and missing else [""]

    @classmethod
    def of(cls, given: "str | os.PathLike[str] | Mapping[str, Any]") -> "Schema":
        """Of a TOML file, or of the same as a dict."""
        if isinstance(given, Mapping):
            text = "".join(f"{_toml(str(key), key)} = {_toml(value, f'schema: {key}')}\n" for key, value in given.items())
        elif isinstance(given, (str, os.PathLike)):
            text = Path(given).read_text(encoding="utf-8")
        else:
            raise TypeError(f"schema is of type {type(given).__name__}: expected the path of a TOML file, or a dict")
        return cls(text, tomllib.loads(text))

    @property
    def ignored(self) -> set[str]:
        """The columns that are in no copy."""
        return {column["name"] for column in self.columns if column.get("kind") == "ignore"}

    def framed(self, df: Any, unit: "str | None") -> "pd.DataFrame":
        """A table as a data frame of pandas with the columns of the schema, those that it ignores aside."""
        import pandas as pd

        if isinstance(df, Mapping):
            df = pd.DataFrame(df)
        elif not isinstance(df, pd.DataFrame) and callable(getattr(df, "to_pandas", None)):
            df = df.to_pandas()
        if not isinstance(df, pd.DataFrame):
            raise TypeError(f"df is of type {type(df).__name__}: expected a data frame of pandas or polars, a table of pyarrow, or a dict")
        named = [column["name"] for column in self.columns]
        ignored = self.ignored - {unit}
        for name in df.columns:
            if name not in named:
                raise ValueError(f'df has a column {name!r} that the schema has not: add it, with kind = "ignore" to leave it out')
        for name in named:
            if (found := int((df.columns == name).sum())) != 1 and not (found == 0 and name in ignored):
                raise ValueError(f"df has {found} columns {name!r}, as the schema names one: expected 1")
        return df.reset_index(drop=True)

    def texts(self, df: "pd.DataFrame", name: str, is_unit: bool = False) -> "pd.Series[Any]":
        """A column as the library reads it."""
        column = next(column for column in self.columns if column["name"] == name)
        try:
            return _texts(df[name], column, is_unit)
        except UnicodeEncodeError:
            pass
        # Not within the handler: that error holds the column, and would come along.
        raise ValueError(f"column {name!r} has a text that is no Unicode: expected one that UTF-8 can hold")

    def text_of(self, df: "pd.DataFrame") -> bytes:
        """A framed table as the text of a CSV file, in memory."""
        import pandas as pd

        ignored = self.ignored
        parts = {
            column["name"]: pd.Series("", index=df.index) if column["name"] in ignored else self.texts(df, column["name"])
            for column in self.columns
        }
        # All fields in quotes: none of them begins a comment, or ends a line.
        text: str = pd.DataFrame(parts).to_csv(
            sep=self.delimiter,
            header=self.header,
            index=False,
            na_rep=next((word for word in self.missing if word), ""),
            quoting=csv.QUOTE_ALL,
            lineterminator="\n",
        )
        try:
            return text.encode()
        except UnicodeEncodeError:
            pass
        # As above: that error holds the table.
        raise ValueError("df has a text that is no Unicode: expected one that UTF-8 can hold")

    def typed(self, texts: "Mapping[str, list[str]]") -> "pd.DataFrame":
        """A copy as a data frame: columns have types by the schema alone."""
        import pandas as pd

        columns = [column for column in self.columns if column.get("kind") != "ignore"]
        return pd.DataFrame({c["name"]: self._typed(pd.Series(texts[c["name"]], dtype=str), c) for c in columns})

    def _typed(self, texts: "pd.Series[Any]", column: Mapping[str, Any]) -> "pd.Series[Any]":
        import pandas as pd

        kind, has_missing = column.get("kind"), column.get("missing") == "level"
        if has_missing:
            texts = texts.where(~texts.isin(self.missing), None)
        if kind == "integer":
            return pd.to_numeric(texts).astype("Int64" if has_missing else "int64")
        if kind == "numeric" or kind == "label" and "classes" not in column:
            return pd.to_numeric(texts).astype("float64")
        if kind in DATES:
            # Years from 1 to 9999: nanoseconds have fewer.
            return texts.astype("datetime64[s]")
        words = _words(column)
        if kind == "boolean" and sorted(word.lower() for word in words) == ["false", "true"]:
            return texts.map({word: word.lower() == "true" for word in words}).astype("boolean" if has_missing else "bool")
        found = texts.astype(pd.CategoricalDtype(words, ordered=bool(column.get("ordered", False))))
        if (found.isna() != texts.isna()).any():
            raise RuntimeError(f"column {column['name']!r} of the copy has values that its schema has not")
        return found


def _words(column: Mapping[str, Any]) -> list[str]:
    """The values of a column of words, by their first spelling, which a copy has."""
    if column.get("kind") == "label":
        return [spellings[0] for spellings in column.get("classes", [])]
    if "levels" in column:
        other = column.get("other")
        return [*column["levels"], *([] if other is None or other in column["levels"] else [other])]
    groups = [column.get(side) or [] for side in ("zero", "one")]
    return sum(groups, []) if column.get("kind") == "sensitive" else [group[0] for group in groups if group]


def _texts(values: "pd.Series[Any]", column: Mapping[str, Any], is_unit: bool) -> "pd.Series[Any]":
    """The values of a column as the program reads them; missing ones stay so."""
    import pandas as pd

    name, kind = column["name"], column.get("kind")
    absent = values.isna().to_numpy()
    if absent.any() and (is_unit or column.get("missing") not in ("level", "drop")):
        advice = "each record has a unit" if is_unit else 'none, or missing = "level" in the schema'
        raise ValueError(f"column {name!r} misses a value in a row of df: expected {advice}")
    if kind in NUMBERS or kind == "label" and "classes" not in column:
        if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
            raise ValueError(f"column {name!r} is of type {values.dtype}: expected numbers, as its kind is {kind!r}")
        return values
    if pd.api.types.is_datetime64_any_dtype(values):
        if getattr(values.dt, "tz", None) is not None:
            raise ValueError(f"column {name!r} has a time zone: expected dates without one")
        iso: pd.Series[Any] = values.dt.strftime("%Y-%m-%dT%H:%M:%S")
        return iso
    known = _spellings(column)

    def text(value: Any) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, datetime.date):
            return value.isoformat()
        if type(value).__name__ in ("bool", "bool_"):
            return next((word for word in (str(value), str(value).lower()) if word in known), str(value))
        if isinstance(value, numbers.Real):
            # Of 1.0 the schema may speak as 1.
            speaks_so = isinstance(value, numbers.Integral) or str(value) in known
            return str(value) if speaks_so or not float(value).is_integer() else str(int(float(value)))
        raise ValueError(f"column {name!r} holds a {type(value).__name__}: expected texts, numbers or dates")

    return values.astype(object).map(text, na_action="ignore")


def _spellings(column: Mapping[str, Any]) -> set[str]:
    lists = [column.get(side) or [] for side in ("levels", "zero", "one")] + list(column.get("classes") or [])
    return {word for words in lists for word in words}
