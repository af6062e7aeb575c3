"""What a path of regularizers on letter costs: 20,000 rows, 26 clusters, one core."""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import replace
from pathlib import Path

from _report import SHARED, publish
from _tables import read

from structsvm import Clustering, MetricLearner
from structsvm.interop import risk_of
from structsvm.regularizers import SquaredNorm
from structsvm.solvers import CuttingPlane, Memory

LAMS = (1.0, 0.1, 0.01)


def main(folder: Path) -> None:
    table = read("letter", folder)
    MetricLearner(Clustering(oracle="rounded")).fit(table.X[:500], table.y[:500])  # compiles
    risk = risk_of(MetricLearner(Clustering()), [table.X], [table.y])
    memory = Memory()
    rows = []
    for lam in LAMS:
        start = time.process_time()
        step = replace(risk, regularizer=risk.problem.regularizer(SquaredNorm(), lam))
        solution = CuttingPlane().solve(step, memory=memory)
        rows.append(
            {
                "lam": str(lam),
                "CPU seconds": time.process_time() - start,
                "oracle calls": solution.oracle_calls,
                "gap": f"{solution.gap:.4f}",
                "lower": f"{solution.lower:.4f}",
                "upper": f"{solution.upper:.4f}",
                "peak memory, GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
            }
        )
        print(rows[-1], flush=True)
    publish("letter_path", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "tables")
    main(parser.parse_args().data)
