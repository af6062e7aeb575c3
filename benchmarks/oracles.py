"""Separation oracles against the paper's dense program, ruptures, skchange and dense eigh.

Prints a table, writes benchmarks/results/oracles.json and a figure of cost against T:

    make bench-oracles

Every job gets the same samples, already in the metric; one thread; medians of five runs in turns.
skchange takes part where it is installed (pip install skchange).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import chain, pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import ruptures
from _harness import RESULTS, Goal, printed_by, report, seconds_in_turns
from numpy.typing import NDArray

from structsvm.oracles import SequentialOracle, SpectralOracle
from structsvm.oracles.spectral import compress
from structsvm.partitions import Argmax, Constraint, EquivalenceMatrix, TraceObjective
from structsvm.partitions.constraint import UNCONSTRAINED

Floats = NDArray[np.float64]

ORACLE = SequentialOracle()
PRICE = 1.0
"""Price of a segment in plain decoding."""


# ------------------------------------------------------------------- data


def recording(T: int, r: int, n_changes: int) -> tuple[Floats, EquivalenceMatrix]:
    """Noise with ten relevant columns that change together; the others change on their own.

    The samples come scaled so that the price of a segment is twice what noise alone can earn.
    """
    rng = np.random.default_rng(0)
    jitter = rng.uniform(-0.35, 0.35, n_changes) * T / (n_changes + 1)
    changes = np.linspace(0, T, n_changes + 2)[1:-1] + jitter
    truth = EquivalenceMatrix.from_breakpoints([*np.unique(changes.astype(int)), T])
    relevant = min(r, 10)
    X = rng.standard_normal((T, r))
    X[:, :relevant] += rng.standard_normal((truth.n_clusters, relevant))[truth.labels]
    for j in range(relevant, r):
        for t in rng.choice(T, 3, replace=False):
            X[t:, j] += rng.standard_normal()
    noise = r + 2 * np.sqrt(2 * r * np.log(T)) + 4 * np.log(T)
    return X * np.sqrt(PRICE / (2 * noise)), truth


def plain(Z: Floats) -> TraceObjective:
    """Decoding at the price of a segment."""
    return TraceObjective(Z, shift=-PRICE)


def augmented(Z: Floats, truth: EquivalenceMatrix) -> TraceObjective:
    """Loss-augmented inference as in the paper: ``kappa = lambda_0 = 1``."""
    return TraceObjective(Z, truth, truth_weight=2.0, shift=0.0)


# ------------------------------------------------------------------- peers


def dense_program(objective: TraceObjective, K: int | None = None) -> float:
    """The paper's Algorithm 1 in numpy: A, its summed-area table, one row of starts at a time."""
    A = objective.Z @ objective.Z.T
    if objective.truth is not None:
        for s, t in pairwise(objective.truth.boundaries):
            A[s:t, s:t] -= objective.truth_weight / (t - s)
    A[np.diag_indices_from(A)] += objective.shift
    T = A.shape[0]
    table = np.zeros((T + 1, T + 1))
    np.cumsum(A, axis=0, out=table[1:, 1:])
    np.cumsum(table[1:, 1:], axis=1, out=table[1:, 1:])
    diagonal = table.diagonal().copy()
    length = np.arange(T, 0, -1.0)
    value = np.full((T + 1, 1 if K is None else K + 1), -np.inf)
    value[0, 0] = 0.0
    for u in range(1, T + 1):
        scores = diagonal[:u] + diagonal[u]
        scores -= table[u, :u]
        scores -= table[u, :u]
        scores /= length[T - u :]
        if K is None:
            value[u, 0] = (value[:u, 0] + scores).max()
        else:
            value[u, 1:] = (value[:u, :K] + scores[:, None]).max(axis=0)
    return float(value[T, -1])


def ruptures_ends(Z: Floats, **stop: float) -> list[int]:
    """The same decoding by ruptures' C code."""
    search = ruptures.KernelCPD(kernel="linear", min_size=1).fit(Z)
    return [int(end) for end in search.predict(**stop)]


def assert_same_value(objective: TraceObjective, K: int | None, ends: list[int]) -> None:
    """A peer that solves another problem would be no peer."""
    theirs = objective.value(EquivalenceMatrix.from_breakpoints(ends))
    ours = ORACLE.maximize(objective, Constraint(K)).value
    assert abs(theirs - ours) <= 1e-9 * max(1.0, abs(ours)), (theirs, ours)


# ------------------------------------------------------------------- goals


