"""What a backend promises, and the one that needs no workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from structsvm.parallel.single import single_threaded

Task = Callable[[Any, Any], Any]
"""Takes a part and the argument."""

ShareTask = Callable[[Sequence[Any], Any], list[Any]]
"""Takes the parts of a share and the argument; an answer for each part."""


class Session(ABC):
    """The parts of a data set on the workers of a backend.

    Examples
    --------
    >>> import operator
    >>> from structsvm.parallel import Session, Threads
    >>> with Threads(n_jobs=2).open([1, 2, 3]) as session:
    ...     print(isinstance(session, Session))
    ...     session.map(operator.mul, 10), session.map(operator.add, 10)
    True
    ([10, 20, 30], [11, 12, 13])
    """

    @abstractmethod
    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        """``task(parts, argument)`` of every share: the answers of all parts, in their order.

        The first error that a task raises, if one does.
        """

    def map(self, task: Task, argument: Any) -> list[Any]:
        """``task(part, argument)`` of every part, in their order."""
        return self.map_shares(partial(_of_each, task), argument)


def _of_each(task: Task, parts: Sequence[Any], argument: Any) -> list[Any]:
    return [task(part, argument) for part in parts]


class Backend(ABC):
    """Base of backends, which work on the parts of a data set; an instance holds settings only.

    Examples
    --------
    >>> from structsvm.parallel import Backend, Threads
    >>> isinstance(Threads(n_jobs=2), Backend)
    True
    """

    @abstractmethod
    def open(self, parts: Sequence[Any]) -> AbstractContextManager[Session]:
        """Place the parts on the workers, for as long as the block lasts."""


@dataclass(frozen=True)
class Serial(Backend):
    """A backend that works on one part after another in the calling thread.

    Examples
    --------
    >>> import operator
    >>> from structsvm.parallel import Serial
    >>> with Serial().open([1, 2, 3]) as session:
    ...     session.map(operator.mul, 10)
    [10, 20, 30]
    """

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        yield SerialSession(parts)


@dataclass(frozen=True, eq=False)
class SerialSession(Session):
    parts: Sequence[Any]

    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        with single_threaded():
            return task(self.parts, argument)
