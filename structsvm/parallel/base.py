"""The contract of backends, the one without workers, and sessions of workers with shares."""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from structsvm.errors import Code, SettingsError, StructSVMError, parameter
from structsvm.parallel.single import single_threaded

Task = Callable[[Any, Any], Any]  # takes a part and the argument
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

        If tasks raise errors, the first one is raised.
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


def deal(parts: Sequence[Any], n_workers: int) -> list[Sequence[Any]]:
    """Shares, dealt like cards, so that neighbours of like size go to different workers."""
    n = max(1, min(n_workers, len(parts)))
    return [parts[k::n] for k in range(n)]


def work_on_share(task: ShareTask, share: Sequence[Any] | Path, argument: Any) -> list[Any]:
    """The answers of a share, which may be in a file, computed in one thread."""
    with single_threaded():
        return task(_stored(share) if isinstance(share, Path) else share, argument)


def _stored(path: Path) -> Sequence[Any]:
    if path not in _read:
        for other in [one for one in _read if one.parent != path.parent]:
            del _read[other]  # the run that it belongs to is over
        _read[path] = pickle.loads(path.read_bytes())
    return _read[path]


_read: dict[Path, Sequence[Any]] = {}  # the shares that this worker has read, by path


@dataclass(frozen=True, eq=False)
class Workers(Session):
    submit: Callable[..., Any]  # takes a function and its arguments to a future
    shares: Sequence[Any]
    explained: Callable[[], AbstractContextManager[None]] = nullcontext
    """A context that translates errors of the backend to those of structsvm."""

    def map_shares(self, task: ShareTask, argument: Any) -> list[Any]:
        with self.explained():
            waiting = [self.submit(work_on_share, task, share, argument) for share in self.shares]
            try:
                answers = [future.result() for future in waiting]
            finally:
                for future in waiting:
                    if not future.done():
                        with suppress(Exception):  # workers that are gone have nothing to cancel
                            future.cancel()
        n = len(answers)
        total = sum(map(len, answers))
        return [answers[k % n][k // n] for k in range(total)]


@contextmanager
def translated(
    what: str, way_out: str, kind: type[StructSVMError], *raised: type[Exception]
) -> Iterator[None]:
    """Raise an error of structsvm in place of the ones ``raised``, which it quotes."""
    try:
        yield
    except raised as error:
        raise kind(f"{what} ({error}): " + way_out) from error


RESUME = parameter("resume", Code("FILE"))
sendable = partial(
    translated,
    "what the workers work on cannot be sent to other processes",
    "use "
    + parameter("backend", "threads")
    + ", or give what can be pickled, such as paths in place of open files",
    SettingsError,
    *(TypeError, AttributeError, pickle.PicklingError),
)