def against(
    name: str,
    objective: TraceObjective,
    peer: Callable[[], object],
    goal: float | None,
    K: int | None = None,
) -> Goal:
    """The sequential oracle against a peer."""
    ours, theirs = seconds_in_turns(partial(ORACLE.maximize, objective, Constraint(K)), peer)
    return (
        Goal.against(name, ours, theirs)
        if goal is None
        else Goal.at_least(name, ours, theirs, goal)
    )


def loss_augmented() -> list[Goal]:
    goals = []
    for r, goal in ((30, 50), (500, 15)):
        objective = augmented(*recording(5_400, r, 80))
        assert np.isclose(ORACLE.maximize(objective).value, dense_program(objective))
        name = f"loss-augmented, T = 5,400, r = {r}, 80 changes | dense program"
        goals.append(against(name, objective, partial(dense_program, objective), goal))
    return goals


def plain_decoding() -> list[Goal]:
    cases = [(T, r, 80, 1) for T, r in product((2_000, 5_400, 20_000), (10, 30))]
    cases += [(100_000, 5, 100, 5), (100_000, 5, 5, 50)]
    goals = []
    for T, r, n_changes, goal in cases:
        Z = recording(T, r, n_changes)[0]
        assert_same_value(plain(Z), None, ruptures_ends(Z, pen=PRICE))
        name = f"plain decoding, T = {T:,}, r = {r}, {n_changes} changes | ruptures (C)"
        goals.append(against(name, plain(Z), partial(ruptures_ends, Z, pen=PRICE), goal))
    return goals


def known_k() -> list[Goal]:
    goals = []
    for r in (10, 30):
        Z, truth = recording(5_400, r, 80)
        loss = augmented(Z, truth)
        assert_same_value(plain(Z), 81, ruptures_ends(Z, n_bkps=80))
        assert np.isclose(ORACLE.maximize(loss, Constraint(81)).value, dense_program(loss, 81))
        name = f"plain, known K = 81, T = 5,400, r = {r} | ruptures (C)"
        goals.append(against(name, plain(Z), partial(ruptures_ends, Z, n_bkps=80), 20, 81))
        name = f"loss-augmented, known K = 81, T = 5,400, r = {r} | dense program"
        peer = partial(dense_program, loss, 81)
        goals.append(against(name, loss, peer, 20 if r == 10 else None, 81))
    return goals


def every_k() -> list[Goal]:
    """All numbers of segments up to 50 at once, against one after the other."""
    Z, _ = recording(1_000, 10, 40)
    objective = plain(Z)
    most = 50

    def one_by_one() -> list[Argmax]:
        return [ORACLE.maximize(objective, Constraint(K)) for K in range(1, most + 1)]

    ours, theirs = seconds_in_turns(partial(ORACLE.count_path, Z, most), one_by_one)
    name = f"plain, every K up to {most}, T = 1,000, r = 10 | each K alone"
    return [Goal.at_least(name, ours, theirs, 5)]


def skchange_pelt() -> list[Goal]:
    if find_spec("skchange") is None:
        return []
    from skchange.detectors import PELT
    from skchange.interval_scorers import L2Cost

    Z = recording(5_400, 10, 80)[0]
    detector = PELT(L2Cost(), penalty=PRICE, min_segment_length=1).fit(Z)
    assert_same_value(plain(Z), None, [*map(int, detector.predict(Z)), 5_400])
    name = "plain decoding, T = 5,400, r = 10, 80 changes | skchange PELT"
    return [against(name, plain(Z), partial(detector.predict, Z), None)]


def growth() -> list[Goal]:
    goals = []
    for kind in ("plain decoding", "loss-augmented"):
        jobs = []
        for T in (500_000, 50_000):
            Z, truth = recording(T, 5, 100)
            objective = plain(Z) if kind == "plain decoding" else augmented(Z, truth)
            jobs.append(partial(ORACLE.maximize, objective))
        name = f"{kind}, r = 5, T = 500,000 | ours at T = 50,000"
        goals.append(Goal.at_most(name, *seconds_in_turns(*jobs), goal=15))
    return goals


