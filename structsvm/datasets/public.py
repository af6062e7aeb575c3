"""Public sets: which files, of which commit, under which licence; fetched once, checked, kept."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from structsvm.errors import DownloadError
from structsvm.io.files import read_recording, write_recording
from structsvm.io.recording import Recording, share_features
from structsvm.support.lazy import require

DATA_VARIABLE = "STRUCTSVM_DATA"
"""Environment variable: the folder that holds the public sets."""
MIRROR_VARIABLE = "STRUCTSVM_DATA_MIRROR"
"""Environment variable: where to download from instead of GitHub, the same paths below it."""
GITHUB = "https://raw.githubusercontent.com"
REGISTRY = Path(__file__).parent / "registry"
TIMEOUT = 30.0
"""Seconds that a server may stay silent."""

Fetch = Callable[[str], Path]
"""Files of public repositories, which are downloaded if they are not on this machine."""

logger = logging.getLogger("structsvm")


@dataclass(frozen=True)
class PublicSet:
    """A set that somebody else publishes in a repository, at one commit of it.

    No file of the set is kept here: only its SHA-256, in ``registry/<name>.txt``.
    """

    name: str
    repository: str
    """``owner/name`` on GitHub."""
    commit: str
    licence: str
    """What the repository itself states."""
    citation: str
    registry: Path = REGISTRY
    """The folder of the checksums."""

    @cached_property
    def checksums(self) -> dict[str, str]:
        """The SHA-256 of every file that is used, by its path in the repository."""
        words = (self.registry / f"{self.name}.txt").read_text(encoding="utf-8").split()
        return dict(zip(words[::2], words[1::2], strict=True))

    @property
    def archive(self) -> str:
        """Where all files can be had in one."""
        return f"https://github.com/{self.repository}/archive/{self.commit}.zip"

    def folder(self, data_home: str | PathLike[str] | None = None) -> Path:
        """Where the set is kept: its recordings, and in ``raw/`` what was downloaded."""
        return _data_home(data_home) / self.name

    def fetch(self, path: str, data_home: str | PathLike[str] | None = None) -> Path:
        """One file of the repository, from the cache or else from the network."""
        pooch = require("pooch", "datasets", "downloading a public set")
        require("requests", "datasets", "downloading a public set")
        raw = self.folder(data_home) / "raw"
        server = os.environ.get(MIRROR_VARIABLE) or GITHUB
        store = pooch.create(
            path=raw,
            base_url=f"{server.rstrip('/')}/{self.repository}/{self.commit}/",
            registry={path: f"sha256:{self.checksums[path]}"},
        )
        with _quiet(pooch):
            if not (raw / path).exists():
                logger.info("downloading %s", store.get_url(path))
            try:
                downloader = pooch.HTTPDownloader(progressbar=False, timeout=TIMEOUT)
                return Path(store.fetch(path, downloader=downloader))
            except OSError as error:  # those of requests are OSErrors
                raise DownloadError(self._failure(path, raw, store, _reason(error))) from error
            except ValueError as error:  # a checksum that does not fit
                reason = "the file there is not the one this version of structsvm knows"
                raise DownloadError(self._failure(path, raw, store, reason)) from error

    def recordings(
        self,
        names: Sequence[str],
        convert: Callable[[str, Fetch], Recording],
        data_home: str | PathLike[str] | None = None,
    ) -> list[Recording]:
        """Recordings by name, converted on first use and read from ``<folder>/<name>.npz`` then."""
        folder = self.folder(data_home)
        for name in names:
            if not (folder / f"{name}.npz").exists():
                recording = convert(name, lambda path: self.fetch(path, data_home))
                write_recording(recording, folder / f"{name}.npz")
        return share_features([read_recording(folder / f"{name}.npz") for name in names])

    def _failure(self, path: str, raw: Path, store: Any, reason: str) -> str:
        wrong = "; what lies there has another content" if (raw / path).exists() else ""
        return (
            f"{self.name}: cannot download {store.get_url(path)}: {reason}. What was fetched "
            f"before is kept, so try again later; or put the file at {raw / path} by hand, SHA-256 "
            f"{self.checksums[path]}{wrong}. All files of the set are in {self.archive}, to be "
            f"unpacked into {raw} without its top folder"
        )


def _data_home(data_home: str | PathLike[str] | None) -> Path:
    if data_home is None:
        data_home = os.environ.get(DATA_VARIABLE)
    if not data_home:
        pooch = require("pooch", "datasets", "the folder of the public sets")
        data_home = pooch.os_cache("structsvm")
    return Path(data_home).expanduser()


@contextmanager
def _quiet(pooch: Any) -> Iterator[None]:
    """Pooch reports every download to the console, which is not ours to write to."""
    log = pooch.get_logger()
    level = log.level
    log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        log.setLevel(level)


def _reason(error: BaseException) -> str:
    """The innermost cause in a few words: the outer ones repeat it around addresses of objects."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return " ".join(str(error).split()) or type(error).__name__
