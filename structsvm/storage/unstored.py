"""Settings that a model file cannot hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from structsvm.errors import SettingsError


@dataclass(frozen=True)
class Unstored:
    """Stands in a loaded learner where a function or another object of the user's stood."""

    description: str


def refuse_unstored(parameters: Mapping[str, Any]) -> None:
    """Check that no setting was lost in a model file."""
    for name, value in parameters.items():
        if isinstance(value, Unstored):
            raise SettingsError(
                f"{name} was {value.description}, which a model file cannot hold: "
                f"give it again, set_params({name}=...), before learning"
            )
