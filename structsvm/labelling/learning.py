"""Learning beside the page: in a process of its own, which can be stopped at any moment."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

from structsvm.errors import StructSVMError
from structsvm.support.progress import watching

Tell = Callable[[dict[str, Any]], None]
Learn = Callable[[bool, Tell], None]
"""Learns from the table of labels, states if these are named, and tells what came of it; a process
of its own calls it."""


class Learning:
    """What is being learned, if anything is."""

    def __init__(self, learn: Learn, tell: Tell) -> None:
        self._learn = learn
        self._tell = tell
        self._process: Any = None

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def start(self, are_named: bool) -> None:
        spawn = multiprocessing.get_context("spawn")  # nothing of the server is in it
        here, there = spawn.Pipe(duplex=False)
        self._process = spawn.Process(
            target=_run, args=(self._learn, are_named, there), daemon=True
        )
        self._process.start()
        there.close()
        Thread(target=self._listen, args=(self._process, here), daemon=True).start()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()

    def _listen(self, process: Any, here: Connection) -> None:
        """Pass on what the process tells, until it ends; the model is written whole or not."""
        while True:
            try:
                self._tell(here.recv())
            except (EOFError, OSError):
                break
        process.join()
        self._process = None
        self._tell({"ended": process.exitcode == 0})


def _run(learn: Learn, are_named: bool, there: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which is for the server, and ends this as well

    def watcher(words: str, part: float) -> None:
        there.send({"doing": words.split(": ")[-1], "part": part})

    try:
        with watching(watcher):
            learn(are_named, there.send)
    except StructSVMError as error:
        there.send({"failed": str(error.message)})
