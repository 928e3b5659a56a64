"""Private classifiers of images, of rows such as embeddings, and of tables, made in this process: no private record is written to a file.

They follow the conventions of scikit-learn, whose base classes they have where it is installed: `fit`, `predict`, `predict_proba`,
`score`, `classes_`, `get_params`, pipelines, `clone`. Each fit is a release of its own: the epsilons of several, such as those of a
cross-validation, add up. Nothing public is read from the records: classes, sides and schemas are declared.

`pip install sliver-dp[synth]` brings what they need beside numpy: `TableClassifier` needs pandas.

>>> import numpy as np
>>> from sliver_dp.classifiers import LinearClassifier
>>> rows = np.array([[np.cos(i), np.sin(i)] for i in range(600)])
>>> above = (rows[:, 1] > 0).astype(int)
>>> model = LinearClassifier(epsilon=2, classes=2, data_norm="own").fit(rows, above)
>>> model.score(rows, above) > 0.9, round(model.epsilon_, 3), model.ledger_.neighbours
(True, 2.0, 'replace one row and its label')
"""

import inspect
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from .synth import Ledger
from .synth._copy import ledger_at, number, required, units_of, whole
from .synth._images import _names, _places, _planes
from .synth._schema import Schema, tomllib

if TYPE_CHECKING:
    import numpy.typing as npt

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """A model predicts before it learned."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters, as scikit-learn's estimators have them."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """The parameters, by their names."""
            names = inspect.signature(type(self).__init__).parameters
            return {name: getattr(self, name) for name in names if name != "self"}

        def set_params(self, **parameters: Any) -> "BaseEstimator":
            """Sets parameters."""
            for name, value in parameters.items():
                if name not in self.get_params():
                    raise ValueError(f"{name!r} is no parameter: expected one of {', '.join(self.get_params())}")
                setattr(self, name, value)
            return self

    class ClassifierMixin:  # type: ignore[no-redef]
        """What classifiers have."""

    class RegressorMixin:  # type: ignore[no-redef]
        """What models of numbers have."""


__all__ = ["ImageClassifier", "LinearClassifier", "LinearRegressor", "TableClassifier"]


class _Model(BaseEstimator):  # type: ignore[misc]
    """What models of all kinds have in common. Only the released model is kept, so pickles hold nothing private."""

    epsilon: float
    delta: "float | None"
    insecure_noise_seed: "int | None"

    def _settings(self) -> dict[str, Any]:
        return {
            "epsilon": required("epsilon", self.epsilon),
            "delta": number("delta", self.delta),
            "insecure_noise_seed": whole("insecure_noise_seed", self.insecure_noise_seed),
        }

    def _keep(self, model: Any, neighbours: str) -> None:
        self.ledger_ = Ledger.of(model, neighbours)
        self.epsilon_ = self.ledger_.epsilon_upper
        self.card_ = {
            "epsilon_upper": self.ledger_.epsilon_upper,
            "delta": self.ledger_.delta,
            "neighbours": neighbours,
            "accountant": self.ledger_.accountant,
            "private": self.ledger_.private,
            "releases": len(self.ledger_.releases),
        }

    def _fitted(self) -> None:
        if not hasattr(self, "ledger_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted: call fit first")

    def _keep_head(self, model: Any, neighbours: str, *form: int) -> None:
        self._form, self._weights, self._whitening = form, model.weights, model.whitening
        self._keep(model, neighbours)

    def _outputs(self, values: "npt.NDArray[np.float32]", classes: int) -> "npt.NDArray[np.float64]":
        head = {"classes": classes, "weights": self._weights, "whitening": self._whitening}
        return _native.probabilities_of_rows(values, form=list(self._form), **head).reshape(-1, classes)


class _Classifier(ClassifierMixin, _Model):  # type: ignore[misc]
    """What classifiers have in common."""

    classes_: "npt.NDArray[Any]"

    def _of_head(self, values: "npt.NDArray[np.float32]") -> "npt.NDArray[np.float64]":
        return self._outputs(values, len(self.classes_))

    def predict_proba(self, X: Any) -> "npt.NDArray[np.float64]":
        """The probabilities of the classes, shape `[n, classes]`, in the order of `classes_`. No private record is read."""
        raise NotImplementedError

    def predict(self, X: Any) -> "npt.NDArray[Any]":
        """The most probable class of each record, shape `[n]`. No private record is read."""
        self._fitted()
        found: "npt.NDArray[Any]" = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy on public records, whose labels are as those of `fit`: of private ones it would tell of them."""
        found = self.predict_proba(X).argmax(axis=1)
        return float(np.average(found == self._truth(X, y, len(found)), weights=sample_weight))

    def _truth(self, X: Any, y: Any, records: int) -> "npt.NDArray[Any]":
        """The places of labels in `classes_`."""
        classes = self.get_params(deep=False)["classes"]
        return _places(y, _names(classes), classes, records)


