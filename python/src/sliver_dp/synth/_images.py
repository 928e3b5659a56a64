"""Private copies of labelled images."""

import csv
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._copy import Copy, flags, number, whole
from ._table import _required

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Images(Copy):
    """A private copy of labelled images.

    Neighbours replace one image and its label, with `most_per_unit` all images of one unit, so many of which count at most: `fit`
    is told the units, and their number is public in the place of that of images. The number of images is public, and so are `side`, pixels along a side (28 to
    64 and a multiple of 4), `channels` (1 or 3) and the classes; images are cut to squares of that side. `public` says what
    teaches how images look: `shapes`, synthetic images; `cosines`, nothing; or the path of other images, which are not
    protected. `latent` and `cells` are as many as records and budget bear if they are None. `score_share` is the share of the
    budget for a noisy accuracy on the private images (0.02 if it is None), which `card` has. `delta` is a tenth of one over
    the number of images if it is None.

    `run`, `show_private` and `insecure_noise_seed` are as those of `Table`.
    """

    _kind = "images"

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        side: "int | None" = None,
        channels: "int | None" = None,
        delta: "float | None" = None,
        most_per_unit: "int | None" = None,
        public: "str | os.PathLike[str]" = "shapes",
        latent: "int | None" = None,
        cells: "int | None" = None,
        score_share: "float | None" = None,
        seed: "int | None" = None,
        run: "str | os.PathLike[str] | None" = None,
        verbose: bool = True,
        show_private: bool = False,
        insecure_noise_seed: "int | None" = None,
    ) -> None:
        super().__init__()
        self.epsilon, self.delta, self.seed = epsilon, delta, seed
        self.side, self.channels, self.public = side, channels, public
        self.most_per_unit = most_per_unit
        self.latent, self.cells, self.score_share = latent, cells, score_share
        self.run, self.verbose, self.show_private = run, verbose, show_private
        self.insecure_noise_seed = insecure_noise_seed

    @property
    def classes_(self) -> list[str]:
        """The names of the classes, by their labels."""
        self._fitted
        return list(self._card["classes"])

    def fit(
        self,
        images: "npt.NDArray[np.uint8] | str | os.PathLike[str]",
        labels: "npt.ArrayLike | None" = None,
        *,
        classes: "int | Sequence[str] | None" = None,
        units: "Sequence[Any] | npt.NDArray[Any] | str | os.PathLike[str] | None" = None,
    ) -> "Images":
        """Makes the copy: this is the release.

        `images` are bytes, shape `[n, height, width]` or `[n, height, width, 1 or 3]`, and `labels` whole numbers or names of
        `classes`, shape `[n]`; or `images` is the path of a folder with a folder for each class, or of an archive.
        `classes` says how many classes there are, or names them: it is public and never read from the records, but for folders,
        whose names it is if it is None. `units` says whose each image is, shape `[n]`; of a folder it is the path of a CSV file,
        whose first column has the paths of images in the folder, and its second their units.

        Raises ValueError for what is no such array, and for settings out of bounds: nothing is released then. RuntimeError
        where a run fails.
        """
        settings: dict[str, Any] = {
            "epsilon": _required("epsilon", number("epsilon", self.epsilon)),
            "delta": number("delta", self.delta),
            "side": whole("side", self.side),
            "channels": whole("channels", self.channels),
            "most_per_unit": whole("most_per_unit", self.most_per_unit),
            "public": _public(self.public),
            "latent": whole("latent", self.latent),
            "cells": whole("cells", self.cells),
            "score_share": number("score_share", self.score_share),
            "seed": whole("seed", self.seed),
            "insecure_noise_seed": whole("insecure_noise_seed", self.insecure_noise_seed),
            "classes": _listed(classes),
        }
        # Its owner alone can read it, and it goes in any case.
        with tempfile.TemporaryDirectory(prefix="sliver-private-") as private:
            if isinstance(images, (str, os.PathLike)):
                if labels is not None:
                    raise ValueError("labels are given beside a path: expected None, as folders and archives have them")
                if units is not None and not isinstance(units, (str, os.PathLike)):
                    raise ValueError("units are given beside a path: expected the path of a CSV file")
                settings["input"] = Path(images).absolute()
                settings["unit"] = None if units is None else Path(units).absolute()
            else:
                settings["input"] = "images.npz"
                _write(images, labels, classes, Path(private) / "images.npz")
                if units is not None:
                    settings["unit"] = "units.csv"
                    _write_units(units, len(images), Path(private) / "units.csv")
            self._make(Path(private), flags(settings))
        return self

    def sample(
        self, n: "int | None" = None, *, seed: "int | None" = None
    ) -> "tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64] | None]":
        """`n` images and their labels: post-processing of what was released, at no more cost.

        Images are bytes, shape `[n, side, side]` or `[n, side, side, 3]`, and labels places in `classes_`, None where images
        have no classes. They are those of the copy itself where `n` and `seed` are None, otherwise as many others as the copy has,
        or `n`; another `seed` gives others, and None a new one each time.
        """
        import numpy as np

        with tempfile.TemporaryDirectory(prefix="sliver-samples-") as folder:
            to = self._sampled(folder, n, seed, "npz")
            with np.load(to / "images.npz", allow_pickle=False) as arrays:
                labels = arrays["labels"].astype(np.int64) if "labels" in arrays else None
                return arrays["images"], labels


