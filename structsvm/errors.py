"""Errors and warnings, and messages as data: texts in which parameters and recordings are fields.

A message is made of texts, parameters and numbers of recordings by ``+``. As a ``str`` it has the
words of Python, ``skip_lines=[9]`` and ``recording 3``; the command line renders the same fields as
``--set files.skip_lines=9`` and the name of the file. An f-string or ``str.join`` that such a text
is put into has the words of Python alone.
"""

import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, Final, SupportsInt

__all__ = [
    *("CertificateError", "CheckpointError", "CheckpointWarning", "DataError", "DataWarning"),
    *("DownloadError", "LearningError", "MasterError", "MissingExtraError", "ModelFileError"),
    *("OracleError", "OracleWarning", "PluginError", "SettingsError", "StructSVMError"),
    *("VerdictWarning", "about", "among", "printable", "warn"),
]


class Code(str):
    """The source text of a value, shown without quotes: ``Dask(client)``, or a rounded number."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


ANY: Final = Code()
"""Stands for a value that is left to the reader, as in ``ignore=``."""


@dataclass(frozen=True)
class Parameter:
    """A parameter in a message, with the value that it has or could be given."""

    name: str
    value: Any = ANY
    is_named_alone: bool = False
    """Whether only its name is shown, because the sentence itself speaks of the value."""

    @property
    def is_open(self) -> bool:
        """Whether the value is left to the reader."""
        return isinstance(self.value, Code) and not self.value

    def __str__(self) -> str:
        return self.name if self.is_named_alone else f"{self.name}={self.value!r}"


@dataclass(frozen=True)
class Numbered:
    """A recording, table or image, by its number among those that were given."""

    noun: str
    number: int

    def __str__(self) -> str:
        return f"{self.noun} {self.number}"


@dataclass(frozen=True)
class Wording:
    """One thing in two wordings: for users of Python, with arrays, and of commands, with files."""

    of_arrays: str
    of_files: str

    def __str__(self) -> str:
        return self.of_arrays


Part = str | Parameter | Numbered | Wording


class Text(str):
    """A string that remembers its parts, and keeps them when it is added to other strings."""

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> "Text":
        flat = tuple(_flat(parts))
        text = super().__new__(cls, "".join(map(str, flat)))
        text.parts = flat
        return text

    def __add__(self, other: str) -> "Text":
        return Text(self, other)

    def __radd__(self, other: str) -> "Text":
        return Text(other, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Text, self.parts

    @property
    def fields(self) -> list[Part]:
        """All parts; a :class:`Wording` is replaced by the parts of its wording for arrays."""
        parts: list[Part] = []
        for part in self.parts:
            parts += Text(part.of_arrays).fields if isinstance(part, Wording) else [part]
        return parts

    def holds(self, other: str) -> bool:
        """Whether each part of another text is a part of this one."""
        return all(part in self.parts for part in Text(other).parts)

    def map(self, change: Callable[[Part], Part]) -> "Text":
        """The same text with each part changed."""
        mapped: list[Part] = []
        for part in self.parts:
            if isinstance(part, Wording):
                both = (Text(words).map(change) for words in (part.of_arrays, part.of_files))
                mapped.append(Wording(*both))
            else:
                mapped.append(change(part))
        return Text(*mapped)


def _flat(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, Text):
            yield from part.parts
        elif part != "":
            yield part


def parameter(name: str, value: Any = ANY) -> Text:
    """A parameter in a message, ``ignore='b'``; without a value, ``ignore=``."""
    return Text(Parameter(name, _sendable(value)))


def named(name: str, value: Any) -> Text:
    """The name of a parameter in a sentence that says what is wrong with its value."""
    return Text(Parameter(name, _sendable(value), is_named_alone=True))


def _sendable(value: Any) -> Any:
    """A plain value itself, any other as its ``repr``: workers send errors to another process."""
    values = value if isinstance(value, list | tuple) else [value]
    is_plain = all(one is None or isinstance(one, str | int | float) for one in values)
    return value if is_plain else Code(repr(value))


def nth(noun: str, number: SupportsInt) -> Text:
    """A recording in a message, by its number: ``recording 3``."""
    return Text(Numbered(noun, int(number)))


def wording(of_arrays: str, *, of_files: str) -> Text:
    """Words for somebody who has arrays, and others for somebody who has files."""
    return Text(Wording(of_arrays, of_files))


def join(texts: Iterable[Any], between: str = ", ") -> Text:
    """Join texts like ``str.join``, but keep their fields; other values become text."""
    joined: list[str] = []
    for text in texts:
        joined += [between] if joined else []
        joined.append(text if isinstance(text, str) else str(text))
    return Text(*joined)


def said_by(error: BaseException, *, in_a_line: bool = False) -> Text:
    """The message of an error or a warning, with its fields if it is one of structsvm.

    ``in_a_line`` joins the lines and blanks of any other message. That is for errors of readers of
    foreign formats, because names of files may hold several blanks.
    """
    if error.args and isinstance(error.args[0], Text):
        return error.args[0]
    message = str(getattr(error, "strerror", None) or error)
    return Text(" ".join(message.split()) if in_a_line else message)


CALLERS = ("sklearn", "joblib", "contextlib")
"""Packages whose frames may stand between a line of the user and structsvm."""
CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"
}
"""How control characters are shown: a terminal obeys an escape sequence in the name of a file."""


def printable(text: str) -> str:
    r"""A text in which everything is escaped that cannot be encoded or shown, as in names of files.

    Bytes that are not UTF-8 are escaped: Python's reading of ``b"caf\xe9"`` becomes ``caf\xe9``. So
    are control characters, except for ends of lines and tabs.
    """
    text = text.translate(CONTROLS)
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a lone surrogate that does not come from the name of a file
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


class StructSVMError(Exception):
    """Base of every error raised on purpose by structsvm.

    Examples
    --------
    >>> from structsvm import DataError, StructSVMError
    >>> issubclass(DataError, StructSVMError)
    True
    """

    def __str__(self) -> str:
        """The message, which can be printed whatever the names of files in it."""
        return printable(super().__str__())

    @property
    def message(self) -> Text:
        """The message with the parameters and recordings in it as fields."""
        return Text(*self.args[:1])

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that the message names, with the values it gives."""
        named = [part for part in self.message.fields if isinstance(part, Parameter)]
        return {part.name: part.value for part in named if not part.is_open}

    @property
    def recordings(self) -> tuple[int, ...]:
        """The numbers of the recordings, tables or images that the message names."""
        numbered = [part.number for part in self.message.fields if isinstance(part, Numbered)]
        return tuple(dict.fromkeys(numbered))

    def names(self, place: str) -> bool:
        """Whether the message names a place."""
        return self.message.holds(place)

    def begin_with(self, place: str) -> None:
        """Put a place in front of the message, and remove the notes that name it."""
        self.args = (place + ": " + self.message, *self.args[1:])
        if hasattr(self, "__notes__"):
            self.__notes__ = [note for note in self.__notes__ if not Text(note).holds(place)]

    def change(self, part: Callable[[Part], Part]) -> None:
        """Change each part of the message and of the notes."""
        self.args = (self.message.map(part), *self.args[1:])
        if hasattr(self, "__notes__"):
            self.__notes__ = [Text(note).map(part) for note in self.__notes__]


