"""Small labelled graphs and images in which one feature tells the clusters apart."""

import numpy as np
from PIL import Image

from structsvm.graphs import FeatureGraph
from structsvm.graphs.readers import from_adjacency


def random_graph(rng, T=30, P=4, sparse=False):
    X = rng.normal(size=(T, P))
    if not sparse:
        return FeatureGraph(X)
    A = np.triu(rng.random((T, T)) < 0.2, 1)
    return from_adjacency(A | A.T, X)


def planted(rng, n=6, T=40, K=2, noise=3.0, sparse=False):
    """Graphs whose first feature is the cluster, and two features of loud noise; labels."""
    graphs = []
    labels = []
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


def disc(rng, size=32, width=None, dark=0.2, hue=0.15):
    """An image of a disc that differs by hue, under loud brightness, and its mask."""
    width = width or size
    y, x = np.mgrid[:size, :width]
    row, column = rng.integers(10, size - 10, 2)
    mask = (y - row) ** 2 + (x - column) ** 2 < 64
    light = dark + (1 - dark) * np.kron(rng.random((4, 4)), np.ones((size // 4, width // 4)))
    colour = np.where(mask[..., None], [1.0, 1 - hue, 1 - 2 * hue], [1 - 2 * hue, 1 - hue, 1.0])
    return np.round(255 * light[..., None] * colour).astype(np.uint8), mask


def write_images(folder, pairs, kinds=("img", "mask")):
    """Write a folder of images, and one of masks."""
    for kind, arrays in zip(kinds, zip(*pairs, strict=True), strict=True):
        (folder / kind).mkdir(parents=True)
        for i, array in enumerate(arrays):
            values = np.uint8(255) * array if array.dtype == bool else array
            Image.fromarray(np.uint8(values)).save(folder / kind / f"p{i}.png")