class _Linear(_Model):
    """Rows of numbers, of a norm that is declared."""

    data_norm: "float | str | None"
    most_per_unit: "int | None"
    n_features_in_: int

    def _learn(
        self,
        X: Any,
        rows: "npt.NDArray[np.float32]",
        labels: "npt.NDArray[np.float32]",
        units: Any,
        ledger: "str | os.PathLike[str] | None",
        what: str,
        **how: Any,
    ) -> None:
        if len(rows) < 2:
            raise ValueError("X has 1 sample: expected at least 2, as one has no other to hide behind")
        most = whole("most_per_unit", self.most_per_unit)
        of_units = None if units is None else units_of(units, len(rows), "row")
        how = {"units": of_units, "most_per_unit": most, **how, **self._settings()}
        with ledger_at(ledger) as path:
            model = _native.fit_rows(rows, labels, ledger=path, **how)
        self.n_features_in_ = np.asarray(X).shape[1]
        several = "" if most is None else f"all rows of one unit, {most} of which count at most"
        self._keep_head(model, f"replace {several or what}", rows.shape[1])

    def _rows(self, X: Any) -> "npt.NDArray[np.float32]":
        if hasattr(X, "toarray"):
            raise ValueError("X is sparse: expected dense rows, such as those of X.toarray()")
        rows = np.asarray(X)
        if rows.ndim != 2:
            raise ValueError(f"X is of shape {rows.shape}: expected [n, d]. Reshape your data")
        if 0 in rows.shape:
            count, what = (rows.shape[0], "sample") if rows.shape[0] == 0 else (rows.shape[1], "feature")
            raise ValueError(f"X has {count} {what}(s) (shape={rows.shape}) while a minimum of 1 is required.")
        if rows.dtype.kind == "O":
            rows = rows.astype(np.float64)
        if rows.dtype.kind == "c":
            raise ValueError("Complex data not supported: X holds complex numbers, expected real ones")
        if rows.dtype.kind not in "fiu":
            raise ValueError(f"X is of type {rows.dtype}: expected numbers")
        rows = rows.astype(np.float64)
        if not np.isfinite(rows).all():
            raise ValueError("X holds NaN or inf: expected finite numbers")
        if self.data_norm == "own":
            return np.ascontiguousarray(rows, dtype=np.float32)
        if self.data_norm is None:
            raise ValueError(
                'data_norm is None: declare a bound on the norms of rows, to which longer ones are cut, or "own" to divide each by '
                "its own; a bound read from the rows would tell of them"
            )
        bound = required("data_norm", self.data_norm)
        if not 0 < bound < float("inf"):
            raise ValueError(f"data_norm is {bound}: expected a positive number")
        rows = rows / bound
        lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        rows = rows / np.maximum(lengths, 1.0)
        # Divided by its norm with this, a row keeps what its length says.
        rest = np.sqrt(np.maximum(0.0, 1.0 - (rows**2).sum(axis=1, keepdims=True)))
        return np.ascontiguousarray(np.hstack([rows, rest]), dtype=np.float32)

    def _same_rows(self, X: Any) -> "npt.NDArray[np.float32]":
        """New rows, as many numbers long as those of the fit."""
        self._fitted()
        rows = self._rows(X)
        if np.asarray(X).shape[1] != self.n_features_in_:
            found, name = np.asarray(X).shape[1], type(self).__name__
            raise ValueError(f"X has {found} features, but {name} is expecting {self.n_features_in_} features as input, as the fit had")
        return rows.ravel()


