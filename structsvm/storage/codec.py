"""Values as JSON and arrays, and back: nothing but data, and only classes that were registered."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.storage.typed import refuse_strangers
from structsvm.storage.unstored import Unstored
from structsvm.support.settings import settings_in

Arrays = dict[str, NDArray[Any]]

COLLECTIONS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


@dataclass(frozen=True)
class Codec:
    """What can be written: plain values, arrays, and instances of these classes."""

    classes: Mapping[str, type]
    """By the name under which a file calls them."""
    apart: Callable[[Any], Mapping[str, Any] | None] = lambda _: None
    """What another value is made of, which is packed in its place; None if it is not known."""
    together: Callable[[Mapping[str, Any]], Any] = lambda _: None
    """The inverse of ``apart``."""
    names: Mapping[type, str] = field(init=False)

    def __post_init__(self) -> None:
        """Invert the names once."""
        object.__setattr__(self, "names", {cls: name for name, cls in self.classes.items()})

    def pack(self, value: Any, arrays: Arrays) -> Any:
        """A value as JSON has it; arrays go into ``arrays``, under numbers."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, Unstored):
            return {"unstored": value.description}
        if isinstance(value, Enum) and type(value) in self.names:
            return {"enum": self.names[type(value)], "member": value.name}
        if isinstance(value, np.ndarray):
            return self._pack_array(value, arrays)
        if isinstance(value, list | tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.pack(item, arrays) for item in value]}
        if isinstance(value, set | frozenset):
            kind = "set" if isinstance(value, set) else "frozenset"
            return {kind: [self.pack(item, arrays) for item in sorted(value, key=repr)]}
        if isinstance(value, Mapping):
            rows = value.items()
            return {"mapping": [[self.pack(k, arrays), self.pack(v, arrays)] for k, v in rows]}
        if type(value) in self.names:
            return self._pack_instance(value, arrays)
        parts = self.apart(value)
        if parts is None:
            return {"unstored": repr(value)}
        return {"made_of": {name: self.pack(part, arrays) for name, part in parts.items()}}

    def unpack(self, plain: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """The inverse of :meth:`pack`."""
        if not isinstance(plain, dict):
            return plain
        if plain.keys() & {"array", "objects", "strings"}:
            return self._unpack_array(plain, arrays)
        if "float" in plain:
            return float(plain["float"])
        for kind, collection in COLLECTIONS.items():
            if kind in plain:
                return collection(self.unpack(item, arrays) for item in plain[kind])
        if "mapping" in plain:
            rows = plain["mapping"]
            return {self.unpack(key, arrays): self.unpack(item, arrays) for key, item in rows}
        if "unstored" in plain:
            return Unstored(str(plain["unstored"]))
        if "enum" in plain:
            return self.classes[plain["enum"]][plain["member"]]  # type: ignore[index]
        if "made_of" in plain:
            parts = plain["made_of"].items()
            return self.together({name: self.unpack(part, arrays) for name, part in parts})
        return self._unpack_instance(plain, arrays)

    def _pack_array(self, value: NDArray[Any], arrays: Arrays) -> Any:
        if value.dtype.kind == "O":
            items, shape = value.ravel().tolist(), list(value.shape)
            if all(isinstance(item, str) for item in items):
                return {"strings": [str(item) for item in items], "shape": shape}
            return {"objects": [self.pack(item, arrays) for item in items], "shape": shape}
        key = f"array.{len(arrays)}"
        # In its own order in memory, on which the last digit of a product may depend.
        arrays[key] = np.array(value, order="K")
        return {"array": key}

    def _unpack_array(
        self, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        if "array" in plain:
            return np.array(arrays[plain["array"]])
        if "strings" in plain:
            texts = np.array(plain["strings"], dtype=object)
            return texts.reshape(plain.get("shape", texts.shape))
        found = np.empty(len(plain["objects"]), dtype=object)
        for place, item in enumerate(plain["objects"]):
            found[place] = self.unpack(item, arrays)
        return found.reshape(plain["shape"])

    def _pack_instance(self, value: Any, arrays: Arrays) -> Any:
        packed = {k: self.pack(v, arrays) for k, v in settings_in(value).items()}
        return {"type": self.names[type(value)], "settings": packed}

    def _unpack_instance(self, plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
        settings = {k: self.unpack(v, arrays) for k, v in plain["settings"].items()}
        cls = self.classes[plain["type"]]
        refuse_strangers(cls, settings)
        return cls(**settings)


def lost_in(plain: Any, where: str = "") -> str | None:
    """The first thing inside a packed value that is only a note of what it was, and its place."""
    if isinstance(plain, list):
        inside = [(where, item) for item in plain]
    elif not isinstance(plain, dict):
        return None
    elif "unstored" in plain:
        return f"{where} is {plain['unstored']}"
    elif "mapping" in plain:
        inside = [(f"{where}.{key}", [key, item]) for key, item in plain["mapping"]]
    else:
        inside = [(where, item) for item in plain.values()]
    return next(filter(None, (lost_in(item, place) for place, item in inside)), None)
