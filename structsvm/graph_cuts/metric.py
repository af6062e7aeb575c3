"""A metric that is ready to cut graphs, the calibration of its threshold, and the grid baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structsvm.graphs.graph import FeatureGraph
from structsvm.graphs.labels import NodeLabels, region_loss, region_rand
from structsvm.graphs.similarity import Similarity
from structsvm.oracles.normalized_cut import CutDecoder, Embedding
from structsvm.parallel import single_threaded
from structsvm.partitions.equivalence import EquivalenceMatrix
from structsvm.support.progress import stage

__all__ = ["CutMetric", "calibrate_threshold", "grid_metric"]

Floats = NDArray[np.float64]

MOST_CLUSTERS = 20
"""Where counting clusters ends."""

APPEARANCE_SCALES = 2.0 ** np.arange(-5, 5)
SPATIAL_SCALES = np.append(0.0, APPEARANCE_SCALES)


@dataclass(frozen=True, eq=False)
class CutMetric:
    """``B = L L^T``, and from which eigenvalue on there is another cluster."""

    factor: Floats
    """``L``, (P, r)."""
    threshold: float | None = None
    """None when the number of clusters is always given."""

    def embed(self, decoder: CutDecoder, graph: FeatureGraph, count: int) -> Embedding:
        """The relaxed cut of a graph."""
        return decoder.embed(Similarity.of(graph)(self.factor), count)

    @single_threaded()
    def cut(
        self, decoder: CutDecoder, graph: FeatureGraph, n_clusters: int | None = None
    ) -> EquivalenceMatrix:
        """Cut a graph into ``n_clusters``, or as many as the threshold counts."""
        count = MOST_CLUSTERS if n_clusters is None else n_clusters
        embedding = self.embed(decoder, graph, count)
        if n_clusters is None:
            assert self.threshold is not None
            n_clusters = decoder.n_clusters(embedding, self.threshold)
        return decoder.partition(embedding, n_clusters)


@single_threaded()
def calibrate_threshold(
    metric: CutMetric,
    decoder: CutDecoder,
    graphs: Sequence[FeatureGraph],
    truths: Sequence[NodeLabels],
    weights: Floats | None = None,
) -> float:
    """The threshold whose numbers of clusters agree best with the truth, by adjusted Rand index.

    Not by the loss, for which one single cluster, at K - 1, often is the best. Between two
    eigenvalues of the training graphs nothing changes, so their midpoints are all there is to try;
    of several as good as each other, the middle one. Thresholds that count more than twice as many
    clusters as any training graph has, and two, are not tried. ``weights`` (N,) are those of the
    graphs in the mean agreement.
    """
    most = 2 * max(truth.n_clusters for truth in truths) + 2
    embeddings = [metric.embed(decoder, graph, most) for graph in graphs]
    values = np.unique(np.concatenate([e.values for e in embeddings]))
    cuts = np.concatenate([[values[0] - 1e-6], (values[1:] + values[:-1]) / 2])
    indices = []
    for embedding, truth in zip(embeddings, truths, strict=True):
        counts = [decoder.n_clusters(embedding, float(cut)) for cut in cuts]
        of = {K: region_rand(truth, decoder.partition(embedding, K)) for K in set(counts)}
        indices.append([of[K] for K in counts])
    agreement = np.average(indices, axis=0, weights=weights)
    tied = np.flatnonzero(agreement >= agreement.max() - 1e-9)
    return float(cuts[tied[tied.size // 2]])


@single_threaded()
def grid_metric(
    decoder: CutDecoder,
    graphs: Sequence[FeatureGraph],
    truths: Sequence[NodeLabels],
    weights: Floats | None = None,
) -> CutMetric:
    """The paper's rival: one scale of appearance and one of position, by exhaustive search.

    110 pairs of scales, 2^-5 to 2^4 and position also 0, on the features as they are; the pair of
    least mean loss over the training graphs, which is what cross-validation over graphs gives,
    because a pair has nothing to fit.
    """
    spatial = graphs[0].spatial
    places = SPATIAL_SCALES if spatial.any() and not spatial.all() else np.ones(1)
    best, least = None, np.inf
    for appearance in stage("scales", APPEARANCE_SCALES.tolist()):
        for place in places:
            scales = np.where(spatial, place, appearance) if places.size > 1 else appearance
            factor = np.diag(np.sqrt(np.broadcast_to(scales, spatial.shape)))
            metric = CutMetric(factor)
            losses = [
                region_loss(truth, metric.cut(decoder, graph, truth.n_clusters))
                for graph, truth in zip(graphs, truths, strict=True)
            ]
            mean = float(np.average(losses, weights=weights))
            if mean < least:
                best, least = metric, mean
    assert best is not None
    return best
