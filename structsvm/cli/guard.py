"""Checks of the files that a command is to write, before any work.

Nothing that a command reads is overwritten, and nothing else that exists without --force.
"""

import os
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from structsvm.errors import SettingsError
from structsvm.graphs.label_maps import IMAGE_KINDS, MASK_KINDS
from structsvm.io.folders import BESIDE_MODEL, RECORDING_KINDS, predictions_among
from structsvm.io.image_folder import MASK_ENDING, OVERLAY, made_of_images
from structsvm.io.label_files import LABEL_KINDS
from structsvm.io.sniff import kind_of
from structsvm.partitions import PartitionProblem
from structsvm.support import unwritable

READ_KINDS = (*RECORDING_KINDS, *IMAGE_KINDS, *MASK_KINDS, *LABEL_KINDS)
"""Kinds of files that a command may read in a folder."""


@dataclass(frozen=True)
class Guard:
    """The files that a command reads, which it never overwrites, and whether it may others."""

    read: Sequence[Path]
    labels: Path | None
    force: bool

    @classmethod
    def of(cls, args: Namespace) -> "Guard":
        named = [getattr(args, name, None) for name in ("model", "regions", "labels")]
        read = [*(getattr(args, "paths", None) or []), *filter(None, named)]
        return cls(list(map(Path, read)), getattr(args, "labels", None), args.force)

    def check_file(
        self, path: Path, suffixes: Sequence[str] = (), *, replaceable: bool = False
    ) -> None:
        """Refuse, before any work, a file that could not or must not be written afterwards."""
        if path.is_dir():
            raise SettingsError(f"{path} is a folder: name the file to write")
        if not path.parent.is_dir():
            raise SettingsError(f"{path}: the folder {path.parent} does not exist")
        if suffixes and path.suffix.lower() not in suffixes:
            raise SettingsError(f"{path}: the name must end with one of {', '.join(suffixes)}")
        self.check_files([path], replaceable=replaceable)

    def check_files(self, paths: Sequence[Path], *, replaceable: bool = False) -> None:
        """Refuse files of which one could not or must not be written."""
        inputs = {os.path.realpath(path) for path in self._inputs()}
        numbers = Counter(paths)
        for path in paths:
            several = "two inputs have the same name, so give them to different runs"
            if numbers[path] > 1:
                raise SettingsError(f"{path} would be written more than once: {several}")
            reason = unwritable(path) or ("it is a folder" if path.is_dir() else None)
            if reason:
                raise SettingsError(f"{path}: cannot be written: {reason}")
            never = "is read by this command and is never overwritten: name another file"
            if os.path.realpath(path) in inputs:
                raise SettingsError(f"{path} {never}")
            if path.is_file() and not (replaceable or self.force):
                raise SettingsError(f"{path} exists: name another file, or replace it with --force")
        for folder in {path.parent for path in paths}:
            parents = (folder, *folder.absolute().parents)
            existing = next(parent for parent in parents if parent.exists())
            if not existing.is_dir():
                raise SettingsError(f"{existing} is a file: name a folder to write in")
            if not os.access(existing, os.W_OK):
                raise SettingsError(f"{folder}: no write permission for {existing}")

    def _inputs(self) -> Iterator[Path]:
        """Files that may be read: those that are named, and those of folders but predictions."""
        for path in self.read:
            if not path.is_dir():
                yield path
                continue
            files = [one for one in path.rglob("*") if kind_of(one) in READ_KINDS]
            own = {*BESIDE_MODEL}
            files = [one for one in files if not own & {*one.relative_to(path).parts}]
            predictions = predictions_among(files) + made_of_images(files)
            yield from set(files).difference([] if path == self.labels else predictions)


def places(problem: PartitionProblem, folder: Path, names: Sequence[str]) -> list[Path]:
    """The paths of the files of predictions, which are never outside the folder."""
    words = problem.traits.words
    ends = (f"{MASK_ENDING}.png", f"{OVERLAY}.png") if words.of_graphs else (f"_{words.part}s.csv",)
    paths = [Path(f"{name}{end}") for name, end in product(names, ends)]  # which may have slashes
    return [folder.joinpath(*(p for p in path.parts if p not in ("/", ".."))) for path in paths]
