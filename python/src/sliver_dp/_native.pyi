from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Literal, NoReturn, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ColumnModel",
    "EntropicTransport",
    "Event",
    "HeadModel",
    "ImagesModel",
    "LowerBound",
    "PrivateDistance",
    "Sequential",
    "Slices",
    "TableModel",
    "TwoSampleTest",
    "batch_for",
    "best_guesses",
    "classes_of_table",
    "delta_lower",
    "delta_upper",
    "delta_upper_curve",
    "epsilon_lower",
    "epsilon_lower_of_canaries",
    "epsilon_lower_of_counts",
    "epsilon_lower_of_runs",
    "epsilon_upper",
    "epsilon_upper_of_ledger",
    "epsilon_upper_of_opacus",
    "fit_column",
    "fit_image_classifier",
    "fit_images",
    "fit_rows",
    "fit_table",
    "noise_multiplier_for",
    "plan_1d",
    "private_distance",
    "probabilities_of_rows",
    "probabilities_of_table",
    "sinkhorn",
    "sinkhorn_divergence",
    "sliced_cost_and_gradient",
    "sliced_w2_squared",
    "sliced_w2_squared_and_gradient",
    "steps_for",
    "trade_off_lower_curve",
    "wp_power_1d",
]

_Neighbours = Literal["add-remove", "replace-one", "zero-out", "k-end"]
_Accountant = Literal["pld", "gaussian", "rdp"]
_Cost = Literal["squared-euclidean", "manhattan"]
_Points = NDArray[np.float32] | NDArray[np.float64]
_Numbers = _Points | Sequence[float]

@final
class Event:
    @staticmethod
    def gaussian(noise_multiplier: float) -> Event: ...
    @staticmethod
    def discrete_gaussian(noise_multiplier: float) -> Event: ...
    @staticmethod
    def laplace(noise_multiplier: float) -> Event: ...
    @staticmethod
    def failure(delta: float) -> Event: ...
    @staticmethod
    def non_private() -> Event: ...
    @staticmethod
    def composed(events: Sequence[Event]) -> Event: ...
    @staticmethod
    def parallel(partition: str, events: Sequence[Event]) -> Event: ...
    @staticmethod
    def selected(events: Sequence[Event], mean: float, *, shape: float | None = 1.0) -> Event: ...
    @staticmethod
    def dp_sgd(records: int, batch: int, steps: int, noise_multiplier: float) -> Event: ...
    def self_composed(self, count: int) -> Event: ...
    def poisson_sampled(
        self, rate: float, *, neighbours: Literal["add-remove", "zero-out"] = "add-remove"
    ) -> Event: ...
    def sampled_without_replacement(self, records: int, batch: int) -> Event: ...
    def shuffled_epoch_upper(
        self, *, neighbours: Literal["replace-one", "zero-out"] = "replace-one"
    ) -> Event: ...
    def sampled_from_strata(self, strata: Sequence[tuple[int, int]]) -> Event: ...
    @property
    def neighbours(self) -> _Neighbours | None: ...
    def to_json(self) -> str: ...
    @classmethod
    def from_json(cls, text: str) -> Event: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Callable[[str], Event], tuple[str]]: ...

