"""How often clustering finds the optimum, and how far above it the relaxations are.

Every partition of 7 to 9 samples is looked at (200 cases, 1 to 3 dimensions, 2 to 4 groups,
overlapping or apart). Prints two tables and writes benchmarks/results/cluster_decoding.json:

    make bench-cluster_decoding
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import AgglomerativeClustering, KMeans

from structsvm.oracles import (
    ClusteringOracle,
    ExhaustiveOracle,
    SemidefiniteOracle,
    SpectralOracle,
)
from structsvm.oracles._starts import kmeans
from structsvm.partitions import Constraint, EquivalenceMatrix, TraceObjective

CASES = 200
RESULTS = Path(__file__).parent / "results" / "cluster_decoding.json"

Decoder = Callable[["Case"], EquivalenceMatrix]


@dataclass(frozen=True)
class Case:
    """One question whose answer is known."""

    objective: TraceObjective
    K: int | None
    truth: EquivalenceMatrix
    best: float

    @property
    def constraint(self) -> Constraint:
        """K, if it is known."""
        return Constraint(n_clusters=self.K)

    @property
    def at_stake(self) -> float:
        """Distortion and price of the optimum; with a truth, the largest loss there is."""
        if self.objective.has_truth:
            return self.objective.truth_weight * (self.truth.n_clusters - 1)
        return float(np.sum(self.objective.Z**2)) - self.best


def main() -> None:
    print_decoding()
    print()
    print_relaxations()


def make_case(seed: int, augmented: bool, known: bool) -> Case:
    rng = np.random.default_rng(seed)
    T = int(rng.integers(7, 10))
    r = int(rng.integers(1, 4))
    K = int(rng.integers(2, 5))
    labels = np.concatenate((np.arange(K), rng.integers(0, K, T - K)))
    centers = rng.choice([0.0, 1.5, 4.0]) * rng.standard_normal((K, r))
    Z = (rng.standard_normal((T, r)) + centers[labels]) * rng.choice([0.5, 1.0, 2.0])
    truth = EquivalenceMatrix.from_labels(labels)
    objective = (
        TraceObjective(Z, truth, 2.0, 0.0 if known else -0.5)
        if augmented
        else TraceObjective(Z, shift=0.0 if known else -1.0)
    )
    constraint = Constraint(n_clusters=K if known else None)
    best = ExhaustiveOracle().maximize(objective, constraint).value
    return Case(objective, K if known else None, truth, best)


def structsvm(case: Case) -> EquivalenceMatrix:
    return ClusteringOracle().maximize(case.objective, case.constraint).y


def without_moves(case: Case) -> EquivalenceMatrix:
    return ClusteringOracle(max_sweeps=0).maximize(case.objective, case.constraint).y


def k_means(n_init: int) -> Decoder:
    def decode(case: Case) -> EquivalenceMatrix:
        model = KMeans(case.K, n_init=n_init, random_state=0)
        return EquivalenceMatrix.from_labels(model.fit_predict(case.objective.Z))

    return decode


def ward(case: Case) -> EquivalenceMatrix:
    stop = {"n_clusters": case.K}
    if case.K is None:
        stop["distance_threshold"] = float(np.sqrt(-2 * case.objective.shift))
    model = AgglomerativeClustering(**stop, linkage="ward")
    return EquivalenceMatrix.from_labels(model.fit_predict(case.objective.Z))


def spectral_rounding(case: Case) -> EquivalenceMatrix:
    U = SpectralOracle().maximize(case.objective, case.constraint).y.factor()
    return EquivalenceMatrix.from_labels(kmeans(U, U.shape[1], 10, 0))


PLAIN = {"structsvm": structsvm, "without Hartigan moves": without_moves, "Ward": ward}
AUGMENTED = {
    "structsvm": structsvm,
    "without Hartigan moves": without_moves,
    "spectral rounding": spectral_rounding,
}
DECODERS: dict[tuple[bool, bool], dict[str, Decoder]] = {
    (False, True): {
        **PLAIN,
        "K-means++, 10 restarts": k_means(10),
        "K-means++, 1 start": k_means(1),
        "spectral rounding": spectral_rounding,
    },
    (False, False): {**PLAIN, "spectral rounding": spectral_rounding},
    (True, True): AUGMENTED,
    (True, False): AUGMENTED,
}
GOALS = {(False, True): 0.985, (False, False): 0.97, (True, True): 0.95, (True, False): 0.96}
"""Part of the optima to find."""


def print_decoding() -> None:
    print("| question | method | optima found | mean gap | largest gap |")
    print("|---|---|---|---|---|")
    results = []
    for (augmented, known), decoders in DECODERS.items():
        cases = [make_case(seed, augmented, known) for seed in range(CASES)]
        question = name_of(augmented, known)
        found = {}
        for name, decode in decoders.items():
            gaps = np.array([gap(case, decode(case)) for case in cases])
            found[name] = float(np.mean(gaps < 1e-9))
            print(
                f"| {question} | {name} | {found[name]:.1%} | {gaps.mean():.2%} "
                f"| {gaps.max():.1%} |"
            )
        ours = found.pop("structsvm")
        goal = GOALS[augmented, known]
        peer = max(found.values())
        results.append(
            {
                "name": f"{question}: optima found",
                "ours": ours,
                "peer": peer,
                "ratio": ours / peer,
                "goal": goal,
                "reached": ours >= goal,
            }
        )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def gap(case: Case, y: EquivalenceMatrix) -> float:
    return (case.best - case.objective.value(y)) / max(case.at_stake, 1e-9)


def print_relaxations() -> None:
    print("| question | relaxation | bound is tight | median excess | mean excess |")
    print("|---|---|---|---|---|")
    for augmented, known in DECODERS:
        cases = [make_case(seed, augmented, known) for seed in range(CASES)]
        for name, bound in (
            ("semidefinite", semidefinite_bound),
            ("spectral, M 1 = 1", spectral_bound(True)),
            ("spectral, plain", spectral_bound(False)),
        ):
            excess = np.array([(bound(case) - case.best) / scale(case) for case in cases])
            print(
                f"| {name_of(augmented, known)} | {name} | {np.mean(excess < 1e-6):.1%} "
                f"| {np.median(excess):.2%} | {excess.mean():.2%} |"
            )


def semidefinite_bound(case: Case) -> float:
    return SemidefiniteOracle().relax(case.objective, case.constraint).upper_bound


def spectral_bound(centered: bool) -> Callable[[Case], float]:
    def bound(case: Case) -> float:
        return SpectralOracle(centered).maximize(case.objective, case.constraint).upper_bound

    return bound


def scale(case: Case) -> float:
    centred: NDArray[np.float64] = case.objective.Z - case.objective.Z.mean(axis=0)
    return float(np.sum(centred**2))


def name_of(augmented: bool, known: bool) -> str:
    what = "loss-augmented" if augmented else "decoding"
    return f"{what}, K {'known' if known else 'unknown'}"


if __name__ == "__main__":
    main()
