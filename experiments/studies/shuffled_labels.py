"""How often learning is said to pay where the labels are those of other recordings.

Not in the paper. Recordings follow a protocol: changes at about the same numbers of samples from
the start, from the end, or some from each, or at about the same shares of the length. A column
shows the protocol, and the labels are shuffled among the recordings, so that the metric can learn
the protocol and nothing else. In the last row every recording is noise that is cut anywhere.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from numpy.typing import NDArray

from experiments._report import publish
from structsvm import MetricLearnerCV

N = 12
CANDIDATES = ("untrained", "rca", "diagonal", "full")
PROTOCOLS = {
    "from the start": ((0, 0, 0), (10, 20, 32)),
    "from the end": ((1, 1, 1), (-32, -20, -10)),
    "some from each": ((0, 0, 1), (10, 22, -15)),
    "shares of the length": ((0.1, 0.2, 0.32), (0, 0, 0)),
}
"""Changes are at ``share * T + offset``, give or take."""
SPREAD = 1.5
"""Standard deviation of the labels, in samples."""

Sets = tuple[list[NDArray[np.float64]], list[list[int]]]


def protocol(rng: np.random.Generator, name: str) -> Sets:
    shares, offsets = np.array(PROTOCOLS[name])
    sizes = rng.integers(60, 200, N).tolist()
    Xs = []
    for T in sizes:
        X = rng.normal(size=(T, 4))
        X[:, :2] = np.cumsum(rng.normal(size=(T, 2)), axis=0)
        X[:, 2] += 6.0 * np.searchsorted(shares * T + offsets, np.arange(T))
        Xs.append(X)
    ys = []
    for T in sizes:
        places = np.sort(shares * T + offsets + rng.normal(scale=SPREAD, size=3))
        ys.append([*np.unique(np.clip(np.round(places), 1, T - 1).astype(int)).tolist(), T])
    return Xs, ys


def anywhere(rng: np.random.Generator) -> Sets:
    Xs = [rng.normal(size=(60, 4)) for _ in range(N)]
    return Xs, [[*sorted(rng.choice(np.arange(1, 60), 3, replace=False).tolist()), 60] for _ in Xs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=20, help="of each protocol")
    n_sets = parser.parse_args().sets
    warnings.simplefilter("ignore")
    rows = []
    for name in (*PROTOCOLS, "noise, cut anywhere"):
        verdicts = []
        for seed in range(n_sets):
            rng = np.random.default_rng(1000 + seed)
            data = protocol(rng, name) if name in PROTOCOLS else anywhere(rng)
            search = MetricLearnerCV(candidates=CANDIDATES, lams=(1.0, 0.1), random_state=0)
            search.choose(*data)
            verdicts.append(search.verdict_)
        rows.append(
            {
                "changes": name,
                "sets": n_sets,
                '"learning pays"': sum(verdict.pays for verdict in verdicts),
                '"no evidence that the segments follow"': sum(
                    verdict.code == "blind" for verdict in verdicts
                ),
                "mean loss learned": float(np.mean([verdict.loss for verdict in verdicts])),
                "of what is blind": float(
                    np.mean(
                        [verdict.ranking.losses[verdict.ranking.best_blind] for verdict in verdicts]
                    )
                ),
            }
        )
    publish("shuffled_labels", rows)


if __name__ == "__main__":
    main()