class DataError(StructSVMError, ValueError):
    """Recordings or labels that cannot be used; the message names the sample and the way out.

    Examples
    --------
    >>> from structsvm import DataError
    >>> from structsvm.interop import labels_to_breakpoints
    >>> try:
    ...     labels_to_breakpoints([])
    ... except DataError as error:
    ...     print(error)
    labels must be a non-empty vector, got shape (0,)
    """


class SettingsError(StructSVMError, ValueError):
    """A parameter with a value it cannot have; the message lists what it can be.

    Examples
    --------
    >>> from structsvm import SettingsError
    >>> from structsvm.solvers import Stopping
    >>> try:
    ...     Stopping(tol=-1.0)
    ... except SettingsError as error:
    ...     print(error)
    tol must be > 0, got -1.0
    """


class OracleError(StructSVMError, ValueError):
    """A separation oracle was asked something that has no answer, or failed to answer."""


class MasterError(StructSVMError, RuntimeError):
    """No solver could solve the restricted problem over the working set."""


class LearningError(StructSVMError, RuntimeError):
    """Learning ended without a usable metric.

    Parameters
    ----------
    message : str
    status : structsvm.Status, optional
        How the solver ended.

    Examples
    --------
    >>> import numpy as np
    >>> from structsvm import LearningError, MetricLearner
    >>> Xs = list(np.random.default_rng(0).normal(size=(2, 40, 1)))
    >>> try:
    ...     MetricLearner(lam=1e6).fit(Xs, [[20, 40], [15, 40]])
    ... except LearningError as error:
    ...     print(type(error).__name__, error.status is not None)
    LearningError True
    """

    def __init__(self, message: str, status: Any = None) -> None:
        super().__init__(message)
        self.status = status