class LinearClassifier(_Linear, _Classifier):
    """Softmax regression on rows of numbers, such as the embeddings of a public network, by private gradient descent.

    Neighbours replace one row with its label; with `most_per_unit` all rows of one unit, and `fit` takes the unit of each row. `classes`
    says how many classes there are, or names them. `data_norm` is a bound on the norms of rows, and longer ones are cut to it; with "own"
    each row is divided by its own norm. Neither is ever read from the rows. A fit of more classes than noise would leave anything of, if they
    had equally many records, is refused unless `rare_classes` says that some are rare or absent.
    `delta` is a tenth of one over the number of rows if it is None. `insecure_noise_seed` makes the noise known, and nothing private.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: "float | None" = None,
        classes: "int | Sequence[str] | None" = None,
        data_norm: "float | str | None" = None,
        most_per_unit: "int | None" = None,
        rare_classes: bool = False,
        insecure_noise_seed: "int | None" = None,
    ) -> None:
        self.rare_classes = rare_classes
        self.epsilon, self.delta, self.classes, self.data_norm = epsilon, delta, classes, data_norm
        self.most_per_unit, self.insecure_noise_seed = most_per_unit, insecure_noise_seed

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        units: "Sequence[Any] | npt.NDArray[Any] | None" = None,
        ledger: "str | os.PathLike[str] | None" = None,
    ) -> "LinearClassifier":
        """Learns from rows `X`, `[n, d]`, and labels `y`, `[n]`: this is the release.

        Labels are whole numbers below the number of classes, or names of `classes`. `ledger` is a file, to whose lines those of this fit
        are added before its noise. Raises ValueError for what is no such array and for settings out of bounds: nothing is released
        then. OSError if the ledger cannot be written.
        """
        names = _names(self.classes)
        rows = self._rows(X)
        _given(y)
        places = _places(y, names, self.classes or 0, len(rows)).astype(np.float32)
        how = {"classes": len(names), "absolute": False, "rare_classes": bool(self.rare_classes)}
        self._learn(X, rows, places, units, ledger, "one row and its label", **how)
        self.classes_ = _classes(self.classes, names)
        return self

    def predict_proba(self, X: Any) -> "npt.NDArray[np.float64]":
        """The probabilities of the classes, shape `[n, classes]`, in the order of `classes_`. No private record is read."""
        return self._of_head(self._same_rows(X))


class LinearRegressor(RegressorMixin, _Linear):  # type: ignore[misc]
    """Linear regression of a number on rows of numbers, by private gradient descent.

    Neighbours replace one row with its number, or all rows of one unit. `bounds` are what numbers lie between, such as (0, 100): they are declared, never read, and
    numbers beyond are taken for the nearer one. `loss` is "squared", so that the model says the mean, or "absolute", for the median.
    `data_norm`, `delta`, `most_per_unit` and `insecure_noise_seed` are as those of `LinearClassifier`.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: "float | None" = None,
        bounds: "tuple[float, float] | None" = None,
        data_norm: "float | str | None" = None,
        loss: str = "squared",
        most_per_unit: "int | None" = None,
        insecure_noise_seed: "int | None" = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.data_norm, self.loss = epsilon, delta, bounds, data_norm, loss
        self.most_per_unit, self.insecure_noise_seed = most_per_unit, insecure_noise_seed

    def _ends(self) -> "tuple[float, float]":
        if self.bounds is None:
            raise ValueError("bounds is None: declare what numbers lie between, such as (0, 100); bounds read from y would tell of it")
        ends = np.asarray(self.bounds)
        ends = ends.astype(np.float64) if ends.dtype.kind in "fiu" else np.array([])
        if ends.shape != (2,) or not np.isfinite(ends).all() or not ends[0] < ends[1] or not np.isfinite(ends[1] - ends[0]):
            raise ValueError(f"bounds is {self.bounds!r}: expected two numbers, the lower one first")
        return float(ends[0]), float(ends[1])

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        units: "Sequence[Any] | npt.NDArray[Any] | None" = None,
        ledger: "str | os.PathLike[str] | None" = None,
    ) -> "LinearRegressor":
        """Learns from rows `X`, `[n, d]`, and numbers `y`, `[n]`: this is the release. `ledger` and errors are as those of `LinearClassifier`."""
        low, high = self._ends()
        if self.loss not in ("squared", "absolute"):
            raise ValueError(f'loss is {self.loss!r}: expected "squared" or "absolute"')
        rows, numbers = self._rows(X), _numbers(y)
        if len(numbers) != len(rows):
            raise ValueError(f"y has {len(numbers)} numbers: expected one for each of {len(rows)} rows")
        coded = (2 * np.clip((numbers - low) / (high - low), 0, 1) - 1).astype(np.float32)
        how = {"classes": None, "absolute": self.loss == "absolute", "rare_classes": False}
        self._learn(X, rows, coded, units, ledger, "one row and its number", **how)
        self._bounds = low, high
        return self

    def predict(self, X: Any) -> "npt.NDArray[np.float64]":
        """The number of each row, shape `[n]`, within `bounds`. No private record is read."""
        coded = self._outputs(self._same_rows(X), 1)[:, 0]
        low, high = self._bounds
        return low + (np.clip(coded, -1, 1) + 1) / 2 * (high - low)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the variance of `y` that the model explains, on public records: of private ones it would tell of them."""
        found, numbers = self.predict(X), _numbers(y)
        if len(numbers) != len(found):
            raise ValueError(f"y has {len(numbers)} numbers: expected one for each of {len(found)} rows")
        weights = np.ones(len(found)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != (len(found),) or not weights.sum() > 0:
            raise ValueError(f"sample_weight is of shape {weights.shape}: expected {(len(found),)}, some of them above 0")
        middle = np.average(numbers, weights=weights)
        left, all_of_it = (float((weights * (numbers - other) ** 2).sum()) for other in (found, middle))
        return 1.0 - left / all_of_it if all_of_it > 0 else float(left == 0)


def _given(y: Any) -> None:
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")


def _numbers(y: Any) -> "npt.NDArray[np.float64]":
    _given(y)
    numbers = np.asarray(y)
    if numbers.ndim != 1 or numbers.dtype.kind not in "fiu":
        raise ValueError(f"y is of shape {numbers.shape} and of type {numbers.dtype}: expected numbers, [n]")
    if not np.isfinite(numbers).all():
        raise ValueError("y holds NaN or inf: expected finite numbers")
    return numbers.astype(np.float64)


class ImageClassifier(_Classifier):
    """A classifier of square images of `side` pixels: scattering features that synthetic shapes decorrelate, and softmax regression by private
    gradient descent.

    Neighbours replace one image with its label; with `most_per_unit` all images of one unit, and `fit` takes the unit of each image.
    `classes` says how many there are, or names them. `public` is "shapes", or "none": features as they are. `order` is that of the
    scattering. `delta`, `rare_classes` and `insecure_noise_seed` are as those of `LinearClassifier`.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        side: "int | None" = None,
        classes: "int | Sequence[str] | None" = None,
        delta: "float | None" = None,
        most_per_unit: "int | None" = None,
        rare_classes: bool = False,
        public: str = "shapes",
        order: int = 1,
        insecure_noise_seed: "int | None" = None,
    ) -> None:
        self.rare_classes = rare_classes
        self.epsilon, self.delta, self.classes, self.side = epsilon, delta, classes, side
        self.most_per_unit, self.public, self.order = most_per_unit, public, order
        self.insecure_noise_seed = insecure_noise_seed

    def _images(self, X: Any) -> "npt.NDArray[np.uint8]":
        planes, _ = _planes(X)
        side = whole("side", self.side)
        if side is None:
            raise ValueError("side is None: declare how many pixels a side has, which is public")
        if planes.shape[2:] != (side, side):
            raise ValueError(f"images are of {planes.shape[2]} x {planes.shape[3]} pixels: expected {side} x {side}")
        return planes

    def fit(
        self,
        X: "npt.NDArray[np.uint8]",
        y: Any,
        *,
        units: "Sequence[Any] | npt.NDArray[Any] | None" = None,
        ledger: "str | os.PathLike[str] | None" = None,
    ) -> "ImageClassifier":
        """Learns from images `X`, bytes of shape `[n, side, side]`, `[n, 1 or 3, side, side]` or `[n, side, side, 1 or 3]`, and labels `y`,
        `[n]`: this is the release. Labels and `ledger` are as those of `LinearClassifier.fit`, which says what is raised.
        """
        if self.public not in ("shapes", "none"):
            raise ValueError(f"public is {self.public!r}: expected 'shapes' or 'none'; of other images `sliver classify` learns")
        names = _names(self.classes)
        planes = self._images(X)
        places = _places(y, names, self.classes or 0, len(planes))
        of_units = None if units is None else units_of(units, len(planes), "image")
        most = whole("most_per_unit", self.most_per_unit)
        with ledger_at(ledger) as path:
            model = _native.fit_image_classifier(
                planes,
                places,
                len(names),
                units=of_units,
                most_per_unit=most,
                rare_classes=bool(self.rare_classes),
                order=whole("order", self.order) or 0,
                shapes=self.public == "shapes",
                ledger=path,
                **self._settings(),
            )
        self.classes_ = _classes(self.classes, names)
        several = "" if most is None else f"all images of one unit, {most} of which count at most"
        form = planes.shape[1], planes.shape[2], whole("order", self.order) or 0
        self._keep_head(model, f"replace {several or 'one image and its label'}", *form)
        return self

    def predict_proba(self, X: Any) -> "npt.NDArray[np.float64]":
        """The probabilities of the classes, shape `[n, classes]`, in the order of `classes_`. No private record is read."""
        self._fitted()
        planes = self._images(X)
        if planes.shape[1] != self._form[0]:
            raise ValueError(f"images have {planes.shape[1]} channels: expected {self._form[0]}, as the fit had")
        return self._of_head((planes.astype(np.float32) / np.float32(255)).ravel())


