"""Options of reading files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from structsvm.errors import DataError, SettingsError
from structsvm.io.recording import listed
from structsvm.support.checks import refuse_below, refuse_unlisted
from structsvm.support.plain import is_number_text

SPACES = r"\s+"  # what separates columns that stand below each other; pandas reads it so
TYPED = {"tab": "\t", "\\t": "\t", "space": SPACES, "spaces": SPACES, " ": SPACES}
"""Names of separators."""
SEQUENCES = ("missing_labels", "features", "ignore", "categories", "skip_lines")
TREATMENTS = (None, "error", "interpolate", "mask", "impute")  # of missing values


@dataclass(frozen=True)
class FileOptions:
    r"""What :func:`read_recordings` and its like are told of files, by keyword.

    Examples
    --------
    >>> from structsvm.io import FileOptions
    >>> FileOptions(time_column="t", separator="tab").separator
    '\t'
    """

    label_column: str | None = "label"
    """Column of tables; None if there are no labels."""
    time_column: str | None = None
    """Column of tables that is no feature, and is kept as ``time``."""
    recording_column: str | None = None
    """Column of tables with the name of the recording of each row (see also :func:`from_long`)."""
    chunk_column: str | None = None
    """Column of tables with numbers of rows that belong together."""
    labels_are: str | None = None
    """"states" are the labels of samples, and a segment ends where they change; "changes" are 1 at
    the first sample of every new segment and 0 elsewhere. None takes labels for states, and is an
    error where they look like changes."""
    need_labels: bool = True
    """Whether a recording without labels is an error."""
    blanks: bool = False
    """Whether labels in tables may be blank: they are the number -1 then, beside the others."""
    missing_labels: Sequence[str] = ()
    """Labels that mean none, besides a blank, such as ("NA",), which is a class else."""
    features: Sequence[str] = ()
    """Columns that are read alone."""
    ignore: Sequence[str] = ()
    """Columns that are left out."""
    categories: Sequence[str] = ()
    """Columns of tables, such as "sex", each of which becomes columns of 0 and 1, "sex=female"."""
    missing: str | None = None
    """Of missing values, "error" says where they are; "interpolate" puts those between them that
    are before and after them, in time if that is known; "mask" leaves them NaN, for
    ``ChangePoint(missing="mask")``. For rows in no order, "impute" puts the median of their column.
    None is "error" for recordings, and leaves such rows out."""
    medians: Mapping[str, float] = field(default_factory=dict)
    """What "impute" puts into each column; by default the medians of what is read together."""
    separator: str | None = None
    """"," or ";" or "tab" or "space" between columns of text; detected by default."""
    decimal: str | None = None
    """"." or "," in numbers of text; detected by default."""
    encoding: str | None = None
    """Encoding of text; detected by default."""
    skip_lines: Sequence[int] = ()
    """Lines of text files and sheets that are left out, counted from 1: a title above the header,
    or units below it. Comments, which begin with ``#``, are left out anyway."""
    stream: str | None = None
    """"audio", "video" or "both" of files of sound and moving pictures; what there is by
    default."""
    window: int | None = None
    """Of recordings, how many samples are averaged to one: its features are the mean of each
    column, and its spread. None and 1 leave samples as they are; commands that learn choose one if
    none is given."""
    rate: float | None = None
    """Samples per second of recordings whose times are not in their files."""
    max_bytes: int | None = None
    """What a file may take in memory, which ``.npz`` and ``.parquet`` files tell before they are
    read. By default 256 MiB or 100 times the size of the file, whichever is more."""
    optional: frozenset[str] = frozenset()
    """Columns of those above that a table may lack."""
    wanted: Sequence[str] = ()
    """Features of a model: where all are there, nothing else is read."""
    in_order: bool = True
    """Whether rows follow each other in time, so that values can be put between them."""

    def __post_init__(self) -> None:
        for name in SEQUENCES:
            object.__setattr__(self, name, tuple(getattr(self, name)))
        separator = self.separator and TYPED.get(self.separator, self.separator)
        is_one = separator in (None, SPACES) or len(separator) == 1
        is_mark = self.decimal in (None, ".", ",") and separator != (self.decimal or "")
        refuse_unlisted("missing", self.missing, TREATMENTS)
        for line in self.skip_lines:
            refuse_below(1, "skip_lines", line)
        if self.window is not None:
            refuse_below(1, "window", self.window)
        rate, wrong = self.rate, ""
        if rate is not None:
            rate = float(rate) if is_number_text(str(rate)) else 0.0
            if not 0 < rate < np.inf:
                wrong = f"rate must be a number of samples per second, got {self.rate!r}"
        if not (is_one and is_mark):
            wrong = "separator must be one letter, 'tab' or 'space', and decimal another one, '.' "
            wrong += f"or ',', got {self.separator!r} and {self.decimal!r}"
        elif not self.in_order and self.window not in (None, 1):
            wrong = "window= is for recordings: the rows of a table are in no order"
        elif self.missing not in (None, "error") and self.in_order == (self.missing == "impute"):
            wrong = f"missing={self.missing!r} is for {'tables' if self.in_order else 'recordings'}"
            wrong += (
                ": missing='interpolate' puts values between samples that follow each other, and "
                "missing='impute' puts the median of their column there, of rows in no order"
            )
        if wrong:
            raise SettingsError(wrong)
        object.__setattr__(self, "separator", separator)
        object.__setattr__(self, "rate", rate)

    @property
    def roles(self) -> tuple[str | None, ...]:
        return self.label_column, self.time_column, self.chunk_column, self.recording_column

    def chosen(self, path: Path, there: Sequence[str]) -> tuple[str, ...]:
        """Choose among the columns without a role.

        Raises
        ------
        DataError
            If a column that is named is not there.
        """
        known = set(there)
        for option in ("features", "ignore", "categories"):
            if strangers := [name for name in getattr(self, option) if name not in known]:
                raise DataError(
                    f"{path}: {option} names {listed(strangers)}, which it has no column of; its "
                    f"features are {listed(list(there))}"
                )
        wanted = tuple(dict.fromkeys(map(self.column_of, self.wanted)))
        if wanted and set(wanted) <= known:
            return wanted
        ignored = set(self.ignore)
        return tuple(name for name in dict.fromkeys(self.features or there) if name not in ignored)

    def column_of(self, feature: str) -> str:
        """Return the column that a feature is, or is a category of."""
        column = feature.partition("=")[0]
        return column if column in self.categories else feature


USUAL = FileOptions()
