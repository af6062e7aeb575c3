"""The best partition of a tree into connected parts, exactly, by dynamic programming.

Every part has a node that is nearest to the root. Below it the part goes on to some of the
children, and each child it does not go on to begins a part of its own. So

    best(v) = max over parts P that begin at v of score(P) + sum of best(c) over the children c of P

from the leaves to the roots. A part is scored by the sum of its samples, which no smaller table
holds, so that all connected parts are looked at: about T^2 / 2 for a path, T^L for a tree with L
leaves. The oracle is for trees with few leaves, such as rivers, or with few nodes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structsvm.errors import OracleError
from structsvm.partitions import (
    UNCONSTRAINED,
    Argmax,
    Constraint,
    EquivalenceMatrix,
    Oracle,
    Quality,
    TraceObjective,
)

__all__ = ["TreeOracle"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST = 500_000
"""Connected parts that begin at one node."""


@dataclass(frozen=True)
class TreeOracle(Oracle):
    """Maximises ``Tr(A M)`` over the partitions of a forest into connected parts.

    Parameters
    ----------
    edges : tuple of pairs of int
        Those of a forest whose nodes are the rows of ``Z``.
    """

    edges: tuple[tuple[int, int], ...]
    takes = frozenset({"n_clusters"})

    def maximize(self, objective: TraceObjective, constraint: Constraint = UNCONSTRAINED) -> Argmax:
        """Maximise ``Tr(A M)`` over the connected partitions, into K parts if K is given.

        Raises
        ------
        OracleError
            When there are fewer nodes, or more trees, than parts; when boundaries are prescribed;
            when the forest has too many connected parts.
        """
        T = objective.n_samples
        K = constraint.n_clusters
        constraint.validate(T)
        if constraint.has_boundaries or constraint.has_links:
            raise OracleError("a partition of a tree takes no boundaries and no links")
        order, children, roots = rooted(self.edges, T)
        if K is not None and len(roots) > K:
            raise OracleError(f"{len(roots)} trees cannot be {K} connected parts")
        Z, signs = columns(objective)
        found: dict[int, Parts] = {}
        for v in reversed(order):
            found[v] = Parts.of(v, Z, signs, objective.shift, [found[c] for c in children[v]], K)
        labels = labelled(roots, found, K, T)
        y = EquivalenceMatrix.from_labels(labels)
        value = objective.value(y)
        return Argmax(y, value, value, Quality.EXACT)


def rooted(
    edges: tuple[tuple[int, int], ...], T: int
) -> tuple[list[int], list[list[int]], list[int]]:
    """Nodes from the roots to the leaves, the children of each, and the roots."""
    neighbours: list[list[int]] = [[] for _ in range(T)]
    for i, j in edges:
        neighbours[i].append(j)
        neighbours[j].append(i)
    children: list[list[int]] = [[] for _ in range(T)]
    order = []
    roots = []
    seen = [False] * T
    for root in range(T):
        if seen[root]:
            continue
        roots.append(root)
        seen[root] = True
        waiting = [root]
        while waiting:
            v = waiting.pop()
            order.append(v)
            children[v] = [c for c in neighbours[v] if not seen[c]]
            for c in children[v]:
                seen[c] = True
            waiting += children[v]
    return order, children, roots


def columns(objective: TraceObjective) -> tuple[Floats, Floats]:
    """Columns whose sums over a part score it, and their signs; the truth is among them.

    The mean of ``Z`` adds the same to every partition, and would cost digits.
    """
    Z = objective.Z - objective.Z.mean(axis=0)
    signs = np.ones(Z.shape[1])
    if objective.truth is not None and objective.has_truth:
        U = np.sqrt(objective.truth_weight) * objective.truth.factor()
        Z = np.hstack([Z, U])
        signs = np.concatenate([signs, -np.ones(U.shape[1])])
    return Z, signs


@dataclass(frozen=True, eq=False)
class Parts:
    """The n connected parts that begin at a node, and what is best below each of them.

    Values are for every number of parts 0, ..., K, or one column alone if the number is open.
    """

    node: int
    children: list["Parts"]
    sums: Floats
    """Of the columns over each part, (n, r)."""
    sizes: Ints
    """Number of nodes of each part, (n,)."""
    below: Floats
    """The best value of the parts that begin below each, (n, K + 1)."""
    splits: list[Ints]
    """For each child, how many of those parts begin at it or below it, (n', K + 1)."""
    best: Floats
    """The best value of all that begins at the node or below it, (K + 1,)."""
    which: Ints
    """The part it is reached with, (K + 1,)."""

    @classmethod
    def of(
        cls, v: int, Z: Floats, signs: Floats, shift: float, children: list["Parts"], K: int | None
    ) -> "Parts":
        """From the parts that begin at the children."""
        sums = Z[v : v + 1]
        sizes = np.ones(1, dtype=np.int64)
        below = np.zeros((1, 1)) if K is None else np.full((1, K + 1), -np.inf)
        below[0, 0] = 0.0
        splits = []
        for child in children:
            n = sizes.size * (1 + child.sizes.size)
            if n > MOST:
                raise OracleError(
                    f"node {v} has {n} connected parts below it, more than {MOST}: the exact "
                    "search is for trees with few leaves; cut the tree in smaller ones"
                )
            # The part ends above the child, or goes on with one of the parts that begin there.
            more = np.vstack([0.0 * sums[:1], child.sums])
            count = np.append(0, child.sizes)
            below, split = joined(below, np.vstack([child.best, child.below]))
            splits.append(split)
            sums = (sums[:, None] + more[None]).reshape(n, -1)
            sizes = (sizes[:, None] + count[None]).ravel()
        own = (sums**2 @ signs) / sizes + shift
        values = own[:, None] + (below if K is None else before(below))
        return cls(
            v, children, sums, sizes, below, splits, values.max(axis=0), values.argmax(axis=0)
        )


def before(below: Floats) -> Floats:
    """The same for one part less: the part itself counts."""
    return np.column_stack([np.full(below.shape[0], -np.inf), below[:, :-1]])


def joined(above: Floats, under: Floats) -> tuple[Floats, Ints]:
    """Best sums of every row of one table with every row of another, by the number of parts.

    And how many of the parts are of the second table: 0 where their number is open.
    """
    n = above.shape[0]
    m = under.shape[0]
    columns = above.shape[1]
    best = np.full((n, m, columns), -np.inf)
    split = np.zeros((n, m, columns), dtype=np.int64)
    for b in range(columns):
        values = above[:, None, : columns - b] + under[None, :, b : b + 1]
        better = values > best[:, :, b:]
        best[:, :, b:] = np.where(better, values, best[:, :, b:])
        split[:, :, b:][better] = b
    return best.reshape(n * m, columns), split.reshape(n * m, columns)


def labelled(roots: list[int], found: dict[int, Parts], K: int | None, T: int) -> Ints:
    """The best partition, as labels."""
    last = 0 if K is None else K
    best = np.zeros((1, 1)) if K is None else np.full((1, K + 1), -np.inf)
    best[0, 0] = 0.0
    splits = []
    for root in roots:
        best, split = joined(best, found[root].best[None])
        splits.append(split)
    # Nodes to go through: the parts that begin at each, which one it is, how many begin below it.
    waiting: list[tuple[Parts, int, int, int]] = []
    labels = np.zeros(T, dtype=np.int64)
    number = 0
    k = last
    one = 0 if K is None else 1

    def begin(parts: Parts, k: int) -> None:
        nonlocal number
        waiting.append((parts, int(parts.which[k]), k - one, number))
        number += 1

    for root, split in zip(reversed(roots), reversed(splits), strict=True):
        b = int(split[0, k])
        begin(found[root], b)
        k -= b
    while waiting:
        parts, row, k, label = waiting.pop()
        labels[parts.node] = label
        for child, split in zip(reversed(parts.children), reversed(parts.splits), strict=True):
            b = int(split[row, k])
            row, choice = divmod(row, 1 + child.sizes.size)
            k -= b
            if choice == 0:
                begin(child, b)
            else:
                waiting.append((child, choice - 1, b, label))
    return labels