class TableClassifier(_Classifier):
    """A model of one column of a table, `label`, given the others: counts are released once, a mixture is fitted to them, and logistic
    regression or boosted trees learn from samples of it.

    Neighbours replace one record; with `unit`, a column that the schema ignores, all records of one unit, `most_per_unit` of which count
    at most. `schema` is the path of a TOML file, or the same as a dict: it is public and never read from the records. `label` is that of
    the schema if it is None. `seed` is that of public randomness, and never of the noise; `rare_classes` is that of
    `LinearClassifier`; `delta`, `show_private` and `insecure_noise_seed` are as those of `sliver_dp.synth.Table`.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        schema: "str | os.PathLike[str] | Mapping[str, Any] | None" = None,
        label: "str | None" = None,
        delta: "float | None" = None,
        unit: "str | None" = None,
        most_per_unit: "int | None" = None,
        rare_classes: bool = False,
        seed: "int | None" = None,
        show_private: bool = False,
        insecure_noise_seed: "int | None" = None,
    ) -> None:
        self.rare_classes = rare_classes
        self.epsilon, self.delta, self.schema, self.label = epsilon, delta, schema, label
        self.unit, self.most_per_unit, self.seed = unit, most_per_unit, seed
        self.show_private, self.insecure_noise_seed = show_private, insecure_noise_seed

    def fit(self, X: Any, y: Any = None, *, ledger: "str | os.PathLike[str] | None" = None) -> "TableClassifier":
        """Learns from a table `X` that has the label, or from one without it and labels `y`: this is the release.

        A table is a data frame of pandas or polars, a table of pyarrow, or a dict of columns. Raises ValueError for values that do not fit
        the schema, with their column, and for settings out of bounds: nothing is released then. OSError if the ledger cannot be
        written.
        """
        if self.schema is None:
            raise ValueError("schema is None: declare what the columns hold, which is public; `sliver schema FILE` drafts it")
        written = Schema.of(self.schema)
        label = self.label or _label_of(written)
        frame = written.framed(X if y is None else _labelled(X, label, y), self.unit)
        units = None
        if self.unit is not None:
            if self.unit not in written.ignored:
                raise ValueError(f"unit {self.unit!r}: expected a column that the schema ignores, which the model does not see")
            units = units_of(written.texts(frame, self.unit, is_unit=True), len(frame), "record")
        most = whole("most_per_unit", self.most_per_unit)
        with ledger_at(ledger) as path:
            model = _native.fit_column(
                written.text_of(frame),
                written.text,
                label=label,
                units=units,
                most_per_unit=most,
                rare_classes=bool(self.rare_classes),
                ledger=path,
                seed=whole("seed", self.seed) or 0,
                show_private=bool(self.show_private),
                **self._settings(),
            )
        self.classes_, self.learner_ = np.array(model.classes), model.learner
        self._schema, self._label, self._columns, self._tensors = written.text, label, model.form, model.tensors
        several = "" if most is None else f"all records of one unit, {most} of which count at most"
        self._keep(model, f"replace {several or 'one record'}")
        return self

    def predict_proba(self, X: Any) -> "npt.NDArray[np.float64]":
        """The probabilities of the classes, shape `[n, classes]`, in the order of `classes_`. `X` may lack the label, and columns that the
        schema ignores. No private record is read."""
        self._fitted()
        # Any label does: it is not looked at.
        written = self._written()
        others = Schema(written.text, {**tomllib.loads(written.text), "column": _without(written, self._label)})
        frame = others.framed(X, None)
        found = _native.probabilities_of_table(
            others.text_of(frame), written.text, self._label, form=self._columns, tensors=self._tensors
        )
        return found.reshape(len(frame), -1)

    def _written(self) -> Schema:
        return Schema(self._schema, tomllib.loads(self._schema))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy on public records, whose labels `X` has if `y` is None: of private ones it would tell of them."""
        self._fitted()
        return super().score(X, y, sample_weight)

    def _truth(self, X: Any, y: Any, records: int) -> "npt.NDArray[Any]":
        written = self._written()
        frame = written.framed(X if y is None else _labelled(X, self._label, y), None)
        return _native.classes_of_table(written.text_of(frame), written.text, self._label)


