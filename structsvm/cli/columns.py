"""Which columns of tables hold what, as it was typed now or when the model was learned."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from structsvm.datasets.readers import TableColumns

__all__ = ["labels_are", "named_columns", "table_columns"]

REMEMBERED = ("label_column", "time_column", "recording_column", "labels_are")
"""What a model is told once, when it is learned."""


def named_columns(args: argparse.Namespace) -> dict[str, str]:
    """What the columns of tables are called as far as it was typed, for the model file to keep."""
    return {name: getattr(args, name) for name in REMEMBERED if getattr(args, name) is not None}


def table_columns(args: argparse.Namespace, learner: Any = None) -> TableColumns:
    """The columns that were named, or else those the model was learned with where there are any."""
    known = _known(learner)
    named = {name: getattr(args, name) for name in REMEMBERED}
    found = {name: value or known.get(name) for name, value in named.items()}
    return TableColumns(
        found["label_column"] or "label",
        found["time_column"],
        getattr(args, "chunk_column", None),
        found["recording_column"],
        frozenset(str(value) for name, value in known.items() if named[name] is None),
    )


def labels_are(args: argparse.Namespace, learner: Any = None) -> str | None:
    """States, changes, or nobody has said so."""
    found: str | None = args.labels_are or _known(learner).get("labels_are")
    return found


def _known(learner: Any) -> Mapping[str, str]:
    known: Mapping[str, str] = getattr(learner, "columns_", {})
    return {name: value for name, value in known.items() if name in REMEMBERED}
