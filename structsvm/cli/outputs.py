"""What a command may write: nothing that it reads, and nothing that exists unless it is forced."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from structsvm.datasets.image_folder import IMAGE_FOLDERS, MASK_FOLDERS
from structsvm.errors import SettingsError
from structsvm.storage.atomic import unwritable

__all__ = ["check_output", "check_outputs", "within"]

INPUTS = ("model", "paths", "masks", "regions")
"""Arguments that name what a command reads."""

Identity = tuple[int, int]
"""Device and inode: the same for every spelling, symbolic link and hard link of a file."""


def check_output(
    args: argparse.Namespace,
    path: Path,
    suffixes: Sequence[str] = (),
    *,
    replaceable: bool = False,
) -> None:
    """Refuse, before any work, a file that could not or must not be written afterwards.

    Parameters
    ----------
    args : Namespace
        The command line, which names what the command reads, and whether ``--force`` was given.
    path : Path
        File to write, in a folder that exists.
    suffixes : sequence of str
        How its name may end; anyhow by default.
    replaceable : bool
        Whether the file may be replaced without ``--force``, as a checkpoint is by its own run.

    Raises
    ------
    SettingsError
        Naming the file and the way out.
    """
    if os.path.isdir(path):
        raise SettingsError(f"{path} is a folder: name the file to write")
    if not os.path.isdir(path.parent):
        raise SettingsError(f"{path}: the folder {path.parent} does not exist")
    if suffixes and path.suffix.lower() not in suffixes:
        raise SettingsError(f"{path}: the name must end with one of {', '.join(suffixes)}")
    check_outputs(args, [path], replaceable=replaceable)


def check_outputs(
    args: argparse.Namespace, paths: Iterable[Path], *, replaceable: bool = False
) -> None:
    """Refuse, before any work, files of which one could not or must not be written.

    A file that exists is replaced only with ``--force``, and one that the command reads never,
    whatever it is called: another spelling, a symbolic link and a hard link are the same file.
    Folders that are missing will be made.

    Raises
    ------
    SettingsError
        Naming the file and the way out.
    """
    wanted = list(paths)
    twice = [path for path, count in Counter(wanted).items() if count > 1]
    if twice:
        raise SettingsError(
            f"{twice[0]} would be written more than once: two inputs have the same name, so give "
            "them to different runs"
        )
    for path in wanted:
        reason = unwritable(path)
        if reason is not None:
            raise SettingsError(f"{path}: cannot be written: {reason}")
    existing = [path for path in wanted if _is_there(path)]
    read = dict(_read_by(args)) if existing else {}
    for path in existing:
        owner = read.get(_identity(path))
        if owner is not None:
            lies = "" if owner.is_file() else f" lies in {owner}, which this command reads, and"
            what = lies or " is read by this command and"
            raise SettingsError(f"{path}{what} is never written over: name another file")
        if not (replaceable or args.force):
            raise SettingsError(f"{path} exists: name another file, or replace it with --force")
    for folder in {path.parent for path in wanted}:
        _check_folder(folder)


def within(folder: Path, name: str) -> Path:
    """The place in a folder of what is called ``name``, which may have slashes, never outside."""
    return folder.joinpath(*(part for part in Path(name).parts if part not in ("/", "..")))


def _is_there(path: Path) -> bool:
    """Whether there is a regular file; devices and pipes are written to as they are."""
    if path.is_dir():
        raise SettingsError(f"{path} is a folder: a file of that name cannot be written")
    return path.is_file()


def _identity(path: Path) -> Identity:
    found = path.stat()
    return found.st_dev, found.st_ino


def _read_by(args: argparse.Namespace) -> Iterator[tuple[Identity, Path]]:
    """Every file that the command may read, and the argument that names it or its folder."""
    for name in INPUTS:
        given = getattr(args, name, None)
        if given is None:
            continue
        for path in map(Path, given if isinstance(given, list) else [given]):
            for file in _files(path):
                yield _identity(file), path


def _files(path: Path) -> Iterator[Path]:
    """A file, or those of a folder and of the folders of images and masks that it may hold."""
    if os.path.isfile(path):
        yield path
    elif os.path.isdir(path):
        for entry in path.iterdir():
            if entry.is_file():
                yield entry
            elif entry.is_dir() and entry.name.lower() in (*IMAGE_FOLDERS, *MASK_FOLDERS):
                yield from (file for file in entry.iterdir() if file.is_file())


def _check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written in, or cannot be made where it is missing."""
    there = folder
    while not os.path.exists(there):
        there = there.parent
    if not there.is_dir():
        raise SettingsError(f"{there} is a file: name a folder to write in")
    if not os.access(there, os.W_OK):
        raise SettingsError(f"{folder}: the folder {there} is not yours to write in")
