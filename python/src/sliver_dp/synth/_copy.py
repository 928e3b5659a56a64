"""What copies of all kinds have in common."""

import contextlib
import numbers
import os
import secrets
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from ._ledger import Ledger


def number(name: str, value: Any) -> "float | None":
    """A number, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}: expected a number")
    return float(value)


def required(name: str, value: Any) -> float:
    """A number."""
    found = number(name, value)
    if found is None:
        raise TypeError(f"{name} is None: expected a number")
    return found


def whole(name: str, value: Any) -> "int | None":
    """A whole number, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}: expected a whole number")
    return int(value)


def units_of(units: Collection[Any], records: int, record: str) -> list[str]:
    """The unit of each record, as texts."""
    if isinstance(units, (str, bytes, os.PathLike)) or not hasattr(units, "__len__"):
        raise ValueError(f"units are of type {type(units).__name__}: expected {records} of them, one {record} each")
    if len(units) != records:
        raise ValueError(f"units are {len(units)} of them: expected {records}, one for each {record}")
    # Texts as the program has them: without blanks around them, so that "p1" and "p1 " are one unit.
    texts = ["" if unit is None or unit != unit else str(unit).strip() for unit in units]
    if not all(texts):
        raise ValueError(f"units: {record} without a unit: expected one for each")
    # The words of the error that a lone surrogate gives would show the unit.
    if not all(map(_is_unicode, texts)):
        raise ValueError("units: a text that is no Unicode: replace its surrogates")
    return texts


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


@contextlib.contextmanager
def ledger_at(path: "str | os.PathLike[str] | None") -> Iterator[Path]:
    """The file of a ledger: that of the caller, or one as long as the fit takes. It holds nothing private."""
    if path is not None:
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="sliver-ledger-") as folder:
        yield Path(folder) / "ledger.jsonl"


class Copy:
    """A private copy; `Table` and `Images` are the kinds."""

    epsilon: float
    delta: "float | None"
    seed: "int | None"
    most_per_unit: "int | None"
    insecure_noise_seed: "int | None"
    _record: str
    _records: str

    def __init__(self) -> None:
        self._model: Any = None
        self._neighbours = ""

    @property
    def ledger(self) -> Ledger:
        """What was released, and what is promised of it."""
        return Ledger.of(self._fitted, self._neighbours)

    @property
    def _fitted(self) -> Any:
        if self._model is None:
            raise RuntimeError(f"this {type(self).__name__} has no copy yet: call fit first")
        return self._model

    def _settings(self) -> dict[str, Any]:
        """The settings of every fit."""
        return {
            "epsilon": required("epsilon", self.epsilon),
            "delta": number("delta", self.delta),
            "most_per_unit": whole("most_per_unit", self.most_per_unit),
            "seed": whole("seed", self.seed) or 0,
            "insecure_noise_seed": whole("insecure_noise_seed", self.insecure_noise_seed),
        }

    def _keep(self, model: Any) -> None:
        self._model = model
        self._neighbours = f"replace one {self._record}"
        if self.most_per_unit is not None:
            self._neighbours = f"replace all {self._records} of one unit, {self.most_per_unit} of which count at most"

    def _sampled(self, n: "int | None", seed: "int | None") -> Any:
        """Samples: those of the copy itself if nothing is said, others at each call if `n` is."""
        model, count, seed = self._fitted, whole("n", n), whole("seed", seed)
        if count is not None and count < 1:
            raise ValueError(f"n is {count}: expected at least 1")
        if seed is None:
            seed = whole("seed", self.seed) or 0 if count is None else secrets.randbelow(1 << 32)
        return model.sample(model.count if count is None else count, seed)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be pickled: keep samples of it")
