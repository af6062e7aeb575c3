"""What the defaults of cutting planes rest on: masters, damping, the proximal term, recalls.

Recordings of activities (har_spsw.py) with a diagonal or full metric in the units of learning, and
synthetic recordings. Times are CPU seconds on one thread. With a word, only that table is made.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from unittest import mock

from experiments._report import SHARED, Row, publish
from experiments.studies.har_spsw import split
from structsvm import ChangePoint, MetricLearner
from structsvm.interop import risk_of
from structsvm.io import arrays_and_labels
from structsvm.masters.newton import NewtonMaster
from structsvm.problem import RegularizedRisk, Regularizer, Solution, SquaredNorm, Trace
from structsvm.solvers import CuttingPlane, Stopping, cutting_plane

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from solvers import make_risk

REGULARIZERS: dict[str, Regularizer] = {"squared": SquaredNorm(), "trace": Trace()}
SLACKS = {"n": "n-slack", "one": "1-slack"}
DAMPINGS = (0.0, 0.3, 0.5, 0.7)
MANY = 50
"""Recalls in a round, where they are not bounded by the number of samples."""


def activities(n: int, metric: str, regularizer: str) -> RegularizedRisk:
    """The objective of the first n recordings of activities, with the default strength."""
    Xs, ys = arrays_and_labels(split(SHARED / "har_spsw")[0])
    step = max(len(Xs) // n, 1)
    return risk_of(
        MetricLearner(ChangePoint(), metric, regularizer), Xs[::step][:n], ys[::step][:n]
    )


def synthetic(N: int, T: int, P: int, metric: str, regularizer: str = "squared") -> RegularizedRisk:
    """The objective of benchmarks/solvers.py."""
    return make_risk(N, T, P, metric, REGULARIZERS[regularizer])


def solved(risk: RegularizedRisk, tol: float, **settings: object) -> tuple[Solution, float]:
    """The answer of cutting planes, and CPU seconds."""
    solver = CuttingPlane(Stopping(tol, 1000), **settings)  # type: ignore[arg-type]
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = solver.solve(risk)
    return solution, time.process_time() - started


# ------------------------------------------------------------- damping, proximal term, recalls


def damping() -> Iterator[Row]:
    """Rounds to a gap of 1e-2 on all recordings of activities."""
    for metric in ("full", "diagonal"):
        for regularizer in REGULARIZERS:
            risk = activities(95, metric, regularizer)
            for slack, word in SLACKS.items():
                rounds = {
                    f"{share:g}": str(solved(risk, 1e-2, slack=slack, damping=share)[0].n_iter)
                    for share in DAMPINGS
                }
                yield {"metric, regularizer, slacks": f"{metric}, {regularizer}, {word}"} | rounds


FOLLOWED = ((10, 400, 10, 1e-3), (40, 200, 10, 1e-3), (20, 300, 20, 1e-2), (40, 200, 20, 1e-2))


def following() -> Iterator[Row]:
    """Rounds and seconds with one slack, with damping that stays and that follows what is found."""
    for metric, regularizer in product(("full", "diagonal"), REGULARIZERS):
        for N, T, P, tol in FOLLOWED:
            risk = synthetic(N, T, P, metric, regularizer)
            row: Row = {"one slack, certified gap": f"{metric}, {regularizer}, {P=}, {N=}, {tol:g}"}
            for word, part in (("stays", 0.0), ("follows", cutting_plane.FOLLOWING)):
                with mock.patch.object(cutting_plane, "FOLLOWING", part):
                    solution, seconds = solved(risk, tol, slack="one")
                row |= {word: f"{solution.n_iter}, {seconds:.2g} s"}
            print(row, flush=True)
            yield row


def proximal() -> Iterator[Row]:
    """Rounds and seconds to a gap of 1e-2 with a trace."""
    cases = [
        (f"har_spsw, N = 95, {metric}, {word}", activities(95, metric, "trace"), slack)
        for metric, (slack, word) in product(("full", "diagonal"), SLACKS.items())
    ]
    small = synthetic(10, 400, 30, "full", "trace")
    for name, risk, slack in [*cases, ("P = 30, N = 10, full, n-slack", small, "n")]:
        row: Row = {"trace, gap 1e-2": name}
        for word, share in (("without", 0.0), ("with", 0.1)):
            solution, seconds = solved(risk, 1e-2, slack=slack, proximal=share)
            row |= {word: f"{solution.n_iter}, {seconds:.2g} s"}
        yield row


RECALLED = (
    ("diagonal", 300, 10, 600, 1e-3),
    ("full", 60, 10, 400, 1e-2),
    ("full", 10, 10, 400, 1e-3),
    ("diagonal", 30, 40, 400, 1e-3),
    ("full", 30, 40, 400, 1e-2),
    ("diagonal", 10, 200, 200, 1e-3),
)


def known_labellings() -> Iterator[Row]:
    """Seconds and oracle calls with one slack and a Newton master."""
    for metric, P, N, T, tol in RECALLED:
        risk = synthetic(N, T, P, metric)
        row: Row = {"problem, certified gap": f"{metric} P = {P}, N = {N}, {tol:g}"}
        most = cutting_plane.CALLS_PER_MASTER
        ways = {"no recalls": (0, most), f"up to {MANY}": (5, N / MANY), "up to N / 5": (5, most)}
        for word, (planes, calls) in ways.items():
            with mock.patch.object(cutting_plane, "CALLS_PER_MASTER", calls):
                solution, seconds = solved(
                    risk, tol, slack="one", master=NewtonMaster(), cached_planes=planes
                )
            row |= {word: f"{seconds:.2g} s, {solution.oracle_calls}"}
        yield row


TABLES: dict[str, Callable[[], Iterator[Row]]] = {
    "damping": damping,
    "following": following,
    "proximal": proximal,
    "known_labellings": known_labellings,
}


def main(names: list[str]) -> None:
    solved(synthetic(4, 200, 10, "full", "trace"), 0.1)  # compiles
    for name in names:
        rows = []
        for row in TABLES[name]():
            print(row, flush=True)
            rows.append(row)
        publish(f"solvers_{name}", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="table", help=f"of {', '.join(TABLES)}; all")
    named = parser.parse_args().tables
    if not set(named) <= set(TABLES):
        parser.error(f"there are {', '.join(TABLES)}")
    main(named or list(TABLES))
