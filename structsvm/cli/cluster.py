"""Learning from files that are read one at a time, here or by the workers of a Dask cluster."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from structsvm.cli.inputs import InputData, takes_images
from structsvm.cli.settings import Reading
from structsvm.cli.terminal import Terminal
from structsvm.errors import SettingsError
from structsvm.io.files import RecordingFiles, find_recordings
from structsvm.io.recording import Recording
from structsvm.partitions.problem import PartitionProblem
from structsvm.support.extras import require
from structsvm.support.plain import counted

IN_MEMORY = ("labels", "outside", "chunk_column", "recording_column", "regions", "rates", "split")
"""Parameters of reading and options of ``fit`` that need all recordings in memory."""
WAIT = 30
"""Seconds to wait for a scheduler."""


def reads_later(args: argparse.Namespace, problem: PartitionProblem) -> bool:
    """Whether files are read when they are needed: as asked for, or as memory has no room."""
    typed = {*Reading.of(args).typed, *(name for name in IN_MEMORY if getattr(args, name, None))}
    whole = next((name for name in IN_MEMORY if name in typed), None)
    if args.lazy or args.scheduler is not None:
        option = "--lazy" if args.lazy else "--scheduler"
        if takes_images(problem):
            raise SettingsError(f"{option} is for recordings and tables, not for images")
        if whole is not None:
            raise SettingsError(
                f"{whole}= needs all recordings in memory, and with {option} "
                "they are read one at a time: leave one of them out"
            )
        return True
    if takes_images(problem) or whole is not None or not hasattr(os, "sysconf"):
        return False
    files = find_recordings(args.paths).files
    return sum(path.stat().st_size for path in files) > memory_bytes()


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


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


def files_of(args: argparse.Namespace, terminal: Terminal, problem: PartitionProblem) -> InputData:
    """The labelled files that ``args.paths`` name, none of which is read here."""
    found = find_recordings(args.paths)
    options = Reading.of(args).options(in_order=problem.traits.contiguous)
    files = RecordingFiles.of(found, options)
    terminal.note(f"{counted(len(files), 'file')}, read one at a time, whenever needed")
    nothing = np.empty((0, 0))
    items = [
        Recording(name, nothing, None, (), source=str(path))
        for name, path in zip(found.names, found.files, strict=True)
    ]
    return InputData(items, problem, (), files)