def memory() -> list[Goal]:
    """Peak of a fresh process: above what it held before the call, and in all (Linux)."""
    if not Path("/proc/self/clear_refs").exists():
        return []
    peak = (
        "from oracles import *;"
        "status = Path('/proc/self/status');"
        "peak = lambda: int(status.read_text().split('VmHWM:')[1].split()[0]) / 1024;"
    )
    used, given = printed_by(
        peak + "Z, truth = recording(500_000, 5, 100); A = augmented(Z, truth);"
        "ORACLE.maximize(augmented(*recording(500, 5, 5)));"
        "Path('/proc/self/clear_refs').write_text('5'); before = peak();"
        "ORACLE.maximize(A); print(peak() - before, Z.nbytes / 2**20)"
    )
    (spectral,) = printed_by(peak + "spectral_call(1_000_000)(); print(peak())")
    return [
        Goal.at_most(
            "memory (MB), loss-augmented, T = 500,000, r = 5 | the input", used, given, 15
        ),
        Goal.at_most("memory (MB), spectral, T = 1,000,000, P = 20 | 1 GB", spectral, 1024.0, 1),
    ]


def spectral_call(T: int) -> Callable[[], object]:
    """A call on compressed data with P = 20 and K = 5."""
    rng = np.random.default_rng(0)
    truth = EquivalenceMatrix.from_labels(np.arange(T) % 5)
    X = rng.standard_normal((T, 20)) + truth.labels[:, None]
    data, _ = compress(X, truth)
    return partial(SpectralOracle().maximize_compressed, data, np.ones(20), 2.0, 0.0, 5)


def spectral() -> list[Goal]:
    rng = np.random.default_rng(0)
    truth = EquivalenceMatrix.from_labels(np.arange(5_000) % 5)
    A = augmented(rng.standard_normal((5_000, 20)), truth).dense()
    call = spectral_call(5_000)
    (theirs,) = seconds_in_turns(partial(np.linalg.eigh, A), warm=False)
    (ours,) = seconds_in_turns(call)
    name = "spectral, T = 5,000, P = 20, K = 5, per call | numpy.linalg.eigh"
    return [Goal.at_least(name, ours, theirs, 1_000)]


def first_calls() -> list[Goal]:
    """Compilation, from nothing and from the cache on disk."""
    call = (
        "import time; from oracles import *; A = augmented(*recording(300, 3, 4));"
        "start = time.perf_counter();"
        "ORACLE.maximize(A); ORACLE.maximize(A, Constraint(7));"
        "print(time.perf_counter() - start)"
    )
    with TemporaryDirectory() as folder:
        (cold,), (warm,) = (printed_by(call, NUMBA_CACHE_DIR=folder) for _ in range(2))
    clock = "import time; start = time.perf_counter(); import structsvm;"
    (loaded,) = printed_by(clock + "print(time.perf_counter() - start)")
    return [
        Goal("first calls, K known and unknown, compiled", cold),
        Goal("first calls, K known and unknown, from the cache on disk", warm),
        Goal.at_most("import structsvm | 1.5 s", loaded, 1.5, 1),
    ]


# ------------------------------------------------------------------- figure

SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)


def figure() -> None:
    """Cost against T, one change per thousand samples, r = 5; colours of Okabe and Ito."""
    axes = plt.figure(figsize=(6.4, 4.2), layout="constrained").add_subplot()
    for label, style, colour, largest, job in (
        ("structsvm, plain", "o-", "#0072B2", 500_000, lambda Z, _: _ours(plain(Z))),
        (
            "structsvm, loss-augmented",
            "s-",
            "#009E73",
            500_000,
            lambda *data: _ours(augmented(*data)),
        ),
        (
            "ruptures KernelCPD (C), plain",
            "^--",
            "#D55E00",
            100_000,
            lambda Z, _: ruptures_ends(Z, pen=PRICE),
        ),
        (
            "dense program of the paper, loss-augmented",
            "v:",
            "#000000",
            5_000,
            lambda *data: dense_program(augmented(*data)),
        ),
    ):
        shown = [T for T in SIZES if T <= largest]
        jobs = (partial(job, *recording(T, 5, max(1, T // 1_000))) for T in shown)
        cost = [1e3 * seconds_in_turns(run)[0] for run in jobs]
        axes.loglog(shown, cost, style, color=colour, label=label, markersize=4)
    axes.set(xlabel="samples T", ylabel="milliseconds per call")
    axes.set_title("Exact segmentation, unknown K (r = 5, a change per 1,000 samples)", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    axes.figure.savefig(RESULTS / "oracles.png", dpi=150)


def _ours(objective: TraceObjective) -> Argmax:
    return ORACLE.maximize(objective, UNCONSTRAINED)


def main() -> None:
    groups = (
        loss_augmented,
        plain_decoding,
        known_k,
        every_k,
        skchange_pelt,
        growth,
        memory,
        spectral,
        first_calls,
    )
    report("oracles", list(chain.from_iterable(group() for group in groups)))
    figure()


if __name__ == "__main__":
    main()
