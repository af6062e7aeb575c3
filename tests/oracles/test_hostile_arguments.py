"""Every public function of the oracles with arguments that nobody should give, in one process.

The process must end in order: whatever is asked, there is an error of this library or a sound
answer, never a crash, a number from beyond an array, or no end. The parent names the question that
was open when the process died.
"""

import inspect
import sys
import warnings
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from programs import loaded

import structsvm.oracles
from structsvm.errors import StructSVMError
from structsvm.oracles import (
    AllowedSegmentsOracle,
    ClusteringOracle,
    ExhaustiveOracle,
    SemidefiniteOracle,
    SequentialOracle,
    SpectralOracle,
    StateScore,
    all_partitions,
    all_segmentations,
    best_states,
    best_together,
    losses_with,
    state_margins,
)
from structsvm.oracles._segments.online import OnlineSearch
from structsvm.partitions import Argmax, Constraint, EquivalenceMatrix, Region, TraceObjective
from structsvm.partitions.constraint import UNCONSTRAINED
from structsvm.support.values import Stack

T, R, C = 9, 2, 3
RNG = np.random.default_rng(0)
Z = RNG.normal(size=(T, R))
X = RNG.normal(size=(T, C))
TRUTH = EquivalenceMatrix.from_breakpoints([4, T])
OBJECTIVE = TraceObjective(Z, TRUTH, 2.0, -0.5)
PRICES = np.array([0.5, 1.0, 2.0])
SCORE = StateScore(X, np.zeros((C, 4)), np.zeros((C, C)), np.zeros(C), np.zeros(C), TRUTH, 1.0)
STACK = Stack.of([Z, Z[::-1]])
HOLES = np.where(np.arange(Z.size).reshape(Z.shape) % 5 == 0, np.nan, Z)


def spoilt(unsound):
    """An objective whose samples were changed after it was made."""
    samples = Z.copy()
    objective = TraceObjective(samples, TRUTH, 2.0, -0.5)
    samples[3:5] = unsound
    return objective


SPOILT = [spoilt(unsound) for unsound in (np.nan, np.inf, -1e200)]
"""The process has to live, and no answer is right."""


def at_least_two(starts, end, n):
    return end - starts >= 2


ORACLES = {
    "sequential": SequentialOracle(),
    "every segment": SequentialOracle(pruning=False),
    "allowed": AllowedSegmentsOracle(at_least_two),
    "exhaustive": ExhaustiveOracle(contiguous=True),
    "clustering": ClusteringOracle(n_init=2),
    "spectral": SpectralOracle(),
    "semidefinite": SemidefiniteOracle(),
}
STATES = np.repeat([0, 1, 2], 3)

PLAIN = replace(SCORE, truth=None)
ENDS = {"begins": np.array([0, 3]), "ends": np.array([2, T])}

CALLS = {
    "best_states": (
        best_states,
        {"score": SCORE, "n_segments": 3, "constraint": Constraint(forced=(3,))},
    ),
    "best_together": (best_together, {"score": PLAIN, **ENDS, "constraint": Constraint(3)}),
    "losses_with": (losses_with, {"score": PLAIN, "places": np.array([1, 3]), "n_segments": 3}),
    "state_margins": (state_margins, {"score": PLAIN, "n_segments": 3, "tolerance": 1}),
    "StateScore": (StateScore, {name: getattr(SCORE, name) for name in vars(SCORE)}),
    "StateScore.value": (SCORE.value, {"states": STATES}),
    "StateScore.knowing": (SCORE.knowing, {"states": STATES - 1}),
    "StateScore.lasting": (SCORE.lasting, {"shortest": 2, "longest": 5}),
    "all_partitions": (all_partitions, {"n_samples": 4}),
    "all_segmentations": (all_segmentations, {"n_samples": 4}),
    "AllowedSegmentsOracle": (
        lambda rule: AllowedSegmentsOracle(rule).maximize(OBJECTIVE),
        {"rule": at_least_two},
    ),
}
for name, oracle in ORACLES.items():
    kind = type(oracle).__name__
    asked = {"objective": OBJECTIVE, "constraint": Constraint(3)}
    path = {"Z": Z, "prices": PRICES}
    curve = {"Z": Z, "truth": TRUTH, "prices": PRICES}
    CALLS |= {
        f"{kind}.ask {name}": (oracle.ask, asked),
        f"{kind}.maximize {name}": (oracle.maximize, asked),
        f"{kind}.losses_with {name}": (oracle.losses_with, {**asked, "places": np.array([2])}),
        f"{kind}.price_path {name}": (oracle.price_path, path),
        f"{kind}.ask_each {name}": (oracle.ask_each, {"Zs": STACK, "price": 0.5}),
        f"{kind}.maximize_each {name}": (oracle.maximize_each, {"Zs": STACK, "price": 0.5}),
    }
    if name not in ("spectral", "semidefinite"):
        CALLS[f"{kind}.loss_curve {name}"] = (oracle.loss_curve, curve)


