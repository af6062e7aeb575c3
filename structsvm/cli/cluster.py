"""Learning from files that are read one at a time, here or by the workers of a Dask cluster."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from structsvm.cli.columns import Reading
from structsvm.cli.inputs import Given, takes_images
from structsvm.cli.terminal import Terminal
from structsvm.errors import SettingsError
from structsvm.io.files import RecordingFiles, find_recordings
from structsvm.io.recording import Recording
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.extras import require
from structsvm.support.plain import counted

WHOLE = ("labels", "outside", "chunk_column", "recording_column")
"""Parameters of reading that need all recordings in memory."""
WHOLE_OPTIONS = ("regions", "rates", "split")
"""Options of ``fit`` that do."""
WAIT = 30
"""Seconds to wait for a scheduler."""


def check_options(args: argparse.Namespace, problem: PartitionProblem) -> None:
    """Refuse what needs all files where they are read one at a time."""
    if not reads_later(args):
        return
    option = "--lazy" if args.lazy else "--scheduler"
    if takes_images(problem):
        raise SettingsError(f"{option} is for recordings and tables, not for images")
    typed = _needs_all(args)
    if typed is not None:
        raise SettingsError(
            f"{typed}= needs all recordings in memory, and with {option} "
            "they are read one at a time: leave one of them out"
        )


def reads_later(args: argparse.Namespace) -> bool:
    return bool(args.lazy) or args.scheduler is not None


def is_too_large(args: argparse.Namespace, problem: PartitionProblem) -> bool:
    if takes_images(problem) or _needs_all(args) is not None:
        return False
    files = find_recordings(args.paths).files
    return sum(path.stat().st_size for path in files) > memory_bytes()


def memory_bytes() -> float:
    """The memory of this machine; infinite where the system does not say."""
    if not hasattr(os, "sysconf"):
        return math.inf
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _needs_all(args: argparse.Namespace) -> str | None:
    typed = [*Reading.of(args).typed, *(name for name in WHOLE_OPTIONS if getattr(args, name))]
    return next((name for name in typed if name in (*WHOLE, *WHOLE_OPTIONS)), None)


@contextmanager
def on_cluster(args: argparse.Namespace) -> Iterator[None]:
    """Let ``backend="dask"`` take the workers of the scheduler that was named, if one was."""
    if args.scheduler is None:
        yield
        return
    distributed = require("distributed", "dask", "--scheduler")
    try:
        client = distributed.Client(args.scheduler, timeout=WAIT)
    except (OSError, ValueError, TypeError) as error:
        raise SettingsError(
            f"--scheduler {args.scheduler}: no scheduler answers ({error})"
        ) from error
    with client:
        yield


def files_of(args: argparse.Namespace, terminal: Terminal, problem: PartitionProblem) -> Given:
    """The labelled files that ``args.paths`` name, none of which is read here."""
    found = find_recordings(args.paths)
    reading = Reading.of(args)
    files = RecordingFiles.of(found, reading.options(in_order=problem.traits.contiguous))
    terminal.note(f"{counted(len(files), 'file')}, read one at a time, whenever needed")
    nothing = np.empty((0, 0))
    return Given.later(
        [
            Recording(name, nothing, None, (), source=str(path))
            for name, path in zip(found.names, found.files, strict=True)
        ],
        files,
        problem,
    )
