"""Who is blamed for a broken promise, and where: the base of all checks of plugins."""

from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NoReturn, Self

from structsvm.errors import PluginError
from structsvm.support.contract import asked
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
        checked = cls(plugin, shown(plugin))
        way_out = f", such as {plugin.__name__}()" if isinstance(plugin, type) else ""
        said = f"it is no {kind.__name__}: give an instance of a class{way_out}"
        checked.require(isinstance(plugin, kind), said)
        return cls(plugin, type(plugin).__name__)

    def refuse(self, complaint: str) -> NoReturn:
        raise PluginError(f"{self.name}: {complaint}{f' [{self.where}]' if self.where else ''}")

    def require(self, kept: Any, complaint: str) -> None:
        if not kept:
            self.refuse(complaint)

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
            self.refuse(
                f"it cannot be pickled ({error}): keep plain settings, and define the class in a "
                "module"
            )