def loss_after(search, rows=Z, low=2, high=4):
    """What is found as samples come, which is looked at after each push."""
    search.push(rows)
    search.settle()
    begins = sum(start for start, _ in search.segments())
    without = search.loss_without(low, high)
    search.end()
    return search.loss() + without + begins


LONG = {"Z": np.repeat(Z, 120, axis=0), "prices": PRICES}
CALLS |= {
    "SequentialOracle.count_path": (SequentialOracle().count_path, {"Z": Z, "most": 3}),
    "SequentialOracle.price_path long": (SequentialOracle().price_path, LONG),
    "ClusteringOracle.maximize_from": (
        ClusteringOracle(n_init=2).maximize_from,
        {"objective": OBJECTIVE, "starts": [STATES], "constraint": Constraint(3)},
    ),
    "SequentialOracle.online": (
        lambda **given: loss_after(SequentialOracle().online(**given)),
        {"n_columns": R, "price": 0.5, "max_candidates": 4},
    ),
    "OnlineChanges.push": (
        lambda **given: loss_after(OnlineSearch.of_changes(R, 0.5), **given),
        {"rows": Z, "low": 2, "high": 4},
    ),
    "OnlineStates": (
        lambda score: loss_after(OnlineSearch.of_states(score), score.samples),
        {"score": PLAIN},
    ),
    "OnlineStates.push": (
        lambda **given: loss_after(OnlineSearch.of_states(PLAIN), **given),
        {"rows": X, "low": 2, "high": 4},
    ),
    "SemidefiniteOracle.relax": (
        SemidefiniteOracle().relax,
        {"objective": OBJECTIVE, "constraint": Constraint(3)},
    ),
}
BEYOND = {
    *("SpectralOracle.relaxed", "SpectralOracle.maximize_compressed"),  # of compressed data
    *(
        f"{kind}.{name}"
        for kind, name in product(structsvm.oracles.__all__, ("loss_curve", "refuse"))
    ),
    *(
        f"{kind}.{name}"
        for kind, name in product(structsvm.oracles.__all__, ("relaxed", "verified", "online"))
    ),
    *(
        f"{kind}.verified_{name}"
        for kind, name in product(structsvm.oracles.__all__, ("curve", "each", "places", "prices"))
    ),
}
"""Public methods without a question here."""