def _classes(given: Any, names: list[str]) -> "npt.NDArray[Any]":
    """The classes as labels name them: numbers if only their number was said."""
    return np.array(names) if isinstance(given, Sequence) else np.arange(len(names))


def _framed(X: Any) -> Any:
    """A table as a data frame of pandas, whatever columns it has."""
    import pandas as pd

    if isinstance(X, Mapping):
        return pd.DataFrame(X)
    if not isinstance(X, pd.DataFrame) and callable(getattr(X, "to_pandas", None)):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        raise TypeError(f"X is of type {type(X).__name__}: expected a data frame of pandas or polars, a table of pyarrow, or a dict")
    return X.reset_index(drop=True)


def _label_of(schema: Schema) -> str:
    for column in schema.columns:
        if column.get("kind") == "label":
            return str(column["name"])
    raise ValueError("label is None, and no column of the schema is of kind label: name the column to predict")


def _labelled(X: Any, label: str, y: Any) -> Any:
    """A table with these labels."""
    frame, labels = _framed(X), np.asarray(y)
    if labels.shape != (len(frame),):
        raise ValueError(f"y is of shape {labels.shape}: expected {(len(frame),)}, one label a record")
    return frame.assign(**{label: labels})


def _without(schema: Schema, label: str) -> list[dict[str, Any]]:
    """The columns of a schema, of which the label is ignored."""
    return [column if column["name"] != label else {"name": label, "kind": "ignore"} for column in schema.columns]