def epsilon_upper(
    event: Event,
    delta: float,
    neighbours: _Neighbours,
    *,
    accountant: _Accountant = "pld",
    accuracy: float | None = None,
) -> float: ...
def delta_upper(
    event: Event,
    epsilon: float,
    neighbours: _Neighbours,
    *,
    accountant: _Accountant = "pld",
    accuracy: float | None = None,
) -> float: ...
def epsilon_lower(
    event: Event, delta: float, neighbours: _Neighbours, *, accuracy: float | None = None
) -> float: ...
def delta_lower(
    event: Event, epsilon: float, neighbours: _Neighbours, *, accuracy: float | None = None
) -> float: ...
def delta_upper_curve(
    event: Event,
    epsilons: _Numbers,
    neighbours: _Neighbours,
    *,
    accountant: _Accountant = "pld",
    accuracy: float | None = None,
) -> NDArray[np.float64]: ...
def trade_off_lower_curve(
    event: Event,
    alphas: _Numbers,
    neighbours: _Neighbours,
    *,
    accountant: _Accountant = "pld",
    accuracy: float | None = None,
) -> NDArray[np.float64]: ...
def noise_multiplier_for(
    event_of: Callable[[float], Event],
    epsilon: float,
    delta: float,
    neighbours: _Neighbours,
    *,
    accountant: _Accountant = "pld",
    accuracy: float | None = None,
) -> float: ...
def steps_for(
    event_of: Callable[[int], Event],
    epsilon: float,
    delta: float,
    neighbours: _Neighbours,
    *,
    limit: int = 1000000,
    accountant: _Accountant = "pld",
    accuracy: float | None = None,
) -> int: ...
def batch_for(
    event_of: Callable[[int], Event],
    epsilon: float,
    delta: float,
    neighbours: _Neighbours,
    *,
    limit: int,
    accountant: _Accountant = "pld",
    accuracy: float | None = None,
) -> int: ...
def epsilon_upper_of_opacus(
    history: Sequence[tuple[float, float, int]],
    delta: float,
    neighbours: _Neighbours,
    *,
    accountant: _Accountant = "pld",
    accuracy: float | None = None,
) -> float: ...
def epsilon_upper_of_ledger(
    path: str | PathLike[str],
    delta: float,
    neighbours: _Neighbours,
    *,
    accountant: _Accountant = "pld",
    accuracy: float | None = None,
) -> float: ...
@final
class LowerBound:
    @property
    def epsilon_lower(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def mu_lower(self) -> float | None: ...
    @property
    def confidence(self) -> float: ...
    @property
    def assumes(self) -> Literal["nothing", "gaussian-curve", "normal-scores"]: ...
    def violates(self, epsilon: float) -> bool: ...

def epsilon_lower_of_runs(
    with_record: _Numbers,
    without_record: _Numbers,
    delta: float,
    *,
    confidence: float = 0.95,
    assumes: Literal["nothing", "gaussian-curve", "normal-scores"] = "nothing",
    threshold: float | None = None,
) -> LowerBound: ...
def epsilon_lower_of_counts(
    recognised: int,
    with_record: int,
    alarms: int,
    without_record: int,
    delta: float,
    *,
    confidence: float = 0.95,
    assumes: Literal["nothing", "gaussian-curve"] = "nothing",
) -> LowerBound: ...
def epsilon_lower_of_canaries(
    scores: _Numbers,
    included: NDArray[np.bool_] | Sequence[bool],
    guesses: int,
    delta: float,
    *,
    confidence: float = 0.95,
    assumes: Literal["nothing", "gaussian-curve"] = "nothing",
    by: Literal["scores", "likelihood"] = "scores",
) -> LowerBound: ...
def best_guesses(canaries: int, mu: float, delta: float, *, confidence: float = 0.95) -> int: ...
@final
class Sequential:
    def __new__(cls, claims: Sequence[float], alarm_rate: float = 0.05) -> Sequential: ...
    @staticmethod
    def ladder(largest: float, count: int, alarm_rate: float = 0.05) -> Sequential: ...
    def observe(self, with_record: float, without_record: float) -> bool: ...
    @property
    def pairs(self) -> int: ...
    @property
    def refuted(self) -> list[float]: ...
    @property
    def all_refuted(self) -> bool: ...
    @property
    def p_value_upper(self) -> float: ...
    def lower_bound(self, delta: float) -> LowerBound: ...
    def __reduce__(self) -> NoReturn: ...

@final
class Slices:
    @staticmethod
    def iid(dim: int, count: int, *, seed: int) -> Slices: ...
    @staticmethod
    def tight(dim: int, count: int, *, seed: int) -> Slices: ...
    @staticmethod
    def orthonormal(dim: int, count: int, *, seed: int) -> Slices: ...
    @staticmethod
    def from_directions(directions: _Points) -> Slices: ...
    @property
    def dim(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def directions(self) -> NDArray[np.float64]: ...

def sliced_w2_squared(u: _Points, v: _Points, slices: Slices) -> float: ...
def sliced_w2_squared_and_gradient(
    u: _Points, v: _Points, slices: Slices
) -> tuple[float, NDArray[np.float32]]: ...
def sliced_cost_and_gradient(
    cost: str, u: _Points, v: _Points, slices: Slices
) -> tuple[float, NDArray[np.float32]]: ...
def plan_1d(
    x: _Numbers,
    y: _Numbers,
    *,
    weights_x: _Numbers | None = None,
    weights_y: _Numbers | None = None,
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.float64]]: ...
def wp_power_1d(
    x: _Numbers,
    y: _Numbers,
    p: float = 2.0,
    *,
    weights_x: _Numbers | None = None,
    weights_y: _Numbers | None = None,
) -> float: ...
@final
class PrivateDistance:
    @property
    def squared_distance(self) -> float: ...
    @property
    def distance(self) -> float: ...
    @property
    def standard_error(self) -> float: ...
    @property
    def standard_error_rows_and_noise(self) -> float: ...
    @property
    def standard_error_slices(self) -> float: ...
    @property
    def plug_in_squared_distance(self) -> float: ...
    @property
    def smoothing_deviation(self) -> float: ...
    @property
    def event(self) -> Event: ...
    @property
    def neighbours(self) -> Literal["k-end", "replace-one"]: ...
    @property
    def epsilon_upper(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def accountant(self) -> str: ...
    @property
    def secret_noise(self) -> bool: ...
    def test(self, permutations: int = 199) -> TwoSampleTest: ...

@final
class TwoSampleTest:
    @property
    def p_value(self) -> float: ...
    @property
    def statistic(self) -> float: ...
    @property
    def null_mean(self) -> float: ...
    @property
    def null_deviation(self) -> float: ...
    @property
    def permutations(self) -> int: ...
    def differ(self, false_alarm: float = 0.05) -> bool: ...

def private_distance(
    x: _Points,
    y: _Points,
    *,
    radius: float,
    epsilon: float,
    delta: float,
    ledger: str | PathLike[str],
    protect: Literal["both", "x", "y"] = "both",
    slices: int = 100,
    seed: int = 0,
    insecure_noise_seed: int | None = None,
) -> PrivateDistance: ...
@final
class EntropicTransport:
    @property
    def value(self) -> float: ...
    @property
    def transport_cost(self) -> float: ...
    @property
    def converged(self) -> bool: ...
    @property
    def iterations(self) -> int: ...
    @property
    def marginal_error(self) -> float: ...
    @property
    def gradient(self) -> NDArray[np.float32]: ...
    @property
    def f(self) -> NDArray[np.float64]: ...
    @property
    def g(self) -> NDArray[np.float64]: ...
    @property
    def plan(self) -> NDArray[np.float64] | None: ...

def sinkhorn(
    x: _Points,
    y: _Points,
    regularisation: float,
    *,
    cost: _Cost = "squared-euclidean",
    iterations: int = 1000,
    tolerance: float = 1e-9,
    lazy: bool = False,
    plan: bool = False,
) -> EntropicTransport: ...
def sinkhorn_divergence(
    x: _Points,
    y: _Points,
    regularisation: float,
    *,
    cost: _Cost = "squared-euclidean",
    iterations: int = 1000,
    tolerance: float = 1e-9,
    lazy: bool = False,
) -> tuple[float, NDArray[np.float32], bool]: ...

@final
class TableModel:
    @property
    def epsilon_upper(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def accountant(self) -> str: ...
    @property
    def secret_noise(self) -> bool: ...
    @property
    def releases(self) -> list[str]: ...
    @property
    def count(self) -> int: ...
    def sample(self, count: int, seed: int) -> dict[str, list[str]]: ...

@final
class ImagesModel:
    @property
    def epsilon_upper(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def accountant(self) -> str: ...
    @property
    def secret_noise(self) -> bool: ...
    @property
    def releases(self) -> list[str]: ...
    @property
    def count(self) -> int: ...
    def sample(self, count: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...

@final
class HeadModel:
    @property
    def epsilon_upper(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def accountant(self) -> str: ...
    @property
    def secret_noise(self) -> bool: ...
    @property
    def releases(self) -> list[str]: ...
    @property
    def weights(self) -> NDArray[np.float64]: ...
    @property
    def whitening(self) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None: ...

@final
class ColumnModel:
    @property
    def epsilon_upper(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def accountant(self) -> str: ...
    @property
    def secret_noise(self) -> bool: ...
    @property
    def releases(self) -> list[str]: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def learner(self) -> str: ...
    @property
    def form(self) -> tuple[list[int], list[int], int]: ...
    @property
    def tensors(self) -> dict[str, NDArray[np.float32]]: ...

def fit_rows(
    values: NDArray[np.float32],
    labels: NDArray[np.float32],
    classes: int | None,
    *,
    absolute: bool,
    epsilon: float,
    delta: float | None,
    units: Sequence[str] | None,
    most_per_unit: int | None,
    rare_classes: bool,
    ledger: str | PathLike[str],
    insecure_noise_seed: int | None,
) -> HeadModel: ...
def fit_image_classifier(
    images: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    classes: int,
    *,
    epsilon: float,
    delta: float | None,
    units: Sequence[str] | None,
    most_per_unit: int | None,
    rare_classes: bool,
    order: int,
    shapes: bool,
    ledger: str | PathLike[str],
    insecure_noise_seed: int | None,
) -> HeadModel: ...
def fit_column(
    table: bytes,
    schema: str,
    *,
    epsilon: float,
    delta: float | None,
    label: str | None,
    units: Sequence[str] | None,
    most_per_unit: int | None,
    rare_classes: bool,
    ledger: str | PathLike[str],
    seed: int,
    insecure_noise_seed: int | None,
    show_private: bool,
) -> ColumnModel: ...
def probabilities_of_rows(
    values: NDArray[np.float32],
    *,
    form: Sequence[int],
    classes: int,
    weights: NDArray[np.float64],
    whitening: tuple[NDArray[np.float32], NDArray[np.float32]] | None,
) -> NDArray[np.float64]: ...
def classes_of_table(table: bytes, schema: str, label: str) -> NDArray[np.uint16]: ...
def probabilities_of_table(
    table: bytes,
    schema: str,
    label: str,
    *,
    form: tuple[Sequence[int], Sequence[int], int],
    tensors: Mapping[str, NDArray[np.float32]],
) -> NDArray[np.float64]: ...
def fit_table(
    table: bytes,
    schema: str,
    *,
    epsilon: float,
    delta: float | None,
    label: str | None,
    units: Sequence[str] | None,
    most_per_unit: int | None,
    ledger: str | PathLike[str],
    seed: int,
    insecure_noise_seed: int | None,
    show_private: bool,
) -> TableModel: ...
def fit_images(
    images: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    classes: int,
    *,
    epsilon: float,
    delta: float | None,
    units: Sequence[str] | None,
    most_per_unit: int | None,
    shapes: bool,
    latent: int | None,
    cells: int | None,
    ledger: str | PathLike[str],
    seed: int,
    insecure_noise_seed: int | None,
) -> ImagesModel: ...