ANYTHING = (
    *(None, -1, 0, 1.5, 10**9, -(10**9), True, "text", b"bytes", [], (), {}, object()),
    *(np.nan, np.inf, -np.inf, 1e200, 1j, np.float64(2.0), np.int8(-3)),
    *(np.zeros(0), np.zeros((0, R)), np.zeros((T, 0)), np.zeros((2, 2, 2)), np.array(3.0)),
    *(np.full((T, R), np.nan), np.full((T, C), np.inf), np.full(T, -1), np.full(T, 7)),
    *(np.array(["a"] * T), np.array([None] * T), np.arange(T), np.arange(T * R).reshape(T, R)),
)
HOSTILE = {
    "objective": (
        *(TraceObjective(Z, shift=shift) for shift in (1e149, -1e149)),
        *(TraceObjective(np.zeros((1, r)), shift=-1.0) for r in (0, 1)),
        TraceObjective(HOLES, shift=-1.0, gaps=True),
        *SPOILT,
    ),
    "constraint": (
        *(Constraint(K) for K in (0, -1, T + 1, 10**9, 1.5, np.nan, "2", True)),
        *(Constraint(forced=(t,)) for t in (0, -3, T, 99, 1.5, np.nan, "a", None)),
        *(Constraint(forbidden=(t,)) for t in (0, -3, T, 99, 1.5, np.nan)),
        *(Constraint(regions=(Region(*r),)) for r in ((-10, 9, -1), (3, 3, 1), (2, 99, 1))),
        *(Constraint(regions=(Region(*r),)) for r in ((5, 2, 1), (0, T, T), (0.5, 4, 1))),
        *(Constraint(regions=(Region(1, 4, n, more),)) for n, more in product((-1, 2, 9), (0, 1))),
        Constraint(regions=(Region(1, 4, 1), Region(3, 6, 1))),
        Constraint(regions=((1, 4, 1),)),
        *(Constraint(states=y) for y in ((0,), (7,) * T, (-2,) * T, (0.5,) * T, tuple(STATES))),
        Constraint(forced=tuple(range(1, T)), forbidden=(3,)),
        *(Constraint(together=(group,)) for group in ((), (-1, 2), (0, T), (0, 0), (0.5, 1))),
        *(Constraint(apart=(pair,)) for pair in ((-1, 2), (0, T), (1, 1), (1,), (0, 1, 2))),
    ),
    "prices": (
        *(np.array(p) for p in ([np.nan, 1.0], [1.0, np.nan], [2.0, 1.0], [-1.0, 1.0])),
        *(np.array(p) for p in ([1.0, np.inf], [0.0, 0.0], [1e149, 1e149], [[1.0, 2.0]])),
        [500, 1, 500],
    ),
    "Zs": (
        *(Stack(STACK.rows, np.array(first)) for first in ([0, 99], [-3, 18], [0, 9, 9, 18], [9])),
        *(Stack(STACK.rows, first) for first in (np.array([0.0, 18.0]), [0, 18], np.zeros((1, 2)))),
        *(Stack.of([Z, bad]) for bad in (HOLES, np.full((T, R), 1e200))),
        *(Stack(rows, STACK.first) for rows in (STACK.rows.astype(int), np.zeros((2 * T, 0)))),
        *(Stack(rows, STACK.first) for rows in (STACK.rows[:-1], STACK.rows.tolist(), None)),
    ),
    "rows": (HOLES, Z[:, :1], X.T, np.full((T, R), 1e200), np.full((T, R), -np.inf), Z.tolist()),
    **dict.fromkeys(("low", "high"), (10**30, -(10**30), 0, 5, 0.5, np.nan, (1, 2), "a")),
    "price": (1e149, 1e151, np.array([0.5])),
    "Z": (HOLES, np.full((T, R), 1e200), Z[:1], Z.astype(int), Z.T[::-1].T, Z.tolist()),
    "truth": (
        *(EquivalenceMatrix.from_breakpoints([n]) for n in (1, T - 1, T + 30)),
        *(EquivalenceMatrix.from_boundaries(b) for b in ([0, 7, 3, T], [2, T], [T], [0, 0, T])),
        EquivalenceMatrix.from_labels([0, 1] * 4 + [0]),
        EquivalenceMatrix(np.array([0, 5, -3, 1, 1, 1, 1, 1, 9]), "labels"),
        EquivalenceMatrix.from_factor(np.eye(T)[:, :2]),
    ),
    "score": (
        replace(SCORE, samples=np.full((T, C), -np.inf)),
        replace(SCORE, lengths=np.full((C, 2), -np.inf)),
        replace(SCORE, samples=X[:1], truth=None),
        replace(
            SCORE,
            samples=X[:, :1],
            **{n: np.zeros(1) for n in ("first", "last")},
            changes=np.zeros((1, 1)),
            lengths=np.zeros((1, 2)),
        ),
    ),
    "samples": (X.T, X[:, :1], X[:5], np.full((T, C), np.nan), np.full((T, C), 1e200)),
    "lengths": (*(np.zeros((C, L)) for L in (0, 1)), np.zeros((1, 6)), np.full((C, 4), np.nan)),
    "changes": (np.zeros((1, 1)), np.zeros((C, C + 1)), np.full((C, C), np.inf)),
    "first": (np.zeros(1), np.zeros(C + 1), np.full(C, np.nan)),
    "last": (np.zeros((C, 1)), np.full(C, np.inf)),
    "begins": (ENDS["begins"] - 1, ENDS["ends"], np.array([0, 10**9])),
    "ends": (ENDS["ends"] + 1, ENDS["begins"], np.array([[2, T]])),
    "states": (STATES - 2, STATES + 1, STATES.astype(float), STATES[:4], STATES[:, None]),
    "starts": ([STATES[:3]], [STATES - 5], [np.full(T, np.nan)], [np.zeros(0)], ["text"]),
    "most": (T + 1, -3),
    "rule": (
        lambda starts, end, n: True,
        lambda starts, end, n: False,
        lambda starts, end, n: starts,
        lambda starts, end, n: RNG.random(starts.size) < 0.5,
        lambda starts, end, n: [True] * 99,
        lambda starts, end, n: 1 // 0,
    ),
}


