"""What tables hold and how they are read, as it was typed now or when the model was learned."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from structsvm.errors import SettingsError
from structsvm.io.gaps import NOT_BETWEEN
from structsvm.io.readers import HowToRead, TableColumns
from structsvm.io.text import Typed

COLUMNS = ("label_column", "time_column", "recording_column")
REMEMBERED = (
    *COLUMNS,
    *("labels_are", "missing_label", "outside", "missing"),
    *("separator", "decimal", "encoding", "skip_lines"),
)
"""What a model is told once, when it is learned."""


def named_columns(args: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(args, name) for name in REMEMBERED if getattr(args, name) is not None}


def table_columns(args: argparse.Namespace, learner: Any = None) -> TableColumns:
    """The columns that were named, or else those the model was learned with where there are any."""
    known = _known(learner)
    named = {name: getattr(args, name) for name in COLUMNS}
    found = {name: value or known.get(name) for name, value in named.items()}
    return TableColumns(
        found["label_column"] or "label",
        found["time_column"],
        getattr(args, "chunk_column", None),
        found["recording_column"],
        frozenset(known[name] for name in COLUMNS if name in known and named[name] is None),
        tuple(getattr(args, "features", None) or ()),
        tuple(getattr(args, "ignore", None) or ()),
    )


def how_to_read(
    args: argparse.Namespace,
    learner: Any = None,
    *,
    need_labels: bool,
    blanks: bool,
    in_order: bool,
) -> HowToRead:
    missing = said("missing", args, learner) or "error"
    if missing != "error" and not in_order:
        raise SettingsError(
            f"--missing {missing} is for recordings: rows of a table are in no order, so that no "
            f"value is between two others; {NOT_BETWEEN}"
        )
    return HowToRead(
        Typed(
            said("separator", args, learner),
            said("decimal", args, learner),
            said("encoding", args, learner),
            tuple(said("skip_lines", args, learner) or ()),
        ),
        missing,
        tuple(said("missing_label", args, learner) or ()),
        blanks,
        need_labels,
        stream=getattr(args, "stream", None),
        in_order=in_order,
    )


def said(name: str, args: argparse.Namespace, learner: Any = None) -> Any:
    value = getattr(args, name)
    return _known(learner).get(name) if value is None else value


def _known(learner: Any) -> Mapping[str, Any]:
    known: Mapping[str, Any] = getattr(learner, "columns_", {})
    return {name: value for name, value in known.items() if name in REMEMBERED}
