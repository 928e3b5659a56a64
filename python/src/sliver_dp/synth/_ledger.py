"""What a fit released and promises, as the files of its run say."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ledger:
    """What a fit released and promises: all of it is read from the files of its run."""

    releases: tuple[dict[str, Any], ...]
    """Each line of the run's ledger: event, count, neighbours, sensitivity, standard deviation."""
    private: bool
    """Whether anything is promised: not where the noise has a seed that is known."""
    statement: str
    """The promise in a sentence."""
    epsilon_upper: float
    """Bound on epsilon, at `delta`."""
    delta: float
    """The delta."""
    neighbours: str
    """The neighbour relation of the accountant."""
    accountant: str
    """What bounds epsilon."""
    public: str
    """What the public side knew, in words."""
    sha256: str
    """Of the file of the ledger."""

    @classmethod
    def of(cls, run: Path, card: dict[str, Any]) -> "Ledger":
        """Of a finished run with this card."""
        privacy = card["privacy"]
        lines = (run / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
        return cls(
            releases=tuple(json.loads(line) for line in lines if line),
            private=privacy["private"],
            statement=privacy["statement"],
            epsilon_upper=privacy["epsilon_upper"],
            delta=privacy["delta"],
            neighbours=privacy["neighbours"],
            accountant=privacy["accountant"],
            public=card["public_knowledge"],
            sha256=privacy["ledger_sha256"],
        )
