"""What copies of all kinds have in common: a run of the program, its folder, samples of it."""

import json
import numbers
import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from . import _program
from ._ledger import Ledger

Self = TypeVar("Self", bound="Copy")


def flags(values: Mapping[str, Any]) -> list[str]:
    """Flags of the program, by the names of parameters; None is left out."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if value is not None]


def number(name: str, value: Any) -> "float | None":
    """A number, or None; what it may be the program says."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}: expected a number")
    return float(value)


def whole(name: str, value: Any) -> "int | None":
    """A whole number, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}: expected a whole number")
    return int(value)


class Copy:
    """A private copy; `Table` and `Images` are the kinds."""

    _kind: str
    run: "str | os.PathLike[str] | None"
    verbose: bool
    show_private: bool

    def __init__(self) -> None:
        self._at: "Path | None" = None
        self._card: dict[str, Any] = {}

    @classmethod
    def from_run(cls: type[Self], run: "str | os.PathLike[str]") -> Self:
        """The copy of a finished run that was kept, by the program or by `run`: no private record is read."""
        copy = cls(run=run)  # type: ignore[call-arg]
        settings = Path(run) / "config.toml"
        kind = f'kind = "{copy._kind}"'
        if not settings.is_file() or kind not in settings.read_text(encoding="utf-8").splitlines():
            raise ValueError(f"{run} is no run of {cls.__name__}: expected a folder whose config.toml has {kind}")
        copy._finished(Path(run).absolute())
        return copy

    @property
    def ledger(self) -> Ledger:
        """What was released, and what is promised of it."""
        return Ledger.of(self._fitted, self._card)

    @property
    def card(self) -> dict[str, Any]:
        """What the copy may be published with: promise, public knowledge, scores, checksums (`copy/card.json`)."""
        return json.loads(json.dumps(self._card))  # type: ignore[no-any-return]

    def export(
        self,
        to: "str | os.PathLike[str]",
        n: "int | None" = None,
        *,
        seed: "int | None" = None,
        force: bool = False,
        formats: "str | Sequence[str] | None" = None,
    ) -> None:
        """Writes `n` samples to a new folder, with a card and a page: it may be published.

        `n` is that of the copy if it is None, and `seed` the run's. `force` replaces an earlier export. `formats` of images are
        among `png`, a folder for each class, `npz` and `idx`; those of the copy if it is None.
        """
        named = formats if formats is None or isinstance(formats, str) else ",".join(formats)
        asked = {"out": Path(to).absolute(), "count": whole("n", n), "sample_seed": whole("seed", seed), "format": named}
        _program.call(["export", str(self._fitted), *flags(asked), *["--force"] * force], verbose=False)

    @property
    def _fitted(self) -> Path:
        if self._at is None:
            raise RuntimeError(f"this {type(self).__name__} has no copy yet: call fit first")
        return self._at

    def _make(self, inputs: Path, words: Sequence[str]) -> None:
        """A run of the program on what lies in the folder `inputs`, whose paths are said from there."""
        kept = self.run is not None
        if kept:
            home, run = None, Path(self.run).absolute()  # type: ignore[arg-type]
        else:
            home = tempfile.mkdtemp(prefix="sliver-run-")
            run = Path(home) / "run"
        try:
            shown = ["--show-private"] * self.show_private
            _program.call(["synth", self._kind, *words, *shown, f"--run={run}"], self.verbose, inputs)
            self._finished(run)
        except BaseException:
            if home is not None:
                shutil.rmtree(home, ignore_errors=True)
            raise
        if home is not None:
            # It lives as long as this object, or until the next fit.
            self._forget = weakref.finalize(self, shutil.rmtree, home, True)

    def _finished(self, run: Path) -> None:
        card = run / "copy" / "card.json"
        if not card.is_file():
            raise ValueError(f"{run} has no copy/card.json: expected a run of synth that is finished")
        self._card = json.loads(card.read_text(encoding="utf-8"))
        self._at, before = run, self.__dict__.pop("_forget", None)
        if before is not None:
            before()

    def _sampled(self, folder: str, n: "int | None", seed: "int | None", formats: "str | None" = None) -> Path:
        """Samples in a folder that is there for a while: with another seed at each call, unless it is given."""
        to = Path(folder) / "export"
        if n is not None and seed is None:
            seed = secrets.randbelow(1 << 32)
        self.export(to, n, seed=seed, formats=formats)
        return to

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: its run is in a folder; keep that by run=FOLDER, and read it by from_run"
        )
