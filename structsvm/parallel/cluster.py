"""The workers of a Dask cluster, for what one machine cannot do."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from structsvm.errors import MissingExtraError, SettingsError, StructSVMError
from structsvm.parallel.base import (
    RETRIES,
    Backend,
    Session,
    ShareResult,
    ShareTask,
    sendable,
    split_shares,
    work,
)

logger = logging.getLogger("structsvm")

WAIT = 30.0
"""Seconds for which a cluster without any worker is waited for: a new one is on its way when a
nanny replaces one that died, and when an adaptive cluster begins."""


@dataclass(frozen=True)
class Dask(Backend):
    """A backend of the workers of a Dask cluster, one share for each of their threads.

    Parameters
    ----------
    client : distributed.Client, optional
        The current one if it is not given.

    Examples
    --------
    >>> from structsvm import MetricLearner
    >>> from structsvm.parallel import Dask
    >>> MetricLearner(backend=Dask()).backend  # fit sends the work to the current client
    Dask(client=None)
    """

    client: Any = None

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Scatter the shares, pinned to their workers; those of a lost worker move to another.

        Raises
        ------
        SettingsError
            If the client is closed or asynchronous, or the cluster has no workers and none join
            within the waiting time.
        """
        client = self._client()
        _refuse_no_client(client)
        slots = _slots(client)
        if not slots:
            raise SettingsError(
                f"the Dask cluster has no workers, and had none for {WAIT:g} seconds: start some"
            )
        with _thread_given_back():
            yield _OnDask(client, split_shares(parts, len(slots)))

    def _client(self) -> Any:
        if self.client is not None:
            return self.client
        try:
            from distributed import get_client
        except ImportError as error:
            raise MissingExtraError(
                "backend='dask' needs distributed: pip install 'structsvm-partitioning[dask]'"
            ) from error
        try:
            return get_client()
        except ValueError as error:
            raise SettingsError(
                "backend='dask' needs a cluster: make a dask.distributed.Client first, "
                "or give one, backend=Dask(client)"
            ) from error


class _OnDask(Session):
    def __init__(self, client: Any, shares: Sequence[Sequence[Any]]) -> None:
        self._client, self._shares = client, shares
        self._placed = [self._place(k) for k in range(len(shares))]

    def shares(self, task: ShareTask, argument: Any) -> list[ShareResult]:
        answers = {k: self._submit(task, k, argument) for k in range(len(self._shares))}
        try:
            return [self._result(task, k, argument, answers) for k in range(len(self._shares))]
        except BaseException:
            with suppress(Exception):  # a cluster that is gone has nothing to cancel
                self._client.cancel(list(answers.values()))
            raise

    def _result(
        self, task: ShareTask, k: int, argument: Any, answers: dict[int, Any]
    ) -> ShareResult:
        for retry in range(RETRIES + 1):
            try:
                done: ShareResult = answers[k].result()
                return done
            except (CancelledError, OSError) as error:
                if retry == RETRIES or isinstance(error, StructSVMError):
                    raise
                logger.warning("the Dask worker of share %d is gone: its work is done again", k)
                self._placed[k] = self._place(k)
                answers[k] = self._submit(task, k, argument)
        raise AssertionError

    def _place(self, k: int) -> tuple[Any, str]:
        """A share on one of the workers there are now."""
        slots = _slots(self._client)
        if not slots:
            raise StructSVMError(
                f"the Dask cluster has no workers left, and no new one appeared within {WAIT:g} "
                "seconds: start some, and give resume=FILE to keep what is learned until then"
            )
        address, share = slots[k % len(slots)], _Share(self._shares[k])
        with _answering(), sendable():
            (future,) = self._client.scatter([share], workers=[address], hash=False)
        return future, address

    def _submit(self, task: ShareTask, k: int, argument: Any) -> Any:
        share, address = self._placed[k]
        return self._client.submit(
            _work_on_share, task, share, argument, pure=False, workers=[address]
        )


def _refuse_no_client(client: Any) -> None:
    """Check that a client can be asked, and waits for its answers."""
    status = getattr(client, "status", f"a {type(client).__name__}")
    is_one = hasattr(client, "asynchronous") and status not in ("closing", "closed")
    if not is_one or client.asynchronous:
        raise SettingsError(
            f"the Dask client is {'asynchronous' if is_one else status}: make one that is open and "
            "waits for its answers, Client(address), and give backend=Dask(client)"
        )


@contextmanager
def _thread_given_back() -> Iterator[None]:
    """In a task of Dask, let other tasks have its thread: it waits for them, and has a place."""
    from distributed import get_worker, worker_client

    with ExitStack() as stack:
        with suppress(ValueError):  # this is no task
            get_worker()
            stack.enter_context(worker_client())
        yield


def _slots(client: Any) -> list[str]:
    """The address of each thread of the workers there are, once there is one; none after WAIT."""
    with _answering():
        if not client.nthreads():
            logger.warning("the Dask cluster has no workers: waiting %g seconds for one", WAIT)
            with suppress(TimeoutError):  # Dask's own is one
                client.wait_for_workers(1, timeout=WAIT)
        return [address for address, n in client.nthreads().items() for _ in range(n)]


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except OSError as error:  # as those of Dask are
        raise StructSVMError(
            f"the scheduler of the Dask cluster does not answer ({error}): start another one, and "
            "give resume=FILE to keep what is learned until then"
        ) from error


@dataclass(frozen=True, eq=False)
class _Share:
    """A list that Dask does not look into."""

    parts: Sequence[Any]


def _work_on_share(task: ShareTask, share: _Share, argument: Any) -> ShareResult:
    return work(task, share.parts, argument)
