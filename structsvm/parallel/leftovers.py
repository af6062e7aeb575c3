"""Temporary folders of processes that were killed: known by their names, removed by the next."""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import re
import shutil
import tempfile
from pathlib import Path

NAME = re.compile(r"structsvm-(?P<place>[0-9a-f]{8})-(?P<pid>[0-9]+)-(?P<started>[0-9]+)-.*")

logger = logging.getLogger("structsvm")


def prefix() -> str:
    pid = os.getpid()
    return f"structsvm-{_place()}-{pid}-{_started(pid)}-"


def remove() -> None:
    """Remove the temporary folders of this user whose process is no more.

    A number is given to another process in time, so that a process is the one that made a folder
    only if it started when that one did. Folders of other machines and containers that share the
    disk are left alone: whether their processes run cannot be known here.
    """
    if os.name != "posix":  # where sending signal 0 would end the process
        return
    try:
        inside = [entry for entry in os.scandir(tempfile.gettempdir()) if _is_orphan(entry)]
    except OSError:
        return
    for entry in inside:
        shutil.rmtree(entry.path, ignore_errors=True)
        logger.info("removed %s, which a process that was killed has left", entry.path)


def _is_orphan(entry: os.DirEntry[str]) -> bool:
    found = NAME.fullmatch(entry.name)
    if found is None or found["place"] != _place():
        return False
    try:
        ours = entry.is_dir(follow_symlinks=False)
        ours = ours and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except OSError:  # it has gone meanwhile
        return False
    return ours and not _is_alive(int(found["pid"]), int(found["started"]))


def _is_alive(pid: int, started: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return _started(pid) == started


def _started(pid: int) -> int:
    """When a process started, in ticks since the machine did; 0 where that cannot be known."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(status.rpartition(")")[2].split()[19])  # after the name, which may hold anything


def _place() -> str:
    """Where the numbers of processes mean the same: this machine, and this container on it."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return hashlib.sha256(f"{platform.node()} {namespace}".encode()).hexdigest()[:8]
