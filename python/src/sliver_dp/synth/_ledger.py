"""What a fit released and promises."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ledger:
    """What a fit released and promises: the lines that it wrote to a ledger, and what they cost together."""

    releases: tuple[dict[str, Any], ...]
    """The lines of the ledger that the fit wrote: event, count, neighbours, sensitivity, standard deviation."""
    private: bool
    """Whether anything is promised: not if the noise has a seed that is known."""
    epsilon_upper: float
    """Bound on epsilon, at `delta`."""
    delta: float
    """The delta."""
    neighbours: str
    """What neighbours replace, in words."""
    accountant: str
    """What bounds epsilon."""

    @classmethod
    def of(cls, model: Any, neighbours: str) -> "Ledger":
        """Of what was released."""
        return cls(
            releases=tuple(json.loads(line) for line in model.releases),
            private=model.secret_noise,
            epsilon_upper=model.epsilon_upper,
            delta=model.delta,
            neighbours=neighbours,
            accountant=model.accountant,
        )
