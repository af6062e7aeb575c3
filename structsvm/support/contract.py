"""Contracts that plugins keep, and their settings.

It imports no NumPy, because the help of the command line needs it.
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
    """Mark a method of a contract that has a default which a subclass may replace."""
    method.__hook__ = True  # type: ignore[attr-defined]
    return method


def promises(what: type | Callable[[Any], bool], in_words: str = "") -> Callable[[Method], Method]:
    """Mark a hook whose returned value must be of a type, or pass a check, ``what``."""

    def mark(method: Method) -> Method:
        method.__promise__ = what, in_words  # type: ignore[attr-defined]
        return hook(method)

    return mark


def _kept(name: str, method: Any, promise: tuple[Any, str]) -> Any:
    """The method, with its returned value checked."""
    promised, in_words = promise

    @wraps(method)
    def _checked(plugin: Any, *args: Any, **kwargs: Any) -> Any:
        returned = method(plugin, *args, **kwargs)
        if not (
            isinstance(returned, promised) if isinstance(promised, type) else promised(returned)
        ):
            raise_wrong(plugin, name, returned, in_words or f"an instance of {promised.__name__}")
        return returned

    _checked.__promise__ = promise  # type: ignore[attr-defined]
    return _checked


def checked_by(check: Callable[..., tuple[Any, ...]]) -> Callable[[Method], Method]:
    """Mark a method whose arguments pass through ``check`` first, whichever class defines it."""

    def mark(method: Method) -> Method:
        return cast(Method, _checked_first(method, check))

    return mark


def _checked_first(method: Any, check: Callable[..., tuple[Any, ...]]) -> Any:
    """The method, called with what ``check`` returns for its arguments."""

    @wraps(method)
    def _verified(plugin: Any, *args: Any, **kwargs: Any) -> Any:
        return method(plugin, *check(plugin, *args, **kwargs))

    _verified.__check__ = check  # type: ignore[attr-defined]
    return _verified


@contextmanager
def asked(plugin: object, method: str, where: str | Callable[[], str] = "") -> Iterator[None]:
    """Name the plugin, its method and the sample in errors that are raised in this block."""
    try:
        yield
    except Exception as error:
        raise_named(plugin, method, where if isinstance(where, str) else where(), error)


def raise_named(plugin: object, method: str, at: str, error: Exception) -> NoReturn:
    """Raise an error of a plugin's code again, with the names of its method and sample."""
    if isinstance(error, StructSVMError):
        if not error.names(at) and isinstance(error, DataError | PluginError | OracleError):
            error.begin_with(at)
        elif not error.names(at):
            error.add_note("while asking about " + at)
        raise error
    message = f"raised {type(error).__name__}: {error}"
    if isinstance(error, ValueError) and "read-only" in str(error):
        message = f"modified its input ({error}): copy before writing"
    named = culprit(error) or f"{type(plugin).__name__}.{method}"
    raise PluginError((at + ": " if at else "") + f"{named} {message}") from error


def hooks_of(contract: type) -> set[str]:
    """The names of the definitions of a contract that subclasses may replace."""
    return {name for name, definition in vars(contract).items() if _is_open(definition)}


@cache  # slow, and called for every sample
def overrides(cls: type, name: str, base: type) -> bool:
    """Whether a class has another definition of a name than its base."""
    return inspect.getattr_static(cls, name) is not inspect.getattr_static(base, name)


def is_replaced(plugin: object, name: str) -> bool:
    """Whether the class of a plugin replaces a definition of its contract."""
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
    """The innermost public method of a plugin in which an error was raised; None if none."""
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

    A subclass with a definition that nothing would call is refused. Values that hooks have promised
    are checked when they return, and arguments with a check before the call.
    """

    needs: ClassVar[Mapping[str, str]] = {}
    """Definitions that are called only if another one is replaced as well: that one, by name."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Present names of hooks by their older names, which are refused."""

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
        super().__init_subclass__(**kwargs)  # last, because scikit-learn's adds definitions


def _check_of(name: str, cls: type) -> Any:
    """The check of a method's arguments that a base class has marked; None if there is none."""
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
    """The attributes of an object without its cached properties."""
    cls = type(value)
    cached = {name for name in state if isinstance(getattr(cls, name, 0), cached_property)}
    return {name: attribute for name, attribute in state.items() if name not in cached}


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name, those of a group (a dataclass) as ``image.radius``."""
    flattened: dict[str, Any] = {}
    for name, value in settings.items():
        inner = settings_in(value)
        flattened |= {f"{name}.{k}": v for k, v in flat(inner).items()} if inner else {name: value}
    return flattened
