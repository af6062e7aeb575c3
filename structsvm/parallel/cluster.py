"""Workers of a Dask cluster."""

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from structsvm.errors import Code, SettingsError, StructSVMError, parameter, without_warnings
from structsvm.parallel.base import RESUME, Backend, Session, Workers, deal, sendable, translated
from structsvm.support import require

_answering = partial(
    translated,
    "the scheduler of the Dask cluster does not answer",
    "start another one, and give " + RESUME + " to keep what is learned until then",
    StructSVMError,
)

WAIT_FOR_WORKERS = 30.0
"""Seconds to wait for the first worker: an adaptive cluster begins without any."""


@dataclass(frozen=True)
class Dask(Backend):
    """A backend of the workers of a Dask cluster, one share for each of their threads.

    Where a worker dies, Dask does its work again on another one.

    Parameters
    ----------
    client : distributed.Client, optional
        The current one if it is not given.

    Examples
    --------
    >>> from structsvm.parallel import Dask
    >>> Dask()  # of the current client
    Dask(client=None)
    """

    client: Any = None

    @contextmanager
    def open(self, parts: Sequence[Any]) -> Iterator[Session]:
        """Place the shares on the workers; some have to be there, or to join within half a minute.

        Raises
        ------
        SettingsError
            If there are no workers, or the client is closed or asynchronous.
        """
        distributed = require("distributed", "dask", "backend='dask'")
        try:
            client = distributed.get_client() if self.client is None else self.client
        except ValueError as error:
            raise SettingsError(
                parameter("backend", "dask")
                + " needs a cluster: make a dask.distributed.Client first, or give one, "
                + parameter("backend", Code("Dask(client)"))
            ) from error
        if getattr(client, "status", None) != "running" or client.asynchronous:
            raise SettingsError(
                "the Dask client is closed or asynchronous: make one that is open and waits for "
                "its answers, Client(address), and give backend=Dask(client)"
            )
        with _answering(OSError):
            with suppress(TimeoutError):  # Dask's own is one
                client.wait_for_workers(1, timeout=WAIT_FOR_WORKERS)
            n_threads = sum(client.nthreads().values())
        if not n_threads:
            raise SettingsError(
                f"the Dask cluster has no workers, and had none for {WAIT_FOR_WORKERS:g} seconds: "
                "start some"
            )

        def submit(*work: Any) -> Any:
            quiet = without_warnings(UserWarning, beginning="Sending large")
            with _answering(OSError), sendable(), quiet:
                return client.submit(*work, pure=False)

        with ExitStack() as stack:
            with suppress(ValueError):  # raised if this is no task: a task would block its worker
                distributed.get_worker()
                stack.enter_context(distributed.worker_client())
            # Shares are results of tasks, as Dask recomputes these if they are lost, but no
            # scattered data.
            placed = [submit(partial(tuple, share)) for share in deal(parts, n_threads)]
            yield Workers(submit, placed, partial(_answering, CancelledError))
