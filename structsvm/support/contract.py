"""Contracts that plugins keep, and their settings.

The help of the command line needs it, and no NumPy.
"""

import inspect
from abc import ABC
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache, cached_property, wraps
from inspect import isfunction
from typing import Any, ClassVar, NoReturn, TypeVar, cast

from structsvm.errors import DataError, OracleError, PluginError, StructSVMError

Method = TypeVar("Method", bound=Callable[..., Any])


def hook(method: Method) -> Method:
    """Mark a method of a contract that has a default and that a subclass may define instead."""
    method.__hook__ = True  # type: ignore[attr-defined]
    return method


def promises(what: type | Callable[[Any], bool], in_words: str = "") -> Callable[[Method], Method]:
    """Mark a hook that returns something of a type, or something for which a check holds."""

    def mark(method: Method) -> Method:
        method.__promise__ = what, in_words  # type: ignore[attr-defined]
        return hook(method)

    return mark


def _kept(name: str, method: Any, promise: tuple[Any, str]) -> Any:
    what, in_words = promise

    @wraps(method)
    def _checked(plugin: Any, *args: Any, **kwargs: Any) -> Any:
        returned = method(plugin, *args, **kwargs)
        if not (isinstance(returned, what) if isinstance(what, type) else what(returned)):
            raise_wrong(plugin, name, returned, in_words or f"an instance of {what.__name__}")
        return returned

    _checked.__promise__ = promise  # type: ignore[attr-defined]
    return _checked


def checked_by(check: Callable[..., tuple[Any, ...]]) -> Callable[[Method], Method]:
    """Mark a method whose arguments are looked at first, whichever class defines it."""

    def mark(method: Method) -> Method:
        return cast(Method, _checked_first(method, check))

    return mark


def _checked_first(method: Any, check: Callable[..., tuple[Any, ...]]) -> Any:
    @wraps(method)
    def _verified(plugin: Any, *args: Any, **kwargs: Any) -> Any:
        return method(plugin, *check(plugin, *args, **kwargs))

    _verified.__check__ = check  # type: ignore[attr-defined]
    return _verified


@contextmanager
def asked(plugin: object, method: str, where: str | Callable[[], str] = "") -> Iterator[None]:
    """Name the plugin, its method and the sample if its code fails."""
    try:
        yield
    except Exception as error:
        raise_named(plugin, method, where if isinstance(where, str) else where(), error)


def raise_named(plugin: object, method: str, at: str, error: Exception) -> NoReturn:
    """Raise an error of a plugin's code with its method and the sample."""
    if isinstance(error, StructSVMError):
        if not error.names(at) and isinstance(error, DataError | PluginError | OracleError):
            error.begin_with(at)
        elif not error.names(at):
            error.add_note("while asking about " + at)
        raise error
    said = f"raised {type(error).__name__}: {error}"
    if isinstance(error, ValueError) and "read-only" in str(error):
        said = f"modified its input ({error}): copy before writing"
    named = culprit(error) or f"{type(plugin).__name__}.{method}"
    raise PluginError((at + ": " if at else "") + f"{named} {said}") from error


def hooks_of(contract: type) -> set[str]:
    """The names of the definitions of a contract that subclasses may replace."""
    return {name for name, definition in vars(contract).items() if _is_open(definition)}


@cache  # asked for every sample, and slow
def overrides(cls: type, name: str, base: type) -> bool:
    return inspect.getattr_static(cls, name) is not inspect.getattr_static(base, name)


def is_replaced(plugin: object, name: str) -> bool:
    """Whether the class of a plugin has a definition in place of that of its contract."""
    cls: type = type(plugin)
    contract: type = [base for base in cls.__mro__ if name in vars(base)][-1]
    return overrides(cls, name, contract)


def raise_wrong(plugin: object, method: str, returned: Any, instead: str) -> NoReturn:
    """Refuse what a method of a plugin returned."""
    from structsvm.support.values import shown

    raise PluginError(
        f"{type(plugin).__name__}.{method} returned {shown(returned)}: return {instead}"
    )


