"""What the regularizer and its strength do, on the activities of experiments/har_spsw.py.

All 95 recordings of ten people to learn from, the 50 recordings of five others to segment, the
number of segments unknown. Takes a minute.
"""

from __future__ import annotations

import numpy as np
from _report import SHARED, Row, publish
from har_spsw import split

from structsvm import MetricLearner
from structsvm.errors import LearningError
from structsvm.io import arrays_and_labels

LAMS = (1.0, 0.2, 0.1, 0.04, 0.01)
RANK = 1e-3
"""Eigenvalues and weights below this share of the largest one count as none."""


def cell(metric: str, regularizer: str, lam: float) -> str:
    """Held-out loss, and how many directions or features are left."""
    learn, test = (arrays_and_labels(part) for part in split(SHARED / "har_spsw"))
    try:
        learner = MetricLearner(metric=metric, regularizer=regularizer, lam=lam).fit(*learn)
    except LearningError:
        return "zero metric"
    sizes = np.linalg.eigvalsh(learner.get_mahalanobis_matrix())
    return f"{-learner.score(*test):.2f} ({int(np.sum(sizes > RANK * sizes.max()))})"


def main() -> None:
    rows: list[Row] = []
    for metric in ("diagonal", "full"):
        for regularizer in ("squared", "trace"):
            row = {"metric, regularizer": f"{metric}, {regularizer}"}
            rows.append(row | {f"lam={lam:g}": cell(metric, regularizer, lam) for lam in LAMS})
    publish("har_regularizers", rows)


if __name__ == "__main__":
    main()
