"""Encode values as JSON and arrays, decode trusted classes alone, and fingerprint values."""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from itertools import chain
from types import CodeType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import SettingsError
from structsvm.support.contract import settings_in, without_remembered

COLLECTIONS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
TIMES_REPEATED, ROOM = 100, 1000
"""With all references written out, a file may have so many times as many values, plus ROOM: code
such as ``repr`` visits a loaded value once for each reference to it."""


@dataclass(frozen=True)
class Unstored:
    """A placeholder in a loaded learner for a function or another object that was not stored."""

    description: str

    def __post_init__(self) -> None:
        if not isinstance(self.description, str):
            raise TypeError(f"what is not stored is described by a text, not {self.description!r}")


def refuse_unstored(parameters: Mapping[str, Any]) -> None:
    """Refuse settings that a model file could not hold."""
    for name, value in parameters.items():
        if isinstance(value, Unstored):
            raise SettingsError(
                f"{name} was {value.description}, which a model file cannot hold: "
                f"give it again, set_params({name}=...), before learning"
            )


RENAMED_FIELDS = {("SupportLabelling", "sample"): "instance"}
"""Present names of fields that older files have under another name, by class and that name."""


class Unstorable(TypeError):
    """Raised for a value that no file can hold, with its place in the whole."""

    def __init__(self, value: Any, place: tuple[str, ...]) -> None:
        super().__init__(f"{'.'.join(place)} is {value!r}")
        self.place = place


class Codec:
    """Encodes and decodes plain values, arrays, and instances of trusted classes."""

    def __init__(
        self,
        name_of: Callable[[Any], str | None],
        class_of: Callable[[str], type],
        arrays: Mapping[str, NDArray[Any]] | None = None,
        stand_in: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        """Take the functions from a value to the name of its class, and from the name to the class.

        ``name_of`` returns None for a class that is not trusted. ``stand_in`` may replace a value
        before it is packed.
        """
        self._name_of, self._class_of, self._stand_in = name_of, class_of, stand_in
        self.arrays = dict(arrays or {})
        self._packed: dict[int, tuple[int, Any]] = {}
        self._made: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self._n_written = 0  # values packed or unpacked so far
        self._n_in_all = 0  # the same, with all references written out

    def lost(self, value: Any, name: str) -> str | None:
        """Why a value cannot be written; None if it can."""
        try:
            Codec(self._name_of, self._class_of, None, self._stand_in).pack(value, (name,))
        except Unstorable as error:
            return str(error)
        return None

    def pack(self, value: Any, place: tuple[str, ...] = ()) -> Any:
        """A value as plain JSON; its arrays are added to ``self.arrays`` and referred to."""
        self._count()
        value = value.item() if isinstance(value, np.generic) else self._stand_in(value)
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.ndarray):
            return self._pack_array(value, place)
        if type(value) is dict:
            return {
                "dict": [[self.pack(x, (*place, str(k))) for x in (k, value[k])] for k in value]
            }
        for kind, collection in COLLECTIONS.items():
            if type(value) is collection:
                items: Any = value if kind in ("list", "tuple") else sorted(value, key=repr)
                return {kind: [self.pack(x, (*place, str(i))) for i, x in enumerate(items)]}
        name = "Unstored" if isinstance(value, Unstored) else self._name_of(value)
        if name is None:
            raise Unstorable(value, place)
        if id(value) in self._packed:
            number = self._packed[id(value)][0]
            if not self._refer(number):
                raise Unstorable(value, place)
            return {"again": number}
        number = len(self._packed)
        before = self._n_in_all
        self._packed[id(value)] = number, value  # the value is kept alive so that its id stays
        packed = {k: self.pack(v, (*place, k)) for k, v in _state(value).items()}
        self._sizes[number] = self._n_in_all - before
        return {"is": name, "of": packed, "as": number}

    def unpack(self, plain: Any) -> Any:
        """The inverse of :meth:`pack`; LookupError, TypeError or ValueError for anything else."""
        self._count()
        if not isinstance(plain, dict):
            return plain
        if "is" in plain:
            number = plain["as"]
            before = self._n_in_all
            self._made[number] = self._instance(plain["is"], plain["of"])
            self._sizes[number] = self._n_in_all - before
            return self._made[number]
        (kind, content), *_ = plain.items()
        if kind == "float":
            return float(content)
        if kind == "again":
            if not self._refer(content):
                raise ValueError("its references to other parts make it more than it may be")
            return self._made[content]
        if kind == "array":
            return self.arrays.pop(content)
        if kind == "objects":
            items, shape = content
            array = np.empty(len(items), dtype=object)
            for i, item in enumerate(items):
                array[i] = self.unpack(item)
            return array.reshape(shape)
        if kind == "dict":
            return {self.unpack(key): self.unpack(value) for key, value in content}
        return COLLECTIONS[kind](map(self.unpack, content))

    def _count(self) -> None:
        self._n_written += 1
        self._n_in_all += 1

    def _refer(self, number: int) -> bool:
        """Count the values that a reference stands for; False if they are too many."""
        self._n_in_all += self._sizes[number]
        return self._n_in_all <= TIMES_REPEATED * self._n_written + ROOM

    def _instance(self, name: str, packed: Mapping[str, Any]) -> Any:
        cls: Any = Unstored if name == "Unstored" else self._class_of(name)
        state = {RENAMED_FIELDS.get((name, key), key): self.unpack(packed[key]) for key in packed}
        if issubclass(cls, Enum):
            return cls[state["name"]]
        missing = [part for part in _always_there(cls, state) if part not in state]
        if missing:
            raise ValueError(f"{name} lacks {', '.join(missing)}")
        if _is_value(cls):
            return cls(**state)
        hidden = [key for key in state if callable(getattr(cls, key, None))]
        if hidden:
            raise ValueError(f"{name} has data in place of its methods {', '.join(hidden)}")
        instance = cls.__new__(cls)
        vars(instance).update(state)
        if hasattr(cls, "get_params"):
            instance.get_params(deep=False)  # an AttributeError without one of its settings
        return instance

    def _pack_array(self, value: NDArray[Any], place: tuple[str, ...]) -> Any:
        if value.dtype.kind == "O":
            items = enumerate(value.ravel().tolist())
            return {"objects": [[self.pack(x, (*place, str(i))) for i, x in items], value.shape]}
        if value.dtype.kind not in "biufcSUmM":
            raise Unstorable(value, place)
        name = str(len(self.arrays))
        self.arrays[name] = value.astype(value.dtype.newbyteorder("="))
        return {"array": name}