class PluginError(StructSVMError, TypeError):
    """A problem, oracle or regularizer does not keep its contract."""


class CertificateError(StructSVMError, RuntimeError):
    """A lower bound above the upper one: an oracle is not what it claims, or a bound is wrong."""


class ModelFileError(StructSVMError, ValueError):
    """A file that is not a readable structsvm model."""


class CheckpointError(StructSVMError, ValueError):
    """A file that learning cannot go on from; the message says why."""


class DownloadError(StructSVMError, OSError):
    """A public set that cannot be fetched; the message says where to put it by hand."""


class MissingExtraError(StructSVMError, ImportError):
    """An optional library that is not installed; the message says how to install it."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written: learning goes on, and could not be resumed from it."""


class DataWarning(UserWarning):
    """Data that can be used but will not give what the user probably expects."""


class OracleWarning(UserWarning):
    """An oracle found less than it claims: learning goes on, and no upper bound is certified."""


class VerdictWarning(UserWarning):
    """Held-out recordings do not show that the learned metric is worth having."""


@contextmanager
def about(where: object) -> Iterator[None]:
    """Begin the message of a DataError or an OracleError with a place, if it does not yet."""
    try:
        yield
    except (DataError, OracleError) as error:
        place = where if isinstance(where, str) else str(where)
        if not error.message.startswith((place + ": ", place + ", ")):
            error.begin_with(place)
        raise


@contextmanager
def among(which: Sequence[int] | None = None) -> Iterator[None]:
    """Renumber the recordings in errors of a block that sees only some of them.

    ``which`` are the numbers of these recordings among all. If it is None, the numbers become plain
    text, so that no caller takes them for numbers among all recordings.
    """

    def renumbered(part: Part) -> Part:
        if not isinstance(part, Numbered):
            return part
        if which is None or part.number >= len(which):
            return str(part)
        return replace(part, number=int(which[part.number]))

    try:
        yield
    except StructSVMError as error:
        error.change(renumbered)
        raise


def warn(message: str, category: type[Warning] = DataWarning) -> None:
    """Warn at the line of the user's code that called into structsvm, however deep this is.

    That line is outside of the outermost call into the package, so that neither the depth nor a
    library that the package calls back and forth (joblib, contextlib) matters; lines of the
    :data:`CALLERS` around it are passed over. The warning keeps, as ``origin``, the line of the
    package that gave it, by which warnings of one kind are recognised.
    """
    level, outside = 1, 1
    warning = category(Text(message))
    source = sys._getframe(1)
    warning.origin = source.f_code.co_filename, source.f_lineno  # type: ignore[attr-defined]
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package == "structsvm":
            outside = level + 1
        elif level == outside and package in CALLERS:
            outside += 1
        level = level + 1
        frame = frame.f_back
    warnings.warn(warning, stacklevel=outside)


@contextmanager
def without_warnings(*categories: type[Warning], beginning: str = "") -> Iterator[None]:
    """Run the block without warnings of these categories from this thread, and from no other.

    ``warnings.catch_warnings`` saves and restores the filters of the whole process, so that blocks
    that overlap in several threads can leave each other's filters behind for good.
    """
    filters: Any = warnings.filters
    ignored = [("ignore", _Here(beginning), category, None, 0) for category in categories]
    filters[:0] = ignored
    try:
        yield
    finally:
        for ignoring in ignored:
            with suppress(ValueError):  # the block has reset the filters
                filters.remove(ignoring)


@dataclass(frozen=True)
class _Here:
    """Takes the place of the pattern in a filter of warnings, and matches in one thread alone."""

    beginning: str
    thread: int = field(default_factory=threading.get_ident)

    @property
    def pattern(self) -> str:
        return re.escape(self.beginning)  # scikit-learn sends this text to its workers

    def match(self, text: str) -> bool:
        return threading.get_ident() == self.thread and text.startswith(self.beginning)