def culprit(error: BaseException) -> str | None:
    """Which method of which plugin an error was raised in, but for private ones; None if none."""
    named = None
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        owner = type(frame.f_locals.get("self"))
        room = owner.__module__.partition(".")[0]
        is_theirs = issubclass(owner, Contract) and room != "structsvm"
        name = frame.f_code.co_name
        if is_theirs and (name == "__post_init__" or not name.startswith(("_", "<"))):
            named = f"{owner.__name__}.{name}"
        traceback = traceback.tb_next
    return named


def _is_open(definition: object) -> bool:
    if getattr(definition, "__isabstractmethod__", False):
        return True
    function = getattr(definition, "fget", None) or getattr(definition, "__func__", definition)
    return bool(getattr(function, "__hook__", False))


class Contract(ABC):  # noqa: B024 (its subclasses have abstract methods)
    """Base of the abstract classes that plugins implement.

    A subclass is refused whose definitions nothing would call; what promised ones return is looked
    at, and what checked ones are called with.
    """

    needs: ClassVar[Mapping[str, str]] = {}
    """Definitions of a subclass that nothing calls unless it replaces another of this class, too:
    the one to the other."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Names that hooks had, which nothing calls, and those that they have."""

    @hook
    def __init_subclass__(cls, **kwargs: Any) -> None:
        for name, definition in sorted(vars(cls).items()):
            for base in cls.__mro__[1:]:
                promise = getattr(vars(base).get(name), "__promise__", None)
                if promise is not None and isfunction(definition):
                    setattr(cls, name, _kept(name, definition, promise))
            check = _check_of(name, cls)
            if check is not None and isfunction(definition):
                setattr(cls, name, _checked_first(definition, check))
            _require_called(cls, name)
        super().__init_subclass__(**kwargs)  # last: that of scikit-learn makes definitions


def _check_of(name: str, cls: type) -> Any:
    """What checks the arguments of a definition, as its bases say; None for nothing."""
    inherited = (getattr(vars(base).get(name), "__check__", None) for base in cls.__mro__[1:])
    return next((check for check in inherited if check is not None), None)


def _require_called(cls: type, name: str) -> None:
    """Refuse a definition that nothing would call."""
    bases = [base for base in cls.__mro__[1:] if issubclass(base, Contract)]
    for base in bases:
        if name in vars(base).get("renamed", {}):
            raise PluginError(
                f"{cls.__qualname__}.{name} would not be called: it is {base.renamed[name]} now"
            )
        partner = vars(base).get("needs", {}).get(name)
        if partner is not None and not overrides(cls, partner, base):
            raise PluginError(
                f"{cls.__qualname__}.{name} would not be called: {base.__name__}.{partner} does "
                f"without it. Define {partner} as well, or leave {name} out"
            )
    owner = next((base for base in bases if name in vars(base)), None)
    if owner is None or name.startswith("_") or not owner.__module__.startswith("structsvm"):
        return
    is_method = inspect.isroutine(vars(owner)[name]) or isinstance(vars(owner)[name], property)
    if is_method and not any(_is_open(vars(base)[name]) for base in bases if name in vars(base)):
        raise PluginError(
            f"{cls.__qualname__}.{name} would not always be called: {owner.__name__}.{name} is no "
            "hook. Give it another name"
        )


def settings_in(value: object) -> dict[str, Any]:
    """The settings of a dataclass by name; none of anything else."""
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    return {field.name: getattr(value, field.name) for field in fields(value) if field.init}


def without_remembered(value: object, state: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an object but for those that it remembers only to save time."""
    cls = type(value)
    remembered = {name for name in state if isinstance(getattr(cls, name, 0), cached_property)}
    return {name: attribute for name, attribute in state.items() if name not in remembered}


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name, those of a group (a dataclass) as ``image.radius``."""
    flattened: dict[str, Any] = {}
    for name, value in settings.items():
        inner = settings_in(value)
        flattened |= {f"{name}.{k}": v for k, v in flat(inner).items()} if inner else {name: value}
    return flattened