def _always_there(cls: type, state: Mapping[str, Any]) -> list[str]:
    """Attributes that an instance needs: its settings, and those annotated as learned if any is."""
    names = [field.name for field in fields(cls) if field.init] if is_dataclass(cls) else []
    has_learned = hasattr(cls, "get_params") and any(map(_is_learned, state))
    for base in cls.__mro__ if has_learned else ():
        learned = filter(_is_learned, vars(base).get("__annotations__", {}))
        names += [name for name in learned if not hasattr(cls, name)]
    return names


def _is_learned(name: str) -> bool:
    return bool(name.strip("_")) and name.endswith("_")


def _is_value(cls: type) -> bool:
    return is_dataclass(cls) and not hasattr(cls, "get_params")


def _state(value: Any) -> dict[str, Any]:
    if isinstance(value, Enum):
        return {"name": value.name}
    if _is_value(type(value)):
        return settings_in(value)
    return without_remembered(value, vars(value))


def fingerprint(value: Any) -> str:
    """The first 16 digits of a SHA-256 hash of a value's content, equal in every process."""
    digest = hashlib.sha256()
    _update(digest, value, ())
    return digest.hexdigest()[:16]


def _update(digest: Any, value: Any, inside: tuple[int, ...]) -> None:
    if id(value) in inside:
        digest.update(b"itself")
        return
    inside = (*inside, id(value))
    digest.update(f"<{type(value).__module__}.{type(value).__qualname__}".encode())
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif value is None or isinstance(
        value, bool | int | float | complex | str | bytes | np.generic
    ):
        digest.update(repr(value).encode())
    else:
        for part in _parts(value):
            _update(digest, part, inside)
    digest.update(b">")


def _parts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return list(chain.from_iterable(value.items()))
    if isinstance(value, set | frozenset):
        return sorted(fingerprint(item) for item in value)
    if isinstance(value, list | tuple | np.ndarray):
        return value
    if isinstance(value, ModuleType):
        return [value.__name__]
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_consts
    is_estimator = hasattr(value, "get_params")  # learned attributes count as well
    if is_dataclass(value) and not isinstance(value, type) and not is_estimator:
        counted = [f for f in fields(value) if f.init and f.metadata.get("fingerprint", True)]
        return [getattr(value, field.name) for field in counted]
    code = getattr(value, "__code__", None)
    if code is not None:  # a function
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        owner = getattr(value, "__self__", None)  # of a method
        return code, value.__defaults__, value.__kwdefaults__, cells, owner
    if isinstance(value, type) or not hasattr(value, "__dict__") or callable(value):
        name = getattr(value, "__qualname__", None)
        if name is not None:  # a class, or a function written in C
            return [f"{value.__module__}.{name}", getattr(value, "__self__", None)]
    try:
        reduced = value.__reduce_ex__(4)
    except TypeError:  # locks and the like, which are known by their type alone
        return []
    if isinstance(reduced, str):
        return [reduced]
    parts = [part for part in reduced if not hasattr(part, "__next__")]
    return [
        dict(sorted(without_remembered(value, part).items())) if isinstance(part, dict) else part
        for part in parts
    ]


def difference(before: Any, now: Any, name: str = "") -> str | None:
    """The name of the first attribute that differs, as ``Oracle.count``; None if none differs."""
    if before is now:
        return None
    if type(before) is not type(now):
        return name
    if isinstance(before, np.ndarray) and before.dtype != object:
        same = np.array_equal(before, now, equal_nan=before.dtype.kind in "fc")
        return None if same else name
    state = getattr(before, "__dict__", None)
    pairs = []
    if isinstance(before, list | tuple) and len(before) == len(now):
        pairs = [(name, a, b) for a, b in zip(before, now, strict=True)]
    elif isinstance(before, dict) and before.keys() == now.keys():
        pairs = [(name, value, now[key]) for key, value in before.items()]
    elif isinstance(state, dict) and not isinstance(before, list | tuple | dict):
        # Attributes that only the later object has are caches.
        kind = type(before).__name__
        later = vars(now)
        pairs = [(f"{kind}.{key}", value, later.get(key)) for key, value in state.items()]
    elif fingerprint(before) != fingerprint(now):
        return name
    differences = (difference(a, b, inside) for inside, a, b in pairs)
    return next((one for one in differences if one is not None), None)
