"""The theorems of the paper's appendix, and its chi-square identity, as studies.

Pairs of segmentations: all those of seven samples, and random ones of 400 samples whose
changes have been displaced. The loss is ``|M - N|_F^2``. To first order in the displacements
``s_j`` of its changes it is ``2 sum_j |s_j| (1 / p_j + 1 / p_{j+1})``, ``p_j`` being the lengths of
the segments on either side.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from experiments._report import PAPER, Row, publish
from structsvm import EquivalenceMatrix
from structsvm.partitions.losses import chi_square, hausdorff, partition_loss

Ints = NDArray[np.int64]

T, SMALL, DRAWS = 400, 7, 4000


@dataclass(frozen=True)
class Pair:
    """Two segmentations of the same samples."""

    P: EquivalenceMatrix
    Q: EquivalenceMatrix

    @property
    def loss(self) -> float:
        """``|M - N|_F^2``."""
        return partition_loss(self.P, self.Q)

    @property
    def epsilon(self) -> float:
        """The Hausdorff distance of the changes."""
        return hausdorff(self.P, self.Q)

    @property
    def is_close(self) -> bool:
        """The hypothesis of the second theorem."""
        same = self.P.n_clusters == self.Q.n_clusters
        return same and self.epsilon < self.P.sizes.min() / 2

    @property
    def flows(self) -> tuple[float, float]:
        """What the first theorem takes: ``(K - 1) M`` and the loss to first order."""
        common = self.P.contingency(self.Q).astype(float)
        np.fill_diagonal(common, 0.0)
        sizes = self.P.sizes
        largest = (common / np.minimum.outer(sizes, sizes)).max()
        flow = common.sum(axis=1) + common.sum(axis=0)
        return float((sizes.size - 1) * largest), float(2 * (flow / sizes).sum())


def pair(T: int, a: tuple[int, ...] | Ints, b: tuple[int, ...] | Ints) -> Pair:
    """Of the changes of each."""
    return Pair(*(EquivalenceMatrix.from_breakpoints([*map(int, x), T]) for x in (a, b)))


def all_pairs(T: int) -> Iterator[Pair]:
    """Every pair of different segmentations of ``T`` samples that have a change."""
    changes = list(chain.from_iterable(itertools.combinations(range(1, T), n) for n in range(1, T)))
    for a, b in itertools.permutations(changes, 2):
        yield pair(T, a, b)


def displaced(K: int, reach: int, rng: np.random.Generator) -> Pair:
    """Random changes, and the same ones displaced by up to ``reach``; order is kept."""
    shortest = 2 * reach + 1
    free = T - K * shortest
    places = np.sort(rng.integers(0, free + 1, K - 1)) + shortest * np.arange(1, K)
    return pair(T, places, places + rng.integers(-reach, reach + 1, K - 1))


def draws() -> list[tuple[int, int, Pair]]:
    """Numbers of segments, largest displacements and pairs that differ."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(DRAWS):
        K = int(rng.integers(2, 12))
        reach = int(rng.integers(1, T // (2 * K) - 1))
        drawn = displaced(K, reach, rng)
        if drawn.epsilon > 0:
            found.append((K, reach, drawn))
    return found


def main() -> None:
    drawn = draws()
    small = list(all_pairs(SMALL))
    close = [p for p in [*small, *(p for _, _, p in drawn)] if p.is_close]
    publish("appendix_theorems", [*limit(drawn), *hausdorff_rows(close, small), *identity(drawn)])
    draw(drawn, close)


def limit(drawn: list[tuple[int, int, Pair]]) -> list[Row]:
    """The first theorem, in steps of ``(K - 1) M``."""
    rows = []
    found = [(*p.flows, p.loss) for _, _, p in drawn]
    for low, high in ((0.0, 0.03), (0.03, 0.1), (0.1, 0.3)):
        ratios = [loss / first for eta, first, loss in found if low < eta <= high]
        rows.append(
            {
                "statement": f"limit, (K - 1) M in ({low:g}, {high:g}]: loss / first order",
                "bounds": f"{1 - rest(high):.2f} to {1 + rest(high):.2f}",
                "found": f"{min(ratios):.2f} to {max(ratios):.2f}",
                "pairs": len(ratios),
            }
        )
    return rows


def rest(eta: float) -> float:
    """Of the first theorem, explicit: ``|delta| <= 3 eta / (1 - eta)``, ``eta = (K - 1) M < 1``."""
    return 3 * eta / (1 - eta)


def hausdorff_rows(close: list[Pair], small: list[Pair]) -> list[Row]:
    """The second theorem: its two sides, and its first without its hypothesis."""
    upper = [p.loss * p.P.sizes.min() / (p.P.n_clusters * p.epsilon) for p in close]
    lower = [p.loss * p.P.sizes.max() / p.epsilon for p in close]
    anyhow = [p.loss * p.P.sizes.max() / p.epsilon for p in small]
    return [
        {
            "statement": "Hausdorff, above: loss l_m(P) / (K epsilon)",
            "bounds": "at most 12",
            "found": f"{min(upper):.2f} to {max(upper):.2f}",
            "pairs": len(upper),
        },
        {
            "statement": "Hausdorff, below: loss l_ma(P) / epsilon",
            "bounds": "at least 1",
            "found": f"{min(lower):.2f} to {max(lower):.2f}",
            "pairs": len(lower),
        },
        {
            "statement": "the same for any two segmentations with a change",
            "bounds": "at least 1",
            "found": f"{min(anyhow):.2f} to {max(anyhow):.2f}",
            "pairs": len(anyhow),
        },
    ]


def by_chi_square(p: Pair, factor: int) -> float:
    """The loss from the chi-square statistic of the two segmentations."""
    share = (chi_square(p.P, p.Q) + T) / T
    return p.P.n_clusters + p.Q.n_clusters - factor * share


def identity(drawn: list[tuple[int, int, Pair]]) -> list[Row]:
    """The chi-square identity with the factor 2, and as printed."""
    rows = []
    for name, factor in (("with the factor 2", 2), ("as printed", 1)):
        errors = [abs(by_chi_square(p, factor) - p.loss) for _, _, p in drawn]
        rows.append(
            {
                "statement": f"chi-square identity, {name}: error",
                "bounds": "0",
                "found": f"{min(errors):.2f} to {max(errors):.2f}",
                "pairs": len(errors),
            }
        )
    return rows


def draw(drawn: list[tuple[int, int, Pair]], close: list[Pair]) -> None:
    """Loss against displacement and number; the limit; the two bounds; the chi-square identity."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10, 7.6), layout="constrained")
    first, second, third, fourth = axes.ravel()
    for K in (2, 5, 10):
        places = (T * np.arange(1, K)) // K
        moves = np.arange(T // K // 2)
        losses = [pair(T, places, places + int(s)).loss for s in moves]
        line = first.plot(moves, losses, label=f"{K} segments")[0]
        flow = [pair(T, places, places + int(s)).flows[1] for s in moves]
        first.plot(moves, flow, ":", color=line.get_color())
    first.set(xlabel=f"displacement of every change (T = {T})", ylabel=r"$|M - N|_F^2$")
    first.legend(title="dotted: first order")

    flows = np.array([(*p.flows, p.loss) for _, _, p in drawn])
    eta = flows[:, 0]
    ratio = flows[:, 2] / flows[:, 1]
    grid = np.geomspace(eta.min(), 0.25, 100)
    second.semilogx(eta, ratio, ".", markersize=2)
    for side in (-1, 1):
        label = "bound proved" if side > 0 else None
        second.semilogx(grid, 1 + side * rest(grid), "k--", linewidth=1, label=label)
    second.set(xlabel=r"$(K - 1)\,M(P, Q)$", ylabel="loss / first order", ylim=(0.2, 1.6))
    second.legend()

    x = [p.epsilon / p.P.sizes.min() for p in close]
    below = [p.loss * p.P.sizes.max() / p.epsilon for p in close]
    above = [p.loss * p.P.sizes.min() / (p.P.n_clusters * p.epsilon) for p in close]
    third.semilogy(x, below, ".", markersize=2, label=r"loss $l_{ma}(P) / \epsilon$")
    third.axhline(1, color="C0", linestyle="--", label="at least this")
    third.semilogy(x, above, ".", markersize=2, label=r"loss $l_m(P) / (K \epsilon)$")
    third.axhline(12, color="C1", linestyle="--", label="at most this")
    third.set(xlabel=r"Hausdorff distance $\epsilon\, /\, l_m(P)$", ylim=(0.1, 8000))
    third.legend(loc="upper center", ncols=2, markerscale=5)

    losses = [p.loss for _, _, p in drawn]
    top = max(losses)
    fourth.plot([0, top], [0, top], "k--", linewidth=1, label="the loss")
    for factor, name in ((2, "with the factor 2"), (1, "as printed")):
        values = [by_chi_square(p, factor) for _, _, p in drawn]
        fourth.plot(losses, values, ".", markersize=2, label=name)
    fourth.set(xlabel=r"$|M - N|_F^2$", ylabel="by the chi-square identity")
    fourth.legend(markerscale=5)
    figure.savefig(PAPER / "appendix_theorems.png", dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
