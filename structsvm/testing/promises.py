"""Who is blamed for a broken promise, and where: the base of all checks of plugins."""

from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

from structsvm.errors import PluginError
from structsvm.support.contract import asked, hook
from structsvm.support.plain import shown
from structsvm.support.unchanged import difference


@dataclass(frozen=True, eq=False)
class Checked:
    """A plugin that is checked."""

    plugin: Any
    name: str
    """What messages call it."""
    where: str = ""
    """What it is asked about."""

    @classmethod
    def of(cls, kind: type, plugin: Any) -> Self:
        if not isinstance(plugin, kind):
            raise PluginError(f"{shown(plugin)} is no {kind.__name__}: give an instance of a class")
        return cls(plugin, type(plugin).__name__)

    def require(self, kept: Any, complaint: str) -> None:
        if not kept:
            place = f" [{self}]" if str(self) else ""
            raise PluginError(f"{self.name}: {complaint}{place}")

    @hook
    def __str__(self) -> str:
        return self.where

    def call(self, method: str, *arguments: Any) -> Any:
        """What a method answers that leaves alone what it is given."""
        before = deepcopy(arguments)
        with asked(self.plugin, method, self.where):
            answer = getattr(self.plugin, method)(*arguments)
        unchanged = difference(before, arguments) is None
        self.require(unchanged, f"{method} modified its input: copy before writing")
        return answer

    def pickled(self) -> bytes:
        try:
            return pickle.dumps(self.plugin)
        except Exception as error:
            raise PluginError(
                f"{self.name} cannot be pickled ({error}): keep plain settings, and define the "
                "class in a module"
            ) from error
