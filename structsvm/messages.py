"""Messages as data: a text in which parameters and recordings are fields.

A message is made of texts, parameters and numbers of recordings by ``+``. As a ``str`` it has the
words of Python, ``skip_lines=[9]`` and ``recording 3``; the command line renders the same fields as
``--set files.skip_lines=9`` and the name of the file.

An f-string or ``str.join`` that such a text is put into has the words of Python alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, SupportsInt


class Code(str):
    """A value of a parameter as it is written in Python: ``Dask(client)``, or a rounded number."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


ANY: Final = Code()
"""In the place of a value: whatever the reader chooses."""


@dataclass(frozen=True)
class Parameter:
    """A parameter, with a value that it has or could be given."""

    name: str
    value: Any = ANY
    is_named_alone: bool = False
    """Whether the sentence says its name, and whatever it says of the value elsewhere."""

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
    """What is said to somebody who has arrays, and to somebody who has files."""

    of_arrays: str
    of_files: str

    def __str__(self) -> str:
        return self.of_arrays


Part = str | Parameter | Numbered | Wording


class Text(str):
    """A text that keeps its parts where it is added to others."""

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Text:
        kept = tuple(_flat(parts))
        text = super().__new__(cls, "".join(map(str, kept)))
        text.parts = kept
        return text

    def __add__(self, other: str) -> Text:
        return Text(self, other)

    def __radd__(self, other: str) -> Text:
        return Text(other, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Text, self.parts

    @property
    def fields(self) -> list[Part]:
        """All parts, with those of what is said to somebody who has arrays."""
        parts: list[Part] = []
        for part in self.parts:
            parts += Text(part.of_arrays).fields if isinstance(part, Wording) else [part]
        return parts

    def holds(self, other: str) -> bool:
        """Whether each part of another text is a part of this one."""
        return all(part in self.parts for part in Text(other).parts)

    def map(self, change: Callable[[Part], Part]) -> Text:
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
    """A value that another process can read; of anything but plain values, how it is written."""
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
    """Texts, or values as texts, one after the other, as ``str.join`` has them."""
    joined: list[str] = []
    for text in texts:
        joined += [between] if joined else []
        joined.append(text if isinstance(text, str) else str(text))
    return Text(*joined)


def said_by(error: BaseException, *, in_a_line: bool = False) -> Text:
    """The message of an error or a warning with the fields it has; of any other, if asked, a line.

    A line is for readers of foreign formats: names of files may hold several blanks.
    """
    if error.args and isinstance(error.args[0], Text):
        return error.args[0]
    said = str(getattr(error, "strerror", None) or error)
    return Text(" ".join(said.split()) if in_a_line else said)
