"""How a command spells what messages name: parameters as options, recordings by their files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property

from structsvm.errors import Numbered, Parameter, Part, StructSVMError, Text, Wording


class Spelling:
    """The words of one run of a command; without options, those of Python."""

    def __init__(self, options: Callable[[], Mapping[str, str]] = dict) -> None:
        self._options = options
        self._named: list[tuple[str, Sequence[str]]] = []
        """What recordings are called in messages, and the place of each; the last ones count."""

    @cached_property
    def options(self) -> Mapping[str, str]:
        """How each parameter begins as an option: ``--lam `` or ``--set solver.tol=``."""
        return self._options()

    def __call__(self, message: str) -> str:
        """A message in the words of the command line."""
        return "".join(map(self.part, Text(message).parts))

    def part(self, part: Part) -> str:
        if isinstance(part, Parameter):
            return self._option(part)
        if isinstance(part, Wording):
            return self(part.of_files)
        return str(self.place(part))

    @contextmanager
    def naming(self, noun: str, places: Sequence[str]) -> Iterator[None]:
        """Call recordings by their places, also in errors that leave the block."""
        self._named.append((noun, places))
        try:
            yield
        except StructSVMError as error:
            error.change(self.place)
            raise
        finally:
            self._named.pop()

    def place(self, part: Part) -> Part:
        """The place of a recording; anything else as it is."""
        if not self._named or not isinstance(part, Numbered):
            return part
        noun, places = self._named[-1]
        is_known = part.noun == noun and part.number < len(places)
        return places[part.number] if is_known else part

    def _option(self, parameter: Parameter) -> str:
        option = self.options.get(parameter.name)
        if option is None:
            return str(parameter)
        if parameter.is_named_alone:
            return option.rstrip(" =")
        value = parameter.value
        texts = list(map(str, value if isinstance(value, list | tuple) else [value]))
        if option.endswith("="):
            return option + ("VALUE" if parameter.is_open else shlex.quote(",".join(texts)))
        if parameter.is_open:
            return option.rstrip()
        return " ".join(f"{option}{shlex.quote(text)}" for text in texts)
