"""Small labelled graphs in which one feature tells the clusters apart."""

import numpy as np

from structsvm.graphs import FeatureGraph
from structsvm.graphs.images import from_adjacency


def random_graph(rng, T=30, P=4, sparse=False):
    X = rng.normal(size=(T, P))
    if not sparse:
        return FeatureGraph(X)
    A = np.triu(rng.random((T, T)) < 0.2, 1)
    return from_adjacency(A | A.T, X)


def planted(rng, n=6, T=40, K=2, noise=3.0, sparse=False):
    """Graphs whose first feature is the cluster, and two features of loud noise; labels."""
    graphs, labels = [], []
    for _ in range(n):
        y = np.sort(rng.integers(0, K, T))
        y[:K] = np.arange(K)
        signal = 3.0 * y + 0.4 * rng.normal(size=T)
        X = np.column_stack([signal, noise * rng.normal(size=(T, 2))])
        graph = FeatureGraph(X)
        if sparse:
            A = np.triu(rng.random((T, T)) < 0.4, 1)
            A |= np.eye(T, k=1, dtype=bool)  # connected
            graph = from_adjacency(A | A.T, X)
        graphs.append(graph)
        labels.append(y)
    return graphs, labels