def is_sound(answer, given):
    """Whether an answer is one: of the right size, of numbers, and it keeps its constraint."""
    if isinstance(answer, Argmax):
        n = given.get("objective", OBJECTIVE).n_samples
        kept = given.get("constraint", UNCONSTRAINED).violation(answer.y) is None
        return answer.y.n_samples == n and not np.isnan(answer.value) and kept
    if isinstance(answer, list) and "Zs" in given:
        return all(is_sound(each, {}) for each in answer)
    if isinstance(answer, list):  # a path
        return all(isinstance(M, EquivalenceMatrix) and M.is_sound for M in answer)
    if isinstance(answer, np.ndarray) and answer.dtype == np.int64:  # states
        score = given.get("score", SCORE)
        return answer.size == len(score.samples) and -np.inf < score.value(answer) < np.inf
    return not np.isnan(np.asarray(answer, dtype=float)).any() if is_numbers(answer) else True


def is_type(error):
    """Whether Python says that something is of a wrong type, before anything was done."""
    return isinstance(error, TypeError) and "itera" in str(error)


def is_numbers(answer):
    return isinstance(answer, float | np.ndarray)


def ask_everything():
    """Print each question before it is asked, and what was wrong with its answer."""
    warnings.simplefilter("ignore")
    resource = __import__("resource")
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    for name, (call, good) in CALLS.items():
        assert is_sound(call(**good), good), name
        for argument in good:
            for i, bad in enumerate((*ANYTHING, *HOSTILE.get(argument, ()))):
                if name.startswith("Semidefinite") and i % 4:
                    continue  # each of its answers takes a while
                given = {**good, argument: bad}
                print(f"{name}, {argument} {i}: {bad!r}"[:200].replace("\n", " "), flush=True)
                try:
                    answer = call(**given)
                except StructSVMError:
                    continue
                except Exception as error:
                    if not (any(bad is one for one in SPOILT) or is_type(error)):
                        print(f"WRONG raised {error!r}", flush=True)
                    continue
                if not any(bad is one for one in SPOILT) and not is_sound(answer, given):
                    print(f"WRONG answered {answer!r}".replace("\n", " "), flush=True)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of memory to set")
def test_no_argument_crashes_the_process_or_is_answered_with_garbage():
    run = loaded("from test_hostile_arguments import ask_everything; ask_everything()")
    lines = run.stdout.splitlines()
    assert run.returncode == 0, f"it died at {lines[-1:]}: {run.stderr[-2000:]}"
    wrong = [pair for pair in pairwise(lines) if pair[1].startswith("WRONG")]
    assert not wrong
    assert len(lines) > 1000


def test_every_public_function_is_asked():
    asked = {name.partition(" ")[0] for name in CALLS}
    for name in structsvm.oracles.__all__:
        thing = getattr(structsvm.oracles, name)
        if not inspect.isclass(thing):
            assert name in asked
            continue
        methods = [m for m, f in inspect.getmembers(thing, inspect.isfunction) if m[0] != "_"]
        assert {f"{name}.{m}" for m in methods} - asked <= BEYOND
