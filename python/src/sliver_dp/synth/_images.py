"""Private copies of labelled images."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _native
from ._copy import Copy, ledger_at, units_of, whole

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Images(Copy):
    """A private copy of labelled images.

    Neighbours replace one image and its label. With `most_per_unit` they replace all images of one unit, and no more than
    `most_per_unit` of them are used: `fit` takes the unit of each image then. The number of images, or of units, is public, and
    so are the size of images and the classes. `public` says what teaches how images look: `shapes`, synthetic images, in minutes; or
    `none`, nothing. `latent` and `cells` are as many as records and budget bear if they are None. `delta` is a tenth of
    one over the number of images if it is None.

    `seed` and `insecure_noise_seed` are as those of `Table`.
    """

    _record, _records = "image and its label", "images"

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: "float | None" = None,
        most_per_unit: "int | None" = None,
        public: str = "shapes",
        latent: "int | None" = None,
        cells: "int | None" = None,
        seed: "int | None" = None,
        insecure_noise_seed: "int | None" = None,
    ) -> None:
        super().__init__()
        self.epsilon, self.delta, self.seed, self.public = epsilon, delta, seed, public
        self.most_per_unit, self.latent, self.cells = most_per_unit, latent, cells
        self.insecure_noise_seed = insecure_noise_seed
        self._classes: list[str] = []

    @property
    def classes_(self) -> list[str]:
        """The names of the classes, by their labels."""
        self._fitted
        return list(self._classes)

    def fit(
        self,
        images: "npt.NDArray[np.uint8]",
        labels: "npt.ArrayLike",
        *,
        classes: "int | Sequence[str]",
        units: "Sequence[Any] | npt.NDArray[Any] | None" = None,
        ledger: "str | os.PathLike[str] | None" = None,
    ) -> "Images":
        """Makes the copy: this is the release.

        `images` are bytes, shape `[n, side, side]`, `[n, 1 or 3, side, side]` or `[n, side, side, 1 or 3]`, and `labels` whole
        numbers or names of `classes`, shape `[n]`. `classes` says how many classes there are, or names them: it is public and
        never read from the records. `units` says whose each image is, shape `[n]`. `ledger` is as that of `Table.fit`.

        Raises ValueError for what is no such array, and for settings out of bounds: nothing is released then. OSError if the
        ledger cannot be written.
        """
        if self.public not in ("shapes", "none"):
            raise ValueError(f"public is {self.public!r}: expected 'shapes' or 'none'; of other images `sliver synth` learns")
        settings = self._settings()
        settings |= {name: whole(name, getattr(self, name)) for name in ("latent", "cells")}
        planes, layout = _planes(images)
        names = _names(classes)
        places = _places(labels, names, classes, len(planes))
        of_units = None if units is None else units_of(units, len(planes), "image")
        shapes = self.public == "shapes"
        with ledger_at(ledger) as path:
            self._keep(_native.fit_images(planes, places, len(names), units=of_units, shapes=shapes, ledger=path, **settings))
        self._shape, self._layout, self._classes = planes.shape[1:], layout, names
        return self

    def sample(
        self, n: "int | None" = None, *, seed: "int | None" = None
    ) -> "tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]":
        """`n` images and their labels: post-processing of what was released, at no more cost.

        Images are bytes, of the shape that those of the fit have, and labels places in `classes_`. They are as many as there were
        if `n` is None; the same ones each time if `seed` is None too. Another `seed` gives others, and `n` without one new
        ones each time.
        """
        pixels, labels = self._sampled(n, seed)
        planes = pixels.reshape(-1, *self._shape)
        if self._layout == "grey":
            planes = planes[:, 0]
        elif self._layout == "last":
            planes = planes.transpose(0, 2, 3, 1).copy()
        return planes, labels


def _planes(images: Any) -> "tuple[npt.NDArray[np.uint8], str]":
    """Images as `[n, c, s, s]`, and how they were given."""
    import numpy as np

    if not isinstance(images, np.ndarray):
        raise TypeError(f"images are of type {type(images).__name__}: expected a numpy array")
    if images.dtype != np.uint8:
        raise ValueError(f"images are of type {images.dtype}: expected uint8, bytes of 0 to 255")
    shape, layout = images.shape, ""
    if images.ndim == 3:
        images, layout = images[:, None], "grey"
    elif images.ndim == 4 and shape[1] in (1, 3):
        layout = "first"
    elif images.ndim == 4 and shape[3] in (1, 3):
        images, layout = images.transpose(0, 3, 1, 2), "last"
    if not layout or images.size == 0:
        expected = "[n, side, side], [n, 1 or 3, side, side] or [n, side, side, 1 or 3], none 0"
        raise ValueError(f"images are of shape {shape}: expected {expected}")
    return np.ascontiguousarray(images), layout


def _names(classes: "int | Sequence[str] | None") -> list[str]:
    if classes is None:
        raise ValueError("classes are None: expected how many there are, or their names, as what classes there are is public")
    names = list(classes) if isinstance(classes, Sequence) and not isinstance(classes, str) else None
    if names is None:
        names = [str(place) for place in range(whole("classes", classes) or 0)]
    if any(not isinstance(name, str) or not name.strip() for name in names) or len(set(names)) != len(names):
        raise ValueError("classes: expected names that differ")
    if not 1 <= len(names) <= 256:
        raise ValueError(f"classes are {len(names)}: expected 1 to 256")
    return names


def _places(labels: Any, names: list[str], classes: "int | Sequence[str]", images: int) -> "npt.NDArray[np.uint8]":
    import numpy as np

    if labels is None:
        raise ValueError("labels are None: expected one an image")
    found = np.asarray(labels)
    if found.shape != (images,):
        raise ValueError(f"labels are of shape {found.shape}: expected {(images,)}, one an image")
    if isinstance(classes, Sequence) and found.dtype.kind in "UO":
        place = {name: number for number, name in enumerate(names)}
        found = np.array([place.get(name, -1) if isinstance(name, str) else -1 for name in found.tolist()], np.int64)
    if found.dtype.kind not in "iu":
        raise ValueError(f"labels are of type {found.dtype}: expected whole numbers, or names of classes")
    if ((found < 0) | (found >= len(names))).any():
        # Which one it is tells of a record.
        raise ValueError(f"labels: one is no class: expected whole numbers below {len(names)}, or names of classes")
    return found.astype(np.uint8)
