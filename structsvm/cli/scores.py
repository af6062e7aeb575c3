"""The table of scores."""

from __future__ import annotations

from rich import box
from rich.table import Table

from structsvm.evaluation import Evaluation

__all__ = ["score_table"]


def score_table(result: Evaluation) -> Table:
    """The mean scores of each metric."""
    found = Table(box=box.SIMPLE_HEAD)
    columns = ["metric", "loss", "covering", "adjusted Rand"]
    if result.learned.f1 is not None:
        columns.append(f"F1 (within {result.margin})")
    for column in columns:
        found.add_column(column, justify="left" if column == "metric" else "right")
    for name, scores in sorted(result.scores.items(), key=lambda item: item[0] == "learned"):
        numbers = (scores.loss, scores.covering, scores.adjusted_rand, scores.f1)
        values = (f"{value:.3f}" for value in numbers if value is not None)
        shown = name.upper() if name in ("pca", "rca") else name
        found.add_row(shown, *values, style="bold" if name == "learned" else None)
    return found