def _public(public: "str | os.PathLike[str]") -> str:
    """A path from where the caller stands, or a name as it is."""
    return str(Path(public).absolute()) if Path(public).exists() else str(public)


def _listed(classes: "int | Sequence[str] | None") -> "int | str | None":
    if classes is None or isinstance(classes, str) or not isinstance(classes, Sequence):
        return whole("classes", classes)
    for name in classes:
        if not isinstance(name, str) or "," in name or not name.strip() or name.strip().isdigit():
            raise ValueError(f"classes has {name!r}: expected names that are no numbers and have no comma")
    return ",".join(classes)


def _write(images: Any, labels: Any, classes: "int | Sequence[str] | None", path: Path) -> None:
    """Writes arrays as the program reads them."""
    import numpy as np

    if not isinstance(images, np.ndarray):
        raise TypeError(f"images are of type {type(images).__name__}: expected a numpy array, or a path")
    if images.dtype != np.uint8:
        raise ValueError(f"images are of type {images.dtype}: expected uint8, bytes of 0 to 255")
    if images.ndim == 4 and images.shape[3] == 1:
        images = images[:, :, :, 0]
    if images.ndim not in (3, 4) or images.size == 0 or images.ndim == 4 and images.shape[3] != 3:
        raise ValueError(f"images are of shape {images.shape}: expected [n, height, width] or [n, height, width, 1 or 3], none 0")
    if labels is None or classes is None:
        raise ValueError("labels or classes are None: expected both, as what classes there are is public; images without: a path")
    names = list(classes) if isinstance(classes, Sequence) else None
    count = whole("classes", classes if names is None else len(names)) or 0
    found = np.asarray(labels)
    if found.shape != images.shape[:1]:
        raise ValueError(f"labels are of shape {found.shape}: expected {images.shape[:1]}, one an image")
    if names is not None and (found.dtype.kind == "U" or found.dtype.kind == "O"):
        place = {name: number for number, name in enumerate(names)}
        found = np.array([place.get(name, -1) if isinstance(name, str) else -1 for name in found.tolist()], np.int64)
    if found.dtype.kind not in "iu":
        raise ValueError(f"labels are of type {found.dtype}: expected whole numbers, or names of classes")
    wrong = (found < 0) | (found >= count)
    if wrong.any():
        # Which one it is tells of a record.
        raise ValueError(f"labels: one is no class: expected whole numbers below {count}, or names of classes")
    np.savez(path, images=images, labels=found.astype(np.int64))


def _write_units(units: Any, images: int, path: Path) -> None:
    if isinstance(units, (str, bytes, os.PathLike)) or len(units) != images:
        found = type(units).__name__ if isinstance(units, (str, bytes, os.PathLike)) else f"{len(units)} of them"
        raise ValueError(f"units are {found}: expected {images}, one an image")
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL)
        rows.writerow(["image", "unit"])
        for place, unit in enumerate(units):
            if unit is None or unit != unit or not str(unit).strip():
                raise ValueError("units: an image has none: expected one for each")
            rows.writerow([place, unit])
